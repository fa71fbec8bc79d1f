// SPDX-License-Identifier: Apache-2.0
//! Multicast groups, their nodes and clone sessions, as simple_switch_CLI has them.

use crate::script::Statement;
use slotwise_p4::{CloneSession, Pipeline, Port, Replica};
use std::collections::BTreeMap;

/// Most nodes of a script; each may be in every group.
const MAX_NODES: usize = 1024;

#[derive(Default)]
pub(crate) struct Replication {
    nodes: Vec<Vec<Replica>>,
    /// Nodes of each group, in the order in which they came.
    groups: BTreeMap<u32, Vec<usize>>,
    sessions: BTreeMap<u32, Session>,
}

/// A session may have both.
#[derive(Default, Clone, Copy)]
struct Session {
    port: Option<Port>,
    group: Option<u32>,
}

impl Replication {
    /// Executes a statement about replication and says what a `mirroring_get` found.
    pub fn execute(&mut self, statement: &Statement, pipeline: &mut Pipeline) -> Result<Option<String>, String> {
        match statement {
            Statement::MirroringAdd { session, port } => {
                self.sessions.entry(*session).or_default().port = Some(*port);
                self.set_session(*session, pipeline)?;
            }
            Statement::MirroringAddGroup { session, group } => {
                self.sessions.entry(*session).or_default().group = Some(*group);
                self.set_session(*session, pipeline)?;
            }
            Statement::MirroringDelete(session) => {
                pipeline
                    .clone_session_remove(*session)
                    .map_err(|error| error.to_string())?;
                self.sessions.remove(session);
            }
            Statement::MirroringGet(session) => return Ok(Some(self.describe(*session))),
            Statement::GroupCreate(group) => {
                if self.groups.contains_key(group) {
                    return Err(format!("multicast group {group} exists already"));
                }
                pipeline
                    .multicast_group_set(*group, Vec::new())
                    .map_err(|error| error.to_string())?;
                self.groups.insert(*group, Vec::new());
            }
            Statement::NodeCreate { instance, ports } => {
                if self.nodes.len() >= MAX_NODES {
                    return Err(format!("too many nodes; expected at most {MAX_NODES}"));
                }
                self.nodes.push(replicas(*instance, ports));
            }
            Statement::NodeUpdate { node, ports } => {
                let index = self.node(*node)?;
                let instance = self.nodes[index].first().map_or(0, |replica| replica.instance);
                self.nodes[index] = replicas(instance, ports);
                self.set_groups(pipeline)?;
            }
            Statement::NodeAssociate { group, node } => {
                let node = self.node(*node)?;
                let Some(nodes) = self.groups.get_mut(group) else {
                    return Err(format!(
                        "unknown multicast group {group}; expected mc_mgrp_create first"
                    ));
                };
                if nodes.contains(&node) {
                    return Err(format!("node {node} is already in multicast group {group}"));
                }
                nodes.push(node);
                self.set_groups(pipeline)?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn node(&self, node: u32) -> Result<usize, String> {
        match node as usize {
            index if index < self.nodes.len() => Ok(index),
            _ => Err(format!("unknown node {node}; {} were created", self.nodes.len())),
        }
    }

    fn members(&self, group: u32) -> Vec<Replica> {
        let nodes = self.groups.get(&group).into_iter().flatten();
        nodes.flat_map(|&node| self.nodes[node].iter().copied()).collect()
    }

    fn set_groups(&self, pipeline: &mut Pipeline) -> Result<(), String> {
        for &group in self.groups.keys() {
            pipeline
                .multicast_group_set(group, self.members(group))
                .map_err(|error| error.to_string())?;
        }
        for &session in self.sessions.keys() {
            self.set_session(session, pipeline)?;
        }
        Ok(())
    }

    fn set_session(&self, session: u32, pipeline: &mut Pipeline) -> Result<(), String> {
        let Session { port, group } = self.sessions[&session];
        let to_port = port.map(|port| Replica { port, instance: 0 });
        let to_group = group.map(|group| self.members(group)).unwrap_or_default();
        let target = CloneSession {
            replicas: to_port.into_iter().chain(to_group).collect(),
            max_bytes: None,
        };
        pipeline
            .clone_session_set(session, target)
            .map_err(|error| error.to_string())
    }

    fn describe(&self, session: u32) -> String {
        match self.sessions.get(&session) {
            None => format!("clone session {session}: unknown"),
            Some(Session { port, group }) => {
                let port = port.map_or(String::new(), |port| format!(" port {port}"));
                let group = group.map_or(String::new(), |group| format!(" multicast group {group}"));
                format!("clone session {session}:{port}{group}")
            }
        }
    }
}

fn replicas(instance: u16, ports: &[Port]) -> Vec<Replica> {
    ports.iter().map(|&port| Replica { port, instance }).collect()
}
