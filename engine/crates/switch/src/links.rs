// SPDX-License-Identifier: Apache-2.0
//! Which interfaces are there and have a link: members of action profiles may watch ports.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sched::{CloneFlags, setns};
use slotwise_netio::{CpuPlan, Opened, Opener, Renewal};
use slotwise_units::{Duration, Instant};

/// How often the links are looked at.
const PERIOD: Duration = Duration::from_ms(250);

/// The interface of a port, which may be deleted, and another one made in its place.
pub struct Interface {
    name: String,
    /// What the port is called.
    port: String,
    opener: Opener,
    is_there: bool,
    has_been_there: bool,
}

impl Interface {
    /// As it has been opened.
    pub fn new(name: String, port: String, opener: Opener) -> Interface {
        Interface {
            name,
            port,
            opener,
            is_there: true,
            has_been_there: true,
        }
    }

    /// The same for one that does not exist yet.
    pub fn missing(name: String, port: String, opener: Opener) -> Interface {
        Interface {
            is_there: false,
            has_been_there: false,
            ..Interface::new(name, port, opener)
        }
    }

    /// Looks whether it is still the one that was opened; gives the one to go on with, and what is to be said.
    pub fn look(&mut self) -> (Option<Opened>, Option<String>) {
        let Interface { name, port, .. } = self;
        let was_there = self.is_there;
        let found = self.opener.look();
        self.is_there = matches!(found, Ok(Renewal::Same | Renewal::Renewed(_)));
        match found {
            Ok(Renewal::Renewed(opened)) if !self.has_been_there => {
                self.has_been_there = true;
                let said = format!("interface {name} appeared; {port} uses it");
                (Some(opened), Some(said))
            }
            Ok(Renewal::Renewed(opened)) => {
                let said = format!("interface {name} recreated; {port} uses it");
                (Some(opened), Some(said))
            }
            // It was renamed meanwhile, or the kernel did not answer.
            Ok(Renewal::Same) if !was_there => (None, Some(format!("interface {name} of {port} returned"))),
            Ok(Renewal::Gone) if was_there => (None, Some(format!("interface {name} of {port} disappeared"))),
            // It may go again while it is opened; the next look says more.
            Err(error) if was_there => (None, Some(format!("interface {name} of {port}: {error}"))),
            _ => (None, None),
        }
    }
}

/// What has become of a port's interface.
pub enum Change {
    /// Its link came or went.
    Link(bool),
    /// It was made anew.
    Renewed(Opened),
}

/// Looks at interfaces and their links on a thread of its own, which lives until this is dropped.
pub struct LinkWatch {
    changes: Receiver<(usize, Change)>,
    /// The thread ends when it finds the other end gone.
    _stop: Sender<()>,
}

impl LinkWatch {
    /// Watches interfaces of a network namespace, or of the caller's. What is to be said goes to `news`.
    ///
    /// # Errors
    /// What the kernel said when it refused a thread.
    pub fn start(
        mut interfaces: Vec<Interface>,
        namespace: Option<File>,
        news: Sender<String>,
    ) -> io::Result<LinkWatch> {
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
            let mut links = Links::new(interfaces.iter().map(|interface| interface.name.clone()).collect());
            let period = std::time::Duration::from_nanos(PERIOD.ns());
            // Nobody listens to what is sent only while the run is being stopped.
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(period) {
                for (place, interface) in interfaces.iter_mut().enumerate() {
                    let (opened, said) = interface.look();
                    if let Some(opened) = opened {
                        let _ = report.send((place, Change::Renewed(opened)));
                    }
                    if let Some(said) = said {
                        let _ = news.send(said);
                    }
                }
                for (place, is_up) in links.look() {
                    let _ = report.send((place, Change::Link(is_up)));
                }
            }
        })?;
        Ok(LinkWatch { changes, _stop: stop })
    }

    /// The next change, with the place of its interface. Never blocks.
    pub fn poll(&self) -> Option<(usize, Change)> {
        self.changes.try_recv().ok()
    }
}

/// The links of some interfaces as they were last seen.
pub struct Links {
    names: Vec<String>,
    are_up: Vec<bool>,
    next: Instant,
}

impl Links {
    /// All are taken to be up.
    pub fn new(names: Vec<String>) -> Links {
        Links {
            are_up: vec![true; names.len()],
            names,
            next: Instant::ZERO,
        }
    }

    /// When to look again; never, if there is nothing to look at.
    pub fn deadline(&self) -> Option<Instant> {
        (!self.names.is_empty()).then_some(self.next)
    }

    /// Looks, if it is time. Gives the places of the interfaces whose links came or went, and whether they are up.
    pub fn changes(&mut self, now: Instant) -> Vec<(usize, bool)> {
        if self.names.is_empty() || now < self.next {
            return Vec::new();
        }
        self.next = now + PERIOD;
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
        assert_eq!(links.changes(Instant::ZERO), [(0, false)]);
        assert_eq!(links.changes(Instant::ZERO + PERIOD), []);
        assert_eq!(links.deadline(), Some(Instant::ZERO + 2 * PERIOD));
    }
}
