// SPDX-License-Identifier: Apache-2.0
//! Controllers of one device: roles, elections, and what they are told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slotwise_p4::{Bits, Port};
use slotwise_units::Instant;
use tonic::Status;

use crate::arbitration::{Advisory, Election, StreamId};
use crate::digest::OWN_BYTES;
use crate::entity::{Books, EntryId, Note};
use crate::error::{ApiError, any};
use crate::hub::Delivery;
use crate::idle::{Expired, IdleTimers};
use crate::incoming::{Caller, PrimaryMark};
use crate::learning::{Learned, QUEUE_BYTES, RoleDigests};
use crate::outbox::{Claim, FREE_BYTES, Outbox};
use crate::p4info::P4Info;
use crate::proto::google::rpc;
use crate::proto::p4::v1::digest_entry::Config as DigestConfig;
use crate::proto::p4::v1::{self, stream_message_response::Update};
use crate::proto::slotwise::v1::PortStatus;
use crate::role::Access;

/// Messages that wait for one controller; what is above is dropped and counted.
pub(crate) const STREAM_QUEUE: usize = 8192;
/// Places kept free for arbitration: packets do not fill the queue.
const RESERVED: usize = 256;
/// Arbitration does not depend on what others leave unread: a small part is kept free for it.
const ARBITRATION: Claim = Claim {
    reserve: 0,
    free_bytes: FREE_BYTES + 16 * 1024,
};
/// What primaries are sent.
const NOTICE: Claim = Claim {
    reserve: RESERVED,
    free_bytes: FREE_BYTES,
};
/// Anybody can cause errors, and they repeat what was sent.
const ERROR: Claim = Claim {
    reserve: RESERVED,
    free_bytes: 0,
};
/// Roles that a device knows, those without streams included, and streams that it takes for each: more make others go.
const MAX_ROLES: usize = 64;
const MAX_STREAMS: usize = 256;
const MAX_ROLE_NAME: usize = 256;
/// What the digests of all roles may hold besides what each has for itself: both together, and those that no role has learned yet,
/// are [`DEVICE_DIGEST_BYTES`].
pub(crate) const SHARED_DIGEST_BYTES: usize = DEVICE_DIGEST_BYTES - QUEUE_BYTES - MAX_ROLES * OWN_BYTES;
/// What digests that wait, or wait for their acknowledgement, may hold on a device.
const DEVICE_DIGEST_BYTES: usize = 64 << 20;

/// The server's end of a StreamChannel.
pub(crate) type StreamSender = Outbox<v1::StreamMessageResponse>;

/// A StreamChannel, and whose it is.
#[derive(Clone)]
pub(crate) struct Client {
    pub sender: StreamSender,
    pub caller: Caller,
}

struct Member {
    client: Client,
    was_primary: bool,
    /// Ports of which it has to hear yet, while it is the primary.
    untold: BTreeSet<Port>,
}

/// Controllers of a device, and what the owner's thread needs to send them something.
pub(crate) struct Link {
    device_id: u64,
    /// Of the configuration in force.
    pub info: Option<Arc<P4Info>>,
    /// Digests that are sent.
    digests: BTreeMap<u32, DigestConfig>,
    pub idle: IdleTimers,
    /// What was last said of each port: whether it has a link. All others have one.
    ports: BTreeMap<Port, bool>,
    /// Primaries hear of ports by messages.
    tells_ports: bool,
    roles: BTreeMap<String, Role>,
    /// How often the last stream of a role has ended so far.
    departures: u64,
}

struct Role {
    election: Election,
    streams: BTreeMap<StreamId, Member>,
    /// Its primary's connection is known as one.
    mark: Option<PrimaryMark>,
    access: Arc<Access>,
    /// On their way to its primary.
    digests: Arc<RoleDigests>,
    /// The number of the departure of its last stream.
    departure: u64,
}

impl Link {
    pub fn new(device_id: u64, tells_ports: bool) -> Link {
        Link {
            device_id,
            info: None,
            digests: BTreeMap::new(),
            idle: IdleTimers::default(),
            ports: BTreeMap::new(),
            tells_ports,
            roles: BTreeMap::from([(String::new(), Role::new("", None))]),
            departures: 0,
        }
    }

