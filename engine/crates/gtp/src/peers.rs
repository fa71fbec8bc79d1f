// SPDX-License-Identifier: Apache-2.0
//! Who may speak: handshakes, and the channels that came of them.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use slotwise_units::{Duration, Instant};

use crate::channel::{Asking, Channel, answer, is_refusal, refuse};
use crate::cookie::Cookies;
use crate::key::Key;
use crate::packet::{MAC_BYTES, NOISE_ACCEPT_BYTES, NOISE_OPEN_BYTES, Nonce, Packet};

/// Channels that are answered and not yet used, of all addresses, and of one.
const MAX_HALF_OPEN: usize = 64;
const MAX_HALF_OPEN_OF_ONE: usize = 32;
/// Who has been answered for so long and is not heard makes room for others; an answer may be on its way for less.
const ANSWER: Duration = Duration::from_s(1);
/// Channels in all.
pub const MAX_CHANNELS: usize = 256;
/// How long a channel may be answered and not used.
const HALF_OPEN: Duration = Duration::from_s(5);
/// Time between tries of a handshake.
const RETRY: Duration = Duration::from_ms(500);
/// Answers to handshakes that wait to be sent: what a flood asks for beyond that must not be in the way of data.
const MAX_ANSWERS: usize = 64;

/// Datagrams that changed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerStats {
    /// None of ours.
    pub malformed: u64,
    /// Of a channel that is not here, or from another address.
    pub unclaimed: u64,
    /// Forged, of another key, or here before.
    pub refused: u64,
    /// Without a cookie that holds.
    pub without_cookie: u64,
    /// There were too many channels, or too many answers waited.
    pub without_room: u64,
}

enum State {
    /// It asks for a cookie.
    Hello,
    /// It has said the first message, with a cookie; and may ask for another cookie, since the daemon may have begun anew.
    Opening {
        asking: Option<Asking>,
        noise: Box<[u8; NOISE_OPEN_BYTES]>,
        wants_cookie: bool,
        /// The other end has said that it has no room.
        is_refused: bool,
    },
    /// It has answered, and not heard yet that the other has the keys.
    Answered(Box<Channel>, Box<[u8; NOISE_ACCEPT_BYTES]>),
    Live(Box<Channel>),
}

struct Peer {
    address: SocketAddr,
    /// The channel of who asked, which with address and nonce is one handshake.
    asked: (u32, Nonce),
    state: State,
    /// When something authentic came last; before, when it began.
    heard: Instant,
    /// When to try again.
    retry: Instant,
}

impl Peer {
    /// A cookie comes that this end asked for: nonce and first message to go with it. Whatever cookie it is, the message stays the same.
    fn take_cookie(&mut self, now: Instant, key: &Key, channel: u32) -> Option<(Nonce, Box<[u8; NOISE_OPEN_BYTES]>)> {
        let nonce = self.asked.1;
        let noise = match &mut self.state {
            State::Hello => {
                let (asking, noise) = Asking::new(key, channel, &nonce)?;
                let noise = Box::new(noise);
                self.state = State::Opening {
                    asking: Some(asking),
                    noise: noise.clone(),
                    wants_cookie: false,
                    is_refused: false,
                };
                noise
            }
            State::Opening {
                noise, wants_cookie, ..
            } => std::mem::take(wants_cookie).then(|| noise.clone())?,
            State::Answered(..) | State::Live(_) => return None,
        };
        self.retry = now + RETRY;
        Some((nonce, noise))
    }
}

/// What the other end of a channel has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing at all.
    Nothing,
    /// Somebody is there; if the channel never opened, the keys differ.
    Something,
    /// That the key is right, and there is no room.
    Full,
    /// Notice that it closes the channel.
    Close,
}

/// An answer to who asks for a channel.
enum Answer {
    Accept([u8; NOISE_ACCEPT_BYTES]),
    Full([u8; MAC_BYTES]),
}

/// There are as many channels as there may be.
struct NoRoom;

