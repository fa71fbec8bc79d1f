// SPDX-License-Identifier: Apache-2.0
//! All sessions of a host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddrV4;

use slotwise_lambda::{Rule, Steps};
use slotwise_units::{Duration, Instant, Rate};
use slotwise_wire::DATAGRAM_HEADER_BYTES;

use super::OVERHEAD;
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
    /// What all its sessions of one role share, of IP packets, 1 to 10^13 bit/s. Below the rate of its link where others live beside it (VIII.1.B).
    pub capacity: Rate,
    /// Time between calculations, 1 ms to 10 s.
    pub interval: Duration,
    /// A calculation is due at this time, and all whole intervals away from it.
    pub phase: Instant,
    /// The rule.
    pub rule: Rule,
    /// How fast sessions rise that do not say it themselves.
    pub steps: Steps,
    /// Largest IP packet that it sends, 128 to 9000 bytes.
    pub packet_bytes: u16,
    /// How far a source may be behind its schedule and still make up for it, at most 10 ms: what a clock that wakes late needs.
    pub catch_up: Duration,
    /// Of who is first among equals.
    pub seed: u64,
}

impl HostConfig {
    fn check(&self) -> Result<(), ConfigError> {
        ConfigError::check("capacity_bps", self.capacity.bps(), 1..=10_000_000_000_000)?;
        ConfigError::check("interval_ns", self.interval.ns(), 1_000_000..=10_000_000_000)?;
        ConfigError::check("catch_up_ns", self.catch_up.ns(), 0..=10_000_000)?;
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
    due: BTreeSet<(Instant, SessionKey)>,
    /// Sessions with messages of control.
    news: VecDeque<(Role, SessionKey)>,
    /// When the interval began and when it ends; none while there is no session.
    interval: Option<(Instant, Instant)>,
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
            table: FlowTable::new(config.capacity, config.rule, config.steps, config.seed),
            sources: BTreeMap::new(),
            sinks: BTreeMap::new(),
            due: BTreeSet::new(),
            news: VecDeque::new(),
            interval: None,
            events: VecDeque::new(),
            stats: HostStats::default(),
        })
    }

    /// Changes what the sessions of a role share, of IP packets: 1 to 10^13 bit/s, from the next calculation on.
    ///
    /// # Errors
    /// When it is out of its range; nothing is changed then.
    pub fn set_capacity(&mut self, capacity: Rate) -> Result<(), ConfigError> {
        let config = HostConfig {
            capacity,
            ..self.config
        };
        config.check()?;
        self.config = config;
        self.table.set_capacity(capacity);
        Ok(())
    }

    /// Payload of a full packet of this host.
    pub fn block_bytes(&self) -> u16 {
        self.config.packet_bytes - OVERHEAD.get() as u16
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
    pub fn request(
        &mut self,
        now: Instant,
        key: SessionKey,
        config: SinkConfig,
        content: K,
    ) -> Result<(), ConfigError> {
        check_key(&key, self.sinks.contains_key(&key))?;
        let most = u64::from(self.block_bytes());
        ConfigError::check("block_bytes", config.request.block_bytes.into(), 1..=most)?;
        ConfigError::check(
            "length",
            config.request.length.get(),
            0..=u64::MAX - config.request.offset,
        )?;
        self.sinks.insert(key, SinkSession::new(config, content));
        self.news.push_back((Role::Sink, key));
        self.begin(now);
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
            && let Some(due) = source.due
        {
            self.due.remove(&(due, *key));
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
    fn begin(&mut self, now: Instant) {
        if self.interval.is_none() {
            let interval = self.config.interval;
            let phase = self.config.phase.since_start() % interval;
            let since = (now.since_start() % interval + interval - phase) % interval;
            let began = now.saturating_sub(since);
            self.interval = Some((began, now + (interval - since)));
        }
    }

    /// Takes an IPv4 packet that arrived; false if it changed nothing.
    pub fn handle_packet(&mut self, now: Instant, packet: &[u8]) -> bool {
        let Some(datagram) = datagram::decode(packet) else {
            self.stats.malformed += 1;
            return false;
        };
        self.handle_message(now, (datagram.destination, datagram.source), datagram.payload)
    }

    /// Takes the payload of a datagram between `(local, remote)`, for who has other packets than [`Host::handle_packet`].
    pub fn handle_message(
        &mut self,
        now: Instant,
        (local, remote): (SocketAddrV4, SocketAddrV4),
        payload: &[u8],
    ) -> bool {
        let Ok((number, message)) = Message::decode(payload) else {
            self.stats.malformed += 1;
            return false;
        };
        let key = SessionKey { local, remote, number };
        if matches!(message, Message::Data(..)) {
            return self.take_data(now, key, &message);
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
            Message::Request(request) => source.on_request(now, request, most),
            Message::Grant(grant) => source.on_grant(now, grant),
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
            self.begin(now);
        }
        self.schedule(now, key);
        taken
    }

    fn take_data(&mut self, now: Instant, key: SessionKey, message: &Message) -> bool {
        let (Some(sink), Message::Data(data, payload)) = (self.sinks.get_mut(&key), message) else {
            self.stats.unclaimed += 1;
            return false;
        };
        if sink.on_data(now, data, payload) {
            self.events.push_back((key, Event::Finished));
            self.news.push_back((Role::Sink, key));
        }
        true
    }

    /// Finds out when a source's next packet may leave.
    fn schedule(&mut self, now: Instant, key: SessionKey) {
        let Some(source) = self.sources.get_mut(&key) else {
            return;
        };
        let due = source.next(now, self.config.interval);
        if due == source.due {
            return;
        }
        if let Some(old) = std::mem::replace(&mut source.due, due) {
            self.due.remove(&(old, key));
        }
        self.due.extend(due.map(|due| (due, key)));
    }

    /// Writes the next packet to send, from the IPv4 header on, into `out`, which it clears; gives its length.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        out.clear();
        out.resize(DATAGRAM_HEADER_BYTES, 0);
        match self.poll_message(now, out) {
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
    pub fn poll_message(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SessionKey> {
        let interval = self.config.interval;
        let pace = (interval, self.config.catch_up);
        while let Some(&(role, key)) = self.news.front() {
            let wrote = match role {
                Role::Sink => {
                    let sink = self.sinks.get_mut(&key).filter(|sink| sink.has_news());
                    sink.is_some_and(|sink| sink.transmit(now, (key.number, interval), out))
                }
                Role::Source => {
                    let source = self.sources.get_mut(&key).filter(|source| source.answers());
                    source.is_some_and(|source| source.transmit(now, (key.number, pace), out))
                }
            };
            if wrote {
                return Some(key);
            }
            self.news.pop_front();
        }
        while let Some(&(due, key)) = self.due.first()
            && due <= now
        {
            let source = self.sources.get_mut(&key);
            let wrote = source.is_some_and(|source| source.transmit(now, (key.number, pace), out));
            self.schedule(now, key);
            if wrote {
                return Some(key);
            }
            // Due, and nothing came: what it may send has changed since, and so has its place.
            if self.due.first() == Some(&(due, key)) {
                break;
            }
        }
        None
    }

    /// When [`Host::handle_timeout`] wants to be called; maybe in the past.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.due.first().map(|(due, _)| *due);
        let ends = self.interval.map(|(_, ends)| ends);
        [due, ends].into_iter().flatten().min()
    }

    /// Does what is due at `now`; nothing if nothing is.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some((began, ends)) = self.interval
            && ends <= now
        {
            self.calculate(now, now - began);
            let late = (now - ends) % self.config.interval;
            let is_busy =
                self.sinks.values().any(|sink| !sink.is_over()) || self.sources.values().any(SourceSession::is_active);
            self.interval = is_busy.then_some((now, now - late + self.config.interval));
        }
    }

    /// The interval's end: both roles, each by itself (VI.2).
    fn calculate(&mut self, now: Instant, elapsed: Duration) {
        fn open<K: Sink>(sink: &mut SinkSession<K>) -> Option<&mut Account> {
            sink.is_open().then_some(&mut sink.account)
        }
        fn active<S: Source>(source: &mut SourceSession<S>) -> Option<&mut Account> {
            source.is_active().then_some(&mut source.account)
        }
        self.table
            .calculate((now, elapsed), self.sinks.values_mut().filter_map(open));
        self.table
            .calculate((now, elapsed), self.sources.values_mut().filter_map(active));
        for (key, sink) in &mut self.sinks {
            sink.tick(now, self.config.interval);
            if sink.has_news() {
                self.news.push_back((Role::Sink, *key));
            }
        }
        let active = self.sources.iter().filter(|(_, source)| source.is_active());
        for key in active.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.schedule(now, key);
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
