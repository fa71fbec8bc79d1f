// SPDX-License-Identifier: Apache-2.0
//! What reaches a host's GTP: datagrams of anybody, and messages of peers that have the key.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use slotwise_gtp::control::Control;
use slotwise_gtp::packet::Packet;
use slotwise_gtp::{Key, Node, NodeConfig};
use slotwise_lambda::{Rule, Steps};
use slotwise_transport::gtp::message::{Message, Request};
use slotwise_transport::gtp::{Host, HostConfig, Offer, SessionKey, SinkConfig};

/// Length of the file that is offered and asked for.
pub(crate) const FILE_BYTES: u64 = 20_000;
const LOCAL: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
pub(crate) const INTERVAL_NS: u64 = 10_000_000;

/// Takes nothing, at any place.
pub(crate) struct Nowhere;

impl slotwise_transport::content::Sink for Nowhere {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        assert!(offset + bytes.len() as u64 <= FILE_BYTES, "beyond the end");
    }
}

fn session(number: u32) -> SessionKey {
    SessionKey {
        local: LOCAL,
        remote: LOCAL,
        number,
    }
}

/// A host that offers a file as session 0, and asks for one as session 1.
fn host() -> Host<Vec<u8>, Nowhere> {
    let mut host = Host::new(HostConfig {
        capacity_bps: 100_000_000,
        interval_ns: INTERVAL_NS,
        phase_ns: 0,
        rule: Rule::default(),
        steps: Steps::default(),
        packet_bytes: 1500,
        catch_up_ns: 1000,
        seed: 1,
    })
    .expect("the settings are within their ranges");
    let offer = Offer {
        length: Some(FILE_BYTES),
        ..Offer::default()
    };
    let request = Request {
        block_bytes: 1400,
        offset: 0,
        length: FILE_BYTES,
        wanted_bps: 0,
    };
    host.offer(session(0), offer, vec![1; FILE_BYTES as usize])
        .expect("it is the first");
    let sink = SinkConfig {
        request,
        steps: None,
        begin_bps: 0,
    };
    host.request(0, session(1), sink, Nowhere).expect("it is the first");
    host
}

pub(crate) fn node() -> Node<Vec<u8>, Nowhere> {
    let config = NodeConfig {
        capacity_bps: 100_000_000,
        interval_ns: INTERVAL_NS,
        rule: Rule::default(),
        steps: Steps::default(),
        packet_bytes: 1500,
        catch_up_ns: 1000,
        answers: true,
        patience_ns: 1_000_000_000,
        secret: [1; 32],
    };
    Node::new(&config, Key::of([2; 32])).expect("the settings are within their ranges")
}

/// Messages, each behind its length in two bytes: read as datagrams, as what was sealed, and by a host with sessions of both roles.
pub fn gtp(data: &[u8]) {
    let (mut host, mut node) = (host(), node());
    let from = SocketAddr::from(([10, 0, 0, 1], 1));
    node.connect(0, from, [3; 16]);
    let (mut out, mut now_ns, mut rest) = (Vec::new(), 0, data);
    while let [high, low, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (message, next) = after.split_at(length.min(after.len()));
        rest = next;
        now_ns += INTERVAL_NS / 3;
        if let Ok(packet) = Packet::decode(message) {
            out.clear();
            packet.encode(&mut out);
            assert_eq!(out, message, "two datagrams mean the same");
        }
        if let Ok((transfer, control)) = Control::decode(message) {
            out.clear();
            control.encode(transfer, &mut out);
            assert_eq!(out, message, "two messages mean the same");
        }
        drop(Message::decode(message).map_err(|error| error.to_string()));
        node.handle_datagram(now_ns, from, message);
        node.handle_timeout(now_ns);
        while node.poll_transmit(now_ns, &mut out).is_some() {}
        while node.poll_event().is_some() {}
        host.handle_message(now_ns, (LOCAL, LOCAL), message);
        host.handle_timeout(now_ns);
        // A grant may be of any rate; what leaves in no time is bounded by how much there is to say.
        for _ in 0..64 {
            out.clear();
            if host.poll_message(now_ns, &mut out).is_none() {
                break;
            }
        }
        while host.poll_event().is_some() {}
    }
}
