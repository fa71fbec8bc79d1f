// SPDX-License-Identifier: Apache-2.0
//! Table entries of a script as the engine wants them.

use crate::schema::{KeyPart, Schema, Table, find};
use crate::script::{Call, Match, Number, Statement};
use slotwise_p4::{ActionCall, Bits, KeyField, TableEntry};
use slotwise_p4runtime::proto::p4::config::v1::match_field::MatchType;

type Result<T> = std::result::Result<T, String>;

impl Schema {
    /// The table and the entry that an `add` statement means, and the other actions from which the selector chooses.
    pub fn entry(&self, add: &Statement) -> Result<(String, TableEntry, Vec<ActionCall>)> {
        let Statement::Add {
            table,
            priority,
            key,
            action,
            others,
            ..
        } = add
        else {
            return Err("only `add` creates an entry".to_owned());
        };
        let table = self.table(table)?;
        let entry = table.entry(*priority, key, action)?;
        let others = others.iter().map(|other| table.call(other)).collect::<Result<_>>()?;
        Ok((table.name.clone(), entry, others))
    }

    /// The table and the action that a `setdefault` statement means.
    pub fn default_action(&self, statement: &Statement) -> Result<(String, ActionCall)> {
        let Statement::SetDefault { table, action } = statement else {
            return Err("only `setdefault` sets a default action".to_owned());
        };
        let table = self.table(table)?;
        Ok((table.name.clone(), table.call(action)?))
    }

    pub(crate) fn table(&self, name: &str) -> Result<&Table> {
        find("table", name, self.tables.iter(), |table| &table.name)
    }
}

impl Table {
    /// An entry of this table.
    pub fn entry(&self, priority: Option<u32>, key: &[(String, Match)], action: &Call) -> Result<TableEntry> {
        let mut fields: Vec<Option<KeyField>> = vec![None; self.key.len()];
        for (name, value) in key {
            let position = self.key_position(name)?;
            let part = &self.key[position];
            let field = part
                .field(value)
                .map_err(|reason| format!("key field `{}`: {reason}", part.name))?;
            if fields[position].replace(field).is_some() {
                return Err(format!("duplicate key field `{}`", part.name));
            }
        }
        let fill = |(part, field): (&KeyPart, Option<KeyField>)| field.unwrap_or_else(|| part.dont_care());
        let priority = match self.has_priorities() {
            // Those of scripts begin with 0, those of P4Runtime with 1; the parser has left room.
            true => priority.unwrap_or(0) as i32 + 1,
            false => 0,
        };
        Ok(TableEntry {
            key: self.key.iter().zip(fields).map(fill).collect(),
            priority,
            action: self.call(action)?,
        })
    }

    /// `a$1.b` means `a[1].b`, and `h.valid` the validity of `h`, as the corpus has them.
    fn key_position(&self, name: &str) -> Result<usize> {
        let indexed = with_index(name);
        let validity = match indexed.strip_suffix("valid") {
            Some(header) => format!("{}$valid$", header.trim_end_matches('$')),
            None => format!("{indexed}.$valid$"),
        };
        let exactly = |wanted: &str| self.key.iter().position(|part| part.name == wanted);
        let known = exactly(&indexed)
            .or_else(|| exactly(&format!("{indexed}$")))
            .or_else(|| exactly(&validity));
        if let Some(position) = known {
            return Ok(position);
        }
        let found = find("key field", &indexed, self.key.iter(), |part| &part.name)
            .or_else(|reason| find("key field", &validity, self.key.iter(), |part| &part.name).map_err(|_| reason));
        let found = found.map_err(|reason| format!("{reason} (table `{}`)", self.name))?;
        Ok(exactly(&found.name).unwrap_or(0))
    }

    /// A call of one of this table's actions.
    pub fn call(&self, call: &Call) -> Result<ActionCall> {
        let action = find("action", &call.action, self.actions.iter(), |action| &action.name)
            .map_err(|reason| format!("{reason} (table `{}`)", self.name))?;
        let known = |name: &String| action.params.contains(name);
        if let Some((odd, _)) = call.args.iter().find(|(name, _)| !known(name)) {
            return Err(format!(
                "action `{}`: unknown parameter `{odd}`; expected {}",
                action.name,
                action.params.join(", ")
            ));
        }
        let arg = |param: &String| {
            let mut given = call.args.iter().filter(|(name, _)| name == param);
            match (given.next(), given.next()) {
                (Some((_, number)), None) => Ok(number.value.clone()),
                (None, _) => Err(format!("action `{}`: missing parameter `{param}`", action.name)),
                (Some(_), Some(_)) => Err(format!("action `{}`: duplicate parameter `{param}`", action.name)),
            }
        };
        Ok(ActionCall {
            name: action.name.clone(),
            args: action.params.iter().map(arg).collect::<Result<_>>()?,
        })
    }
}

/// `extra$0.h` -> `extra[0].h`
fn with_index(name: &str) -> String {
    let Some((before, after)) = name.split_once('$') else {
        return name.to_owned();
    };
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match digits {
        0 => name.to_owned(),
        _ => format!("{before}[{}]{}", &after[..digits], &after[digits..]),
    }
}

