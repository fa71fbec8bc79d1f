// SPDX-License-Identifier: Apache-2.0
//! Keys of table entries: between P4Runtime's messages (ids, binary strings) and the engine's values.

use slotwise_p4::{Bits, KeyField};

use crate::bits;
use crate::error::ApiError;
use crate::p4info::{MatchField, MatchType, Table};
use crate::proto::p4::v1::{self, field_match::FieldMatchType};

/// What identifies an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryId {
    Default {
        table: u32,
    },
    Match {
        table: u32,
        key: Vec<KeyField>,
        priority: i32,
    },
}

impl EntryId {
    /// Which entry a write, or a read of one entry, means.
    pub fn parse(table: &Table, entry: &v1::TableEntry) -> Result<EntryId, ApiError> {
        if entry.is_default_action {
            if !entry.r#match.is_empty() || entry.priority != 0 {
                return Err(ApiError::invalid(
                    "the default entry has neither match fields nor priority",
                ));
            }
            return Ok(EntryId::Default { table: table.id });
        }
        if table.fields.is_empty() {
            return Err(ApiError::invalid(
                "the table has no key; only its default entry can be addressed",
            ));
        }
        check_priority(table, entry.priority)?;
        Ok(EntryId::Match {
            table: table.id,
            key: parse_key(&table.fields, &entry.r#match)?,
            priority: entry.priority,
        })
    }

    /// The table it is in.
    pub fn table(&self) -> u32 {
        match self {
            EntryId::Default { table } | EntryId::Match { table, .. } => *table,
        }
    }

    /// The entry's key fields, for an answer.
    pub fn encode(&self, table: &Table) -> v1::TableEntry {
        let mut entry = v1::TableEntry {
            table_id: table.id,
            ..v1::TableEntry::default()
        };
        match self {
            EntryId::Default { .. } => entry.is_default_action = true,
            EntryId::Match { key, priority, .. } => {
                entry.r#match = encode_key(&table.fields, key);
                entry.priority = if table.needs_priority { *priority } else { 0 };
            }
        }
        entry
    }
}

fn check_priority(table: &Table, priority: i32) -> Result<(), ApiError> {
    match (table.needs_priority, priority) {
        (true, ..=0) => Err(ApiError::invalid(format!(
            "priority {priority}; expected above 0 for a key with ternary, range or optional fields"
        ))),
        (false, 1.. | ..=-1) => Err(ApiError::invalid(format!(
            "priority {priority}; expected 0 for a key of exact and lpm fields"
        ))),
        _ => Ok(()),
    }
}

/// A key in the order of its fields. Omitted fields are "don't care".
pub(crate) fn parse_key(fields: &[MatchField], matches: &[v1::FieldMatch]) -> Result<Vec<KeyField>, ApiError> {
    for (index, given) in matches.iter().enumerate() {
        if !fields.iter().any(|field| field.field.id == given.field_id) {
            return Err(ApiError::invalid(format!(
                "the key has no field with ID {}",
                given.field_id
            )));
        }
        if matches[..index].iter().any(|other| other.field_id == given.field_id) {
            return Err(ApiError::invalid(format!("duplicate match field {}", given.field_id)));
        }
    }
    fields
        .iter()
        .map(|field| {
            let given = matches.iter().find(|given| given.field_id == field.field.id);
            let key = given.map_or_else(|| dont_care(field), |given| parse_field(field, given));
            key.map_err(|error| error.at(format_args!("match field {}", field.field.name)))
        })
        .collect()
}

/// Refuses a match that compares parts of a string for controllers, or which of two is larger.
fn refuse_text(field: &MatchField) -> Result<(), ApiError> {
    if field.field.is_text {
        return Err(ApiError::unimplemented(
            "sdn_string fields support only exact and optional matches",
        ));
    }
    Ok(())
}

fn dont_care(field: &MatchField) -> Result<KeyField, ApiError> {
    if field.kind == MatchType::Range {
        refuse_text(field)?;
    }
    Ok(match field.kind {
        MatchType::Lpm => KeyField::Lpm {
            value: vec![0],
            prefix_len: 0,
        },
        MatchType::Ternary => KeyField::Ternary {
            value: vec![0],
            mask: vec![0],
        },
        MatchType::Range => KeyField::Range {
            low: vec![0],
            high: bits::all_ones(field.field.width),
        },
        MatchType::Optional => KeyField::Optional(None),
        MatchType::Exact | MatchType::Unspecified => return Err(ApiError::invalid("an exact field cannot be omitted")),
    })
}

