// SPDX-License-Identifier: Apache-2.0
//! Execution of controls: tables, conditions, actions.

use crate::action::Machine;
use crate::ir::{KeyPart, MeterUnit, Node, Pipeline, Table};
use crate::meter::Meter;
use crate::profile::Profile;
use crate::state::Packet;
use crate::table::{Effect, Entries, EntryAction};
use crate::trace;
use crate::value::limbs_for;

/// A table as it is now.
#[derive(Debug)]
pub(crate) struct LiveTable {
    pub entries: Entries,
    /// In force; `None`: a miss does nothing.
    pub default: Option<EntryAction>,
    pub miss: Miss,
    /// The controller may not add, change or remove entries.
    pub entries_const: bool,
    /// Entries and default action are still those of the program.
    pub is_as_loaded: bool,
}

/// Direct resources of a table's default entry.
#[derive(Debug, Default)]
pub(crate) struct Miss {
    pub packets: u64,
    pub bytes: u64,
    pub meter: Meter,
}

/// Keys of up to so many words need no other memory than the stack's.
const SMALL_KEY: usize = 8;

/// Runs a control from its start to its end, or to an `exit`.
pub(crate) fn run(pipeline: &Pipeline, tables: &mut [LiveTable], profiles: &[Profile], machine: &mut Machine) {
    let mut at = pipeline.start;
    while let Some(node) = at {
        at = match &pipeline.nodes[node] {
            Node::Table(table) => {
                if machine.persistent.trace.is_some() {
                    trace::lookup(pipeline.sources[node].as_ref(), *table, &tables[*table], machine);
                }
                apply(&machine.ir.tables[*table], &mut tables[*table], profiles, machine)
            }
            Node::If { condition, yes, no } => {
                let taken = machine.eval(condition, &[]) != 0;
                machine
                    .persistent
                    .note(|| trace::branch(pipeline.sources[node].as_ref(), taken));
                if taken { *yes } else { *no }
            }
            Node::Action { action, args, next } => {
                let called = &machine.ir.actions[*action];
                machine
                    .persistent
                    .note(|| trace::statements(pipeline.sources[node].as_ref(), called));
                machine.run(called, args);
                *next
            }
        };
        let requests = &machine.packet.requests;
        if requests.exit || requests.abort {
            return;
        }
    }
}

/// Applies a table and says which node is next.
fn apply(table: &Table, live: &mut LiveTable, profiles: &[Profile], machine: &mut Machine) -> Option<usize> {
    let mut small = [0; SMALL_KEY];
    let mut large = Vec::new();
    let key = if table.key_words <= SMALL_KEY {
        &mut small[..table.key_words]
    } else {
        large.resize(table.key_words, 0);
        large.as_mut_slice()
    };
    pack(&table.key, machine.packet, key);
    key.iter_mut().zip(&table.key_mask).for_each(|(k, m)| *k &= m);
    let (hit, action) = choose(table, live, profiles, key, machine);
    if let Some(action) = action {
        let called = &machine.ir.actions[table.actions[action.action]];
        machine.persistent.note(|| trace::action(called, &action.args));
        machine.run(called, &action.args);
    }
    table.next.after(action.map(|action| action.action), hit)
}

/// Finds what `key` hits, counts and meters it; says whether it was a hit, and which action is to run.
pub(crate) fn choose<'t>(
    table: &Table,
    live: &'t mut LiveTable,
    profiles: &'t [Profile],
    key: &[u64],
    machine: &mut Machine,
) -> (bool, Option<&'t EntryAction>) {
    let index = if table.key_words == 0 {
        None
    } else {
        live.entries.lookup(key)
    };
    let entry = index.and_then(|index| live.entries.get_mut(index));
    match entry {
        Some(entry) => {
            if table.counters {
                entry.packets = entry.packets.wrapping_add(1);
                entry.bytes = entry.bytes.wrapping_add(machine.packet.ingress_length);
            }
            if table.idle_timeouts {
                entry.cold.last_hit = machine.now;
            }
            if let Some(meter) = table.direct_meter {
                run_direct_meter(meter, &mut entry.cold.meter, machine);
            }
            let action = match &entry.effect {
                Effect::Action(action) => Some(action),
                Effect::Member(member) => table.profile.and_then(|p| profiles[p].member(*member)),
                Effect::Group(group) => table
                    .profile
                    .and_then(|p| profiles[p].select(*group, &machine.ir.profiles[p], machine)),
            };
            (true, action)
        }
        None => {
            let miss = &mut live.miss;
            if table.counters {
                miss.packets = miss.packets.wrapping_add(1);
                miss.bytes = miss.bytes.wrapping_add(machine.packet.ingress_length);
            }
            // Without rates a miss leaves the color as it is, as in BMv2, which has no meter there.
            if let Some(meter) = table.direct_meter.filter(|_| miss.meter.is_configured()) {
                run_direct_meter(meter, &mut miss.meter, machine);
            }
            (false, live.default.as_ref())
        }
    }
}

fn run_direct_meter(meter: usize, cell: &mut Meter, machine: &mut Machine) {
    let array = &machine.ir.meters[meter];
    let amount = match array.unit {
        MeterUnit::Bytes => machine.packet.ingress_length,
        MeterUnit::Packets => 1,
    };
    let color = cell.execute(amount, machine.now);
    machine.packet.set_if(array.direct_target, color);
}

/// Collects the key of a packet.
pub(crate) fn pack(parts: &[KeyPart], packet: &Packet, key: &mut [u64]) {
    for part in parts {
        if part.source.width <= 64 {
            key[part.word] |= packet.words[part.source.slot] << part.shift;
        } else {
            let words = limbs_for(part.source.width);
            key[part.word..part.word + words]
                .copy_from_slice(&packet.words[part.source.slot..part.source.slot + words]);
        }
    }
}
