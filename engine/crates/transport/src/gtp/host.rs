// SPDX-License-Identifier: Apache-2.0
//! All sessions of a host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddrV4;

use slotwise_lambda::{Rule, Steps};
use slotwise_wire::DATAGRAM_HEADER_BYTES;

use super::OVERHEAD_BYTES;
use super::message::{MAX_SESSION, Message};
use super::sink::{SinkConfig, SinkSession, SinkStats};
use super::source::{Offer, SourceSession, SourceStats};
use super::table::{Account, FlowTable};
use crate::content::{Sink, Source};
use crate::datagram;
use crate::endpoint::{ConfigError, Event};

/// Settings of a [`Host`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostConfig {
    /// What all its sessions of one role share, b/s of IP packets, 1 to 10^13. Below the rate of its link where others live beside it (VIII.1.B).
    pub capacity_bps: u64,
    /// Time between calculations, 1 ms to 10 s.
    pub interval_ns: u64,
    /// A calculation is due at this fabric time, and all whole intervals away from it.
    pub phase_ns: u64,
    /// The rule.
    pub rule: Rule,
    /// How fast sessions rise that do not say it themselves.
    pub steps: Steps,
    /// Largest IP packet that it sends, 128 to 9000 bytes.
    pub packet_bytes: u16,
    /// How far a source may be behind its schedule and still make up for it, at most 10 ms: what a clock that wakes late needs.
    pub catch_up_ns: u64,
    /// Of who is first among equals.
    pub seed: u64,
}

impl HostConfig {
    fn check(&self) -> Result<(), ConfigError> {
        ConfigError::check("capacity_bps", self.capacity_bps, 1..=10_000_000_000_000)?;
        ConfigError::check("interval_ns", self.interval_ns, 1_000_000..=10_000_000_000)?;
        ConfigError::check("catch_up_ns", self.catch_up_ns, 0..=10_000_000)?;
        ConfigError::check("packet_bytes", self.packet_bytes.into(), 128..=9000)
    }
}

/// A session as one of its ends knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// Own address and port.
    pub local: SocketAddrV4,
    /// The other end's.
    pub remote: SocketAddrV4,
    /// Its number between the two, at most 2^31 - 1.
    pub number: u32,
}

/// Packets that changed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStats {
    /// No messages, or damaged.
    pub malformed: u64,
    /// Of sessions that are not here, or that this end does not take.
    pub unclaimed: u64,
    /// Requests for what is not offered, grants that are not newer, losses of what was not sent.
    pub refused: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Source,
    Sink,
}

/// The sessions of a host and its flow table.
pub struct Host<S, K> {
    config: HostConfig,
    table: FlowTable,
    sources: BTreeMap<SessionKey, SourceSession<S>>,
    sinks: BTreeMap<SessionKey, SinkSession<K>>,
    /// When each source's next packet may leave.
    due: BTreeSet<(u64, SessionKey)>,
    /// Sessions with messages of control.
    news: VecDeque<(Role, SessionKey)>,
    /// When the interval began and when it ends; none while there is no session.
    interval_ns: Option<(u64, u64)>,
    events: VecDeque<(SessionKey, Event)>,
    stats: HostStats,
}

