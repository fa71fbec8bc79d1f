// SPDX-License-Identifier: Apache-2.0

use proptest::prelude::*;

use super::*;

/// Queue of nodes with these names, in this order.
fn queue_of(names: impl IntoIterator<Item = u32>) -> EventQueue {
    let mut queue = EventQueue::default();
    names.into_iter().for_each(|name| queue.add_node(name));
    queue
}

fn wake(timer: TimerId) -> Event {
    Event::Wake(CardTimer::new(0, timer))
}

fn popped(queue: &mut EventQueue) -> Vec<(u64, Event)> {
    let all = std::iter::from_fn(|| queue.pop_until(u64::MAX));
    all.map(|(at_ns, _, event)| (at_ns, event)).collect()
}

#[test]
fn events_of_one_time_come_by_rank_then_by_age() {
    let mut queue = queue_of([0]);
    let by = By::node(0);
    let lane = Event::Arrival { lane: 3 };
    let early = queue.reserve(by, lane);
    let scheduled = [
        wake(0),
        Event::Source(1),
        Event::Source(0),
        Event::EdgeSlot(CardTimer::new(0, 0)),
        Event::CoreSlot(CardTimer::new(0, 0)),
        Event::Change(0),
    ];
    for event in scheduled {
        queue.schedule(by, 7, event);
    }
    queue.schedule(by, 6, wake(9));
    queue.schedule_as(7, early, lane);
    let order = popped(&mut queue);
    let [card_wakes, source1, source0, card, core, change] = scheduled;
    let at_7 = [change, core, card, lane, source1, source0, card_wakes].map(|event| (7, event));
    assert_eq!(order[0], (6, wake(9)));
    assert_eq!(order[1..], at_7, "the lane's place was reserved first");
}

#[test]
fn nothing_comes_early() {
    let mut queue = EventQueue::default();
    queue.schedule(By::WORLD, 8, Event::Source(0));
    assert!(queue.pop_until(7).is_none());
    assert_eq!(queue.next_at(), Some(8));
    assert!(queue.pop_until(8).is_some());
    queue.schedule(By::WORLD, 9, Event::Source(1));
    queue.schedule(By::WORLD, 8, Event::Source(2));
    assert_eq!(queue.pop_until(9).map(|(at_ns, _, _)| at_ns), Some(8));
    queue.settle();
    assert_eq!(queue.next_at(), Some(9));
}

#[test]
fn events_scheduled_earlier_come_first_then_those_of_nodes_then_those_of_the_world() {
    let mut queue = queue_of([7, 3]);
    let (of_7, of_3) = (By::node(0), By::node(1));
    queue.schedule(of_7, 4, Event::Source(0));
    queue.schedule(of_7, 9, Event::Source(1));
    assert_eq!(queue.pop_until(4).map(|(_, _, event)| event), Some(Event::Source(0)));
    queue.schedule(By::WORLD, 9, Event::Source(2));
    queue.schedule(of_7, 9, Event::Source(3));
    queue.schedule(of_3, 9, Event::Source(4));
    queue.schedule(of_3, 9, Event::Source(5));
    let order = popped(&mut queue);
    assert_eq!(order, [1, 4, 5, 3, 2].map(|source| (9, Event::Source(source))));
}

/// Nodes that schedule events for themselves and, later than a lookahead, for each other. An event is a number of which
/// all that it does follows.
mod toy {
    use super::*;

    pub(super) const NODES: u32 = 5;
    pub(super) const LOOKAHEAD_NS: u64 = 10;
    const EVENTS: u32 = 300;

    /// Event at a node, with its place in the order of all.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Done {
        pub(super) at_ns: u64,
        pub(super) order: Order,
        pub(super) number: u32,
    }

    /// Event for a node, by the name of the node that schedules it.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Scheduled {
        pub(super) name: u32,
        pub(super) at_ns: u64,
        pub(super) event: Event,
    }

    /// The name of the node of an event.
    pub(super) fn node_of(number: u32) -> u32 {
        number % NODES
    }

    /// An event of one of two ranks.
    pub(super) fn event_of(number: u32) -> Event {
        if (number / NODES).is_multiple_of(3) {
            Event::EdgeSlot(CardTimer(number))
        } else {
            Event::Source(number)
        }
    }

    pub(super) fn number_of(event: Event) -> u32 {
        match event {
            Event::EdgeSlot(CardTimer(number)) | Event::Source(number) => number,
            event => panic!("{event:?}"),
        }
    }

    /// Events that an event schedules: many at the same time as others.
    pub(super) fn effects(seed: u32, Done { at_ns, number, .. }: Done) -> Vec<Scheduled> {
        let draw = |salt: u32| {
            (number ^ seed)
                .wrapping_mul(0x9e37_79b1)
                .wrapping_add(salt)
                .wrapping_mul(0x85eb_ca6b)
                >> 16
        };
        let name = node_of(number);
        let children = (0..draw(0) % 3).map(|child| {
            let other = number + NODES * (1 + draw(child + 1) % 7);
            let is_remote = draw(child + 9) % 2 == 0;
            let (other, delay_ns) = match is_remote {
                true => (
                    other + draw(child + 17) % NODES,
                    LOOKAHEAD_NS + u64::from(draw(child + 5) % 2) * 10,
                ),
                false => (other, u64::from(draw(child + 5) % 3) * 5),
            };
            let event = event_of(other);
            let at_ns = at_ns + delay_ns;
            Scheduled { name, at_ns, event }
        });
        children.filter(|child| number_of(child.event) < EVENTS).collect()
    }
}