fn parse_field(field: &MatchField, given: &v1::FieldMatch) -> Result<KeyField, ApiError> {
    let width = field.field.width;
    let value = |bytes: &[u8]| field.field.parse(bytes);
    if !matches!(field.kind, MatchType::Exact | MatchType::Optional) {
        refuse_text(field)?;
    }
    match (field.kind, &given.field_match_type) {
        (MatchType::Exact, Some(FieldMatchType::Exact(exact))) => Ok(KeyField::Exact(value(&exact.value)?)),
        (MatchType::Lpm, Some(FieldMatchType::Lpm(lpm))) => {
            let prefix_len = u32::try_from(lpm.prefix_len)
                .ok()
                .filter(|length| (1..=width).contains(length));
            let prefix_len = prefix_len.ok_or_else(|| {
                ApiError::invalid(format!(
                    "prefix length {} is out of range; expected 1..={width}, or no field for 0",
                    lpm.prefix_len
                ))
            })?;
            let value = value(&lpm.value)?;
            if !bits::low_bits_are_zero(&value, width - prefix_len) {
                return Err(ApiError::invalid(format!(
                    "bits beyond the prefix of {prefix_len} are set"
                )));
            }
            Ok(KeyField::Lpm { value, prefix_len })
        }
        (MatchType::Ternary, Some(FieldMatchType::Ternary(ternary))) => {
            let (value, mask) = (value(&ternary.value)?, value(&ternary.mask)?);
            if mask == [0] {
                return Err(ApiError::invalid("the mask is zero; omit the field for \"don't care\""));
            }
            if !bits::is_within(&value, &mask) {
                return Err(ApiError::invalid("bits outside the mask are set in the value"));
            }
            Ok(KeyField::Ternary { value, mask })
        }
        (MatchType::Range, Some(FieldMatchType::Range(range))) => {
            let (low, high) = (value(&range.low)?, value(&range.high)?);
            if !bits::is_at_most(&low, &high) {
                return Err(ApiError::invalid("the range's low end is above its high end"));
            }
            if low == [0] && high == bits::all_ones(width) {
                return Err(ApiError::invalid(
                    "the range covers every value; omit the field for \"don't care\"",
                ));
            }
            Ok(KeyField::Range { low, high })
        }
        (MatchType::Optional, Some(FieldMatchType::Optional(optional))) => {
            Ok(KeyField::Optional(Some(value(&optional.value)?)))
        }
        (_, None) => Err(ApiError::invalid("no match value is set")),
        (kind, Some(_)) => Err(ApiError::invalid(format!("the field is {}", kind.as_str_name()))),
    }
}

/// A key as the engine gives it, in the form that [`parse_key`] makes.
pub(crate) fn canonical_key(key: Vec<KeyField>) -> Vec<KeyField> {
    let short = |value: Bits| bits::canonical(&value);
    key.into_iter()
        .map(|field| match field {
            KeyField::Exact(value) => KeyField::Exact(short(value)),
            KeyField::Lpm { value, prefix_len } => KeyField::Lpm {
                value: short(value),
                prefix_len,
            },
            KeyField::Ternary { value, mask } => KeyField::Ternary {
                value: short(value),
                mask: short(mask),
            },
            KeyField::Range { low, high } => KeyField::Range {
                low: short(low),
                high: short(high),
            },
            KeyField::Optional(value) => KeyField::Optional(value.map(short)),
        })
        .collect()
}

/// "Don't care" fields are left out.
pub(crate) fn encode_key(fields: &[MatchField], key: &[KeyField]) -> Vec<v1::FieldMatch> {
    let present = fields.iter().zip(key).filter_map(|(field, key)| {
        let kind = match key.clone() {
            KeyField::Exact(value) => FieldMatchType::Exact(v1::field_match::Exact {
                value: field.field.encode(&value),
            }),
            KeyField::Lpm { prefix_len: 0, .. } | KeyField::Optional(None) => return None,
            KeyField::Lpm { value, prefix_len } => FieldMatchType::Lpm(v1::field_match::Lpm {
                value,
                prefix_len: prefix_len as i32,
            }),
            KeyField::Ternary { mask, .. } if mask == [0] => return None,
            KeyField::Ternary { value, mask } => FieldMatchType::Ternary(v1::field_match::Ternary { value, mask }),
            KeyField::Range { low, high } if low == [0] && high == bits::all_ones(field.field.width) => return None,
            KeyField::Range { low, high } => FieldMatchType::Range(v1::field_match::Range { low, high }),
            KeyField::Optional(Some(value)) => FieldMatchType::Optional(v1::field_match::Optional {
                value: field.field.encode(&value),
            }),
        };
        Some(v1::FieldMatch {
            field_id: field.field.id,
            field_match_type: Some(kind),
        })
    });
    present.collect()
}
