// SPDX-License-Identifier: Apache-2.0
//! Sessions of GTP, whose ends are not endpoints of their own: a host has one flow table for all of its.

use slotwise_scenario::GtpFlow;
use slotwise_transport::content::{Pattern, PatternCheck};
use slotwise_transport::gtp::message::Request;
use slotwise_transport::gtp::{Host, OVERHEAD, Offer, SessionKey, SinkConfig, SinkStats, SourceStats};
use slotwise_transport::{Event, FlowKey, PROTOCOL_UDP};
use slotwise_units::{Instant, Rate};

/// The sessions of a host.
pub(crate) type Sessions = Host<Pattern, PatternCheck>;

/// What the two ends of a session did since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionUse {
    /// At the source.
    pub source: SourceStats,
    /// At the sink.
    pub sink: SinkStats,
}

/// The session of the end that receives packets of `flow`. Each has ports of its own, so its number is 0.
pub(crate) fn session(flow: &FlowKey) -> SessionKey {
    SessionKey {
        local: flow.destination,
        remote: flow.source,
        number: 0,
    }
}

/// The flow whose packets an end of a session receives.
fn flow(key: &SessionKey) -> FlowKey {
    FlowKey {
        source: key.remote,
        destination: key.local,
        protocol: PROTOCOL_UDP,
    }
}

/// Begins a session: `data` are the addresses of its data, in packets of at most `packet_bytes`.
pub(crate) fn offer(sessions: &mut Sessions, data: &FlowKey, asked: &GtpFlow, seed: u64) {
    let offer = Offer {
        length: asked.bytes,
        limit: asked.limit,
        steps: asked.steps,
        begin: asked.begin,
    };
    let offered = sessions.offer(session(&data.reversed()), offer, Pattern::new(seed));
    offered.expect("ports of two hosts are numbered together");
}

/// Asks for what was offered so.
pub(crate) fn request(
    sessions: &mut Sessions,
    data: &FlowKey,
    asked: &GtpFlow,
    (packet_bytes, seed): (u16, u64),
    now: Instant,
) {
    let request = Request {
        block_bytes: packet_bytes - OVERHEAD.get() as u16,
        offset: 0,
        length: asked.bytes.unwrap_or_default(),
        wanted: Rate::ZERO,
    };
    let config = SinkConfig {
        request,
        steps: asked.steps,
        begin: asked.begin,
    };
    let content = PatternCheck::new(Pattern::new(seed));
    let requested = sessions.request(now, session(data), config, content);
    requested.expect("ports are numbered together, and packets of a scenario hold the headers and a byte");
}

/// What happened at a host: the flow whose packets come to the session's end.
pub(crate) fn poll_event(sessions: &mut Sessions) -> Option<(FlowKey, Event)> {
    let (key, event) = sessions.poll_event()?;
    Some((flow(&key), event))
}
