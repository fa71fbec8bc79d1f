// SPDX-License-Identifier: Apache-2.0
//! Sources that come and go, on a star: bursts of datagrams, and users of the web.

use crate::support;

use slotwise_kinds::{FlowResult, HostMode};
use slotwise_units::Duration;
use support::*;

fn results(traffic: &str) -> Vec<FlowResult> {
    let scenario = star4(&format!("  - {{name: one, duration_ms: 3000, flows: [{traffic}]}}"));
    let mut world = star(&scenario, HostMode::Simulated, &rotation(&scenario));
    world.run_until(scenario.end() + Duration::from_ns(1_000_000_000));
    assert!(world.invariants().held(), "{:?}", world.invariants());
    world.flow_results()
}

#[test]
fn web_users_fetch_page_after_page_and_every_byte_is_right() {
    let web = "{from: h1_0, to: h2_0, web: {users: 3, mean_think_ns: 20000000, mean_bytes: 20000, shape: 1.5, \
               max_bytes: 200000}}";
    let flows = results(web);
    let flow = &flows[0];
    let pages = flow.pages.unwrap();
    // A page takes three round trips of some 5 ms, and 20 ms of thinking: some 85 a user in 3 s.
    assert!((60..400).contains(&pages), "{pages} pages");
    let bytes_a_page = flow.received_bytes.get() / pages;
    assert!((10_000..40_000).contains(&bytes_a_page), "{bytes_a_page} bytes a page");
    assert_eq!(flow.stream.unwrap().wrong_bytes.get(), 0);
    assert_eq!(flows, results(web), "the same seed gives the same");
}

#[test]
fn web_users_share_hosts_with_other_streams() {
    let flows = results(
        "{from: edge1, to: edge2, transport: newreno, web: {mean_think_ns: 10000000, mean_bytes: 5000}}, \
         {from: edge1, to: edge2, tcp: {rate_bps: 1000000}}, {from: edge2, to: edge1, tcp: {rate_bps: 1000000}}",
    );
    assert_eq!(flows.len(), 6);
    for flow in &flows {
        assert_eq!(flow.stream.unwrap().wrong_bytes.get(), 0);
        match flow.pages {
            Some(pages) => assert!(pages > 50, "{pages} pages"),
            None => assert!(
                flow.received_bytes.get() > 300_000,
                "{} bytes",
                flow.received_bytes.get()
            ),
        }
    }
}

#[test]
fn bursts_arrive_at_their_mean_rate() {
    let flows = results(
        "{from: all, to: all, udp: {rate_bps: 4000000, payload_bytes: 500, process: on-off-pareto, \
         mean_on_ns: 5000000, mean_off_ns: 15000000, shape: 1.9}}",
    );
    assert_eq!(flows.len(), 24);
    let sent: u64 = flows.iter().map(|flow| flow.sent_bytes.get()).sum();
    let received: u64 = flows.iter().map(|flow| flow.received_bytes.get()).sum();
    // 24 sources of 1 Mb/s on average for 3 s are 9 MB.
    assert!((7_500_000..10_500_000).contains(&sent), "{sent} bytes");
    assert_eq!(sent, received);
}
