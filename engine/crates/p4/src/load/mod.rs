// SPDX-License-Identifier: Apache-2.0
//! From p4c's BMv2 JSON to the validated program.

mod actions;
mod expr;
pub(crate) mod headers;
mod json;
mod last;
mod length;
mod lower;
mod number;
mod objects;
mod parser;
mod tables;
mod temporaries;

use crate::ir::{FieldRef, Ir, Layout, StandardMetadata};
use crate::limits::{Budget, Held, Memory, json_bytes};
use crate::{Limits, LoadError};
use actions::{Context, load_action};
use expr::Scope;
use headers::HeaderNames;
use json::{Load, Place};
use objects::Objects;
use std::collections::BTreeMap;
use tables::Controls;

/// Widest field, parameter and intermediate result, in bits. p4c's own limit is 2048.
pub(crate) const MAX_VALUE_BITS: u32 = 8192;
/// Most words of packet state, and of an action's arguments.
const MAX_STATE_WORDS: usize = 1 << 16;
/// Most cells of one register, counter or meter array; memory is what bounds them in all.
const MAX_CELLS: usize = u32::MAX as usize;
/// What a table takes without entries: most is what its LPM lookups begin with.
const TABLE_BYTES: u64 = 8 << 10;
/// Maximum number of characters in the name of a program.
const MAX_NAME: usize = 128;
/// Most words of a packed table key.
const MAX_KEY_WORDS: usize = 256;

/// Oldest JSON version that this loader knows; later minor versions only add to it.
const OLDEST_VERSION: (u64, u64) = (2, 7);

/// Loads and validates a program; gives also what it was charged for.
pub(crate) fn load(json: &[u8], limits: &Limits, memory: &Memory) -> Result<(Ir, Budget), LoadError> {
    let budget = Budget::new(limits, Held::of(memory));
    Place::root(&serde_json::Value::Null, &budget).charge(json_bytes(json))?;
    let value: serde_json::Value = match serde_json::from_slice(json) {
        Ok(value) => value,
        Err(error) => {
            return Err(LoadError::Invalid {
                path: String::new(),
                reason: format!("not JSON: {error}"),
            });
        }
    };
    let root = Place::root(&value, &budget);
    check_version(&root)?;
    let (mut layout, names) = headers::load(&root)?;
    layout.reset = temporaries::words_to_reset(&value, &layout, &names);
    let scope = Scope {
        layout: &layout,
        names: &names,
        params: &[],
    };
    let standard = standard_metadata(&root, &layout, &names)?;
    let objects = Objects::load(&root, scope)?;
    let context = Context {
        scope,
        objects: &objects,
    };

    let mut actions = Vec::new();
    let mut action_ids = BTreeMap::new();
    for place in root.need("actions")?.items()? {
        let id = place.need("id")?;
        if action_ids.insert(id.number(u64::MAX)?, actions.len()).is_some() {
            return id.error("duplicate action ID");
        }
        actions.push(load_action(&place, context)?);
    }
    let (mut value_sets, set_names) = parser::load_value_sets(&root)?;
    let parser = parser::load_parser(&root, context, &mut value_sets, &set_names)?;
    let deparser = parser::load_deparser(&root, context)?;
    let (verify_checksums, update_checksums) = objects.load_checksums(&root, scope)?;

    let mut controls = Controls {
        scope,
        objects: &objects,
        actions: &actions,
        action_ids: &action_ids,
        tables: Vec::new(),
        table_names: BTreeMap::new(),
        profiles: Vec::new(),
        profile_names: BTreeMap::new(),
    };
    let ingress = controls.load(&root, "ingress")?;
    let egress = controls.load(&root, "egress")?;
    let Controls { tables, profiles, .. } = controls;
    let field_lists = objects::load_field_lists(&root, scope)?;
    let digests = objects::load_digests(&root, scope)?;
    let errors = parser::load_errors(&root)?;
    let egress_reads_length = length::is_read(&value, &layout, standard.packet_length, &egress, &tables);
    let Objects {
        registers,
        counters,
        meters,
        calculations,
        ..
    } = objects;
    let name = match root.get("program")? {
        Some(place) if place.is_string() => place.text()?.chars().take(MAX_NAME).collect(),
        _ => String::new(),
    };
    let ir = Ir {
        name,
        layout,
        standard,
        errors,
        parser,
        value_sets,
        deparser,
        calculations,
        verify_checksums,
        update_checksums,
        registers,
        counters,
        meters,
        actions,
        profiles,
        tables,
        ingress,
        egress,
        field_lists,
        digests,
        egress_reads_length,
    };
    Ok((ir, budget))
}

