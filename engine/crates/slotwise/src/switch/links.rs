// SPDX-License-Identifier: Apache-2.0
//! Which interfaces have a link, for members of action profiles that watch a port.

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// How often the links are looked at.
const PERIOD_NS: u64 = 250_000_000;

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
