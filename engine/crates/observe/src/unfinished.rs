// SPDX-License-Identifier: Apache-2.0
//! Flows of a size that did not come through, whoever played them, in networks of any kind.

use slotwise_scenario::{Scenario, Source, TrafficKind};
use slotwise_units::Bytes;

use crate::flow::FlowReport;
use crate::report::PhaseReport;

/// More of them are counted, not named.
const NAMED: usize = 8;

/// Data that a flow of a report is to deliver; `None` if it goes on until it is stopped. `phase` is the number of its phase.
fn size(scenario: &Scenario, phase: usize, flow: &FlowReport) -> Option<Bytes> {
    if flow.is_of_run() {
        return flow_bytes(scenario, flow.entry);
    }
    match scenario.phases.get(phase)?.traffic.get(flow.entry)?.kind {
        TrafficKind::File { bytes, .. } => Some(bytes),
        _ => None,
    }
}

/// Problem of an unfinished flow over the whole run, by the index of its group.
pub fn flow_bytes(scenario: &Scenario, entry: usize) -> Option<Bytes> {
    match scenario.routed.flows.get(entry)?.source {
        Source::Stream { bytes } => bytes,
        Source::Gtp(session) => session.bytes,
        Source::Udp { .. } | Source::Web { .. } => None,
    }
}

/// Says of each flow of a size that has not come through what arrived of it.
pub fn unfinished(scenario: &Scenario, phases: &[PhaseReport]) -> Vec<String> {
    let flows = phases
        .iter()
        .enumerate()
        .flat_map(|(number, phase)| phase.flows.iter().map(move |flow| (number, phase, flow)));
    let mut unfinished = flows.filter_map(|(number, phase, flow)| {
        let (bytes, arrived) = (size(scenario, number, flow)?, flow.bytes);
        // What Linux plays has no time of its end.
        let is_through = flow.completed_ns.flatten().is_some() || arrived >= bytes;
        (!is_through).then(|| {
            let name = flow.name.as_ref();
            let what = name.map_or_else(|| "file".to_owned(), |name| format!("flow {name}"));
            let FlowReport { from, to, .. } = flow;
            format!(
                "{what} from {from} to {to}: incomplete: {} of {} bytes by the end of phase '{}'",
                arrived.get(),
                bytes.get(),
                phase.name
            )
        })
    });
    let mut said: Vec<String> = unfinished.by_ref().take(NAMED).collect();
    match unfinished.count() {
        0 => {}
        more => said.push(format!("{more} more incomplete flows")),
    }
    said
}

#[cfg(test)]
mod tests {
    use slotwise_units::Instant;

    use super::*;

    fn phase(flows: Vec<FlowReport>) -> PhaseReport {
        PhaseReport {
            name: "run".into(),
            start_ns: Instant::ZERO,
            end_ns: Instant::from_ns(1),
            flows,
            files: Vec::new(),
            lost_flows: 0,
        }
    }

    #[test]
    fn flows_of_a_size_that_did_not_arrive_are_named_and_others_are_not() {
        let scenario = Scenario::parse(include_bytes!("../../../../schema/examples/valid/routers.yaml")).unwrap();
        let place = |name: &str| {
            scenario
                .routed
                .flows
                .iter()
                .position(|group| group.name == name)
                .unwrap()
        };
        let (sized, session) = (place("sized"), place("session"));
        let endless = scenario.routed.flows.iter().position(|group| {
            let is_endless = matches!(group.source, Source::Stream { bytes: None } | Source::Udp { .. });
            is_endless
        });
        let flow = |name: &str, entry: usize, bytes: u64, completed_ns: Option<u64>| FlowReport {
            name: Some(name.into()),
            entry,
            from: "a".into(),
            to: "b".into(),
            bytes: Bytes::new(bytes),
            completed_ns: Some(completed_ns.map(Instant::from_ns)),
            ..FlowReport::default()
        };
        let of_linux = FlowReport {
            completed_ns: None,
            ..flow("sized.1", sized, 100_000, None)
        };
        let through = vec![
            flow("sized.0", sized, 100_000, Some(5)),
            of_linux,
            flow("session.0", session, 5_000_000, Some(5)),
            flow("endless.0", endless.unwrap(), 0, None),
        ];
        assert_eq!(unfinished(&scenario, &[phase(through)]), Vec::<String>::new());
        let cut = vec![
            flow("sized.0", sized, 99_999, None),
            flow("session.0", session, 0, None),
        ];
        assert_eq!(
            unfinished(&scenario, &[phase(cut)]),
            [
                "flow sized.0 from a to b: incomplete: 99999 of 100000 bytes by the end of phase 'run'",
                "flow session.0 from a to b: incomplete: 0 of 5000000 bytes by the end of phase 'run'"
            ]
        );
        let many = (0..20).map(|i| flow(&format!("sized.{i}"), sized, 0, None)).collect();
        let said = unfinished(&scenario, &[phase(many)]);
        assert_eq!((said.len(), said[8].as_str()), (9, "12 more incomplete flows"));
    }
}
