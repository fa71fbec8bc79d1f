// SPDX-License-Identifier: Apache-2.0
//! Flows of GTP among those of other transports.

use slotwise_scenario::GtpFlow;
use slotwise_transport::FlowKey;
use slotwise_transport::gtp::{Host, HostConfig};
use slotwise_units::{Duration, Instant};

use super::super::sessions::{self, SessionUse, session};
use super::super::station::Station;
use super::{Streams, Totals};

impl Streams {
    /// A host may have sessions: its flow table, if it has none yet. Flows of its are added before or after.
    pub(crate) fn add_gtp_host(&mut self, host: usize, config: impl FnOnce() -> HostConfig) {
        let address = self.addresses[host];
        let station = self.stations[host].get_or_insert_with(|| Station::new(address.mac, address.gateway));
        station.sessions.get_or_insert_with(|| {
            let sessions = Host::new(config());
            Box::new(sessions.expect("a scenario's rates, intervals and packets are within GTP's bounds"))
        });
    }

    pub(super) fn open_session(&mut self, index: usize, asked: &GtpFlow, now: Instant) {
        let flow = &self.flows[index];
        let (from, to, packet_bytes) = (flow.spec.from, flow.spec.to, flow.spec.packet_bytes);
        let (key, seed) = flow.connections[0];
        self.own(index, key);
        let source = self.stations[from]
            .as_mut()
            .and_then(|station| station.sessions.as_mut());
        if let Some(source) = source {
            sessions::offer(source, &key, asked, seed);
        }
        let sink = self.stations[to].as_mut().and_then(|station| station.sessions.as_mut());
        if let Some(sink) = sink {
            sessions::request(sink, &key, asked, (packet_bytes, seed), now);
        }
        self.awake.push_back(to);
    }

    /// The sink wants no more.
    pub(super) fn stop_session(&mut self, index: usize) {
        let flow = &self.flows[index];
        let (to, key) = (flow.spec.to, flow.connections[0].0);
        let sink = self.stations[to].as_mut().and_then(|station| station.sessions.as_mut());
        if let Some(sink) = sink {
            sink.stop(&session(&key));
        }
        self.awake.push_back(to);
    }

    /// What a flow's session did, if it is one of GTP that has begun.
    pub(crate) fn session_use(&self, index: usize) -> Option<SessionUse> {
        let flow = &self.flows[index];
        let (key, _) = *flow.connections.first()?;
        let sessions = |host: usize| self.stations[host].as_ref()?.sessions.as_ref();
        Some(SessionUse {
            source: sessions(flow.spec.from)?.source_stats(&session(&key.reversed()))?,
            sink: sessions(flow.spec.to)?.sink_stats(&session(&key))?,
        })
    }
}

impl Totals {
    /// Adds what the end of a session counted that receives packets of `flow`, if there is one.
    pub(super) fn add_session(&mut self, station: &Station, flow: &FlowKey) {
        let Some(sessions) = &station.sessions else {
            return;
        };
        let key = session(flow);
        if let Some(source) = sessions.source_stats(&key) {
            self.sent_packets += source.packets;
            self.sent_bytes += source.bytes.get();
            self.retransmissions += source.retransmissions;
        }
        if let (Some(sink), Some(content)) = (sessions.sink_stats(&key), sessions.content(&key)) {
            self.received_packets += sink.packets;
            self.received_bytes += sink.in_order.get();
            self.srtt_ns = self.srtt_ns.max(sink.rtt.map(Duration::ns));
            self.wrong_bytes += content.wrong().get();
        }
    }
}