    /// Another configuration is in force, with these books.
    pub fn install(&mut self, info: Arc<P4Info>, books: &Books, now: Instant) {
        for role in self.roles.values() {
            let mut state = role.digests.state();
            state.info = Some(info.clone());
            state.digests.forget();
        }
        self.info = Some(info);
        self.configure_digests(&books.digests);
        self.idle.reset(books.notes.iter(), now);
    }

    /// The device has stopped: streams end, and what was agreed on them is forgotten. Ports keep their state.
    pub fn stop(&mut self) {
        let streams = self.roles.values().flat_map(|role| role.streams.values());
        for stream in streams {
            stream
                .client
                .sender
                .finish(Some(Status::unavailable("the switch has stopped")));
        }
        *self = Link {
            ports: std::mem::take(&mut self.ports),
            ..Link::new(self.device_id, self.tells_ports)
        };
    }

    /// The rights of the other roles that somebody has: what nobody controls any more is free for others.
    pub fn other_roles(&self, role_name: &str) -> Vec<(String, Arc<Access>)> {
        let others = self
            .roles
            .iter()
            .filter(|(name, other)| *name != role_name && !other.streams.is_empty());
        others
            .map(|(name, other)| (name.clone(), other.access.clone()))
            .collect()
    }

    /// A stream joins a role's election or changes its id; tells everybody concerned. Its rights do not conflict with those
    /// of [`Link::other_roles`].
    pub fn arbitrate(
        &mut self,
        role_name: &str,
        stream: StreamId,
        election_id: Option<u128>,
        access: Access,
        client: &Client,
    ) -> Result<(), ApiError> {
        if !self.roles.contains_key(role_name)
            && (role_name.len() > MAX_ROLE_NAME || self.roles.len() >= MAX_ROLES && !self.forget_a_role())
        {
            let limits = format!(
                "role limit exceeded; expected at most {MAX_ROLES} roles with names of at most {MAX_ROLE_NAME} bytes"
            );
            return Err(ApiError::exhausted(limits));
        }
        let role = self.roles.entry(role_name.to_owned());
        let role = role.or_insert_with(|| Role::new(role_name, self.info.clone()));
        let before = role.election.primary();
        let advisory = role.election.arbitrate(stream, election_id).map_err(|_| {
            // Clients tell this case by the words "election id ... used".
            let id = election_id.unwrap_or_default();
            ApiError::invalid(format!(
                "election id {id} is already used by another live controller of this role"
            ))
        })?;
        if role.election.len() > MAX_STREAMS {
            role.end_a_stream();
        }
        let client = client.clone();
        let is_primary = role.election.primary() == Some(stream);
        let member = role.streams.entry(stream).or_insert(Member {
            client,
            was_primary: false,
            untold: BTreeSet::new(),
        });
        if is_primary {
            member.was_primary = true;
            if before != Some(stream) && self.tells_ports {
                member.untold.extend(self.ports.keys());
            }
            role.mark = Some(member.client.caller.mark_primary());
            role.access = Arc::new(access);
        } else if role.election.primary().is_none() {
            role.mark = None;
        }
        if role.election.primary() != before {
            // What the one before has learned, the new one has not.
            role.digests.state().begin(role.election.primary());
        }
        role.configure_digests(&self.digests);
        role.advise(self.device_id, role_name, advisory);
        self.tell_ports();
        Ok(())
    }

    /// Ports without a link.
    pub fn down_ports(&self) -> BTreeSet<Port> {
        let down = self.ports.iter().filter(|(_, is_up)| !**is_up);
        down.map(|(port, _)| *port).collect()
    }

    /// A port has a link, or not. False if that is no news.
    pub fn set_port(&mut self, port: Port, is_up: bool) -> bool {
        let is_news = self.ports.get(&port).copied().unwrap_or(true) != is_up;
        if is_news {
            self.ports.insert(port, is_up);
        }
        is_news
    }

