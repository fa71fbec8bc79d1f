// SPDX-License-Identifier: Apache-2.0
//! Changes of a run's controller: schedulers, capacities, masters.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use slotwise_units::Instant;

use crate::report::{scheduler_text, shutdown_text};

/// Who wanted a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The scenario.
    Scenario,
    /// Somebody over REST.
    Rest,
}

/// A change of what the controller does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControllerChange {
    /// Fabric time.
    pub at_ns: Instant,
    /// Who wanted it.
    pub by: By,
    /// What it was.
    #[serde(flatten)]
    pub what: Changed,
}

/// What was changed, as the controller says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Changed {
    /// A scheduler with all its settings.
    Scheduler(Value),
    /// A master that is shut down or taken back.
    Shutdown(Value),
    /// What the agent of an optical packet switch's output aims at.
    Target(Value),
    /// What a class gets of the outputs of edges.
    Weight(Value),
    /// What XCP reckons with at a router's port.
    Capacity(Value),
    /// A ring's mode, or a station's weight or classes.
    Ring(Value),
}

/// Makes a change of the value set.
type Makes = fn(Value) -> Changed;

/// By the keys that a controller has for them. Sessions of GTP come and go by themselves: what is asked for them is no change of the run.
const CHANGES: [(&str, Makes); 6] = [
    ("scheduler", Changed::Scheduler),
    ("shutdown", Changed::Shutdown),
    ("target", Changed::Target),
    ("weight", Changed::Weight),
    ("capacity", Changed::Capacity),
    ("ring", Changed::Ring),
];

impl Changed {
    /// What a controller's event says that was changed, if it says so.
    pub fn of(event: &Value) -> Option<Changed> {
        let told = |(key, of): &(&str, fn(Value) -> Changed)| {
            let value = event.get(key).filter(|value| value.is_object())?;
            Some(of(value.clone()))
        };
        CHANGES.iter().find_map(told)
    }

    /// For people, e.g. `islip, iterations 4` or `target: device_id 4001, port 256, target 0.8`.
    pub fn text(&self) -> String {
        let (what, told) = match self {
            Changed::Scheduler(scheduler) => return scheduler_text(scheduler),
            Changed::Shutdown(shutdown) => return shutdown_text(shutdown),
            Changed::Target(told) => ("target", told),
            Changed::Weight(told) => ("weight", told),
            Changed::Capacity(told) => ("capacity", told),
            Changed::Ring(told) => ("ring", told),
        };
        let fields = told.as_object().into_iter().flatten();
        let fields: Vec<String> = fields.map(|(name, value)| format!("{name} {value}")).collect();
        format!("{what}: {}", fields.join(", "))
    }
}
