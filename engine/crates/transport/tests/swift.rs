// SPDX-License-Identifier: Apache-2.0
//! Swift over the small network.

use crate::common;

use common::{Flow, MS, Network, SECOND, at, config, flow, mbps};
use slotwise_transport::Algorithm::Swift;
use slotwise_units::Bytes;

fn endless(index: u16) -> Flow {
    flow(config(index, Swift), |_| {}, None, (MS, MS))
}

#[test]
fn the_queue_stays_short_and_the_link_busy() {
    // 25 packets of bandwidth-delay product.
    let mut network = Network::new(vec![endless(0)], mbps(100), 200);
    network.run(at(SECOND));
    (network.largest_queue, network.delivered) = (0, Bytes::ZERO);
    network.run(at(3 * SECOND));
    assert!((5..30).contains(&network.largest_queue), "{}", network.largest_queue);
    let used = network.delivered.bits() as f64 / 200e6;
    assert!(used > 0.98, "{used}");
    assert_eq!(
        (network.queue_drops, network.flows[0].sender.stats().retransmissions),
        (0, 0)
    );
}

#[test]
fn flows_that_start_at_different_windows_share_alike() {
    let mut large = config(1, Swift);
    large.initial_window_segments = Some(40);
    let flows = vec![endless(0), flow(large, |_| {}, None, (MS, MS))];
    let mut network = Network::new(flows, mbps(100), 200);
    network.run(at(10 * SECOND));
    let bytes: Vec<f64> = network
        .flows
        .iter()
        .map(|flow| flow.sender.stats().acked.get() as f64)
        .collect();
    let jain = (bytes[0] + bytes[1]).powi(2) / (2.0 * (bytes[0].powi(2) + bytes[1].powi(2)));
    assert!(jain > 0.9, "{bytes:?}");
}