fn check_version(root: &Place) -> Load<()> {
    let version = root.need("__meta__")?.need("version")?;
    let [major, minor] = version.tuple()?;
    let found = (major.number(u64::MAX)?, minor.number(u64::MAX)?);
    if found.0 != OLDEST_VERSION.0 || found < OLDEST_VERSION {
        return version.error(format!(
            "expected a version from {}.{} on, below {}.0; found {}.{}",
            OLDEST_VERSION.0,
            OLDEST_VERSION.1,
            OLDEST_VERSION.0 + 1,
            found.0,
            found.1
        ));
    }
    Ok(())
}

fn standard_metadata(root: &Place, layout: &Layout, names: &HeaderNames) -> Load<StandardMetadata> {
    let find = |name: &str| match names.standard(layout, name) {
        Some(field) if field.variable || field.width > 64 => root.error(format!("`{name}` must have at most 64 bits")),
        found => Ok(found),
    };
    let need = |name: &str| -> Load<FieldRef> {
        match find(name)? {
            Some(field) => Ok(field),
            None => root.error(format!("no field `{name}`; only v1model programs can be loaded")),
        }
    };
    // p4c's aliases say where v1model keeps what BMv2 knows by older names.
    let either = |old: &str, new: &str| match find(old)? {
        Some(field) => Ok(Some(field)),
        None => find(new),
    };
    let queue = |name: &str| {
        either(
            &format!("queueing_metadata.{name}"),
            &format!("standard_metadata.{name}"),
        )
    };
    Ok(StandardMetadata {
        ingress_port: need("standard_metadata.ingress_port")?,
        egress_spec: need("standard_metadata.egress_spec")?,
        egress_port: need("standard_metadata.egress_port")?,
        packet_length: need("standard_metadata.packet_length")?,
        instance_type: need("standard_metadata.instance_type")?,
        parser_error: find("standard_metadata.parser_error")?,
        checksum_error: find("standard_metadata.checksum_error")?,
        ingress_timestamp: either(
            "intrinsic_metadata.ingress_global_timestamp",
            "standard_metadata.ingress_global_timestamp",
        )?,
        egress_timestamp: either(
            "intrinsic_metadata.egress_global_timestamp",
            "standard_metadata.egress_global_timestamp",
        )?,
        multicast_group: either("intrinsic_metadata.mcast_grp", "standard_metadata.mcast_grp")?,
        replica: either("intrinsic_metadata.egress_rid", "standard_metadata.egress_rid")?,
        priority: either("intrinsic_metadata.priority", "standard_metadata.priority")?,
        enqueue_timestamp: queue("enq_timestamp")?,
        enqueue_depth: queue("enq_qdepth")?,
        dequeue_depth: queue("deq_qdepth")?,
        dequeue_wait: queue("deq_timedelta")?,
        queue_id: queue("qid")?,
    })
}

/// Adds a name that must not be there yet.
fn unique<T>(map: &mut BTreeMap<String, T>, name: &Place, value: T) -> Load<()> {
    match map.insert(name.text()?.to_owned(), value) {
        None => Ok(()),
        Some(_) => name.error(format!("`{}` is defined twice", name.text()?)),
    }
}

/// The item with this name, of an array where it must be.
fn only_named<'a>(array: &Place<'a>, wanted: &str) -> Load<Place<'a>> {
    for item in array.items()? {
        if item.need("name")?.text()? == wanted {
            return Ok(item);
        }
    }
    array.error(format!("unknown name `{wanted}`"))
}
