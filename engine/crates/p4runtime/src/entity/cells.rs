// SPDX-License-Identifier: Apache-2.0
//! Writes to arrays: counters, meters, registers.

use std::ops::Range;

use slotwise_p4::{Bits, MeterConfig, Pipeline};

use super::direct::Count;
use super::{Operation, State, Undo, meter, only_modify};
use crate::error::ApiError;
use crate::p4info::{Array, P4Info, find};
use crate::proto::p4::v1::{self, update};

/// What a cell holds.
#[derive(Debug, Clone)]
enum Cell {
    Counter(Count),
    Meter(Option<MeterConfig>),
    Register(Bits),
}

/// Sets cells of one array to one value.
struct SetCells {
    /// P4Info name.
    array: String,
    cells: Range<usize>,
    /// `None` changes nothing.
    value: Option<Cell>,
}

impl Cell {
    fn write(&self, pipeline: &mut Pipeline, array: &str, index: usize) -> Result<(), ApiError> {
        Ok(match self {
            Cell::Counter(Count { packets, bytes }) => pipeline.counter_write(array, index, *packets, *bytes),
            Cell::Meter(config) => pipeline.meter_write(array, index, *config),
            Cell::Register(value) => pipeline.register_write(array, index, value),
        }?)
    }

    /// What is in a cell of this kind now; `None` if it does not exist.
    fn read(&self, pipeline: &Pipeline, array: &str, index: usize) -> Option<Cell> {
        match self {
            Cell::Counter(_) => {
                let count = pipeline.counter_read(array, index).ok();
                count.map(|(packets, bytes)| Cell::Counter(Count { packets, bytes }))
            }
            Cell::Meter(_) => pipeline.meter_read(array, index).ok().map(Cell::Meter),
            Cell::Register(_) => pipeline.register_read(array, index).ok().map(Cell::Register),
        }
    }
}

impl Operation for SetCells {
    fn undo(&self, state: &State<'_>) -> Undo {
        let array = self.array.clone();
        let kind = self.value.as_ref();
        let before = self
            .cells
            .clone()
            .filter_map(|index| Some((index, kind?.read(state.pipeline, &array, index)?)));
        let before: Vec<_> = before.collect();
        Box::new(move |state| {
            for (index, cell) in before {
                // It was read from there.
                let _ = cell.write(state.pipeline, &array, index);
            }
        })
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let Some(value) = &self.value else { return Ok(()) };
        self.cells
            .clone()
            .try_for_each(|index| value.write(state.pipeline, &self.array, index))
    }
}

fn set(array: &Array, cells: Range<usize>, value: Option<Cell>) -> Box<dyn Operation> {
    Box::new(SetCells {
        array: array.name.clone(),
        cells,
        value,
    })
}

pub(super) fn plan_counter(
    info: &P4Info,
    kind: update::Type,
    entry: &v1::CounterEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    let counter = find(&info.objects.counters, "counter", entry.counter_id)?;
    let at = |error: ApiError| error.at(format_args!("counter {}", counter.name));
    let cells = range(counter, entry.index).map_err(at)?;
    only_modify(kind, "a counter's cell").map_err(at)?;
    let count = entry.data.as_ref().map(Count::parse).transpose().map_err(at)?;
    Ok(set(counter, cells, count.map(Cell::Counter)))
}

pub(super) fn plan_meter(
    info: &P4Info,
    kind: update::Type,
    entry: &v1::MeterEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    let described = find(&info.objects.meters, "meter", entry.meter_id)?;
    let at = |error: ApiError| error.at(format_args!("meter {}", described.array.name));
    let cells = range(&described.array, entry.index).map_err(at)?;
    only_modify(kind, "a meter's cell").map_err(at)?;
    meter::refuse_counters(entry.counter_data.as_ref()).map_err(at)?;
    let config = entry.config.as_ref().map(|config| meter::parse(described.kind, config));
    Ok(set(
        &described.array,
        cells,
        Some(Cell::Meter(config.transpose().map_err(at)?)),
    ))
}

pub(super) fn plan_register(
    info: &P4Info,
    kind: update::Type,
    entry: &v1::RegisterEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    let register = find(&info.objects.registers, "register", entry.register_id)?;
    let at = |error: ApiError| error.at(format_args!("register {}", register.array.name));
    let cells = range(&register.array, entry.index).map_err(at)?;
    only_modify(kind, "a register's cell").map_err(at)?;
    let shape = register.shape.as_ref();
    let shape = shape.ok_or_else(|| at(ApiError::unimplemented("registers of this type are not supported")))?;
    let data = entry
        .data
        .as_ref()
        .ok_or_else(|| at(ApiError::invalid("no data to write")))?;
    let value = shape.parse_scalar(data).map_err(at)?;
    Ok(set(&register.array, cells, Some(Cell::Register(value))))
}

/// The cells that an index means: one, or all if it is unset.
pub(super) fn range(array: &Array, index: Option<v1::Index>) -> Result<Range<usize>, ApiError> {
    let size = array.size;
    let Some(v1::Index { index }) = index else {
        return Ok(0..size);
    };
    match usize::try_from(index) {
        Err(_) => Err(ApiError::invalid(format!("index {index} is negative"))),
        Ok(index) if index >= size => Err(ApiError::out_of_range(format!(
            "index {index} is out of range; expected less than {size}"
        ))),
        Ok(index) => Ok(index..index + 1),
    }
}
