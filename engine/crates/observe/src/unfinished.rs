// SPDX-License-Identifier: Apache-2.0
//! Flows of a size that did not come through, whoever played them, in networks of any kind.

use serde_json::Value;
use slotwise_scenario::{Scenario, Source, TrafficKind};
use slotwise_units::Bytes;

use crate::report::{PhaseReport, is_of_run};

/// More of them are counted, not named.
const NAMED: usize = 8;

/// Data that a flow of a report is to deliver; `None` if it goes on until it is stopped. `phase` is the number of its phase.
fn size(scenario: &Scenario, phase: usize, flow: &Value) -> Option<Bytes> {
    if is_of_run(flow) {
        return flow_bytes(scenario, flow);
    }
    match scenario.phases.get(phase)?.traffic.get(entry(flow)?)?.kind {
        TrafficKind::File { bytes, .. } => Some(bytes),
        _ => None,
    }
}

/// The same of a flow over the whole run.
pub fn flow_bytes(scenario: &Scenario, flow: &Value) -> Option<Bytes> {
    match scenario.routed.flows.get(entry(flow)?)?.source {
        Source::Stream { bytes } => bytes,
        Source::Gtp(session) => session.bytes,
        Source::Udp { .. } | Source::Web { .. } => None,
    }
}

fn entry(flow: &Value) -> Option<usize> {
    usize::try_from(flow["entry"].as_u64()?).ok()
}

/// Says of each flow of a size that has not come through what arrived of it.
pub fn unfinished(scenario: &Scenario, phases: &[PhaseReport]) -> Vec<String> {
    let flows = phases
        .iter()
        .enumerate()
        .flat_map(|(number, phase)| phase.flows.iter().map(move |flow| (number, phase, flow)));
    let mut unfinished = flows.filter_map(|(number, phase, flow)| {
        let (bytes, arrived) = (size(scenario, number, flow)?.get(), flow["bytes"].as_u64()?);
        // What Linux plays has no time of its end.
        let is_through = flow["completed_ns"].is_u64() || arrived >= bytes;
        (!is_through).then(|| {
            let text = |field: &str| flow[field].as_str().unwrap_or("?").to_owned();
            let what = match is_of_run(flow) {
                true => format!("flow {}", text("name")),
                false => "file".to_owned(),
            };
            let (from, to) = (text("from"), text("to"));
            format!(
                "{what} from {from} to {to}: incomplete: {arrived} of {bytes} bytes by the end of phase '{}'",
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
    use serde_json::json;
    use slotwise_units::Instant;

    use super::*;

    fn phase(flows: Vec<Value>) -> PhaseReport {
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
        let flow = |name: &str, entry: usize, bytes: u64, completed_ns: Option<u64>| json!({"name": name, "entry": entry, "from": "a", "to": "b", "bytes": bytes, "completed_ns": completed_ns});
        let of_linux = json!({"name": "sized.1", "entry": sized, "from": "a", "to": "b", "bytes": 100_000});
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
