// SPDX-License-Identifier: Apache-2.0
//! What a peer that has the key may say once its channel is open, to a node that moves files.

use std::net::SocketAddr;

use slotwise_gtp::{Digest, Event, Node, Reason, Verdict};
use slotwise_units::{Bytes, Instant};

use crate::gtp::{FILE_BYTES, INTERVAL, Nowhere, node};

type End = Node<Vec<u8>, Nowhere>;

/// Datagrams that a node sends before the other one is heard: grants may be of any rate.
const BURST: usize = 64;
/// Turns of both ends in which a handshake is over.
const TURNS: usize = 8;

/// Carries what one node has to say to the other.
fn carry(now: Instant, (from, at): (&mut End, SocketAddr), to: &mut End) {
    let mut datagram = Vec::new();
    for _ in 0..BURST {
        if from.poll_transmit(now, &mut datagram).is_none() {
            return;
        }
        to.handle_datagram(now, at, &datagram);
    }
}

/// Answers what the other end wants as `choice` says.
fn answer(node: &mut End, now: Instant, choice: u8, event: Event) {
    match event {
        Event::Wanted { id, .. } | Event::Offered { id, .. } if choice & 1 == 1 => node.refuse(id, Reason::Busy),
        Event::Wanted { id, .. } => drop(node.offer(
            id,
            (Bytes::new(FILE_BYTES), Digest([8; 32])),
            vec![1; FILE_BYTES as usize],
        )),
        // A file of another length is one that this end does not take.
        Event::Offered { id, bytes, .. } if bytes > Bytes::new(FILE_BYTES) => node.refuse(id, Reason::TooLong),
        Event::Offered { id, bytes, .. } => drop(node.take(now, id, bytes.get().min(u64::from(choice) << 6), Nowhere)),
        Event::Received(id) if choice & 2 == 2 => drop(node.conclude(now, id, Verdict::Differs)),
        Event::Received(id) => drop(node.conclude(now, id, Verdict::Whole)),
        Event::Ended(id, _) => node.forget(id),
        Event::Opened(_) | Event::Lost { .. } => {}
    }
}

/// Messages of the peer, each behind its length in two bytes and a byte that says what the
/// node does about what they bring.
pub fn gtp_peer(data: &[u8]) {
    let (mut own, mut peer) = (node(), node());
    let [own_at, peer_at] = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 1)));
    let channel = peer.connect(Instant::ZERO, own_at, [3; 16]);
    let mut now = Instant::ZERO;
    let mut opened = None;
    for _ in 0..TURNS {
        carry(now, (&mut peer, peer_at), &mut own);
        carry(now, (&mut own, own_at), &mut peer);
        while let Some(event) = own.poll_event() {
            if let Event::Opened(channel) = event {
                opened = Some(channel);
            }
        }
    }
    if let Some(channel) = opened {
        // Both roles, from the beginning on.
        let entry = (Bytes::new(FILE_BYTES), Digest([7; 32]));
        drop(own.put(now, (channel, "own"), entry, vec![2; FILE_BYTES as usize]));
        drop(own.get(now, channel, "theirs"));
    }
    let mut rest = data;
    while let [high, low, choice, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (message, next) = after.split_at(length.min(after.len()));
        rest = next;
        now += INTERVAL / 3;
        peer.say_anything(channel, message);
        carry(now, (&mut peer, peer_at), &mut own);
        own.handle_timeout(now);
        while let Some(event) = own.poll_event() {
            answer(&mut own, now, *choice, event);
        }
        carry(now, (&mut own, own_at), &mut peer);
        peer.handle_timeout(now);
        while let Some(event) = peer.poll_event() {
            answer(&mut peer, now, !*choice, event);
        }
    }
}
