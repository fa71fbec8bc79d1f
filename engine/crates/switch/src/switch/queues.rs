// SPDX-License-Identifier: Apache-2.0
//! Queues between ingress and egress, as simple_switch has them: for each port some of different priority, each with a
//! depth and a rate of its own.

use std::collections::{BTreeMap, VecDeque};
use std::str::FromStr;

use slotwise_p4::Port;
use slotwise_units::{Duration, Instant};

use super::options::{LAST_PORT, parse_port};

/// Packets that a queue holds, as in BMv2.
const DEFAULT_DEPTH: u64 = 64;
const MAX_PRIORITIES: u16 = 256;
const MAX_DEPTH: u64 = 1 << 20;

/// Options of the queues.
#[derive(clap::Args)]
pub struct QueueOptions {
    /// Priority queues per port between ingress and egress (BMv2: 1)
    ///
    /// The program selects the priority; the highest is served first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_PRIORITIES)))]
    pub priority_queues: Option<u16>,
    /// Queue size, in packets, of all queues, a port or a priority (default: 64)
    #[arg(long, value_name = "[PORT[/PRIORITY]=]PACKETS")]
    pub queue_depth: Vec<Setting>,
    /// Service rate of a queue, in packets per second (default: 0, unlimited)
    #[arg(long, value_name = "[PORT[/PRIORITY]=]PACKETS")]
    pub queue_rate: Vec<Setting>,
}

/// `[PORT[/PRIORITY]=]VALUE`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    port: Option<Port>,
    priority: Option<u16>,
    value: u64,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting, String> {
        let wanted = || format!("expected [PORT[/PRIORITY]=]PACKETS, e.g. 100, 1=100 or 1/7=100, got {text:?}");
        let (queue, value) = match text.split_once('=') {
            Some((queue, value)) => (Some(queue), value),
            None => (None, text),
        };
        let value = value.parse().map_err(|_| wanted())?;
        let Some(queue) = queue else {
            return Ok(Setting {
                port: None,
                priority: None,
                value,
            });
        };
        let (port, priority) = match queue.split_once('/') {
            Some((port, priority)) => (port, Some(priority.parse().map_err(|_| wanted())?)),
            None => (queue, None),
        };
        Ok(Setting {
            port: Some(parse_port(port).ok_or_else(wanted)?),
            priority,
            value,
        })
    }
}

impl Setting {
    fn is_for(self, port: Port, priority: u16) -> bool {
        self.port.is_none_or(|it| it == port) && self.priority.is_none_or(|it| it == priority)
    }
}

/// What the queues of a switch are like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePlan {
    priorities: u16,
    depths: Vec<Setting>,
    rates: Vec<Setting>,
}

impl QueueOptions {
    /// `None` without any of the options.
    pub fn plan(&self) -> Result<Option<QueuePlan>, String> {
        let is_given = self.priority_queues.is_some() || !self.queue_depth.is_empty() || !self.queue_rate.is_empty();
        if !is_given {
            return Ok(None);
        }
        let priorities = self.priority_queues.unwrap_or(1);
        for setting in self.queue_depth.iter().chain(&self.queue_rate) {
            if let Some(priority) = setting.priority.filter(|priority| *priority >= priorities) {
                return Err(format!(
                    "unknown priority {priority}: --priority-queues is {priorities}"
                ));
            }
        }
        if let Some(Setting { value, .. }) = self.queue_depth.iter().find(|it| it.value > MAX_DEPTH) {
            return Err(format!(
                "--queue-depth {value}: too large; expected at most {MAX_DEPTH} packets"
            ));
        }
        Ok(Some(QueuePlan {
            priorities,
            depths: self.queue_depth.clone(),
            rates: self.queue_rate.clone(),
        }))
    }
}

impl Default for QueuePlan {
    /// BMv2's: one queue a port.
    fn default() -> QueuePlan {
        QueuePlan {
            priorities: 1,
            depths: Vec::new(),
            rates: Vec::new(),
        }
    }
}

