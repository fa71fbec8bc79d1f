// SPDX-License-Identifier: Apache-2.0
//! Hosts in groups, which several kinds of networks have, and what a scenario changes of links and hosts.

use std::collections::BTreeMap;

use slotwise_p4::Port;
use slotwise_random::{Stream, generator};
use slotwise_scenario::{Changed, Device, Party, Scenario};
use slotwise_units::{Duration, Rate};
use slotwise_wire::Ethernet;

use crate::build::{Build, Change, NS_PER_MS};
use crate::hosts::Host;
use slotwise_cards::admission::Setting;
use slotwise_cards::fifo::Fifo;
use slotwise_net::Net;
use slotwise_net::lane::LaneEnd;
use slotwise_net::node::{Before, NodePort};
use slotwise_net::span::Span;

impl Build {
    /// Returns the queue before a link whose rate and queue count IP bytes, as the thesis's.
    pub(crate) fn ip_fifo(&self, lane: usize, link: (Rate, Duration), buffer: Setting) -> Fifo {
        let random = generator(self.seed(), Stream::Admission, lane as u64);
        Fifo::new(lane, link, buffer.admission(random), Ethernet::SIZE)
    }

    /// Hosts of groups, at ports of their nodes from the first one on that is free.
    pub(crate) fn add_groups(&mut self, scenario: &Scenario, first_port: impl Fn(Device) -> Port) {
        let mut next_port: BTreeMap<Device, Port> = BTreeMap::new();
        for group in &scenario.routed.hosts {
            for _ in 0..group.count {
                let (host, device) = (self.hosts().len(), group.node);
                let next_port = next_port.entry(device).or_insert_with(|| first_port(device));
                let port = *next_port;
                *next_port += 1;
                let up = self.add_lane(LaneEnd::Port { device, port });
                let up = self.ip_fifo(up, (group.rate, group.up_delay), group.buffer);
                let down = self.add_lane(LaneEnd::Host(host));
                let down = self.ip_fifo(down, (group.rate, group.down_delay), group.buffer);
                self.add_link(down, device, port);
                self.add_host(Host {
                    id: None,
                    device,
                    node: self.node(device),
                    port,
                    uplink: up,
                });
            }
        }
    }
}

/// Changes of links, spans and hosts of groups by a scenario, whose links begin at ports.
pub(crate) fn changes_of_groups(
    scenario: &Scenario,
    net: &Net,
    hosts: &[Host],
    port_of_link: impl Fn(usize) -> Option<(Device, Port)>,
) -> Vec<(u64, Change)> {
    let links = |(number, span): (usize, &Span)| {
        let is_link = |at: &&NodePort| net.nodes()[at.node].before(at.port) == Some(Before::Link);
        let links = span.ports_before.iter().filter(is_link);
        links.map(move |at| (*at, number)).collect::<Vec<_>>()
    };
    let spans: BTreeMap<NodePort, usize> = net.spans().iter().enumerate().flat_map(links).collect();
    let mut changes = Vec::new();
    let mut add = |at_ms, change| changes.push((at_ms * NS_PER_MS, change));
    for (at_ms, changed) in scenario.timeline() {
        match changed {
            Changed::Link {
                link,
                rate,
                delay,
                xcp: _,
                up,
            } => {
                let Some(port) = port_of_link(link) else { continue };
                add(at_ms, Change::Link { port, rate, delay });
                if let (Some(is_up), Some(&span)) = (up, spans.get(&net.link_at(port))) {
                    add(at_ms, Change::Span { span, is_up });
                }
            }
            Changed::Span { span, up: is_up } => add(at_ms, Change::Span { span, is_up }),
            Changed::Hosts {
                group,
                up_delay,
                down_delay,
            } => {
                for number in scenario.host_numbers(Party::Group(group)) {
                    let host = &hosts[number];
                    let uplink = Change::Uplink {
                        host: number,
                        delay: up_delay,
                    };
                    let downlink = Change::Link {
                        port: (host.device, host.port),
                        rate: None,
                        delay: down_delay,
                    };
                    add(at_ms, uplink);
                    add(at_ms, downlink);
                }
            }
        }
    }
    changes
}
