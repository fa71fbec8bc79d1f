// SPDX-License-Identifier: Apache-2.0
//! Direct counters and direct meters, which live with table entries.

use slotwise_p4::{ActionCall, KeyField, MeterConfig, Pipeline, TableEntry};

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
    /// Writes them to the entry with this key.
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
}

/// Sets a direct resource of an entry that is there.
struct SetDirect {
    table: u32,
    key: Vec<KeyField>,
    priority: i32,
    resources: Resources,
}

impl Operation for SetDirect {
    fn undo(&self, state: &State<'_>) -> Undo {
        let SetDirect {
            table, key, priority, ..
        } = self;
        let (table, key, priority) = (state.info.tables[table].name.clone(), key.clone(), *priority);
        let before = state
            .pipeline
            .entry_state(&table, &key, priority)
            .ok()
            .map(|entry| Resources {
                count: self.resources.count.map(|_| Count {
                    packets: entry.packets,
                    bytes: entry.bytes,
                }),
                meter: self.resources.meter.map(|_| entry.meter),
            });
        Box::new(move |state| {
            // What was there before can be written.
            let _ = before.map(|before| before.write(state.pipeline, &table, &key, priority));
        })
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let table = &state.info.tables[&self.table].name;
        state.pipeline.entry_idle_ns(table, &self.key, self.priority)?;
        self.resources.write(state.pipeline, table, &self.key, self.priority)
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
        let resources = resources(table)?;
        let EntryId::Match { key, priority, .. } = EntryId::parse(table, entry)? else {
            return Err(no_default());
        };
        Ok(SetDirect {
            table: table.id,
            key,
            priority,
            resources,
        })
    });
    Ok(Box::new(
        planned.map_err(|error| error.at(format_args!("table {}", table.name)))?,
    ))
}

/// The default entry has no direct resources, as in BMv2.
pub(super) fn no_default() -> ApiError {
    ApiError::unimplemented("the default entry has no direct counter and no direct meter here")
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