impl QueuePlan {
    /// The last setting that is for a queue holds, as the last command to BMv2 does.
    fn value(settings: &[Setting], port: Port, priority: u16, default: u64) -> u64 {
        let setting = settings.iter().rev().find(|setting| setting.is_for(port, priority));
        setting.map_or(default, |setting| setting.value)
    }

    fn queues<T>(&self, port: Port) -> Vec<Queue<T>> {
        let queue = |priority| Queue {
            depth: Self::value(&self.depths, port, priority, DEFAULT_DEPTH) as usize,
            gap: match Self::value(&self.rates, port, priority, 0) {
                0 => Duration::ZERO,
                rate => Duration::from_s(1) / rate,
            },
            last: None,
            waiting: VecDeque::new(),
        };
        (0..self.priorities).map(queue).collect()
    }
}

/// Of one port and one priority.
struct Queue<T> {
    /// Packets.
    depth: usize,
    /// Between two packets, by its rate.
    gap: Duration,
    /// When the last one that was queued may leave.
    last: Option<Instant>,
    waiting: VecDeque<Waiting<T>>,
}

struct Waiting<T> {
    leaves: Instant,
    enqueued: Instant,
    depth: usize,
    item: T,
}

/// A packet that leaves its queue.
#[derive(Debug, PartialEq, Eq)]
pub struct Leaving<T> {
    pub item: T,
    pub priority: u16,
    pub enqueued: Instant,
    /// Packets in the queue when it came, without it.
    pub enqueue_depth: usize,
    /// Packets in the queue that it leaves behind.
    pub dequeue_depth: usize,
}

/// The queues of a switch. A port has some as soon as a packet goes there.
pub struct Queues<T> {
    plan: QueuePlan,
    ports: BTreeMap<Port, Vec<Queue<T>>>,
    dropped: u64,
}

impl<T> Queues<T> {
    pub fn new(plan: QueuePlan) -> Queues<T> {
        Queues {
            plan,
            ports: BTreeMap::new(),
            dropped: 0,
        }
    }

    /// Queues a packet. Where the queue is full, or there is none of this port or priority, it is dropped: false.
    pub fn push(&mut self, port: Port, priority: u64, now: Instant, item: T) -> bool {
        if port > LAST_PORT {
            self.dropped += 1;
            return false;
        }
        let queues = self.ports.entry(port).or_insert_with(|| self.plan.queues(port));
        let queue = usize::try_from(priority).ok().and_then(|place| queues.get_mut(place));
        let Some(queue) = queue.filter(|queue| queue.waiting.len() < queue.depth) else {
            self.dropped += 1;
            return false;
        };
        let leaves = queue.last.map_or(now, |last| now.max(last + queue.gap));
        queue.last = Some(leaves);
        queue.waiting.push_back(Waiting {
            leaves,
            enqueued: now,
            depth: queue.waiting.len(),
            item,
        });
        true
    }

    /// Takes the next packet for a port that may leave by now: the oldest of the highest priority that has one.
    pub fn pop(&mut self, port: Port, now: Instant) -> Option<Leaving<T>> {
        let queues = self.ports.get_mut(&port)?;
        for (priority, queue) in queues.iter_mut().enumerate().rev() {
            let is_ready = queue.waiting.front().is_some_and(|waiting| waiting.leaves <= now);
            if is_ready && let Some(waiting) = queue.waiting.pop_front() {
                return Some(Leaving {
                    item: waiting.item,
                    priority: priority as u16,
                    enqueued: waiting.enqueued,
                    enqueue_depth: waiting.depth,
                    dequeue_depth: queue.waiting.len(),
                });
            }
        }
        None
    }

    /// Ports for which packets wait, and when the first of them may leave.
    pub fn waiting(&self) -> impl Iterator<Item = (Port, Instant)> {
        self.ports.iter().filter_map(|(port, queues)| {
            let heads = queues.iter().filter_map(|queue| queue.waiting.front());
            Some((*port, heads.map(|waiting| waiting.leaves).min()?))
        })
    }

    /// Forgets the packets that wait.
    pub fn clear(&mut self) {
        self.ports.clear();
    }

    /// Counts a packet that nothing had room for.
    pub fn drop_another(&mut self) {
        self.dropped += 1;
    }

