// SPDX-License-Identifier: Apache-2.0
//! What a run's controller was told to do: the scenario's schedulers and capacities in their time, and what others want by REST.

use std::collections::{HashSet, VecDeque};

use serde_json::{Value, json};
use slotwise_kinds::{self as kinds, World};
use slotwise_observe::changes::{By, Changed, ControllerChange};
use slotwise_p4::Port;
use slotwise_scenario::{Changed as Change, Scenario, SchedulerChoice};
use slotwise_units::{Duration, Instant, Rate};

use crate::controller::ControllerError;
use crate::rest::Rest;

/// What the scenario wants.
#[derive(Debug, Clone, PartialEq)]
enum Order {
    Scheduler(SchedulerChoice),
    /// What XCP is to reckon with.
    Capacity {
        device_id: u64,
        port: Port,
        xcp: Rate,
    },
}

impl Order {
    /// What a controller says that it has made of it, where that is known beforehand.
    fn capacity(&self) -> Option<Changed> {
        match self {
            Order::Scheduler(_) => None,
            Order::Capacity { device_id, port, xcp } => Some(Changed::Capacity(
                json!({"device_id": device_id, "port": port, "xcp_bps": xcp.bps()}),
            )),
        }
    }
}

/// What is due.
#[derive(Debug)]
pub struct Due {
    at_ms: u64,
    order: Order,
}

/// What a controller has made of an order.
#[derive(Debug)]
pub enum Told {
    /// This scheduler, with all its settings.
    Chosen(Value),
    /// It has taken it.
    Taken,
}

impl Due {
    /// Tells a controller.
    ///
    /// # Errors
    /// When it does not take it.
    pub fn tell(&self, rest: &Rest) -> Result<Told, ControllerError> {
        match &self.order {
            Order::Scheduler(choice) => rest.choose(choice).map(Told::Chosen),
            &Order::Capacity { device_id, port, xcp } => rest.set_capacity(device_id, port, xcp).map(|()| Told::Taken),
        }
    }
}

/// Choices of one run.
#[derive(Debug, Default)]
pub struct Choices {
    /// To come, by time in ms.
    due: VecDeque<(u64, Order)>,
    /// The scenario's, of which the controller has not told yet.
    untold: Vec<Changed>,
    /// The scheduler that the controller began with, with all its settings.
    pub first: Option<Value>,
    /// What came after.
    pub changes: Vec<ControllerChange>,
}

impl Choices {
    /// Those of a scenario, whose fabric this is.
    pub fn new(scenario: &Scenario, fabric: &World) -> Choices {
        let schedulers = scenario.scheduler_changes.iter();
        let schedulers = schedulers.map(|change| (change.at_ms, Order::Scheduler(change.choice.clone())));
        let order = |(at_ms, change)| {
            let Change::Link {
                link, xcp: Some(xcp), ..
            } = change
            else {
                return None;
            };
            let (router, port) = fabric.of_kind::<kinds::Routed>()?.port_of(link)?;
            let order = Order::Capacity {
                device_id: router.id(),
                port,
                xcp,
            };
            Some((at_ms, order))
        };
        let capacities = scenario.timeline().into_iter().filter_map(order);
        let mut due: Vec<_> = schedulers.chain(capacities).collect();
        due.sort_by_key(|(at_ms, _)| *at_ms);
        // Of one output at one time the last counts.
        let mut told = HashSet::new();
        due.reverse();
        due.retain(|(at_ms, order)| match *order {
            Order::Scheduler(_) => true,
            Order::Capacity { device_id, port, .. } => told.insert((*at_ms, device_id, port)),
        });
        due.reverse();
        Choices {
            due: due.into(),
            ..Choices::default()
        }
    }

    /// When the next one is due, counted from the start of the first phase.
    pub fn next(&self) -> Option<Duration> {
        self.due.front().map(|(at_ms, _)| Duration::from_ms(*at_ms))
    }

    /// Takes what is due `since` after the start of the first phase, the first of it: it is to be told, and what came of it to be said
    /// to [`Choices::told`].
    pub fn take_due(&mut self, since: Duration) -> Option<Due> {
        self.next().filter(|at| *at <= since)?;
        let (at_ms, order) = self.due.pop_front()?;
        Some(Due { at_ms, order })
    }

    /// A controller was told at `now` of the fabric, or was not. True if it has to write tables for it at once.
    ///
    /// # Errors
    /// Why it did not take it; it is not due again unless the controller could not be reached.
    pub fn told(
        &mut self,
        due: Due,
        now: Instant,
        answer: Result<Told, ControllerError>,
    ) -> Result<bool, ControllerError> {
        let told = match answer {
            Err(error @ ControllerError::Unreachable { .. }) => {
                self.put_back(due);
                return Err(error);
            }
            answer => answer?,
        };
        match (told, due.order) {
            (Told::Chosen(chosen), _) => {
                let what = Changed::Scheduler(chosen);
                self.untold.push(what.clone());
                self.note(now, By::Scenario, what);
                Ok(false)
            }
            (Told::Taken, order) => {
                self.untold.extend(order.capacity());
                Ok(true)
            }
        }
    }

    /// Names what was due by `since` after the start of the first phase and has not been told to any controller.
    pub fn overdue(&self, since: Duration) -> Option<String> {
        let count = self
            .due
            .iter()
            .filter(|(at_ms, _)| Duration::from_ms(*at_ms) <= since)
            .count();
        let (first_ms, _) = self.due.front().filter(|_| count > 0)?;
        Some(format!(
            "controller: {count} scenario changes not delivered before the end, the first due at {first_ms} ms"
        ))
    }