/// What became of a datagram.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing more.
    Nothing,
    /// This end asked for the channel, and may use it.
    Opened(u32),
    /// A message of this channel is in the buffer.
    Message(u32),
}

/// All peers of a node.
pub(crate) struct Peers {
    key: Key,
    cookies: Cookies,
    /// Whether others may open channels.
    answers: bool,
    patience: Duration,
    peers: BTreeMap<u32, Peer>,
    next_channel: u32,
    pub(crate) stats: PeerStats,
}

impl Peers {
    pub(crate) fn new(key: Key, secret: &[u8; 32], answers: bool, patience: Duration) -> Peers {
        Peers {
            key,
            cookies: Cookies::new(secret),
            answers,
            patience,
            peers: BTreeMap::new(),
            // Not to be guessed by who does not see the packets.
            next_channel: u32::from_be_bytes([secret[28], secret[29], secret[30], secret[31]]),
            stats: PeerStats::default(),
        }
    }

    fn free_channel(&mut self) -> u32 {
        while self.peers.contains_key(&self.next_channel) {
            self.next_channel = self.next_channel.wrapping_add(1);
        }
        let channel = self.next_channel;
        self.next_channel = channel.wrapping_add(1);
        channel
    }

    /// Begins a handshake.
    pub(crate) fn connect(&mut self, now: Instant, address: SocketAddr, nonce: Nonce) -> u32 {
        let channel = self.free_channel();
        let peer = Peer {
            address,
            asked: (channel, nonce),
            state: State::Hello,
            heard: now,
            retry: now,
        };
        self.peers.insert(channel, peer);
        channel
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    pub(crate) fn is_live(&self, channel: u32) -> bool {
        let peer = self.peers.get(&channel);
        peer.is_some_and(|peer| matches!(peer.state, State::Live(_)))
    }

    /// What the other end has said.
    pub(crate) fn said(&self, channel: u32) -> Said {
        match self.peers.get(&channel).map(|peer| &peer.state) {
            None | Some(State::Hello) => Said::Nothing,
            Some(State::Opening { is_refused: true, .. }) => Said::Full,
            Some(_) => Said::Something,
        }
    }

    pub(crate) fn address(&self, channel: u32) -> Option<SocketAddr> {
        self.peers.get(&channel).map(|peer| peer.address)
    }

    /// All channels.
    pub(crate) fn channels(&self) -> Vec<u32> {
        self.peers.keys().copied().collect()
    }

    /// The channels to an address.
    pub(crate) fn at(&self, address: SocketAddr) -> Vec<u32> {
        let there = self.peers.iter().filter(|(_, peer)| peer.address == address);
        there.map(|(channel, _)| *channel).collect()
    }

    pub(crate) fn heard(&self, channel: u32) -> Option<Instant> {
        self.peers.get(&channel).map(|peer| peer.heard)
    }

    pub(crate) fn remove(&mut self, channel: u32) {
        self.peers.remove(&channel);
    }

    /// Seals a message; gives where it goes. `None` if the channel is not live.
    pub(crate) fn seal(&mut self, channel: u32, message: &[u8], out: &mut Vec<u8>) -> Option<SocketAddr> {
        let peer = self.peers.get_mut(&channel)?;
        let State::Live(keys) = &mut peer.state else {
            return None;
        };
        keys.seal(message, out).then_some(peer.address)
    }

    /// Takes a datagram. Answers go to `out`, at most one and never longer than what came; what was sealed to `message`.
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
        (out, message): (&mut VecDeque<(SocketAddr, Vec<u8>)>, &mut Vec<u8>),
    ) -> Taken {
        let Ok(packet) = Packet::decode(bytes) else {
            self.stats.malformed += 1;
            return Taken::Nothing;
        };
        if out.len() >= MAX_ANSWERS && matches!(packet, Packet::Hello { .. } | Packet::Open { .. }) {
            self.stats.without_room += 1;
            return Taken::Nothing;
        }
        let mut say = |packet: Packet| {
            let mut datagram = Vec::new();
            packet.encode(&mut datagram);
            debug_assert!(datagram.len() <= bytes.len() || matches!(packet, Packet::Open { .. }));
            out.push_back((from, datagram));
        };
        match packet {
            Packet::Hello { channel, nonce } => {
                if !self.answers {
                    self.stats.unclaimed += 1;
                    return Taken::Nothing;
                }
                let cookie = self.cookies.make(now, from, channel, &nonce);
                say(Packet::Cookie { channel, cookie });
            }
            Packet::Cookie { channel, cookie } => {
                let peer = self.peers.get_mut(&channel).filter(|peer| peer.address == from);
                let Some((nonce, noise)) = peer.and_then(|peer| peer.take_cookie(now, &self.key, channel)) else {
                    self.stats.unclaimed += 1;
                    return Taken::Nothing;
                };
                say(Packet::Open {
                    channel,
                    nonce,
                    cookie,
                    noise: &noise,
                });
            }
            Packet::Open {
                channel,
                nonce,
                cookie,
                noise,
            } => {
                if !self.answers {
                    self.stats.unclaimed += 1;
                    return Taken::Nothing;
                }
                if !self.cookies.is_right(now, from, channel, (&nonce, &cookie)) {
                    self.stats.without_cookie += 1;
                    return Taken::Nothing;
                }
                match self.answer(now, from, (channel, nonce), noise) {
                    Some(Answer::Accept(noise)) => say(Packet::Accept { channel, noise: &noise }),
                    Some(Answer::Full(mac)) => say(Packet::Full { channel, mac: &mac }),
                    None => {}
                }
            }
            Packet::Accept { channel, noise } => return self.finish(now, from, channel, noise),
            Packet::Sealed { channel, number, body } => {
                return self.open(now, from, (channel, number, body), message);
            }
            Packet::Full { channel, mac } => self.take_refusal(from, channel, mac),
        }
        Taken::Nothing
    }