    /// Packets that found their queue full, or none that is theirs.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Instant = Instant::from_ns(1_000_000_000);

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn queues(priorities: u16, depths: &[&str], rates: &[&str]) -> Queues<char> {
        let settings = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let options = QueueOptions {
            priority_queues: Some(priorities),
            queue_depth: settings(depths),
            queue_rate: settings(rates),
        };
        Queues::new(options.plan().unwrap().unwrap())
    }

    fn items(queues: &mut Queues<char>, port: Port, now: Instant) -> String {
        std::iter::from_fn(|| queues.pop(port, now)).map(|it| it.item).collect()
    }

    #[test]
    fn depths_are_counted_as_bmv2_counts_them() {
        let mut queues = queues(1, &["2"], &[]);
        for (now_ns, item) in [(10, 'a'), (20, 'b'), (30, 'c')] {
            queues.push(1, 0, at(now_ns), item);
        }
        assert_eq!(queues.dropped(), 1, "the queue holds two");
        let leaving = |item, enqueued_ns, enqueue_depth, dequeue_depth| Leaving {
            item,
            priority: 0,
            enqueued: at(enqueued_ns),
            enqueue_depth,
            dequeue_depth,
        };
        assert_eq!(queues.pop(1, at(40)), Some(leaving('a', 10, 0, 1)));
        assert_eq!(queues.pop(1, at(40)), Some(leaving('b', 20, 1, 0)));
        assert_eq!((queues.pop(1, at(40)), queues.pop(2, at(40))), (None, None));
    }

    #[test]
    fn the_highest_priority_goes_first_and_one_that_is_not_there_is_dropped() {
        let mut queues = queues(2, &[], &[]);
        for (priority, item) in [(0, 'a'), (1, 'b'), (0, 'c'), (1, 'd'), (2, 'e'), (u64::MAX, 'f')] {
            queues.push(3, priority, at(0), item);
        }
        queues.push(512, 0, at(0), 'g');
        assert_eq!(items(&mut queues, 3, at(0)), "bdac");
        assert_eq!(queues.dropped(), 3);
    }

    #[test]
    fn a_rate_spaces_packets_and_leaves_the_others_alone() {
        let mut queues = queues(2, &[], &["1/1=10"]);
        for item in ['a', 'b', 'c'] {
            queues.push(1, 1, SECOND, item);
        }
        queues.push(1, 0, SECOND, 'd');
        queues.push(2, 1, SECOND, 'e');
        assert_eq!(items(&mut queues, 1, SECOND), "ad");
        let next = SECOND + Duration::from_ms(100);
        assert_eq!(queues.waiting().collect::<Vec<_>>(), [(1, next), (2, SECOND)]);
        assert_eq!(items(&mut queues, 1, next - Duration::from_ns(1)), "");
        assert_eq!(items(&mut queues, 1, next), "b");
        assert_eq!(items(&mut queues, 1, at(5_000_000_000)), "c");
    }

    #[test]
    fn the_last_setting_for_a_queue_holds() {
        let plan = queues(2, &["10", "4=20", "4/1=30", "5=0"], &[]).plan;
        let depth = |port, priority| QueuePlan::value(&plan.depths, port, priority, DEFAULT_DEPTH);
        assert_eq!([depth(1, 0), depth(4, 0), depth(4, 1), depth(5, 1)], [10, 20, 30, 0]);
    }

    #[test]
    fn settings_that_are_none_are_refused() {
        for wrong in ["", "x", "1=", "=1", "512=1", "1/x=1", "1/1", "-1"] {
            assert!(wrong.parse::<Setting>().is_err(), "{wrong}");
        }
        let options = |priorities, depth: &str| QueueOptions {
            priority_queues: priorities,
            queue_depth: vec![depth.parse().unwrap()],
            queue_rate: Vec::new(),
        };
        assert!(options(None, "1/1=5").plan().is_err(), "there is one priority");
        assert!(options(Some(2), "1/1=5").plan().is_ok());
        assert!(options(None, "2000000").plan().is_err());
    }
}
