// SPDX-License-Identifier: Apache-2.0
//! One socket's sessions: channels, what is said of files, and GTP's host beneath.

mod words;

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::RangeInclusive;

use slotwise_lambda::{Rule, Steps};
use slotwise_transport::ConfigError;
use slotwise_transport::content::{Sink, Source};
use slotwise_transport::gtp::message::{MAX_SESSION, Request};
use slotwise_transport::gtp::{Host, HostConfig, HostStats, Offer, SessionKey, SinkConfig, SinkStats, SourceStats};
use slotwise_units::{Bytes, Duration, Instant, Rate};

use self::words::{Stage, Transfer};
use crate::control::{Control, Digest, IS_GTP, MAX_NAME_BYTES, Reason, Verdict};
use crate::key::Key;
use crate::packet::SEAL_BYTES;
use crate::peers::{PeerStats, Peers, Said, Taken};

/// Transfers of one channel at a time.
const MAX_TRANSFERS: usize = 64;
/// How often what is due beside packets is looked for.
const TICK: Duration = Duration::from_ms(100);
/// What all sessions of one direction may share, of IP packets.
pub const CAPACITIES: RangeInclusive<Rate> = Rate::from_bps(10_000)..=Rate::from_bps(1_000_000_000_000);
/// What protection adds to a packet.
const SEALED_BYTES: u16 = SEAL_BYTES as u16 + 1;
/// All sessions are of this end.
const LOCAL: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);

/// Settings of a [`Node`].
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// What all sessions of one direction share, of IP packets, protection included, within [`CAPACITIES`].
    pub capacity: Rate,
    /// Time between calculations, 1 ms to 10 s; above the largest round-trip time.
    pub interval: Duration,
    /// How the capacity is shared.
    pub rule: Rule,
    /// How fast sessions rise.
    pub steps: Steps,
    /// Largest IPv4 packet, 256 to 9000 bytes.
    pub packet_bytes: u16,
    /// How far sending may be behind and make up for it, at most 10 ms: what goes out at once.
    pub catch_up: Duration,
    /// Whether others may open channels.
    pub answers: bool,
    /// A peer of which nothing is heard for so long is lost.
    pub patience: Duration,
    /// Random, known to nobody else: of cookies, of channel numbers, of who is first among equals.
    pub secret: [u8; 32],
}

/// A transfer of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferId {
    /// This end's number of the channel.
    pub channel: u32,
    /// Chosen by who opened the channel.
    pub number: u32,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A channel that this end asked for is open.
    Opened(u32),
    /// A channel is no more, nor are its transfers: nothing was heard for too long, or the other end closed it.
    Lost {
        /// Which.
        channel: u32,
        /// Who was there.
        address: SocketAddr,
        /// What it had said.
        said: Said,
        /// Its transfers: how each ended, and what was counted of it.
        transfers: Vec<(TransferId, Ended, TransferStats)>,
    },
    /// The other end wants a file: answer with [`Node::offer`] or [`Node::refuse`].
    Wanted {
        /// Which transfer.
        id: TransferId,
        /// As it came.
        name: String,
    },
    /// The other end has a file, asked for or not: answer with [`Node::take`] or [`Node::refuse`].
    Offered {
        /// Which transfer.
        id: TransferId,
        /// As it came; empty if it was asked for.
        name: String,
        /// Its length.
        bytes: Bytes,
        /// Its SHA-256.
        digest: Digest,
    },
    /// All bytes are here: compare them and call [`Node::conclude`].
    Received(TransferId),
    /// A transfer is over.
    Ended(TransferId, Ended),
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The sink said this.
    Done(Verdict),
    /// The other end does not do it.
    Refused(Reason),
    /// Nothing was heard of the other end for too long.
    Lost,
    /// The other end closed the channel before.
    Closed,
}

