// SPDX-License-Identifier: Apache-2.0
//! Which interfaces have a link: members of action profiles may watch ports.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sched::{CloneFlags, setns};
use slotwise_netio::CpuPlan;

/// How often the links are looked at.
const PERIOD_NS: u64 = 250_000_000;

/// Looks at links on a thread of its own, which lives until this is dropped.
pub struct LinkWatch {
    changes: Receiver<(usize, bool)>,
    /// The thread ends when it finds the other end gone.
    _stop: Sender<()>,
}

impl LinkWatch {
    /// Watches interfaces of a network namespace, or of the caller's.
    ///
    /// # Errors
    /// What the kernel said when it refused a thread.
    pub fn start(names: Vec<String>, namespace: Option<File>) -> io::Result<LinkWatch> {
        let (report, changes) = channel();
        let (stop, stopped) = channel::<()>();
        thread::Builder::new().name("links".into()).spawn(move || {
            CpuPlan::new().avoid_fabric();
            if let Some(namespace) = namespace
                && setns(namespace, CloneFlags::CLONE_NEWNET).is_err()
            {
                // Whoever may open ports there may enter; links that cannot be seen stay up.
                return;
            }
            let mut links = Links::new(names);
            let period = Duration::from_nanos(PERIOD_NS);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(period) {
                for change in links.look() {
                    // Nobody listens only while the run is being stopped.
                    let _ = report.send(change);
                }
            }
        })?;
        Ok(LinkWatch { changes, _stop: stop })
    }

    /// The next link that came or went: the place of its interface, and whether it is up. Never blocks.
    pub fn poll(&self) -> Option<(usize, bool)> {
        self.changes.try_recv().ok()
    }
}

/// The links of some interfaces as they were last seen.
pub struct Links {
    names: Vec<String>,
    are_up: Vec<bool>,
    next_ns: u64,
}

impl Links {
    /// All are taken to be up.
    pub fn new(names: Vec<String>) -> Links {
        Links {
            are_up: vec![true; names.len()],
            names,
            next_ns: 0,
        }
    }

    /// When to look again; never, if there is nothing to look at.
    pub fn deadline_ns(&self) -> Option<u64> {
        (!self.names.is_empty()).then_some(self.next_ns)
    }

    /// Looks, if it is time. Gives the places of the interfaces whose links came or went, and whether they are up.
    pub fn changes(&mut self, now_ns: u64) -> Vec<(usize, bool)> {
        if self.names.is_empty() || now_ns < self.next_ns {
            return Vec::new();
        }
        self.next_ns = now_ns + PERIOD_NS;
        self.look()
    }

    /// Looks, as [`Links::changes`] does when it is time.
    fn look(&mut self) -> Vec<(usize, bool)> {
        // Where the kernel does not tell, links stay as they were.
        let Ok(interfaces) = getifaddrs() else {
            return Vec::new();
        };
        let mut seen = vec![false; self.names.len()];
        for interface in interfaces {
            if interface
                .flags
                .contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING)
                && let Some(place) = self.names.iter().position(|name| *name == interface.interface_name)
            {
                seen[place] = true;
            }
        }
        let changed = seen
            .iter()
            .zip(&self.are_up)
            .enumerate()
            .filter(|(_, (now, before))| now != before);
        let changed = changed.map(|(place, (now, _))| (place, *now)).collect();
        self.are_up = seen;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_goes_down_once() {
        let mut links = Links::new(vec!["no-such-if".to_owned()]);
        assert_eq!(links.changes(0), [(0, false)]);
        assert_eq!(links.changes(PERIOD_NS), []);
        assert_eq!(links.deadline_ns(), Some(2 * PERIOD_NS));
    }
}
