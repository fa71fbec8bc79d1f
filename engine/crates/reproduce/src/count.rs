// SPDX-License-Identifier: Apache-2.0
//! How many claims came out.
//!
//! A source says many things twice: in a figure and in a table, of one flow in five tables. Each counts once, whatever number of
//! facts measure it. What a project asks of itself, and published values asked of another set-up than the published one, are no
//! claims of the source and are counted apart.

use std::collections::BTreeMap;
use std::fmt;

use crate::experiment::Basis;
use crate::fact::{Judged, Outcome, Statement};

/// Claims by what became of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// All facts of the claim are within their bands.
    pub passed: usize,
    /// At least one is outside.
    pub missed: usize,
    /// Its runs were shortened.
    pub not_judged: usize,
    /// Not all of its runs were made.
    pub not_run: usize,
}

/// What came out, by what the claims rest on.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Facts, repeated ones included.
    pub facts: usize,
    /// Distinct claims of the source.
    pub published: Tally,
    /// Distinct bounds of this project's own.
    pub own: Tally,
    /// Distinct published values, in a set-up that is not the published one.
    pub second_chance: Tally,
    /// Facts that are not measured.
    pub not_run: usize,
}

impl Tally {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Pass => self.passed += 1,
            Outcome::Miss => self.missed += 1,
            Outcome::NotJudged => self.not_judged += 1,
            Outcome::NotRun => self.not_run += 1,
        }
    }

    fn claims(&self) -> usize {
        self.passed + self.missed + self.not_judged + self.not_run
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.not_judged {
            0 => write!(f, "{} of {} pass, {} miss", self.passed, self.claims(), self.missed)?,
            not => write!(f, "{not} of {} not judged", self.claims())?,
        }
        match self.not_run {
            0 => Ok(()),
            not => write!(f, ", {not} not run"),
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "published claims: {}", self.published)?;
        for (tally, what) in [
            (self.own, "own bounds"),
            (self.second_chance, "published values in another set-up"),
        ] {
            if tally.claims() > 0 {
                write!(f, "; {what}: {tally}")?;
            }
        }
        if self.not_run > 0 {
            write!(f, "; {} facts not run", self.not_run)?;
        }
        write!(f, " ({} facts)", self.facts)
    }
}

/// What a fact is an instance of: the claim that it names, else its measurement itself, to the letter.
fn claim(fact: &Statement) -> String {
    fact.claim.clone().unwrap_or_else(|| fact.measurement.clone())
}

/// What is said of a claim of which several facts came out differently: a miss before all, then what was not run or not judged.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    let order = [Outcome::Miss, Outcome::NotRun, Outcome::NotJudged];
    let found = order.into_iter().find(|outcome| [one, other].contains(outcome));
    found.unwrap_or(Outcome::Pass)
}

/// Counts claims, one that is missed once being missed, and what is not run.
pub(crate) fn count<'j>(judged: impl Iterator<Item = &'j Judged>, not_run: usize) -> Counts {
    let mut counts = Counts {
        not_run,
        ..Counts::default()
    };
    let mut claims: BTreeMap<(Basis, String), Outcome> = BTreeMap::new();
    for Judged { fact, outcome, .. } in judged {
        counts.facts += 1;
        let of_claim = claims.entry((fact.basis, claim(fact))).or_insert(*outcome);
        *of_claim = worse(*of_claim, *outcome);
    }
    for ((basis, _), outcome) in claims {
        match basis {
            Basis::Published => counts.published.add(outcome),
            Basis::Own => counts.own.add(outcome),
            Basis::SecondChance => counts.second_chance.add(outcome),
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str, rest: &str, outcome: Outcome) -> Judged {
        let yaml = format!(
            "{{text: {text}, where: w, run: r, measure: {{table: links, column: utilization, of: [ab]}}, from_s: 0, to_s: 10, \
             stat: mean, why: y, {rest}}}"
        );
        let fact = serde_yaml_ng::from_str(&yaml).unwrap();
        Judged {
            fact: Statement::of(&fact),
            value: None,
            outcome,
        }
    }

    #[test]
    fn repeats_count_once_and_own_bounds_apart() {
        use Outcome::{Miss, Pass};
        let all = [
            judged("in the figure", "band: [0, 1]", Pass),
            judged("in the table", "band: [0, 1]", Pass),
            judged("of another band", "band: [0, 2]", Pass),
            judged("first flow", "band: [0, 3], claim: delay", Pass),
            judged("second flow", "band: [0, 4], claim: delay", Miss),
            judged("ours", "band: [0, 1], basis: own", Miss),
            judged("elsewhere", "band: [0, 1], basis: second-chance", Pass),
        ];
        let counts = count(all.iter(), 2);
        assert_eq!(
            counts.to_string(),
            "published claims: 2 of 3 pass, 1 miss; own bounds: 0 of 1 pass, 1 miss; \
             published values in another set-up: 1 of 1 pass, 0 miss; 2 facts not run (7 facts)"
        );
        let short = count([judged("short", "band: [0, 1]", Outcome::NotJudged)].iter(), 0);
        assert_eq!(short.to_string(), "published claims: 1 of 1 not judged (1 facts)");
        let half = count(
            [
                judged("one", "band: [0, 1]", Pass),
                judged("two", "band: [0, 2], claim: both", Pass),
                judged("three", "band: [0, 3], claim: both", Outcome::NotRun),
            ]
            .iter(),
            0,
        );
        assert_eq!(
            half.to_string(),
            "published claims: 1 of 2 pass, 0 miss, 1 not run (3 facts)"
        );
    }
}
