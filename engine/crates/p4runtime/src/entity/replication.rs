// SPDX-License-Identifier: Apache-2.0
//! Writes to the packet replication engine: multicast groups and clone sessions.

use std::collections::BTreeSet;

use slotwise_p4::{CloneSession, Pipeline, Port, Replica};

use super::{Books, Operation, Replication, State, Undo, charge, port, replication_type};
use crate::error::ApiError;
use crate::proto::p4::v1::{self, BackupReplica, replica::PortKind, update};

/// What a group or session becomes; for DELETE, its id only.
enum Wanted {
    Multicast(v1::MulticastGroupEntry),
    Clone(v1::CloneSessionEntry),
}

struct WriteReplication {
    kind: update::Type,
    /// In canonical form.
    wanted: Wanted,
}

pub(super) fn plan(
    kind: update::Type,
    entry: &v1::PacketReplicationEngineEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    let is_delete = kind == update::Type::Delete;
    let wanted = match replication_type(entry)? {
        Replication::MulticastGroupEntry(entry) => {
            let at = |error: ApiError| error.at(format_args!("multicast group {}", entry.multicast_group_id));
            if entry.multicast_group_id == 0 {
                return Err(ApiError::invalid("invalid multicast group ID 0"));
            }
            let mut entry = entry.clone();
            if !is_delete {
                check_replicas(&mut entry.replicas).map_err(at)?;
            }
            Wanted::Multicast(entry)
        }
        Replication::CloneSessionEntry(entry) => {
            let at = |error: ApiError| error.at(format_args!("clone session {}", entry.session_id));
            if entry.session_id == 0 {
                return Err(ApiError::invalid("invalid clone session ID 0"));
            }
            let mut entry = entry.clone();
            if !is_delete {
                check_replicas(&mut entry.replicas).map_err(at)?;
                if entry.packet_length_bytes < 0 {
                    return Err(at(ApiError::invalid("packet_length_bytes is negative")));
                }
            }
            Wanted::Clone(entry)
        }
    };
    Ok(Box::new(WriteReplication { kind, wanted }))
}

/// Checks replicas and makes their ports canonical.
fn check_replicas(replicas: &mut [v1::Replica]) -> Result<(), ApiError> {
    let mut seen = BTreeSet::new();
    for replica in replicas {
        let main = replica_port(replica)?;
        if let Some(PortKind::Port(bytes)) = &mut replica.port_kind {
            *bytes = port::encode(main);
        }
        let mut places = vec![(main, instance(replica.instance)?)];
        for backup in &mut replica.backup_replicas {
            let number = port::parse(&backup.port)?;
            backup.port = port::encode(number);
            if number == main {
                return Err(ApiError::invalid(format!("port {main} is its own backup")));
            }
            places.push((number, instance(backup.instance)?));
        }
        for (port, instance) in places {
            if !seen.insert((port, instance)) {
                return Err(ApiError::invalid(format!(
                    "duplicate replica: port {port}, instance {instance}"
                )));
            }
        }
    }
    Ok(())
}

#[expect(deprecated, reason = "clients of P4Runtime 1.3 and before give ports as numbers")]
fn replica_port(replica: &v1::Replica) -> Result<Port, ApiError> {
    match &replica.port_kind {
        Some(PortKind::Port(bytes)) => port::parse(bytes),
        Some(PortKind::EgressPort(number)) => port::parse_number(i64::from(*number)),
        None => Err(ApiError::invalid("replica without a port")),
    }
}

fn instance(number: u32) -> Result<u16, ApiError> {
    u16::try_from(number).map_err(|_| ApiError::invalid(format!("instance {number} is above 65535")))
}

/// Where copies go now: a replica with backups whose port is down goes to its first backup that is up, or nowhere.
fn live_replicas(replicas: &[v1::Replica], down: &BTreeSet<Port>) -> Result<Vec<Replica>, ApiError> {
    let mut live = Vec::with_capacity(replicas.len());
    for replica in replicas {
        let main = Replica {
            port: replica_port(replica)?,
            instance: instance(replica.instance)?,
        };
        if replica.backup_replicas.is_empty() || !down.contains(&main.port) {
            live.push(main);
            continue;
        }
        for BackupReplica {
            port: bytes,
            instance: number,
        } in &replica.backup_replicas
        {
            let backup = Replica {
                port: port::parse(bytes)?,
                instance: instance(*number)?,
            };
            if !down.contains(&backup.port) {
                live.push(backup);
                break;
            }
        }
    }
    Ok(live)
}

