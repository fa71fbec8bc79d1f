// SPDX-License-Identifier: Apache-2.0
//! Direct counters and direct meters, which live with table entries.

use slotwise_p4::{ActionCall, DefaultResources, KeyField, MeterConfig, Pipeline, TableEntry};

use super::{EntryId, Operation, State, Undo, meter, only_modify};
use crate::error::ApiError;
use crate::p4info::{P4Info, Table};
use crate::proto::p4::v1::{self, update};

/// What a counter is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    pub packets: u64,
    pub bytes: u64,
}

impl Count {
    pub fn parse(data: &v1::CounterData) -> Result<Count, ApiError> {
        let count = |value: i64| {
            u64::try_from(value).map_err(|_| ApiError::invalid(format!("counter value {value} is negative")))
        };
        Ok(Count {
            packets: count(data.packet_count)?,
            bytes: count(data.byte_count)?,
        })
    }

    pub fn encode(self) -> v1::CounterData {
        let clamp = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        v1::CounterData {
            packet_count: clamp(self.packets),
            byte_count: clamp(self.bytes),
        }
    }
}

/// New values for the direct resources of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Resources {
    /// `None` leaves the counter as it is.
    pub count: Option<Count>,
    /// `None` leaves the meter as it is, `Some(None)` makes it always green.
    pub meter: Option<Option<MeterConfig>>,
}

impl Resources {
    /// Writes them to an entry; the default entry's are written with [`Resources::write_default`].
    pub fn write(&self, pipeline: &mut Pipeline, table: &str, key: &[KeyField], priority: i32) -> Result<(), ApiError> {
        if *self == Resources::default() {
            return Ok(());
        }
        // The pipeline looks at key and priority only.
        let action = ActionCall {
            name: String::new(),
            args: Vec::new(),
        };
        let entry = TableEntry {
            key: key.to_vec(),
            priority,
            action,
        };
        if let Some(Count { packets, bytes }) = self.count {
            pipeline.direct_counter_write(table, &entry, packets, bytes)?;
        }
        if let Some(config) = self.meter {
            pipeline.direct_meter_write(table, &entry, config)?;
        }
        Ok(())
    }

    /// Writes them to a table's default entry.
    pub fn write_default(&self, pipeline: &mut Pipeline, table: &str) -> Result<(), ApiError> {
        if let Some(Count { packets, bytes }) = self.count {
            pipeline.default_counter_write(table, packets, bytes)?;
        }
        if let Some(config) = self.meter {
            pipeline.default_meter_write(table, config)?;
        }
        Ok(())
    }

    fn write_to(&self, pipeline: &mut Pipeline, table: &str, id: &EntryId) -> Result<(), ApiError> {
        match id {
            EntryId::Match { key, priority, .. } => self.write(pipeline, table, key, *priority),
            EntryId::Default { .. } => self.write_default(pipeline, table),
        }
    }

    /// What an entry has now of that which these would change.
    pub fn before(&self, pipeline: &Pipeline, table: &str, id: &EntryId) -> Option<Resources> {
        let (packets, bytes, meter) = match id {
            EntryId::Match { key, priority, .. } => {
                let entry = pipeline.entry_state(table, key, *priority).ok()?;
                (entry.packets, entry.bytes, entry.meter)
            }
            EntryId::Default { .. } => {
                let DefaultResources { packets, bytes, meter } = pipeline.default_resources(table).ok()?;
                (packets, bytes, meter)
            }
        };
        Some(Resources {
            count: self.count.map(|_| Count { packets, bytes }),
            meter: self.meter.map(|_| meter),
        })
    }
}

/// Sets a direct resource of an entry that is there.
struct SetDirect {
    id: EntryId,
    resources: Resources,
}

impl Operation for SetDirect {
    fn undo(&self, state: &State<'_>) -> Undo {
        let (id, table) = (self.id.clone(), state.info.tables[&self.id.table()].name.clone());
        let before = self.resources.before(state.pipeline, &table, &id);
        Box::new(move |state| {
            // What was there before can be written.
            let _ = before.map(|before| before.write_to(state.pipeline, &table, &id));
        })
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let table = &state.info.tables[&self.id.table()].name;
        if let EntryId::Match { key, priority, .. } = &self.id {
            state.pipeline.entry_idle(table, key, *priority)?;
        }
        self.resources.write_to(state.pipeline, table, &self.id)
    }
}

fn plan(
    info: &P4Info,
    kind: update::Type,
    what: &str,
    entry: Option<&v1::TableEntry>,
    resources: impl FnOnce(&Table) -> Result<Resources, ApiError>,
) -> Result<Box<dyn Operation>, ApiError> {
    let entry = entry.ok_or_else(|| ApiError::invalid(format!("{what} without a table entry")))?;
    let table = info.table(entry.table_id)?;
    let planned = only_modify(kind, what).and_then(|()| {
        Ok(SetDirect {
            resources: resources(table)?,
            id: EntryId::parse(table, entry)?,
        })
    });
    Ok(Box::new(
        planned.map_err(|error| error.at(format_args!("table {}", table.name)))?,
    ))
}

pub(super) fn plan_counter(
    info: &P4Info,
    kind: update::Type,
    entry: &v1::DirectCounterEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    plan(info, kind, "a direct counter", entry.table_entry.as_ref(), |table| {
        if !table.has_direct_counter {
            return Err(ApiError::invalid("the table has no direct counter"));
        }
        let count = entry.data.as_ref().map(Count::parse).transpose()?;
        Ok(Resources { count, meter: None })
    })
}

pub(super) fn plan_meter(
    info: &P4Info,
    kind: update::Type,
    entry: &v1::DirectMeterEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    plan(info, kind, "a direct meter", entry.table_entry.as_ref(), |table| {
        let kind = table
            .direct_meter
            .ok_or_else(|| ApiError::invalid("the table has no direct meter"))?;
        meter::refuse_counters(entry.counter_data.as_ref())?;
        let config = entry
            .config
            .as_ref()
            .map(|config| meter::parse(kind, config))
            .transpose()?;
        Ok(Resources {
            count: None,
            meter: Some(config),
        })
    })
}