impl KeyPart {
    fn dont_care(&self) -> KeyField {
        let zero = Bits::new;
        match self.kind {
            MatchType::Lpm => KeyField::Lpm {
                value: zero(),
                prefix_len: 0,
            },
            MatchType::Ternary => KeyField::Ternary {
                value: zero(),
                mask: zero(),
            },
            MatchType::Range => KeyField::Range {
                low: zero(),
                high: leading_ones(self.width, self.width),
            },
            MatchType::Optional => KeyField::Optional(None),
            MatchType::Exact | MatchType::Unspecified => KeyField::Exact(zero()),
        }
    }

    fn field(&self, wanted: &Match) -> Result<KeyField> {
        match (self.kind, wanted) {
            (MatchType::Exact, Match::Number(number)) => Ok(KeyField::Exact(plain(number)?)),
            (MatchType::Optional, Match::Number(number)) => Ok(KeyField::Optional(Some(plain(number)?))),
            (MatchType::Range, Match::Range(low, high)) => Ok(KeyField::Range {
                low: low.value.clone(),
                high: high.value.clone(),
            }),
            (MatchType::Range, Match::Number(number)) => Ok(KeyField::Range {
                low: plain(number)?,
                high: plain(number)?,
            }),
            (MatchType::Lpm, Match::Prefix(value, length)) => self.prefix(&value.value, *length),
            (MatchType::Lpm, Match::Number(number)) => match &number.mask {
                None => self.prefix(&number.value, self.width),
                Some(mask) => {
                    let ones: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
                    let length = (number.written_bits == Some(self.width)).then_some(ones);
                    match length.filter(|&length| is_same(mask, &leading_ones(self.width, length))) {
                        Some(length) => self.prefix(&number.value, length),
                        None => Err(format!(
                            "invalid prefix; expected {} bits with the `*` at the end",
                            self.width
                        )),
                    }
                }
            },
            (MatchType::Ternary, Match::Number(number)) => Ok(KeyField::Ternary {
                value: number.value.clone(),
                mask: number
                    .mask
                    .clone()
                    .unwrap_or_else(|| leading_ones(self.width, self.width)),
            }),
            (MatchType::Ternary, Match::Masked(value, mask)) => Ok(KeyField::Ternary {
                value: and(&value.value, &mask.value),
                mask: mask.value.clone(),
            }),
            (MatchType::Ternary, Match::Prefix(value, length)) => {
                let mask = self.prefix_mask(*length)?;
                Ok(KeyField::Ternary {
                    value: and(&value.value, &mask),
                    mask,
                })
            }
            (kind, _) => Err(format!("invalid match for a {} field", kind.as_str_name())),
        }
    }

    fn prefix_mask(&self, length: u32) -> Result<Bits> {
        match length <= self.width {
            true => Ok(leading_ones(self.width, length)),
            false => Err(format!(
                "prefix of {length} bits exceeds the field width of {}",
                self.width
            )),
        }
    }

    fn prefix(&self, value: &[u8], prefix_len: u32) -> Result<KeyField> {
        let mask = self.prefix_mask(prefix_len)?;
        Ok(KeyField::Lpm {
            value: and(value, &mask),
            prefix_len,
        })
    }
}

fn plain(number: &Number) -> Result<Bits> {
    match number.mask {
        None => Ok(number.value.clone()),
        Some(_) => Err("`*` is not allowed: the match kind has no mask".to_owned()),
    }
}

/// `width` bits of which the first `ones` are 1.
fn leading_ones(width: u32, ones: u32) -> Bits {
    let bytes = width.div_ceil(8);
    let first_one = bytes * 8 - width;
    let bit = |position: u32| (first_one..first_one + ones).contains(&position);
    (0..bytes)
        .map(|byte| (0..8).fold(0, |acc, position| acc << 1 | u8::from(bit(byte * 8 + position))))
        .collect()
}

fn without_zeros(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
    &bytes[start..]
}

fn is_same(one: &[u8], other: &[u8]) -> bool {
    without_zeros(one) == without_zeros(other)
}

/// Big-endian numbers of any lengths. Bits of `value` beyond a shorter mask stay, for the engine to refuse.
fn and(value: &[u8], mask: &[u8]) -> Bits {
    let mut masked = without_zeros(value).to_vec();
    for (byte, mask) in masked.iter_mut().rev().zip(mask.iter().rev()) {
        *byte &= mask;
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_prefixes() {
        assert_eq!(leading_ones(9, 9), [1, 0xff]);
        assert_eq!(leading_ones(9, 2), [1, 0x80]);
        assert_eq!(leading_ones(32, 12), [0xff, 0xf0, 0, 0]);
        assert_eq!(leading_ones(8, 0), [0]);
        assert_eq!(and(&[0, 0x12, 0x34], &[0xf0]), [0x12, 0x30]);
    }

    #[test]
    fn indices_of_stacks() {
        assert_eq!(with_index("extra$0.h"), "extra[0].h");
        assert_eq!(with_index("extra$12"), "extra[12]");
        assert_eq!(with_index("data.$valid$"), "data.$valid$");
    }
}