    /// Primaries are to hear how a port is.
    pub fn tell_port(&mut self, port: Port) {
        if self.tells_ports {
            for primary in self.roles.values_mut().filter_map(Role::primary_mut) {
                primary.untold.insert(port);
            }
            self.tell_ports();
        }
    }

    /// Tells primaries what they have not heard of ports. False if one of them does not read fast enough: what it misses waits
    /// for the next call.
    pub fn tell_ports(&mut self) -> bool {
        let Link { roles, ports, .. } = self;
        let primaries = roles.values_mut().filter_map(Role::primary_mut);
        let mut all = true;
        for primary in primaries {
            all &= primary.tell_ports(ports);
        }
        all
    }

    /// Whether there is anything of ports that who becomes primary has to hear.
    pub fn has_ports_to_tell(&self) -> bool {
        self.tells_ports && !self.ports.is_empty()
    }

    /// What primaries hear of a port, if they hear of ports at all.
    pub fn port_update(&self, port: Port, is_up: bool) -> Option<Update> {
        self.tells_ports.then(|| port_update(port, is_up))
    }

    /// Makes room for another role: forgets that of those without streams which has been so for longest, with the highest
    /// election id that it had; or ends the streams of one that has no primary. False if all have one.
    fn forget_a_role(&mut self) -> bool {
        let without_primary = self
            .roles
            .iter()
            .filter(|(name, role)| !name.is_empty() && role.election.primary().is_none());
        let oldest = without_primary
            .min_by_key(|(_, role)| (!role.streams.is_empty(), role.departure))
            .map(|(name, _)| name.clone());
        let Some(role) = oldest.and_then(|name| self.roles.remove(&name)) else {
            return false;
        };
        role.streams.values().for_each(Member::end);
        true
    }

    /// These digests are sent from now on.
    pub fn configure_digests(&mut self, configs: &BTreeMap<u32, DigestConfig>) {
        self.digests = configs.clone();
        self.roles.values().for_each(|role| role.configure_digests(configs));
    }

    /// The program sent a digest, by its P4Runtime name; `None` if no role is to hear of it.
    pub fn learned(&self, name: &str, fields: &[Bits], now: Instant) -> Option<Learned> {
        let info = self.info.as_ref().filter(|_| !self.digests.is_empty())?;
        Learned::new(info, name, fields, now)
    }

    /// The digests of all roles.
    pub fn digest_roles(&self) -> Vec<Arc<RoleDigests>> {
        self.roles.values().map(|role| role.digests.clone()).collect()
    }

    /// The digests of a role.
    pub fn role_digests(&self, role_name: &str) -> Option<Arc<RoleDigests>> {
        Some(self.roles.get(role_name)?.digests.clone())
    }

    /// Where what concerns an object of P4Info goes for a role, while this stream is its primary.
    pub fn receiver(&self, role_name: &str, primary: StreamId, object_id: u32) -> Option<StreamSender> {
        let role = self.roles.get(role_name)?;
        let is_for_it = role.election.primary() == Some(primary) && role.access.permits(object_id);
        let primary = role.streams.get(&primary).filter(|_| is_for_it)?;
        Some(primary.client.sender.clone())
    }

    /// A stream ended.
    pub fn leave(&mut self, role_name: &str, stream: StreamId) {
        if let Some(role) = self.roles.get_mut(role_name) {
            role.streams.remove(&stream);
            let advisory = role.election.leave(stream);
            if role.election.primary().is_none() {
                role.mark = None;
                role.digests.state().begin(None);
            }
            if role.streams.is_empty() {
                self.departures += 1;
                role.departure = self.departures;
                // Who joins next brings its own rights: others may have taken these objects meanwhile.
                role.access = Arc::default();
            }
            role.advise(self.device_id, role_name, advisory);
        }
    }

