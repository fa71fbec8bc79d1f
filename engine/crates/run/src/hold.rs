// SPDX-License-Identifier: Apache-2.0
//! Holding a run in virtual time: its time stands still while REST, P4Runtime and the page answer, until an order continues it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use slotwise_units::Dimension;
use slotwise_units::{Duration, Instant};

use crate::commands::{CommandError, Order, read};
use slotwise_cli::interrupts::Interrupts;
use slotwise_cli::notes::{note, printable};

/// Maximum length of an invalid order in its error.
const MOST_CHARS: usize = 40;

/// Order for a held run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldOrder {
    /// Run for this time and hold again.
    Step(Duration),
    /// Run to the end.
    Continue,
    /// End as by SIGINT.
    End,
}

impl HoldOrder {
    /// Reads `step TIME`, `continue` or `end`.
    ///
    /// # Errors
    /// [`CommandError::NoOrder`] for another text.
    pub fn parse(text: &str) -> Result<HoldOrder, CommandError> {
        let unknown = || CommandError::NoOrder(printable(&text.trim().chars().take(MOST_CHARS).collect::<String>()));
        match text.trim().split_once(char::is_whitespace) {
            Some(("step", span)) => time(span).map(HoldOrder::Step).map_err(|_| unknown()),
            None if text.trim() == "continue" => Ok(HoldOrder::Continue),
            None if text.trim() == "end" => Ok(HoldOrder::End),
            _ => Err(unknown()),
        }
    }
}

/// Reads a time with its unit, more than 0.
///
/// # Errors
/// The expected value.
pub fn time(text: &str) -> Result<Duration, String> {
    match Dimension::Time.parse(text.trim()).map(u64::try_from) {
        Ok(Ok(ns)) if ns > 0 => Ok(Duration::from_ns(ns)),
        _ => Err("expected a time of at least 1 ns with its unit, such as '10 us'".to_owned()),
    }
}

/// Reads orders from standard input; its end is an interrupt if `until_input_ends`.
///
/// # Errors
/// The system has no thread.
pub fn listen(orders: Sender<Order>, interrupts: Option<Interrupts>) -> io::Result<()> {
    let parse = |line: &[u8]| HoldOrder::parse(&String::from_utf8_lossy(line));
    let tell = move |order: Result<HoldOrder, CommandError>| match order {
        Ok(order) => orders.send(Order::Hold(order)).is_ok(),
        Err(error) => {
            note!("slotwise: {error}");
            true
        }
    };
    let listen = move || {
        read(io::stdin().lock(), parse, tell);
        if let Some(interrupts) = interrupts {
            interrupts.add();
        }
    };
    thread::Builder::new().name("orders".into()).spawn(listen).map(drop)
}

/// Times at which a run is held.
#[derive(Debug, Default)]
pub struct Hold {
    next: Option<Instant>,
    is_held: Arc<AtomicBool>,
    /// Orders for holds to come.
    waiting: VecDeque<HoldOrder>,
}

impl Hold {
    /// Creates the state of a run; its first hold is at `next`, if any.
    pub fn at(next: Option<Instant>) -> Hold {
        Hold {
            next,
            is_held: Arc::default(),
            waiting: VecDeque::new(),
        }
    }

    /// Accepts an order. Returns true if it takes effect, at the latest when the run is held next: orders of a script keep their sequence.
    pub fn accept(&mut self, order: HoldOrder) -> bool {
        let takes_effect = self.next.is_some();
        if takes_effect {
            self.waiting.push_back(order);
        }
        takes_effect
    }

    /// Takes the next order of a run that is held.
    pub fn next_order(&mut self) -> Option<HoldOrder> {
        if self.is_held() { self.waiting.pop_front() } else { None }
    }

    /// Returns the time up to which the run may go without being held.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Returns true while the run is held.
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    /// Returns the flag of a held run, for other threads.
    pub fn shared(&self) -> Arc<AtomicBool> {
        self.is_held.clone()
    }

    /// Holds the run if its hold time has come. Returns true if this begins a hold.
    pub fn reach(&mut self, now: Instant) -> bool {
        let is_reached = self.next.is_some_and(|at| at <= now);
        is_reached && !self.is_held.swap(true, Ordering::Relaxed)
    }

    /// Continues the run until `next`, or to its end.
    pub fn release(&mut self, next: Option<Instant>) {
        self.next = next;
        self.is_held.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_others_are_answered_with_what_is_expected() {
        let step = |ns| Ok(HoldOrder::Step(Duration::from_ns(ns)));
        for (text, order) in [
            ("step 10 us", step(10_000)),
            (" step\t1.5ms\n", step(1_500_000)),
            ("continue\n", Ok(HoldOrder::Continue)),
            ("end", Ok(HoldOrder::End)),
        ] {
            assert_eq!(
                HoldOrder::parse(text).map_err(|error| error.to_string()),
                order,
                "{text}"
            );
        }
        for text in [
            "step",
            "step 10",
            "step 0 us",
            "step -1 s",
            "step 0.5 ns",
            "go on",
            "continue now",
            "",
        ] {
            let refusal = HoldOrder::parse(text).unwrap_err().to_string();
            assert!(
                refusal.starts_with("invalid order '") && refusal.contains("expected 'step TIME'"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn orders_wait_for_their_holds() {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let step = HoldOrder::Step(Duration::from_us(2));
        let mut hold = Hold::at(Some(at(10)));
        assert!(hold.accept(step) && hold.accept(HoldOrder::End));
        assert_eq!(hold.next_order(), None, "it is not held yet");
        assert!(hold.reach(at(10)));
        assert_eq!(hold.next_order(), Some(step));
        hold.release(Some(at(12)));
        assert_eq!(hold.next_order(), None);
        assert!(hold.reach(at(12)));
        assert_eq!(hold.next_order(), Some(HoldOrder::End));
        hold.release(None);
        assert!(!hold.accept(step), "there is no other hold");
    }

    #[test]
    fn a_run_is_held_once_at_each_time() {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let mut hold = Hold::at(Some(at(10)));
        assert!(!hold.reach(at(9)) && !hold.is_held());
        assert!(hold.reach(at(10)) && hold.is_held());
        assert!(!hold.reach(at(10)), "it is held already");
        hold.release(Some(at(12)));
        assert!(!hold.is_held() && !hold.reach(at(11)));
        assert!(hold.reach(at(12)));
        hold.release(None);
        assert!(!hold.reach(at(1000)) && !hold.is_held());
    }
}