/// What does not go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// A setting is out of its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No such transfer, or it is beyond that.
    #[error("transfer {0:?} is unknown or past this state")]
    Transfer(TransferId),
    /// The channel is not open, or has too many transfers.
    #[error("channel {0} is closed or has 64 transfers")]
    Channel(u32),
    /// A name that cannot be sent.
    #[error("invalid name length; expected 1 to 1024 bytes, got {0}")]
    Name(usize),
}

/// What both ends count of a transfer; each has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferStats {
    /// Where bytes come from.
    pub source: Option<SourceStats>,
    /// Where they go.
    pub sink: Option<SinkStats>,
}

/// All sessions of one socket.
pub struct Node<S, K> {
    peers: Peers,
    packet_bytes: u16,
    host: Host<S, K>,
    transfers: BTreeMap<TransferId, Transfer>,
    /// Datagrams of handshakes.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    /// Messages to be sealed.
    controls: VecDeque<(u32, Vec<u8>)>,
    events: VecDeque<Event>,
    tick: Instant,
    next_number: u32,
    /// What was opened, or is to be sealed.
    message: Vec<u8>,
    /// Messages that mean nothing, of peers that have the key.
    meaningless: u64,
}

fn session(id: TransferId) -> SessionKey {
    SessionKey {
        local: LOCAL,
        remote: remote(id.channel),
        number: id.number,
    }
}

/// What GTP's host shares, which knows nothing of what protection adds.
fn within(capacity: Rate, packet_bytes: u16) -> Rate {
    Rate::from_bps(capacity.bps() * u64::from(packet_bytes - SEALED_BYTES) / u64::from(packet_bytes))
}

/// Refuses what is outside [`CAPACITIES`].
fn check_capacity(capacity: Rate) -> Result<(), ConfigError> {
    let range = CAPACITIES.start().bps()..=CAPACITIES.end().bps();
    ConfigError::check("capacity_bps", capacity.bps(), range)
}

/// Stands for a channel at GTP's host, which tells sessions apart by addresses: theirs may be alike.
fn remote(channel: u32) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::from(channel), 0)
}