    /// The rights of a request, if it comes from a role's primary.
    pub fn authorize(&self, role_name: &str, election_id: Option<u128>) -> Result<Arc<Access>, ApiError> {
        let role = self.roles.get(role_name);
        let role =
            role.ok_or_else(|| ApiError::not_found(format!("device {} has no role {role_name:?}", self.device_id)))?;
        if role.election.is_primary(election_id) {
            return Ok(role.access.clone());
        }
        let given = election_id.map_or_else(|| "no election id".to_owned(), |id| format!("election id {id}"));
        Err(ApiError::denied(format!(
            "not the primary controller of device {} ({given})",
            self.device_id
        )))
    }

    /// What a role may read; a role that nobody has taken is not limited.
    pub fn access(&self, role_name: &str) -> Arc<Access> {
        self.roles
            .get(role_name)
            .map(|role| role.access.clone())
            .unwrap_or_default()
    }

    /// Whether a stream is its role's primary.
    pub fn is_primary(&self, role_name: &str, stream: StreamId) -> bool {
        self.roles
            .get(role_name)
            .is_some_and(|role| role.election.primary() == Some(stream))
    }

    /// Streams of the primaries of all roles.
    pub fn primaries(&self) -> impl Iterator<Item = &StreamSender> {
        self.entitled().map(|(_, stream, _)| stream)
    }

    /// Name, primary's stream and rights of all roles that have a primary.
    fn entitled(&self) -> impl Iterator<Item = (&str, &StreamSender, &Access)> {
        self.roles.iter().filter_map(|(name, role)| {
            let primary = role.streams.get(&role.election.primary()?)?;
            Some((name.as_str(), &primary.client.sender, &*role.access))
        })
    }

    /// Sends something about an object of P4Info, or about none, to the primaries of all roles, if they may use it. False if one of them
    /// does not read fast enough and misses it.
    pub fn notify(&self, object_id: Option<u32>, update: &Update) -> bool {
        let concerned = self
            .entitled()
            .filter(|(_, _, access)| object_id.is_none_or(|id| access.permits(id)));
        concerned.fold(true, |all, (_, sender, _)| send(sender, update.clone()) && all)
    }

    /// Idle entries as messages, one a table.
    pub fn idle_notifications(&self, expired: Vec<Expired>, timestamp: i64) -> Vec<(u32, Update)> {
        let Some(info) = &self.info else { return Vec::new() };
        let mut by_table: BTreeMap<u32, Vec<v1::TableEntry>> = BTreeMap::new();
        for Expired { id, note } in expired {
            if let Some(table) = info.tables.get(&id.table()) {
                let mut entry = id.encode(table);
                note.put(&mut entry);
                by_table.entry(table.id).or_default().push(entry);
            }
        }
        let notification = |(table, table_entry)| {
            let notification = v1::IdleTimeoutNotification { table_entry, timestamp };
            (table, Update::IdleTimeoutNotification(notification))
        };
        by_table.into_iter().map(notification).collect()
    }

    /// Starts and stops timers of entries that have been written.
    pub fn arm<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a EntryId>,
        notes: &BTreeMap<EntryId, Note>,
        now: Instant,
    ) {
        entries.for_each(|id| self.idle.set(id, notes.get(id), now));
    }

    /// A frame with the program's controller header goes to the primaries.
    pub fn packet_in(&self, frame: &[u8]) -> Delivery {
        let header = self.info.as_ref().and_then(|info| info.packet_in.as_ref());
        let Some((metadata, payload)) = header.map_or(Some((Vec::new(), frame)), |header| header.decode(frame)) else {
            return Delivery::Malformed;
        };
        let packet = v1::PacketIn {
            payload: payload.to_vec(),
            metadata,
        };
        let mut delivery = Delivery::NoController;
        for (_, sender, _) in self
            .entitled()
            .filter(|(.., access)| access.takes_packet(&packet.metadata))
        {
            if send(sender, Update::Packet(packet.clone())) {
                delivery = Delivery::Delivered;
            } else if delivery == Delivery::NoController {
                delivery = Delivery::QueueFull;
            }
        }
        delivery
    }
}

impl Role {
    fn new(name: &str, info: Option<Arc<P4Info>>) -> Role {
        Role {
            election: Election::default(),
            streams: BTreeMap::new(),
            mark: None,
            access: Arc::default(),
            digests: Arc::new(RoleDigests::new(name, info)),
            departure: 0,
        }
    }

