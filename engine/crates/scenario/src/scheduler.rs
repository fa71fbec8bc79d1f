// SPDX-License-Identifier: Apache-2.0
//! Scheduler of a controller, and its settings.

mod settings;

use std::collections::BTreeMap;

use crate::doc::Doc;

use crate::model::Scenario;
use crate::own_scheduler::{self, OwnScheduler};
use crate::parse::{AT_MS, read_checked};
use crate::problem::ScenarioError;
use crate::reader::{Fields, Reader};
use crate::section::{defined, integer, section};
pub(crate) use settings::definitions;
use settings::{Setting, Values};

/// The key whose value is a list of rules for edge pairs.
const WEIGHTS: &str = "weights";
const MAX_WEIGHT: u32 = 64;
const MAX_RULES: usize = 2048;

/// The schedulers that the controller has itself.
pub(crate) const OURS: [&str; 6] = settings::NAMES;
/// The one that is used where nothing is said.
pub(crate) const DEFAULT: &str = OURS[0];

/// A scheduler with the settings that differ from its defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerChoice {
    /// Which, by name.
    pub scheduler: String,
    /// By name. Within the bounds of that scheduler.
    pub settings: BTreeMap<String, SettingValue>,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValue {
    /// A whole number.
    Integer(u64),
    /// One of several words, or a list of rules.
    Text(String),
}

section! {
    /// Change of the scheduler.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SchedulerChange [r, fields, own: &'c [OwnScheduler]] {
        /// Time in ms from the start of the first phase.
        pub at_ms: u64 = "at_ms" required, integer(AT_MS);
        /// New scheduler.
        pub choice: SchedulerChoice = "scheduler" read(choice(r, fields, "scheduler", own)), defined("scheduler");
    }
}

impl SchedulerChoice {
    /// A scheduler with its defaults.
    pub(crate) fn of(name: &str) -> SchedulerChoice {
        SchedulerChoice {
            scheduler: name.to_owned(),
            settings: BTreeMap::new(),
        }
    }
}

impl SchedulerChoice {
    /// The scheduler at the start of a run: the default one if the file names none.
    pub(crate) fn initial(r: &mut Reader, fields: &Fields, own: &[OwnScheduler]) -> SchedulerChoice {
        match r.optional(fields, "scheduler") {
            Some(_) => choice(r, fields, "scheduler", own),
            None => SchedulerChoice::of(DEFAULT),
        }
    }
}

impl Scenario {
    /// The same with another scheduler from the beginning: a name, or `{name: ..., settings: {...}}` as a scenario has it (YAML).
    ///
    /// # Errors
    /// As [`Scenario::parse`], with places below `/scheduler`; the names that there are are in it.
    pub fn with_scheduler(mut self, text: &str) -> Result<Scenario, ScenarioError> {
        let shape = |r: &mut Reader, value: &Doc| {
            let document = value.clone().under("scheduler");
            let fields = r.fields(&document, String::new(), &["scheduler"]);
            choice(r, &fields, "scheduler", &self.schedulers)
        };
        let fits = |choice: &SchedulerChoice, r: &mut Reader| weights(&self, choice, "/scheduler", r);
        (self.controller.scheduler, _) = read_checked(Doc::read(text.as_bytes())?, shape, fits)?;
        Ok(self)
    }
}

/// The scheduler under `key`: its name, or its name and settings.
pub(crate) fn choice(r: &mut Reader, fields: &Fields, key: &str, own: &[OwnScheduler]) -> SchedulerChoice {
    let all = OURS.into_iter().chain(own.iter().map(|own| own.name.as_str()));
    let names: Vec<(&str, &str)> = all.map(|name| (name, name)).collect();
    let Some(value) = r.optional(fields, key).filter(|value| value.is_mapping()) else {
        return SchedulerChoice::of(r.choice(fields, key, &names));
    };
    let choice = r.fields(value, fields.pointer(key), &["name", "settings"]);
    let before = r.problems.len();
    let mut chosen = SchedulerChoice::of(r.choice(&choice, "name", &names));
    // Of which scheduler they are is known only then.
    if r.problems.len() == before
        && let Some(value) = r.optional(&choice, "settings")
    {
        let place = choice.pointer("settings");
        chosen.settings = match settings::of(&chosen.scheduler) {
            Some(known) => settings_of_ours(r, value, place, known),
            None => own_scheduler::settings(r, value, place),
        };
    }
    chosen
}

fn settings_of_ours(r: &mut Reader, value: &Doc, place: String, known: &[&Setting]) -> BTreeMap<String, SettingValue> {
    let keys: Vec<&str> = known.iter().map(|setting| setting.name).collect();
    let given = r.fields(value, place, &keys);
    let mut settings = BTreeMap::new();
    for setting in known {
        let value = setting_value(r, &given, setting);
        settings.extend(value.map(|value| (setting.name.to_owned(), value)));
    }
    settings
}

fn setting_value(r: &mut Reader, given: &Fields, setting: &Setting) -> Option<SettingValue> {
    let Setting { name, values, .. } = setting;
    let value = r.optional(given, name)?;
    let (is_right, expected) = match values {
        Values::Integer(range) => {
            return r
                .optional_integer(given, name, range.clone())
                .map(SettingValue::Integer);
        }
        Values::Words(words) => {
            let is_word = value.as_str().is_some_and(|text| words.contains(&text));
            (is_word, words.join(" or "))
        }
        Values::Weights => {
            let are_rules = value.as_str().is_some_and(|text| rules(text).is_some());
            let expected = format!(
                "at most {MAX_RULES} comma-separated rules 'sender>receiver=weight' with edge numbers or *, and a weight of 1 to {MAX_WEIGHT} or 'first'"
            );
            (are_rules, expected)
        }
    };
    if !is_right {
        r.report(given.pointer(name), format!("found {}", value.describe()), expected);
        return None;
    }
    value.as_str().map(|text| SettingValue::Text(text.to_owned()))
}