impl<S: Source, K: Sink> Node<S, K> {
    /// A node without peers.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(config: &NodeConfig, key: Key) -> Result<Node<S, K>, NodeError> {
        ConfigError::check("packet_bytes", config.packet_bytes.into(), 256..=9000)?;
        check_capacity(config.capacity)?;
        ConfigError::check("patience_ns", config.patience.ns(), 1_000_000_000..=3_600_000_000_000)?;
        let packet_bytes = config.packet_bytes - SEALED_BYTES;
        let host = HostConfig {
            capacity: within(config.capacity, config.packet_bytes),
            interval: config.interval,
            phase: Instant::ZERO,
            rule: config.rule,
            steps: config.steps,
            packet_bytes,
            catch_up: config.catch_up,
            seed: u64::from_be_bytes(std::array::from_fn(|at| config.secret[at])),
        };
        Ok(Node {
            packet_bytes: config.packet_bytes,
            peers: Peers::new(key, &config.secret, config.answers, config.patience),
            host: Host::new(host)?,
            transfers: BTreeMap::new(),
            answers: VecDeque::new(),
            controls: VecDeque::new(),
            events: VecDeque::new(),
            tick: Instant::ZERO,
            next_number: 0,
            message: Vec::new(),
            meaningless: 0,
        })
    }

    /// Changes what transfers of one direction share, of IP packets, within [`CAPACITIES`], from the next calculation on.
    ///
    /// # Errors
    /// When it is out of its range; nothing is changed then.
    pub fn set_capacity(&mut self, capacity: Rate) -> Result<(), NodeError> {
        check_capacity(capacity)?;
        Ok(self.host.set_capacity(within(capacity, self.packet_bytes))?)
    }

    /// Asks for a channel to the node at `address`; [`Event::Opened`] or [`Event::Lost`] comes of it. `nonce` is random, for this handshake.
    pub fn connect(&mut self, now: Instant, address: SocketAddr, nonce: [u8; 16]) -> u32 {
        self.tick = self.tick.min(now);
        self.peers.connect(now, address, nonce)
    }

    /// Where a channel leads.
    pub fn address(&self, channel: u32) -> Option<SocketAddr> {
        self.peers.address(channel)
    }

    /// Forgets a channel and its transfers, without a word.
    pub fn close(&mut self, channel: u32) {
        self.peers.remove(channel);
        for id in self.transfers_of(channel) {
            self.remove(id);
        }
    }

    /// Closes all channels, and says so to their other ends, after all else that was to be said: with what [`Node::poll_transmit`] gives next.
    pub fn leave(&mut self) {
        let channels = self.peers.channels();
        for channel in &channels {
            self.say(
                TransferId {
                    channel: *channel,
                    number: 0,
                },
                Control::Close,
            );
        }
        for (channel, message) in std::mem::take(&mut self.controls) {
            let mut datagram = Vec::new();
            if let Some(to) = self.peers.seal(channel, &message, &mut datagram) {
                self.answers.push_back((to, datagram));
            }
        }
        for channel in channels {
            self.close(channel);
        }
    }

    fn transfers_of(&self, channel: u32) -> Vec<TransferId> {
        let of_channel = self.transfers.keys().filter(|id| id.channel == channel);
        of_channel.copied().collect()
    }

    /// What is sent to an address does not get there: its channels are no more, which [`Event::Lost`] says of each.
    pub fn lose(&mut self, address: SocketAddr) {
        for channel in self.peers.at(address) {
            self.lost(channel, self.peers.said(channel));
        }
    }

    /// A channel is no more, of whose other end this is known.
    fn lost(&mut self, channel: u32, said: Said) {
        let Some(address) = self.peers.address(channel) else {
            return;
        };
        let ended = |stage| match (stage, said) {
            // That the other end has not said that it knows changes nothing.
            (Stage::Concluding(verdict, _), _) => Ended::Done(verdict),
            (_, Said::Close) => Ended::Closed,
            _ => Ended::Lost,
        };
        let of_channel = self.transfers_of(channel).into_iter();
        let transfers = of_channel.map(|id| (id, ended(self.transfers[&id].stage), self.transfer_stats(id)));
        let transfers = transfers.collect();
        self.close(channel);
        self.events.push_back(Event::Lost {
            channel,
            address,
            said,
            transfers,
        });
    }

    /// Says anything at all over a channel, as a peer with the key that lies may: for tests of the other end.
    pub fn say_anything(&mut self, channel: u32, message: &[u8]) {
        self.controls.push_back((channel, message.to_vec()));
    }

    fn remove(&mut self, id: TransferId) {
        self.transfers.remove(&id);
        self.host.remove(&session(id));
    }

    fn add(&mut self, now: Instant, channel: u32, name: &str, is_sink: bool) -> Result<TransferId, NodeError> {
        if !(1..=MAX_NAME_BYTES).contains(&name.len()) {
            return Err(NodeError::Name(name.len()));
        }
        if !self.peers.is_live(channel) || !self.has_room(channel) {
            return Err(NodeError::Channel(channel));
        }
        let number = self.next_number & MAX_SESSION;
        self.next_number = number + 1;
        let id = TransferId { channel, number };
        let transfer = Transfer {
            is_own: true,
            is_sink,
            stage: Stage::Asking,
            name: name.into(),
            entry: None,
            block_bytes: self.host.block_bytes(),
            said_at: now,
        };
        self.transfers.insert(id, transfer);
        Ok(id)
    }

    fn has_room(&self, channel: u32) -> bool {
        let number = |number| TransferId { channel, number };
        self.transfers.range(number(0)..=number(u32::MAX)).count() < MAX_TRANSFERS
    }

    /// Asks for a file over an open channel.
    ///
    /// # Errors
    /// When the channel is not open or full, or the name has not 1 to 1024 bytes.
    pub fn get(&mut self, now: Instant, channel: u32, name: &str) -> Result<TransferId, NodeError> {
        let id = self.add(now, channel, name, true)?;
        self.ask(id);
        Ok(id)
    }

    /// Offers a file over an open channel.
    ///
    /// # Errors
    /// As those of [`Node::get`].
    pub fn put(
        &mut self,
        now: Instant,
        (channel, name): (u32, &str),
        (bytes, digest): (Bytes, Digest),
        content: S,
    ) -> Result<TransferId, NodeError> {
        let id = self.add(now, channel, name, false)?;
        self.serve(id, (bytes, digest), content)?;
        self.ask(id);
        Ok(id)
    }

    /// Lets the other end ask for the bytes of a file.
    fn serve(&mut self, id: TransferId, (bytes, digest): (Bytes, Digest), content: S) -> Result<(), NodeError> {
        let offer = Offer {
            length: Some(bytes),
            ..Offer::default()
        };
        self.host.offer(session(id), offer, content)?;
        let transfer = self.transfers.get_mut(&id).ok_or(NodeError::Transfer(id))?;
        transfer.entry = Some((bytes, digest));
        Ok(())
    }

    fn at(&mut self, id: TransferId, is_sink: bool, stages: &[Stage]) -> Result<&mut Transfer, NodeError> {
        let transfer = self
            .transfers
            .get_mut(&id)
            .filter(|transfer| transfer.is_sink == is_sink);
        transfer
            .filter(|transfer| stages.contains(&transfer.stage))
            .ok_or(NodeError::Transfer(id))
    }

    /// Answers [`Event::Wanted`] with a file.
    ///
    /// # Errors
    /// When the transfer is no more, or was answered.
    pub fn offer(&mut self, id: TransferId, entry: (Bytes, Digest), content: S) -> Result<(), NodeError> {
        self.at(id, false, &[Stage::Deciding])?.stage = Stage::Sending;
        self.serve(id, entry, content)?;
        self.say_state(id);
        Ok(())
    }

    /// Answers [`Event::Offered`]: the first `offset` bytes are here, others go to `content`.
    ///
    /// # Errors
    /// When the transfer is no more or was answered, or the file is shorter.
    pub fn take(&mut self, now: Instant, id: TransferId, offset: u64, content: K) -> Result<(), NodeError> {
        let transfer = self.at(id, true, &[Stage::Deciding])?;
        let bytes = transfer.entry.map_or(0, |(bytes, _)| bytes.get());
        ConfigError::check("offset", offset, 0..=bytes)?;
        let block_bytes = transfer.block_bytes;
        if offset == bytes {
            transfer.stage = Stage::Checking;
            self.events.push_back(Event::Received(id));
            return Ok(());
        }
        transfer.stage = Stage::Receiving;
        let request = Request {
            block_bytes,
            offset,
            length: Bytes::new(bytes - offset),
            wanted: Rate::ZERO,
        };
        self.host.request(
            now,
            session(id),
            SinkConfig {
                request,
                steps: None,
                begin: Rate::ZERO,
            },
            content,
        )?;
        self.say_state(id);
        Ok(())
    }

    /// Answers [`Event::Wanted`] or [`Event::Offered`]: no.
    pub fn refuse(&mut self, id: TransferId, reason: Reason) {
        if self.transfers.contains_key(&id) {
            self.remove(id);
            self.say(id, Control::No { reason });
        }
    }

    /// Answers [`Event::Received`].
    ///
    /// # Errors
    /// When the transfer is no more, or was answered.
    pub fn conclude(&mut self, now: Instant, id: TransferId, verdict: Verdict) -> Result<(), NodeError> {
        let transfer = self.at(id, true, &[Stage::Checking])?;
        transfer.stage = Stage::Concluding(verdict, 0);
        transfer.said_at = now;
        self.say_state(id);
        Ok(())
    }

    /// Takes a datagram.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        let mut message = std::mem::take(&mut self.message);
        match self
            .peers
            .handle(now, from, datagram, (&mut self.answers, &mut message))
        {
            Taken::Nothing => {}
            Taken::Opened(channel) => self.events.push_back(Event::Opened(channel)),
            Taken::Message(channel) if message.first() == Some(&IS_GTP) => {
                self.host.handle_message(now, (LOCAL, remote(channel)), &message[1..]);
                while let Some((key, _)) = self.host.poll_event() {
                    let number = key.number;
                    let channel = u32::from(*key.remote.ip());
                    self.finished(TransferId { channel, number });
                }
            }
            Taken::Message(channel) => match Control::decode(&message) {
                Ok((number, control)) if number <= MAX_SESSION => {
                    self.on_control(now, TransferId { channel, number }, control);
                }
                _ => self.meaningless += 1,
            },
        }
        self.message = message;
        self.tick = self.tick.min(now + TICK);
    }

    fn finished(&mut self, id: TransferId) {
        if let Ok(transfer) = self.at(id, true, &[Stage::Receiving]) {
            transfer.stage = Stage::Checking;
            self.events.push_back(Event::Received(id));
        }
    }

    /// A transfer is over; what was counted of it goes with the event.
    fn end(&mut self, id: TransferId, ended: Ended) {
        self.transfers.remove(&id);
        self.events.push_back(Event::Ended(id, ended));
    }

    /// What was counted of a transfer, until [`Node::forget`].
    pub fn transfer_stats(&self, id: TransferId) -> TransferStats {
        TransferStats {
            source: self.host.source_stats(&session(id)),
            sink: self.host.sink_stats(&session(id)),
        }
    }

    /// Where a sink's bytes go.
    pub fn content(&self, id: TransferId) -> Option<&K> {
        self.host.content(&session(id))
    }

    /// After [`Event::Ended`].
    pub fn forget(&mut self, id: TransferId) {
        self.host.remove(&session(id));
    }

    /// Datagrams that changed nothing.
    pub fn peer_stats(&self) -> PeerStats {
        self.peers.stats
    }

    /// Messages of peers with the key that changed nothing, and those that mean nothing.
    pub fn message_stats(&self) -> (HostStats, u64) {
        (self.host.stats(), self.meaningless)
    }

    /// Writes the next datagram into `out`, which it clears; gives where it goes.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        out.clear();
        if let Some((to, datagram)) = self.answers.pop_front() {
            out.extend(datagram);
            return Some(to);
        }
        while let Some((channel, message)) = self.controls.pop_front() {
            if let Some(to) = self.peers.seal(channel, &message, out) {
                return Some(to);
            }
        }
        loop {
            self.message.clear();
            self.message.push(IS_GTP);
            let key = self.host.poll_message(now, &mut self.message)?;
            let channel = u32::from(*key.remote.ip());
            if let Some(to) = self.peers.seal(channel, &self.message, out) {
                return Some(to);
            }
            // A channel that is no more has no sessions.
            self.host.remove(&key);
        }
    }

    /// What happened since the last call, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Node::handle_timeout`] wants to be called; maybe in the past.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let tick = (!self.peers.is_empty()).then_some(self.tick);
        [tick, self.host.poll_timeout()].into_iter().flatten().min()
    }

    /// Does what is due at `now`; nothing if nothing is.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.host.handle_timeout(now);
        if self.peers.is_empty() || now < self.tick {
            return;
        }
        self.tick = now + TICK;
        for channel in self.peers.tick(now, &mut self.answers) {
            self.lost(channel, self.peers.said(channel));
        }
        for id in self.transfers.keys().copied().collect::<Vec<_>>() {
            self.tick(now, id);
        }
    }
}
