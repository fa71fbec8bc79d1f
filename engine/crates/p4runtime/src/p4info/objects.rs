// SPDX-License-Identifier: Apache-2.0
//! Objects of a P4Info other than tables and actions.

use std::collections::BTreeMap;

use super::{Ids, MatchField, MatchType, config, match_fields};
use crate::error::ApiError;
use crate::p4data::Shape;

/// Largest array of counters, meters or register cells.
const MAX_CELLS: i64 = 1 << 28;

/// An array of counters, meters or register cells.
#[derive(Debug)]
pub(crate) struct Array {
    pub id: u32,
    pub name: String,
    pub size: usize,
}

/// An indirect meter.
#[derive(Debug)]
pub(crate) struct Meter {
    pub array: Array,
    pub kind: MeterKind,
}

/// `MeterSpec.Type`
pub(crate) use config::meter_spec::Type as MeterKind;

#[derive(Debug)]
pub(crate) struct Register {
    pub array: Array,
    /// `None`: of a type that is not served.
    pub shape: Option<Shape>,
}

/// An action profile, or a selector.
#[derive(Debug)]
pub(crate) struct Profile {
    pub id: u32,
    pub name: String,
    /// One of its tables; they all have the same actions.
    pub table: Option<u32>,
    pub has_selector: bool,
    /// 0: no limit.
    pub max_group_size: u64,
    pub size_semantics: SizeSemantics,
    pub weights_disallowed: bool,
}

/// How the size of a group is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeSemantics {
    SumOfWeights,
    /// With the largest weight of a member; 0: no limit.
    SumOfMembers {
        max_member_weight: u64,
    },
}

#[derive(Debug)]
pub(crate) struct ValueSet {
    pub id: u32,
    pub name: String,
    pub fields: Vec<MatchField>,
    pub size: usize,
}

#[derive(Debug)]
pub(crate) struct Digest {
    pub id: u32,
    /// `None`: of a type that is not served.
    pub shape: Option<Shape>,
}

/// Everything but tables, actions and controller headers.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub counters: BTreeMap<u32, Array>,
    pub meters: BTreeMap<u32, Meter>,
    pub registers: BTreeMap<u32, Register>,
    pub profiles: BTreeMap<u32, Profile>,
    pub value_sets: BTreeMap<u32, ValueSet>,
    pub digests: BTreeMap<u32, Digest>,
    pub digest_ids: BTreeMap<String, u32>,
    pub has_externs: bool,
}

impl Objects {
    pub(super) fn new(info: &config::P4Info, ids: &mut Ids) -> Result<Objects, ApiError> {
        let mut objects = Objects {
            has_externs: !info.externs.is_empty(),
            ..Objects::default()
        };
        for counter in &info.counters {
            let array = array("counter", counter.preamble.as_ref(), counter.size, ids)?;
            objects.counters.insert(array.id, array);
        }
        for meter in &info.meters {
            let array = array("meter", meter.preamble.as_ref(), meter.size, ids)?;
            let kind = meter
                .spec
                .as_ref()
                .map_or(MeterKind::TwoRateThreeColor, config::MeterSpec::r#type);
            objects.meters.insert(array.id, Meter { array, kind });
        }
        for register in &info.registers {
            let array = array("register", register.preamble.as_ref(), register.size.into(), ids)?;
            let shape = Shape::of(register.type_spec.as_ref(), info.type_info.as_ref());
            objects.registers.insert(array.id, Register { array, shape });
        }
        for profile in &info.action_profiles {
            let (id, name) = ids.take("action profile", profile.preamble.as_ref())?;
            let profile =
                profile_of(id, &name, profile).map_err(|error| error.at(format_args!("action profile {name}")))?;
            objects.profiles.insert(id, profile);
        }
        for value_set in &info.value_sets {
            let (id, name) = ids.take("value set", value_set.preamble.as_ref())?;
            let at_set = |error: ApiError| error.at(format_args!("value set {name}"));
            let fields = match_fields(&value_set.r#match, info.type_info.as_ref()).map_err(at_set)?;
            let size = usize::try_from(value_set.size).map_err(|_| at_set(ApiError::invalid("negative size")))?;
            objects.value_sets.insert(id, ValueSet { id, name, fields, size });
        }
        for digest in &info.digests {
            let (id, name) = ids.take("digest", digest.preamble.as_ref())?;
            let shape = Shape::of(digest.type_spec.as_ref(), info.type_info.as_ref());
            objects.digests.insert(id, Digest { id, shape });
            objects.digest_ids.insert(name, id);
        }
        Ok(objects)
    }
}

fn array(kind: &'static str, preamble: Option<&config::Preamble>, size: i64, ids: &mut Ids) -> Result<Array, ApiError> {
    let (id, name) = ids.take(kind, preamble)?;
    if !(0..=MAX_CELLS).contains(&size) {
        return Err(ApiError::invalid(format!(
            "{kind} {name}: size {size} is not in 0..={MAX_CELLS}"
        )));
    }
    Ok(Array {
        id,
        name,
        size: size as usize,
    })
}

fn profile_of(id: u32, name: &str, profile: &config::ActionProfile) -> Result<Profile, ApiError> {
    use config::action_profile::SelectorSizeSemantics;
    let limit = |what: &str, value: i32| {
        u64::try_from(value).map_err(|_| ApiError::invalid(format!("{what} {value} is negative")))
    };
    let size_semantics = match &profile.selector_size_semantics {
        Some(SelectorSizeSemantics::SumOfMembers(members)) => SizeSemantics::SumOfMembers {
            max_member_weight: limit("max_member_weight", members.max_member_weight)?,
        },
        Some(SelectorSizeSemantics::SumOfWeights(_)) | None => SizeSemantics::SumOfWeights,
    };
    Ok(Profile {
        id,
        name: name.to_owned(),
        table: profile.table_ids.first().copied(),
        has_selector: profile.with_selector,
        max_group_size: limit("max_group_size", profile.max_group_size)?,
        size_semantics,
        weights_disallowed: profile.weights_disallowed,
    })
}

/// Match type of a field, if it is one that we know.
pub(super) fn match_type(field: &config::MatchField) -> Result<MatchType, ApiError> {
    let kind = match field.r#match {
        Some(config::match_field::Match::MatchType(kind)) => MatchType::try_from(kind).unwrap_or_default(),
        _ => MatchType::Unspecified,
    };
    if kind == MatchType::Unspecified {
        return Err(ApiError::invalid(format!(
            "match field {}: unknown match type",
            field.name
        )));
    }
    Ok(kind)
}