/// The edges that a list of rules names; `None` if it is no such list.
fn rules(text: &str) -> Option<Vec<usize>> {
    if text.trim_matches(' ').is_empty() {
        return Some(Vec::new());
    }
    let mut edges = Vec::new();
    for (index, rule) in text.split(',').enumerate() {
        let (pair, weight) = rule.trim_matches(' ').split_once('=')?;
        let (sender, receiver) = pair.split_once('>')?;
        if index == MAX_RULES || (weight != "first" && !(1..=MAX_WEIGHT).contains(&digits(weight, 3)?)) {
            return None;
        }
        for edge in [sender, receiver].into_iter().filter(|edge| *edge != "*") {
            edges.push(digits(edge, 4)? as usize);
        }
    }
    Some(edges)
}

/// A number of at most so many decimal digits.
fn digits(text: &str, most: usize) -> Option<u32> {
    let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Whether edges that are named exist, and changes come before the end.
pub(crate) fn check(scenario: &Scenario, r: &mut Reader) {
    weights(scenario, &scenario.controller.scheduler, "/controller/scheduler", r);
    for (index, change) in scenario.scheduler_changes.iter().enumerate() {
        let place = r.changes.schedulers[index].clone();
        if change.at_ms >= scenario.duration_ms() {
            let reason = format!("{} ms is after the end of the run", change.at_ms);
            let expected = format!("less than {}", scenario.duration_ms());
            r.report(format!("{place}/at_ms"), reason, expected);
        }
        weights(scenario, &change.choice, &format!("{place}/scheduler"), r);
    }
}

fn weights(scenario: &Scenario, choice: &SchedulerChoice, place: &str, r: &mut Reader) {
    let Some(SettingValue::Text(text)) = choice
        .settings
        .get(WEIGHTS)
        .filter(|_| OURS.contains(&choice.scheduler.as_str()))
    else {
        return;
    };
    let named = rules(text).unwrap_or_default();
    if let Some(edge) = named.into_iter().find(|edge| *edge >= scenario.edges.len()) {
        let last = scenario.edges.len() - 1;
        r.report(
            format!("{place}/settings/{WEIGHTS}"),
            format!("weight for unknown edge {edge}"),
            format!("edges from 0 to {last}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_those_that_the_schema_takes() {
        let schema: serde_json::Value = serde_json::from_str(&crate::schema()).unwrap();
        let weights = &schema["$defs"]["settings_of_fair"]["properties"][WEIGHTS];
        let validator = jsonschema::validator_for(weights).unwrap();
        let cases = [
            ("", Some(vec![])),
            ("  ", Some(vec![])),
            ("0>1=4", Some(vec![0, 1])),
            (" *>3=first , 12>*=064 ", Some(vec![3, 12])),
            ("0001>9999=1", Some(vec![1, 9999])),
            ("0>1=0", None),
            ("0>1=000", None),
            ("0>1=65", None),
            ("0>1=100", None),
            ("0>1=4,", None),
            (",", None),
            ("0 >1=4", None),
            ("00001>1=4", None),
            ("+1>1=4", None),
            ("0>1=first first", None),
            ("0>1", None),
            ("0>1=4;2>1=4", None),
        ];
        for (text, edges) in cases {
            assert_eq!(rules(text), edges, "'{text}'");
            assert_eq!(validator.is_valid(&text.into()), edges.is_some(), "'{text}'");
        }
        assert!(rules(&vec!["0>1=1"; MAX_RULES].join(",")).is_some());
        assert!(rules(&vec!["0>1=1"; MAX_RULES + 1].join(",")).is_none());
    }

    #[test]
    fn a_run_takes_another_scheduler_than_its_file_names() {
        let star = include_bytes!("../../../../topologies/star4.yaml");
        let star = || Scenario::parse(star).unwrap();
        let with = |text: &str| star().with_scheduler(text).map(|star| star.controller.scheduler);
        let text = |text: &str| SettingValue::Text(text.to_owned());
        assert_eq!(with("islip").unwrap(), SchedulerChoice::of("islip"));
        let settings =
            [("share", "proportional"), ("weights", "0>3=4")].map(|(name, value)| (name.into(), text(value)));
        let choice = SchedulerChoice {
            scheduler: "fair".to_owned(),
            settings: settings.into(),
        };
        let given = "{name: fair, settings: {share: proportional, weights: '0>3=4'}}";
        assert_eq!(with(given).unwrap(), choice);

        let refused = |text: &str| with(text).unwrap_err().to_string();
        let unknown = refused("fastest");
        assert!(unknown.starts_with("/scheduler: "), "{unknown}");
        assert!(OURS.iter().all(|name| unknown.contains(name)), "{unknown}");
        assert!(refused("{name: fair, settings: {shares: equal}}").starts_with("/scheduler/settings"));
        assert!(refused("{name: fair, settings: {weights: '0>4=2'}}").contains("edges from 0 to 3"));
        assert!(refused("").starts_with("/scheduler: "));
        assert!(refused("{name: fair").starts_with("not YAML"));
    }

    #[test]
    fn every_scheduler_has_settings() {
        let names = |scheduler: &str| -> Vec<&str> {
            settings::of(scheduler)
                .unwrap()
                .iter()
                .map(|setting| setting.name)
                .collect()
        };
        assert_eq!(names("fair"), ["share", "order", "weights", "estimator"]);
        assert_eq!(names("maximum-weight"), ["estimator"]);
    }
}