    /// The other end has no room now, and is asked again: it may have some before this end's patience is over.
    fn take_refusal(&mut self, from: SocketAddr, channel: u32, mac: &[u8; MAC_BYTES]) {
        let peer = self.peers.get_mut(&channel).filter(|peer| peer.address == from);
        let Some(Peer {
            state: State::Opening { is_refused, .. },
            asked: (_, nonce),
            ..
        }) = peer
        else {
            self.stats.unclaimed += 1;
            return;
        };
        match is_refusal(&self.key, (channel, nonce), mac) {
            true => *is_refused = true,
            false => self.stats.refused += 1,
        }
    }

    /// Who asks has a cookie: the answer, if it has the key too.
    fn answer(
        &mut self,
        now: Instant,
        from: SocketAddr,
        asked: (u32, Nonce),
        first: &[u8; NOISE_OPEN_BYTES],
    ) -> Option<Answer> {
        let same = |peer: &&Peer| peer.address == from && peer.asked == asked;
        if let Some(peer) = self.peers.values().find(same) {
            // The answer was lost; of a channel in use it is an old one that comes again.
            if let State::Answered(_, answer) = &peer.state {
                return Some(Answer::Accept(**answer));
            }
            self.stats.refused += 1;
            return None;
        }
        let Ok(in_the_way) = self.room(now, from.ip()) else {
            let mac = refuse(&self.key, (asked.0, &asked.1), first);
            match mac {
                Some(_) => self.stats.without_room += 1,
                None => self.stats.refused += 1,
            }
            return mac.map(Answer::Full);
        };
        let own = self.free_channel();
        let Some((channel, message)) = answer(&self.key, (asked.0, &asked.1), first, own) else {
            self.stats.refused += 1;
            return None;
        };
        if let Some(old) = in_the_way {
            self.peers.remove(&old);
            self.stats.without_room += 1;
        }
        let peer = Peer {
            address: from,
            asked,
            state: State::Answered(Box::new(channel), Box::new(message)),
            heard: now,
            retry: Instant::MAX,
        };
        self.peers.insert(own, peer);
        Some(Answer::Accept(message))
    }

