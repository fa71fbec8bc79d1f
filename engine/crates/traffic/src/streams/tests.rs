// SPDX-License-Identifier: Apache-2.0
use slotwise_scenario::Scenario;

use super::super::Traffic;
use super::*;
use crate::HostMode;

const STAR4: &str = include_str!("../../../../../topologies/star4.yaml");

#[test]
fn pages_leave_ports_of_running_streams_alone_when_ports_come_again() {
    let head = &STAR4[..STAR4.find("phases:").unwrap()];
    let text = format!(
        "{head}phases:\n  - name: all\n    duration_ms: 1000\n    flows:\n\
         \x20     - {{from: h1_0, to: h2_0, tcp: {{streams: 2}}}}\n\
         \x20     - {{from: h2_0, to: h1_0}}\n\
         \x20     - {{from: h1_0, to: h2_0, web: {{mean_think_ns: 1000000, mean_bytes: 1000}}}}\n"
    );
    let mut streams = Traffic::new(&Scenario::parse(text.as_bytes()).unwrap(), 1, HostMode::Simulated)
        .unwrap()
        .into_streams();
    let web = 2;
    for (index, at_ns) in streams.starts().collect::<Vec<_>>() {
        streams.turn(index, at_ns);
    }
    let (from, to) = (streams.flows[web].spec.from, streams.flows[web].spec.to);
    let last = FlowPorts::FIRST + (FlowPorts::COUNT - 1) as u16;
    while streams.ports.next(from, to) != last - 1 {}
    let mut ports = || streams.page_key(web).source.port();
    assert_eq!(ports(), last);
    assert_eq!(
        ports(),
        FlowPorts::FIRST + 3,
        "the first three run, one of them in the other direction"
    );
    for index in 0..2 {
        streams.turn(index, u64::MAX);
    }
    while streams.ports.next(from, to) != last {}
    assert_eq!(streams.page_key(web).source.port(), FlowPorts::FIRST, "they are over");
}

#[test]
fn an_event_whose_timer_has_moved_schedules_no_other() {
    let mut streams = Traffic::new(&Scenario::parse(STAR4.as_bytes()).unwrap(), 1, HostMode::Simulated)
        .unwrap()
        .into_streams();
    let (index, start_ns) = streams.starts().next().unwrap();
    streams.turn(index, start_ns);
    let (mut frame, mut timers) = (Vec::new(), Vec::new());
    while streams.transmit(start_ns, &mut frame, &mut timers).is_some() {}
    let &[(host, at_ns)] = timers.as_slice() else {
        panic!("one host has a timer: {timers:?}");
    };
    timers.clear();
    streams.timeout(host, at_ns - 1);
    assert!(streams.transmit(at_ns - 1, &mut frame, &mut timers).is_none());
    assert!(timers.is_empty(), "its event is still to come");
    streams.timeout(host, at_ns);
    while streams.transmit(at_ns, &mut frame, &mut timers).is_some() {}
    assert_eq!(timers.len(), 1);
}