fn realize_group(
    pipeline: &mut Pipeline,
    entry: &v1::MulticastGroupEntry,
    down: &BTreeSet<Port>,
) -> Result<(), ApiError> {
    Ok(pipeline.multicast_group_set(entry.multicast_group_id, live_replicas(&entry.replicas, down)?)?)
}

fn realize_session(
    pipeline: &mut Pipeline,
    entry: &v1::CloneSessionEntry,
    down: &BTreeSet<Port>,
) -> Result<(), ApiError> {
    let session = CloneSession {
        replicas: live_replicas(&entry.replicas, down)?,
        max_bytes: usize::try_from(entry.packet_length_bytes)
            .ok()
            .filter(|bytes| *bytes > 0),
    };
    Ok(pipeline.clone_session_set(entry.session_id, session)?)
}

/// After a port went up or down, or for a pipeline that has nothing yet.
pub(super) fn refresh(state: &mut State<'_>) -> Result<(), ApiError> {
    let State {
        pipeline, books, down, ..
    } = state;
    books
        .multicast
        .values()
        .try_for_each(|entry| realize_group(pipeline, entry, down))?;
    books
        .clones
        .values()
        .try_for_each(|entry| realize_session(pipeline, entry, down))
}

/// Whether a write of this kind fits what is there.
fn check_presence(kind: update::Type, is_there: bool, what: &str, id: u32) -> Result<(), ApiError> {
    match (kind, is_there) {
        (update::Type::Insert, true) => Err(ApiError::already_exists(format!("{what} {id} exists already"))),
        (update::Type::Modify | update::Type::Delete, false) => Err(ApiError::not_found(format!("no {what} {id}"))),
        _ => Ok(()),
    }
}

fn multicast_bytes(entry: Option<&v1::MulticastGroupEntry>) -> u64 {
    entry.map_or(0, charge::multicast)
}

fn session_bytes(entry: Option<&v1::CloneSessionEntry>) -> u64 {
    entry.map_or(0, charge::session)
}

impl Operation for WriteReplication {
    fn undo(&self, state: &State<'_>) -> Undo {
        // Both were there before, so they are taken again.
        match &self.wanted {
            Wanted::Multicast(entry) => {
                let id = entry.multicast_group_id;
                let before = state.books.multicast.get(&id).cloned();
                Box::new(move |state| {
                    match &before {
                        Some(entry) => drop(realize_group(state.pipeline, entry, state.down)),
                        None => drop(state.pipeline.multicast_group_remove(id)),
                    }
                    let now = multicast_bytes(state.books.multicast.get(&id));
                    state.books.charge_again(now, multicast_bytes(before.as_ref()));
                    Books::put(&mut state.books.multicast, id, before);
                })
            }
            Wanted::Clone(entry) => {
                let id = entry.session_id;
                let before = state.books.clones.get(&id).cloned();
                Box::new(move |state| {
                    match &before {
                        Some(entry) => drop(realize_session(state.pipeline, entry, state.down)),
                        None => drop(state.pipeline.clone_session_remove(id)),
                    }
                    let now = session_bytes(state.books.clones.get(&id));
                    state.books.charge_again(now, session_bytes(before.as_ref()));
                    Books::put(&mut state.books.clones, id, before);
                })
            }
        }
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let is_delete = self.kind == update::Type::Delete;
        match self.wanted {
            Wanted::Multicast(entry) => {
                let id = entry.multicast_group_id;
                check_presence(
                    self.kind,
                    state.books.multicast.contains_key(&id),
                    "multicast group",
                    id,
                )?;
                let wanted = (!is_delete).then_some(entry);
                let before = multicast_bytes(state.books.multicast.get(&id));
                let after = multicast_bytes(wanted.as_ref());
                state.books.charge(before, after)?;
                let done = match &wanted {
                    None => state.pipeline.multicast_group_remove(id).map_err(ApiError::from),
                    Some(entry) => realize_group(state.pipeline, entry, state.down),
                };
                done.inspect_err(|_| state.books.charge_again(after, before))?;
                Books::put(&mut state.books.multicast, id, wanted);
            }
            Wanted::Clone(entry) => {
                let id = entry.session_id;
                check_presence(self.kind, state.books.clones.contains_key(&id), "clone session", id)?;
                let wanted = (!is_delete).then_some(entry);
                let before = session_bytes(state.books.clones.get(&id));
                let after = session_bytes(wanted.as_ref());
                state.books.charge(before, after)?;
                let done = match &wanted {
                    None => state.pipeline.clone_session_remove(id).map_err(ApiError::from),
                    Some(entry) => realize_session(state.pipeline, entry, state.down),
                };
                done.inspect_err(|_| state.books.charge_again(after, before))?;
                Books::put(&mut state.books.clones, id, wanted);
            }
        }
        Ok(())
    }
}