    /// Nobody was told: it is due for the next controller.
    pub fn put_back(&mut self, Due { at_ms, order }: Due) {
        self.due.push_front((at_ms, order));
    }

    /// Notes what the controller said at `now`.
    pub fn heard(&mut self, now: Instant, event: &Value) {
        match event["event"].as_str() {
            Some("ready") => {
                self.first.get_or_insert_with(|| event["scheduler"].clone());
            }
            Some("changed") => {
                let Some(what) = Changed::of(event) else { return };
                match self.untold.iter().position(|told| *told == what) {
                    Some(place) => drop(self.untold.remove(place)),
                    None => self.note(now, By::Rest, what),
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, at: Instant, by: By, what: Changed) {
        let at_ns = at;
        self.changes.push(ControllerChange { at_ns, by, what });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use slotwise_scenario::Device;

    use super::*;
    use crate::network::Network;

    #[test]
    fn what_the_scenario_wants_and_what_others_want_is_told_apart() {
        let fair = json!({"name": "fair", "settings": {"order": "spread"}});
        let islip = json!({"name": "islip", "settings": {"iterations": 4}});
        let mut choices = Choices {
            untold: vec![Changed::Scheduler(islip.clone())],
            ..Choices::default()
        };
        choices.heard(Instant::ZERO, &json!({"event": "ready", "scheduler": fair}));
        for at_ns in [10, 20] {
            choices.heard(
                Instant::from_ns(at_ns),
                &json!({"event": "changed", "scheduler": islip}),
            );
        }
        choices.heard(
            Instant::from_ns(30),
            &json!({"event": "changed", "shutdown": {"core": 1, "master": 1, "shut_down": true}}),
        );
        choices.heard(Instant::from_ns(40), &json!({"event": "ready", "scheduler": islip}));
        choices.heard(Instant::from_ns(50), &json!({"event": "changed"}));
        assert_eq!(choices.first, Some(fair));
        assert_eq!(
            json!(choices.changes),
            json!([
                {"at_ns": 20, "by": "rest", "scheduler": {"name": "islip", "settings": {"iterations": 4}}},
                {"at_ns": 30, "by": "rest", "shutdown": {"core": 1, "master": 1, "shut_down": true}},
            ])
        );
    }

    #[test]
    fn whatever_is_changed_is_noted_and_what_the_scenario_wants_is_not_somebody_elses() {
        let order = Order::Capacity {
            device_id: 3001,
            port: 1,
            xcp: Rate::from_bps(5),
        };
        let mut choices = Choices::default();
        choices.put_back(Due { at_ms: 1, order });
        assert_eq!(choices.overdue(Duration::from_ns(999_999)), None);
        let overdue = choices.overdue(Duration::from_ms(1)).unwrap();
        assert!(
            overdue.ends_with("1 scenario changes not delivered before the end, the first due at 1 ms"),
            "{overdue}"
        );
        let due = choices.take_due(Duration::from_ms(1)).unwrap();
        assert!(choices.told(due, Instant::from_ns(10), Ok(Told::Taken)).unwrap());
        assert_eq!(choices.overdue(Duration::from_ms(1)), None);
        let capacity = json!({"device_id": 3001, "port": 1, "xcp_bps": 5});
        let told = [
            ("capacity", capacity.clone()),
            ("capacity", capacity),
            ("target", json!({"device_id": 4001, "port": 256, "target": 0.8})),
            ("weight", json!({"class": 1, "weight": 3.0})),
            ("ring", json!({"mode": "strict"})),
            ("session", json!({"name": "s"})),
        ];
        for (key, value) in &told {
            choices.heard(Instant::from_ns(20), &json!({"event": "changed", *key: value}));
        }
        let noted: Vec<Value> = choices.changes.iter().map(|change| json!(change)).collect();
        let expected = told[1..5].iter();
        let expected = expected.map(|(key, value)| json!({"at_ns": 20, "by": "rest", *key: value}));
        assert_eq!(noted, expected.collect::<Vec<_>>());
        let texts: Vec<String> = choices.changes.iter().map(|change| change.what.text()).collect();
        assert_eq!(texts[1], "target: device_id 4001, port 256, target 0.8");
    }

    #[test]
    fn capacities_of_routers_are_due_in_their_time_and_the_last_of_one_time_counts() {
        let text = include_str!("../../../../topologies/routers4.yaml")
            .replace("name: north-west,", "name: north-west, xcp_capacity_bps: 100000000,")
            .replace(
                "changes:\n",
                "changes:\n- {at_ms: 3000, link: north-west, xcp_capacity_bps: 20000000}\n\
                 - {at_ms: 2500, every_ms: 500, times: 2, link: north-west, xcp_capacity_bps: 30000000}\n",
            );
        let network = Network::parse(text.as_bytes()).unwrap();
        let choices = Choices::new(&network.scenario, &network.empty_fabric());
        // North's first port leads to west.
        let order = Order::Capacity {
            device_id: Device::Router(1).id(),
            port: 1,
            xcp: Rate::from_bps(30_000_000),
        };
        assert_eq!(choices.next(), Some(Duration::from_ms(2500)));
        assert_eq!(choices.due, [(2500, order.clone()), (3000, order)]);
    }
}