impl<S: Source, K: Sink> Host<S, K> {
    /// A host without sessions.
    ///
    /// # Errors
    /// When the configuration cannot work.
    pub fn new(config: HostConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Host {
            config,
            table: FlowTable::new(config.capacity_bps, config.rule, config.steps, config.seed),
            sources: BTreeMap::new(),
            sinks: BTreeMap::new(),
            due: BTreeSet::new(),
            news: VecDeque::new(),
            interval_ns: None,
            events: VecDeque::new(),
            stats: HostStats::default(),
        })
    }

    /// Changes what the sessions of a role share, b/s of IP packets: 1 to 10^13, from the next calculation on.
    ///
    /// # Errors
    /// When it is out of its range; nothing is changed then.
    pub fn set_capacity(&mut self, capacity_bps: u64) -> Result<(), ConfigError> {
        let config = HostConfig {
            capacity_bps,
            ..self.config
        };
        config.check()?;
        self.config = config;
        self.table.set_capacity(capacity_bps);
        Ok(())
    }

    /// Payload of a full packet of this host.
    pub fn block_bytes(&self) -> u16 {
        self.config.packet_bytes - OVERHEAD_BYTES as u16
    }

    /// Lets a sink ask for bytes in this session.
    ///
    /// # Errors
    /// When there is such a session already, or its number is too large.
    pub fn offer(&mut self, key: SessionKey, offer: Offer, content: S) -> Result<(), ConfigError> {
        check_key(&key, self.sources.contains_key(&key))?;
        self.sources.insert(key, SourceSession::new(offer, content));
        Ok(())
    }

    /// Asks a source for bytes, which go to `content`.
    ///
    /// # Errors
    /// When there is such a session already, its number is too large, or nothing or too much is asked for.
    pub fn request(&mut self, now_ns: u64, key: SessionKey, config: SinkConfig, content: K) -> Result<(), ConfigError> {
        check_key(&key, self.sinks.contains_key(&key))?;
        let most = u64::from(self.block_bytes());
        ConfigError::check("block_bytes", config.request.block_bytes.into(), 1..=most)?;
        ConfigError::check("length", config.request.length, 0..=u64::MAX - config.request.offset)?;
        self.sinks.insert(key, SinkSession::new(config, content));
        self.news.push_back((Role::Sink, key));
        self.begin(now_ns);
        Ok(())
    }

    /// Whether a session is here, in any role.
    pub fn has(&self, key: &SessionKey) -> bool {
        self.sources.contains_key(key) || self.sinks.contains_key(key)
    }

    /// A sink wants no more.
    pub fn stop(&mut self, key: &SessionKey) {
        if let Some(sink) = self.sinks.get_mut(key) {
            sink.end();
            self.news.push_back((Role::Sink, *key));
        }
    }

    /// Forgets both roles of a session.
    pub fn remove(&mut self, key: &SessionKey) {
        if let Some(source) = self.sources.remove(key)
            && let Some(due_ns) = source.due_ns
        {
            self.due.remove(&(due_ns, *key));
        }
        self.sinks.remove(key);
    }

    /// What a source did.
    pub fn source_stats(&self, key: &SessionKey) -> Option<SourceStats> {
        self.sources.get(key).map(SourceSession::stats)
    }

    /// What a sink saw.
    pub fn sink_stats(&self, key: &SessionKey) -> Option<SinkStats> {
        self.sinks.get(key).map(SinkSession::stats)
    }

    /// Where a sink's bytes went.
    pub fn content(&self, key: &SessionKey) -> Option<&K> {
        self.sinks.get(key).map(SinkSession::content)
    }

    /// Packets that changed nothing.
    pub fn stats(&self) -> HostStats {
        self.stats
    }

    /// The interval begins with the first session, at the last time that one could have begun.
    fn begin(&mut self, now_ns: u64) {
        if self.interval_ns.is_none() {
            let interval_ns = self.config.interval_ns;
            let phase_ns = self.config.phase_ns % interval_ns;
            let since_ns = (now_ns % interval_ns + interval_ns - phase_ns) % interval_ns;
            let began_ns = now_ns.saturating_sub(since_ns);
            self.interval_ns = Some((began_ns, now_ns + (interval_ns - since_ns)));
        }
    }

    /// Takes an IPv4 packet that arrived; false if it changed nothing.
    pub fn handle_packet(&mut self, now_ns: u64, packet: &[u8]) -> bool {
        let Some(datagram) = datagram::decode(packet) else {
            self.stats.malformed += 1;
            return false;
        };
        self.handle_message(now_ns, (datagram.destination, datagram.source), datagram.payload)
    }

    /// Takes the payload of a datagram between `(local, remote)`, for who has other packets than [`Host::handle_packet`].
    pub fn handle_message(
        &mut self,
        now_ns: u64,
        (local, remote): (SocketAddrV4, SocketAddrV4),
        payload: &[u8],
    ) -> bool {
        let Ok((number, message)) = Message::decode(payload) else {
            self.stats.malformed += 1;
            return false;
        };
        let key = SessionKey { local, remote, number };
        if matches!(message, Message::Data(..)) {
            return self.take_data(now_ns, key, &message);
        }
        if let (Message::End { .. }, Some(sink)) = (&message, self.sinks.get_mut(&key)) {
            sink.on_end();
            return true;
        }
        let most = u64::from(self.block_bytes());
        let Some(source) = self.sources.get_mut(&key) else {
            self.stats.unclaimed += 1;
            return false;
        };
        let taken = match message {
            Message::Request(request) => source.on_request(now_ns, request, most),
            Message::Grant(grant) => source.on_grant(now_ns, grant),
            Message::Losses(list) => source.on_losses(&list),
            Message::End { .. } | Message::Data(..) => {
                source.on_end();
                true
            }
        };
        self.stats.refused += u64::from(!taken);
        if source.answers() {
            self.news.push_back((Role::Source, key));
        }
        if source.is_active() {
            self.begin(now_ns);
        }
        self.schedule(now_ns, key);
        taken
    }

    fn take_data(&mut self, now_ns: u64, key: SessionKey, message: &Message) -> bool {
        let (Some(sink), Message::Data(data, payload)) = (self.sinks.get_mut(&key), message) else {
            self.stats.unclaimed += 1;
            return false;
        };
        if sink.on_data(now_ns, data, payload) {
            self.events.push_back((key, Event::Finished));
            self.news.push_back((Role::Sink, key));
        }
        true
    }

    /// Finds out when a source's next packet may leave.
    fn schedule(&mut self, now_ns: u64, key: SessionKey) {
        let Some(source) = self.sources.get_mut(&key) else {
            return;
        };
        let due_ns = source.next_ns(now_ns, self.config.interval_ns);
        if due_ns == source.due_ns {
            return;
        }
        if let Some(old_ns) = std::mem::replace(&mut source.due_ns, due_ns) {
            self.due.remove(&(old_ns, key));
        }
        self.due.extend(due_ns.map(|due_ns| (due_ns, key)));
    }

    /// Writes the next packet to send, from the IPv4 header on, into `out`, which it clears; gives its length.
    pub fn poll_transmit(&mut self, now_ns: u64, out: &mut Vec<u8>) -> Option<usize> {
        out.clear();
        out.resize(DATAGRAM_HEADER_BYTES, 0);
        match self.poll_message(now_ns, out) {
            Some(key) => {
                datagram::seal(out, key.local, key.remote);
                Some(out.len())
            }
            None => {
                out.clear();
                None
            }
        }
    }

    /// Appends the payload of the next datagram to `out`; gives whose it is. Instead of [`Host::poll_transmit`].
    pub fn poll_message(&mut self, now_ns: u64, out: &mut Vec<u8>) -> Option<SessionKey> {
        let interval_ns = self.config.interval_ns;
        let pace = (interval_ns, self.config.catch_up_ns);
        while let Some(&(role, key)) = self.news.front() {
            let wrote = match role {
                Role::Sink => {
                    let sink = self.sinks.get_mut(&key).filter(|sink| sink.has_news());
                    sink.is_some_and(|sink| sink.transmit(now_ns, (key.number, interval_ns), out))
                }
                Role::Source => {
                    let source = self.sources.get_mut(&key).filter(|source| source.answers());
                    source.is_some_and(|source| source.transmit(now_ns, (key.number, pace), out))
                }
            };
            if wrote {
                return Some(key);
            }
            self.news.pop_front();
        }
        while let Some(&(due_ns, key)) = self.due.first()
            && due_ns <= now_ns
        {
            let source = self.sources.get_mut(&key);
            let wrote = source.is_some_and(|source| source.transmit(now_ns, (key.number, pace), out));
            self.schedule(now_ns, key);
            if wrote {
                return Some(key);
            }
            // Due, and nothing came: what it may send has changed since, and so has its place.
            if self.due.first() == Some(&(due_ns, key)) {
                break;
            }
        }
        None
    }

    /// When [`Host::handle_timeout`] wants to be called, ns; maybe in the past.
    pub fn poll_timeout(&self) -> Option<u64> {
        let due_ns = self.due.first().map(|(due_ns, _)| *due_ns);
        let ends_ns = self.interval_ns.map(|(_, ends_ns)| ends_ns);
        [due_ns, ends_ns].into_iter().flatten().min()
    }

    /// Does what is due at `now_ns`; nothing if nothing is.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if let Some((began_ns, ends_ns)) = self.interval_ns
            && ends_ns <= now_ns
        {
            self.calculate(now_ns, now_ns - began_ns);
            let late_ns = (now_ns - ends_ns) % self.config.interval_ns;
            let is_busy =
                self.sinks.values().any(|sink| !sink.is_over()) || self.sources.values().any(SourceSession::is_active);
            self.interval_ns = is_busy.then_some((now_ns, now_ns - late_ns + self.config.interval_ns));
        }
    }

    /// The interval's end: both roles, each by itself (VI.2).
    fn calculate(&mut self, now_ns: u64, elapsed_ns: u64) {
        fn open<K: Sink>(sink: &mut SinkSession<K>) -> Option<&mut Account> {
            sink.is_open().then_some(&mut sink.account)
        }
        fn active<S: Source>(source: &mut SourceSession<S>) -> Option<&mut Account> {
            source.is_active().then_some(&mut source.account)
        }
        self.table
            .calculate((now_ns, elapsed_ns), self.sinks.values_mut().filter_map(open));
        self.table
            .calculate((now_ns, elapsed_ns), self.sources.values_mut().filter_map(active));
        for (key, sink) in &mut self.sinks {
            sink.tick(now_ns, self.config.interval_ns);
            if sink.has_news() {
                self.news.push_back((Role::Sink, *key));
            }
        }
        let active = self.sources.iter().filter(|(_, source)| source.is_active());
        for key in active.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.schedule(now_ns, key);
        }
    }

    /// What happened since the last call, oldest first.
    pub fn poll_event(&mut self) -> Option<(SessionKey, Event)> {
        self.events.pop_front()
    }
}

fn check_key(key: &SessionKey, is_there: bool) -> Result<(), ConfigError> {
    ConfigError::check("session", key.number.into(), 0..=MAX_SESSION.into())?;
    if is_there {
        return Err(ConfigError {
            setting: "session",
            found: format!("{} (in use)", key.number),
            expected: "an unused number".into(),
        });
    }
    Ok(())
}
