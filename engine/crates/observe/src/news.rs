// SPDX-License-Identifier: Apache-2.0
//! What happens in a run, as the page and the terminal tell it: each thing once.

use std::collections::VecDeque;

use slotwise_kinds::FaultRecord;
use slotwise_units::{Duration, Instant};

use crate::changes::ControllerChange;
use crate::faults::fault_text;
use crate::stream::{News, NewsKind};

/// So many stand on a terminal.
const RECENT: usize = 3;

/// Hears of everything, and knows what it has told.
#[derive(Default)]
pub struct Newsroom {
    changes: usize,
    /// By fault: that it happened, that it is over.
    faults: Vec<(bool, bool)>,
    /// What the page has not been told, if there is one.
    unsent: Option<Vec<News>>,
    recent: VecDeque<News>,
}

impl Newsroom {
    /// Nothing has happened; with a page it is asked what is [`unsent`](Self::unsent).
    pub fn new(has_page: bool) -> Newsroom {
        Newsroom {
            unsent: has_page.then(Vec::new),
            ..Newsroom::default()
        }
    }

    /// What the controller was told, and what failed, since this was said last; the first phase began at a time.
    pub fn hear(&mut self, changes: &[ControllerChange], faults: &[FaultRecord], start: Instant) {
        let since = |at: Instant| at.saturating_since(start);
        for change in changes.iter().skip(self.changes) {
            self.add(since(change.at_ns), NewsKind::Change, change.what.text());
        }
        self.changes = self.changes.max(changes.len());
        self.faults.resize(faults.len(), (false, false));
        for (index, fault) in faults.iter().enumerate() {
            let (has_begun, is_over) = self.faults[index];
            let routers: Vec<String> = fault.beside_stars().map(|device| device.to_string()).collect();
            let text = || fault_text(fault.kind.name(), (fault.edge(), fault.core()), &routers);
            if fault.happened && !has_begun {
                self.faults[index].0 = true;
                self.add(since(fault.start), NewsKind::Fault, text());
            }
            if let Some(at) = fault.recovered.filter(|_| !is_over) {
                self.faults[index].1 = true;
                self.add(since(at), NewsKind::Recovery, format!("{}: recovered", text()));
            }
        }
    }

    /// The fibre of this name was cut or mended by hand.
    pub fn fibre(&mut self, name: &str, is_up: bool, at: Duration) {
        let what = if is_up { "up" } else { "down" };
        self.add(at, NewsKind::Fibre, format!("{name} {what}"));
    }

    fn add(&mut self, at_ns: Duration, kind: NewsKind, text: String) {
        let news = News { at_ns, kind, text };
        if let Some(unsent) = &mut self.unsent {
            unsent.push(news.clone());
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(news);
    }

    /// What the page has not been told, which it is now.
    pub fn unsent(&mut self) -> Vec<News> {
        self.unsent.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The last that happened, oldest first.
    pub fn recent(&self) -> &VecDeque<News> {
        &self.recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_told_each_thing_once_and_the_terminal_the_last_ones() {
        let mut room = Newsroom::new(true);
        for at_ns in 1..=5 {
            room.add(Duration::from_ns(at_ns), NewsKind::Fibre, "edge0-core0 down".into());
        }
        let times = |news: &mut dyn Iterator<Item = &News>| news.map(|news| news.at_ns.ns()).collect::<Vec<_>>();
        assert_eq!(times(&mut room.unsent().iter()), [1, 2, 3, 4, 5]);
        assert!(room.unsent().is_empty());
        assert_eq!(times(&mut room.recent().iter()), [3, 4, 5]);
    }

    #[test]
    fn without_a_page_nothing_is_kept_for_it() {
        let mut room = Newsroom::new(false);
        room.add(Duration::from_ns(1), NewsKind::Change, "fair".into());
        assert!(room.unsent().is_empty());
        assert_eq!(room.recent().len(), 1);
    }
}
