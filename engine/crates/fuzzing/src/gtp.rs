// SPDX-License-Identifier: Apache-2.0
//! What reaches a host's GTP: datagrams of anybody, and messages of peers that have the key.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use slotwise_gtp::control::Control;
use slotwise_gtp::packet::Packet;
use slotwise_gtp::{Key, Node, NodeConfig};
use slotwise_lambda::{Rule, Steps};
use slotwise_transport::gtp::message::{Message, Request};
use slotwise_transport::gtp::{Host, HostConfig, Offer, SessionKey, SinkConfig};
use slotwise_units::{Bytes, Duration, Instant, Rate};

/// Length of the file that is offered and asked for.
pub(crate) const FILE_BYTES: u64 = 20_000;
const LOCAL: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
pub(crate) const INTERVAL: Duration = Duration::from_ms(10);

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
        capacity: Rate::from_bps(100_000_000),
        interval: INTERVAL,
        phase: Instant::ZERO,
        rule: Rule::default(),
        steps: Steps::default(),
        packet_bytes: 1500,
        catch_up: Duration::from_us(1),
        seed: 1,
    })
    .expect("the settings are within their ranges");
    let offer = Offer {
        length: Some(Bytes::new(FILE_BYTES)),
        ..Offer::default()
    };
    let request = Request {
        block_bytes: 1400,
        offset: 0,
        length: Bytes::new(FILE_BYTES),
        wanted: Rate::ZERO,
    };
    host.offer(session(0), offer, vec![1; FILE_BYTES as usize])
        .expect("it is the first");
    let sink = SinkConfig {
        request,
        steps: None,
        begin: Rate::ZERO,
    };
    host.request(Instant::ZERO, session(1), sink, Nowhere)
        .expect("it is the first");
    host
}

pub(crate) fn node() -> Node<Vec<u8>, Nowhere> {
    let config = NodeConfig {
        capacity: Rate::from_bps(100_000_000),
        interval: INTERVAL,
        rule: Rule::default(),
        steps: Steps::default(),
        packet_bytes: 1500,
        catch_up: Duration::from_us(1),
        answers: true,
        patience: Duration::from_s(1),
        secret: [1; 32],
    };
    Node::new(&config, Key::of([2; 32])).expect("the settings are within their ranges")
}

/// Messages, each behind its length in two bytes: read as datagrams, as what was sealed, and by a host with sessions of both roles.
pub fn gtp(data: &[u8]) {
    let (mut host, mut node) = (host(), node());
    let from = SocketAddr::from(([10, 0, 0, 1], 1));
    node.connect(Instant::ZERO, from, [3; 16]);
    let (mut out, mut now, mut rest) = (Vec::new(), Instant::ZERO, data);
    while let [high, low, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (message, next) = after.split_at(length.min(after.len()));
        rest = next;
        now += INTERVAL / 3;
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
        node.handle_datagram(now, from, message);
        node.handle_timeout(now);
        while node.poll_transmit(now, &mut out).is_some() {}
        while node.poll_event().is_some() {}
        host.handle_message(now, (LOCAL, LOCAL), message);
        host.handle_timeout(now);
        // A grant may be of any rate; what leaves in no time is bounded by how much there is to say.
        for _ in 0..64 {
            out.clear();
            if host.poll_message(now, &mut out).is_none() {
                break;
            }
        }
        while host.poll_event().is_some() {}
    }
}