    fn primary_mut(&mut self) -> Option<&mut Member> {
        self.streams.get_mut(&self.election.primary()?)
    }

    /// These digests go to its primary, if it may use them.
    fn configure_digests(&self, configs: &BTreeMap<u32, DigestConfig>) {
        let is_for_it = |id: &u32| self.election.primary().is_some() && self.access.permits(*id);
        let configs = configs
            .iter()
            .filter(|(id, _)| is_for_it(id))
            .map(|(&id, &config)| (id, config));
        self.digests.state().digests.configure(&configs.collect());
    }

    /// Makes room for another stream: ends the oldest that never was primary or, if all were, that is not.
    fn end_a_stream(&mut self) {
        let primary = self.election.primary();
        let others = self.streams.iter().filter(|(stream, _)| Some(**stream) != primary);
        let oldest = others.min_by_key(|(stream, member)| (member.was_primary, **stream));
        if let Some((&stream, _)) = oldest {
            self.election.leave(stream);
            self.streams.remove(&stream).iter().for_each(Member::end);
        }
    }

    fn advise(&self, device_id: u64, role_name: &str, advisory: Advisory) {
        for (&stream, Member { client, .. }) in &self.streams {
            if advisory != Advisory::All && advisory != Advisory::Only(stream) {
                continue;
            }
            let code = self.election.status_for(stream);
            let message = match code {
                tonic::Code::Ok => "primary controller",
                tonic::Code::AlreadyExists => "backup controller; another controller is the primary",
                _ => "backup controller; there is no primary",
            };
            let status = rpc::Status {
                code: code.into(),
                message: message.to_owned(),
                details: Vec::new(),
            };
            // Without its rights: whoever sent them knows them, and they are long.
            let role = (!role_name.is_empty()).then(|| v1::Role {
                name: role_name.to_owned(),
                ..v1::Role::default()
            });
            let election_id = self.election.highest();
            let update = v1::MasterArbitrationUpdate {
                device_id,
                role,
                election_id: election_id.map(|id| v1::Uint128 {
                    high: (id >> 64) as u64,
                    low: id as u64,
                }),
                status: Some(status),
            };
            // A controller that left RESERVED messages unread learns its role from its next refused request.
            let _ = client
                .sender
                .try_send(message_of(Update::Arbitration(update)), ARBITRATION);
        }
    }
}

impl Member {
    /// Tells it how the ports are of which it has to hear. False if it does not read fast enough.
    fn tell_ports(&mut self, ports: &BTreeMap<Port, bool>) -> bool {
        while let Some(port) = self.untold.first().copied() {
            if let Some(is_up) = ports.get(&port)
                && !send(&self.client.sender, port_update(port, *is_up))
            {
                return false;
            }
            self.untold.remove(&port);
        }
        true
    }

    /// Others need its place.
    fn end(&self) {
        let message = "stream closed: too many streams of the role, or too many roles; streams that never were primary are closed first";
        self.client.sender.cut(Status::resource_exhausted(message));
    }
}

/// A port has a link, or not: P4Runtime has no word for it (`PortStatus` in `schema/lockstep.proto`).
fn port_update(port: Port, is_up: bool) -> Update {
    let port = u32::from(port);
    Update::Other(any("slotwise.v1.PortStatus", &PortStatus { port, up: is_up }))
}

/// Queues a message unless the stream is congested or gone.
pub(crate) fn send(sender: &StreamSender, update: Update) -> bool {
    sender.try_send(message_of(update), NOTICE).is_ok()
}

/// Tells a client what was wrong with its message, unless the stream is congested or gone.
pub(crate) fn send_error(sender: &StreamSender, error: v1::StreamError) {
    // A client that does not read misses it.
    let _ = sender.try_send(message_of(Update::Error(error)), ERROR);
}

fn message_of(update: Update) -> v1::StreamMessageResponse {
    v1::StreamMessageResponse { update: Some(update) }
}

#[cfg(test)]
mod tests;
