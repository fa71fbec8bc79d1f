// SPDX-License-Identifier: Apache-2.0
//! Multicast groups and clone sessions.

use super::{Result, invalid, not_found};
use crate::api::Replica;
use crate::jobs::MAX_OFFSPRING;
use crate::pipeline::{CloneSession, Pipeline};

impl Pipeline {
    /// Sets where packets of a multicast group go, in this order. Groups are 1..=65535.
    pub fn multicast_group_set(&mut self, group: u32, replicas: Vec<Replica>) -> Result<()> {
        if group == 0 || group > u32::from(u16::MAX) {
            return invalid(format!("multicast group {group}: expected 1..=65535"));
        }
        check_replicas(&replicas)?;
        self.multicast_groups.insert(group, replicas);
        Ok(())
    }

    /// Removes a multicast group; its packets are dropped.
    pub fn multicast_group_remove(&mut self, group: u32) -> Result<()> {
        match self.multicast_groups.remove(&group) {
            Some(_) => Ok(()),
            None => not_found(format!("no multicast group {group}")),
        }
    }

    /// All multicast groups, by number.
    pub fn multicast_groups(&self) -> impl Iterator<Item = (u32, &[Replica])> {
        self.multicast_groups
            .iter()
            .map(|(&group, replicas)| (group, replicas.as_slice()))
    }

    /// Sets where clones of a session go. Sessions are 0..=32767, as in BMv2.
    pub fn clone_session_set(&mut self, session: u32, target: CloneSession) -> Result<()> {
        if session > 0x7fff {
            return invalid(format!("clone session {session}: expected 0..=32767"));
        }
        check_replicas(&target.replicas)?;
        self.clone_sessions.insert(session, target);
        Ok(())
    }

    /// Removes a clone session; nothing is cloned to it.
    pub fn clone_session_remove(&mut self, session: u32) -> Result<()> {
        match self.clone_sessions.remove(&session) {
            Some(_) => Ok(()),
            None => not_found(format!("no clone session {session}")),
        }
    }

    /// All clone sessions, by number.
    pub fn clone_sessions(&self) -> impl Iterator<Item = (u32, &CloneSession)> {
        self.clone_sessions.iter().map(|(&session, target)| (session, target))
    }
}

fn check_replicas(replicas: &[Replica]) -> Result<()> {
    if replicas.len() > MAX_OFFSPRING {
        return invalid(format!("{} replicas; expected at most {MAX_OFFSPRING}", replicas.len()));
    }
    Ok(())
}