    /// Whether there is room for one more channel, and which one, answered and not heard since, must go for it. One that was answered just now
    /// stays: its other end believes that it is open, and would wait for nothing.
    fn room(&self, now: Instant, ip: IpAddr) -> Result<Option<u32>, NoRoom> {
        let half_open = |ip: Option<IpAddr>| {
            let peers = self.peers.iter();
            peers.filter(move |(_, peer)| {
                matches!(peer.state, State::Answered(..)) && ip.is_none_or(|ip| peer.address.ip() == ip)
            })
        };
        let is_full = self.peers.len() >= MAX_CHANNELS || half_open(None).count() >= MAX_HALF_OPEN;
        let candidates = match half_open(Some(ip)).count() {
            MAX_HALF_OPEN_OF_ONE.. => half_open(Some(ip)),
            _ if is_full => half_open(None),
            _ => return Ok(None),
        };
        let oldest = candidates.min_by_key(|(_, peer)| peer.heard);
        let oldest = oldest.filter(|(_, peer)| now.saturating_since(peer.heard) >= ANSWER);
        oldest.map(|(channel, _)| Some(*channel)).ok_or(NoRoom)
    }

    fn finish(&mut self, now: Instant, from: SocketAddr, channel: u32, noise: &[u8; NOISE_ACCEPT_BYTES]) -> Taken {
        let peer = self.peers.get_mut(&channel).filter(|peer| peer.address == from);
        let Some(Peer {
            state: state @ State::Opening { .. },
            heard,
            ..
        }) = peer
        else {
            self.stats.unclaimed += 1;
            return Taken::Nothing;
        };
        let State::Opening { asking, .. } = state else {
            return Taken::Nothing;
        };
        match asking.take().map(|asking| asking.finish(noise)) {
            Some(Ok(keys)) => {
                *state = State::Live(Box::new(keys));
                *heard = now;
                Taken::Opened(channel)
            }
            Some(Err(again)) => {
                *asking = Some(again);
                self.stats.refused += 1;
                Taken::Nothing
            }
            None => Taken::Nothing,
        }
    }

    fn open(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (channel, number, body): (u32, u64, &[u8]),
        message: &mut Vec<u8>,
    ) -> Taken {
        let peer = self.peers.get_mut(&channel).filter(|peer| peer.address == from);
        let Some(peer) = peer else {
            self.stats.unclaimed += 1;
            return Taken::Nothing;
        };
        let (State::Answered(keys, _) | State::Live(keys)) = &mut peer.state else {
            self.stats.unclaimed += 1;
            return Taken::Nothing;
        };
        if !keys.open(number, body, message) {
            self.stats.refused += 1;
            return Taken::Nothing;
        }
        peer.heard = now;
        if let State::Answered(..) = peer.state
            && let State::Answered(keys, _) = std::mem::replace(&mut peer.state, State::Hello)
        {
            peer.state = State::Live(keys);
        }
        Taken::Message(channel)
    }

    /// Tries handshakes again, into `out`, and gives the channels that are over: of which nothing was heard for too long.
    pub(crate) fn tick(&mut self, now: Instant, out: &mut VecDeque<(SocketAddr, Vec<u8>)>) -> Vec<u32> {
        for (channel, peer) in &mut self.peers {
            if peer.retry > now {
                continue;
            }
            let (channel, nonce) = (*channel, peer.asked.1);
            match &mut peer.state {
                State::Hello => {}
                State::Opening { wants_cookie, .. } => *wants_cookie = true,
                State::Answered(..) | State::Live(_) => continue,
            }
            let packet = Packet::Hello { channel, nonce };
            let mut datagram = Vec::new();
            packet.encode(&mut datagram);
            out.push_back((peer.address, datagram));
            peer.retry = now + RETRY;
        }
        let is_over = |peer: &Peer| {
            let patience = match peer.state {
                State::Answered(..) => HALF_OPEN,
                _ => self.patience,
            };
            now.saturating_since(peer.heard) >= patience
        };
        let over = self.peers.iter().filter(|(_, peer)| is_over(peer));
        over.map(|(channel, _)| *channel).collect()
    }
}
