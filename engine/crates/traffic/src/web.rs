// SPDX-License-Identifier: Apache-2.0
//! Users of the web: when each asks for a page, and of what size.

use std::collections::{BTreeMap, VecDeque};

use rand::{RngCore, SeedableRng};
use rand_pcg::Pcg64;
use slotwise_scenario::Web;
use slotwise_transport::{FlowKey, WebConfig, WebUser};
use slotwise_units::{Bytes, Instant};

/// Connections of a user that have ended and are not taken out when another one begins: what is under way of an earlier one has
/// arrived while its successor was fetched.
const KEPT: usize = 1;

/// A page that a user asks for.
pub(crate) struct Page {
    /// Index of the flow.
    pub(crate) flow: usize,
    /// Number of the user at the host.
    pub(crate) client: usize,
    pub(crate) bytes: Bytes,
    /// Of the connection.
    pub(crate) seed: u64,
}

struct Client {
    flow: usize,
    user: WebUser,
    /// Of the connections.
    seeds: Pcg64,
    /// Under way, the oldest first.
    connections: Vec<FlowKey>,
    /// Connections that have ended, the oldest first.
    ended: VecDeque<FlowKey>,
    /// Pages that arrived to the end.
    fetched: u64,
}

/// All users, by host.
#[derive(Default)]
pub(crate) struct Clients {
    hosts: BTreeMap<usize, Vec<Client>>,
    /// Pages by flow, of users that have gone.
    pages: BTreeMap<usize, u64>,
}

impl Clients {
    /// Users of a flow who begin to think at `now`.
    pub(crate) fn add(&mut self, flow: usize, host: usize, (users, web): (u32, Web), now: Instant, seed: u64) {
        let config = WebConfig {
            mean_think: web.mean_think,
            open: web.open,
            mean_size: web.mean_size,
            shape: web.shape,
            max_size: web.max_size,
        };
        let mut seeds = Pcg64::seed_from_u64(seed);
        for _ in 0..users {
            let draws = Pcg64::from_rng(&mut seeds);
            let user =
                WebUser::new(config, now, draws).expect("a scenario's sizes and shapes are within the user's bounds");
            self.hosts.entry(host).or_default().push(Client {
                flow,
                user,
                seeds: Pcg64::from_rng(&mut seeds),
                connections: Vec::new(),
                ended: VecDeque::new(),
                fetched: 0,
            });
        }
    }

    /// The users of a flow leave.
    pub(crate) fn remove(&mut self, flow: usize, host: usize) {
        let Some(clients) = self.hosts.get_mut(&host) else {
            return;
        };
        let pages: u64 = clients
            .iter()
            .filter(|client| client.flow == flow)
            .map(|client| client.fetched)
            .sum();
        *self.pages.entry(flow).or_default() += pages;
        clients.retain(|client| client.flow != flow);
    }

    /// The next page that a user at `host` asks for by now.
    pub(crate) fn poll(&mut self, host: usize, now: Instant) -> Option<Page> {
        let mut clients = self.hosts.get_mut(&host)?.iter_mut().enumerate();
        clients.find_map(|(index, client)| {
            let bytes = client.user.poll(now)?;
            Some(Page {
                flow: client.flow,
                client: index,
                bytes,
                seed: client.seeds.next_u64(),
            })
        })
    }

    /// A user's new connection; gives the oldest one if it is to be taken out.
    pub(crate) fn begun(&mut self, host: usize, client: usize, key: FlowKey) -> Option<FlowKey> {
        let client = self.hosts.get_mut(&host)?.get_mut(client)?;
        client.connections.push(key);
        (client.ended.len() > KEPT).then(|| client.ended.pop_front()).flatten()
    }

    /// All of a connection's bytes have arrived at `host`.
    pub(crate) fn finished(&mut self, host: usize, key: FlowKey, now: Instant) {
        if let Some(client) = self.end(host, key) {
            client.user.finished(now);
            client.fetched += 1;
        }
    }

    /// A connection to `host` ended early: its user thinks, and asks again.
    pub(crate) fn failed(&mut self, host: usize, key: FlowKey, now: Instant) {
        if let Some(client) = self.end(host, key) {
            client.user.finished(now);
        }
    }

    /// Moves a connection to those that have ended. Returns its user, or none if it is not under way.
    fn end(&mut self, host: usize, key: FlowKey) -> Option<&mut Client> {
        let clients = self.hosts.get_mut(&host)?;
        clients.iter_mut().find_map(|client| {
            let place = client.connections.iter().position(|connection| *connection == key)?;
            client.ended.push_back(client.connections.remove(place));
            Some(client)
        })
    }

    /// When the next user at `host` asks for a page.
    pub(crate) fn poll_timeout(&self, host: usize) -> Option<Instant> {
        let clients = self.hosts.get(&host)?.iter();
        clients.filter_map(|client| client.user.poll_timeout()).min()
    }

    /// Pages of a flow that were fetched to the end.
    pub(crate) fn pages(&self, flow: usize) -> u64 {
        let clients = self.hosts.values().flatten().filter(|client| client.flow == flow);
        let present: u64 = clients.map(|client| client.fetched).sum();
        present + self.pages.get(&flow).copied().unwrap_or(0)
    }
}