use toy::{Done, Scheduled};

/// Queue of some nodes of the toy, and its journal.
struct Part {
    queue: EventQueue,
    names: Vec<u32>,
    journal: Vec<Done>,
}

impl Part {
    fn new(names: Vec<u32>) -> Part {
        Part {
            queue: queue_of(names.iter().copied()),
            names,
            journal: Vec::new(),
        }
    }

    fn has(&self, name: u32) -> bool {
        self.names.contains(&name)
    }

    fn reserve(&mut self, scheduled: Scheduled) -> Order {
        let node = self.names.iter().position(|name| *name == scheduled.name);
        self.queue.reserve(By::node(node.unwrap()), scheduled.event)
    }

    /// Runs to a time. Returns the events for nodes of other parts.
    fn run(&mut self, seed: u32, until_ns: u64) -> Vec<(u64, Order, Event)> {
        let mut leaving = Vec::new();
        while let Some((at_ns, order, event)) = self.queue.pop_until(until_ns) {
            let number = toy::number_of(event);
            let done = Done { at_ns, order, number };
            self.journal.push(done);
            for scheduled in toy::effects(seed, done) {
                let order = self.reserve(scheduled);
                let Scheduled { at_ns, event, .. } = scheduled;
                match self.has(toy::node_of(toy::number_of(event))) {
                    true => self.queue.schedule_as(at_ns, order, event),
                    false => leaving.push((at_ns, order, event)),
                }
            }
        }
        self.queue.settle();
        leaving
    }
}

/// Runs parts in windows of the lookahead; gives their journals merged by the keys of events.
fn run_parts(seed: u32, names: Vec<Vec<u32>>, first: &[u32]) -> Vec<Done> {
    let mut parts: Vec<Part> = names.into_iter().map(Part::new).collect();
    for &number in first {
        let name = toy::node_of(number);
        let part = parts.iter_mut().find(|part| part.has(name)).unwrap();
        let event = toy::event_of(number);
        let order = part.reserve(Scheduled { name, at_ns: 0, event });
        part.queue.schedule_as(0, order, event);
    }
    while let Some(from_ns) = parts.iter().filter_map(|part| part.queue.next_at()).min() {
        let until_ns = from_ns + toy::LOOKAHEAD_NS - 1;
        let leaving: Vec<_> = parts.iter_mut().flat_map(|part| part.run(seed, until_ns)).collect();
        for (at_ns, order, event) in leaving {
            let name = toy::node_of(toy::number_of(event));
            let part = parts.iter_mut().find(|part| part.has(name)).unwrap();
            part.queue.schedule_as(at_ns, order, event);
        }
    }
    let mut journals: Vec<_> = parts
        .into_iter()
        .map(|part| part.journal.into_iter().peekable())
        .collect();
    let mut merged = Vec::new();
    loop {
        let heads = journals.iter_mut().enumerate();
        let heads = heads.filter_map(|(part, journal)| journal.peek().map(|done| (done.at_ns, done.order, part)));
        let Some((_, _, part)) = heads.min() else {
            return merged;
        };
        merged.extend(journals[part].next());
    }
}

proptest! {
    #[test]
    fn order_of_events_depends_on_nothing_but_their_nodes(
        seed: u32,
        names in Just((0..toy::NODES).collect::<Vec<u32>>()).prop_shuffle(),
        first in Just((0..toy::NODES * 3).collect::<Vec<u32>>()).prop_shuffle(),
        cut in 1..toy::NODES as usize,
    ) {
        let mut sorted = first.clone();
        // Each node schedules its own events in order; only the order between nodes is another.
        sorted.sort_by_key(|number| (toy::node_of(*number), *number));
        let together = run_parts(seed, vec![(0..toy::NODES).collect()], &sorted);
        let mut shuffled = first;
        shuffled.sort_by_key(|number| number / toy::NODES);
        let built_otherwise = run_parts(seed, vec![names.clone()], &shuffled);
        prop_assert_eq!(&together, &built_otherwise, "nodes built, and events scheduled, in another order");
        let (left, right) = names.split_at(cut);
        let in_parts = run_parts(seed, vec![left.to_vec(), right.to_vec()], &shuffled);
        prop_assert_eq!(&together, &in_parts, "two queues in windows");
    }
}
