// SPDX-License-Identifier: Apache-2.0
//! Files of workloads.

use slotwise_units::{Instant, Rate};
use slotwise_workload::{
    BigSwitch, CoflowTrace, FlowList, Hosts, Interpolation, ListFormat, Matrix, Offered, OpenLoop, Replay, SizeTable,
};

const HOSTS: u32 = 4;

/// A table, a matrix, flow lists, a coflow trace and a capture, and their flows over the ideal switch.
pub fn workload(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    drop(SizeTable::read("table", &text, Some(Interpolation::Linear)).map(|table| table.mean()));
    drop(Matrix::read("matrix", &text, HOSTS).map_err(|error| error.to_string()));
    if let Ok(trace) = CoflowTrace::new("trace", data, 1) {
        trace.map_while(Result::ok).for_each(|coflow| {
            let _ = coflow.bound(Rate::from_bps(1));
        });
    }
    let mut offered = Offered::default();
    if let Ok(replay) = Replay::new("capture", data, HOSTS) {
        replay.map_while(Result::ok).for_each(|flow| offered.add(&flow));
    }
    for format in [
        ListFormat::Csv,
        ListFormat::OperaSim,
        ListFormat::Hpcc,
        ListFormat::Shoal,
    ] {
        if let Ok(list) = FlowList::new("list", data, format, Hosts::Numbered(HOSTS)) {
            let mut flows = OpenLoop::new(list.map_while(Result::ok));
            let mut switch = BigSwitch::new(HOSTS, Rate::from_bps(1_000_000_000));
            drop(switch.run(&mut flows, Instant::MAX, |flow| offered.add(flow)).summary());
        }
    }
}
