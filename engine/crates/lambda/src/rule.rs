// SPDX-License-Identifier: Apache-2.0
//! One calculation of one node: what it grants each of its sessions, by what it measured of them (algorithms 2 and 3, which are the same).

use serde::Deserialize;

use crate::network::{LambdaError, check_amount};

/// Part of the capacity within which two rates are one: sums of measured bytes differ in their last digits.
const TIE: f64 = 1e-9;

/// What the thesis leaves open, or what works better than what it prints. The default is what it prints.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Rule {
    /// What a session that is just below its target gets.
    pub knife_edge: KnifeEdge,
    /// How far many sessions that rise at once may go beyond the capacity.
    pub crowd: Crowd,
    /// What a session gets first.
    pub start: Start,
}

/// What a session that is just below its target gets.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnifeEdge {
    /// Its step is at least beta * alpha * f, so it may go beyond its target f by alpha * beta.
    #[default]
    AsPrinted,
    /// At most the target.
    Capped,
}

/// How far many sessions that rise at once may go beyond the capacity.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Crowd {
    /// Each rises by its own step: n sessions from 0 by alpha * C * (1 + 1/2 + ... + 1/n) together.
    #[default]
    AsPrinted,
    /// Those at 0 share one alpha * C by weight. One interval later they are not at 0, and rise as printed.
    NewcomersShare,
    /// All that rise share one alpha * C (the largest alpha of them), in proportion to their steps: the grants of a calculation are at most
    /// (1 + alpha) * C, which is the bound that VI.2.F names.
    RisesShare,
}

/// What a session gets first.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// It rises from 0 by steps.
    #[default]
    AsPrinted,
    /// Its fair share (VIII.1.A, untried there), at once for the others, who are cut to it; itself gets what they have left
    /// free of it so far, but no less than its step.
    FairShare,
}

/// How fast a session rises: `alpha` of what is missing, at least `alpha * beta` of the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    alpha: f64,
    beta: f64,
}

impl Steps {
    /// Both in (0, 1).
    ///
    /// # Errors
    /// [`LambdaError::BadAmount`] with index 0 for alpha, 1 for beta.
    pub fn new(alpha: f64, beta: f64) -> Result<Steps, LambdaError> {
        for (index, value) in [alpha, beta].into_iter().enumerate() {
            if !(value > 0.0 && value < 1.0) {
                return Err(LambdaError::BadAmount {
                    what: "step size",
                    index,
                    value,
                    range: "above 0 and below 1",
                });
            }
        }
        Ok(Steps { alpha, beta })
    }

    /// Part of what is missing that a step goes.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The least step, by the largest one.
    pub fn beta(&self) -> f64 {
        self.beta
    }
}

impl Default for Steps {
    /// Table VII.1.
    fn default() -> Steps {
        Steps { alpha: 0.15, beta: 0.2 }
    }
}

/// What a node knows of one of its sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Mean rate over the last interval, at least 0: what a source sent, or what a sink got and knows to be lost.
    pub measured: f64,
    /// Its part beside others, above 0.
    pub weight: f64,
    /// How fast it rises.
    pub steps: Steps,
    /// Who comes first among equals: the least. The thesis does not say; the first of n at 0 gets n times less than the last.
    pub rank: u32,
    /// Whether it has had no time yet to be measured at what it was granted; only [`Start::FairShare`] looks at this.
    pub is_new: bool,
}

impl Claim {
    /// Of weight 1, with the default steps, no newcomer, first among equals.
    pub fn of(measured: f64) -> Claim {
        Claim {
            measured,
            weight: 1.0,
            steps: Steps::default(),
            rank: 0,
            is_new: false,
        }
    }

    fn level(&self) -> f64 {
        self.measured / self.weight
    }
}

fn check_claims(capacity: f64, claims: &[Claim]) -> Result<(), LambdaError> {
    check_amount("capacity of node", 0, capacity, false)?;
    for (index, claim) in claims.iter().enumerate() {
        check_amount("measured rate of claim", index, claim.measured, true)?;
        check_amount("weight of claim", index, claim.weight, false)?;
    }
    Ok(())
}

/// What a node of this capacity grants each claim, in the order of the claims and the unit of the capacity.
///
/// From the session with the least measured rate (by weight) on: whoever is below the target f, an equal part of what those before it leave,
/// rises by a step; from the first one on that is not, all get f. What is left falls by the measured rate, not by the granted one
/// (VI.2.F), so grants can add up to more than the capacity. A measured rate within 1e-9 of the capacity of f is not below it.
///
/// # Errors
/// [`LambdaError::BadAmount`] for a capacity, rate or weight out of its range.
pub fn grants(capacity: f64, rule: Rule, claims: &[Claim]) -> Result<Vec<f64>, LambdaError> {
    check_claims(capacity, claims)?;
    let waits = |claim: &Claim| rule.start == Start::FairShare && claim.is_new;
    let mut order: Vec<usize> = (0..claims.len()).filter(|&index| !waits(&claims[index])).collect();
    // Rates that are one but for their last digits are equals.
    let place = |index: usize| (claims[index].level() / (TIE * capacity)).round_ties_even() as i64;
    order.sort_unstable_by(|&a, &b| (place(a), claims[a].rank, a).cmp(&(place(b), claims[b].rank, b)));
    let mut left = capacity;
    let mut weights: f64 = claims.iter().map(|claim| claim.weight).sum();
    let mut steps: Vec<Option<f64>> = vec![None; claims.len()];
    // The target of weight 1; of nobody, once all have risen.
    let mut level = left / weights;
    for index in order {
        let Claim {
            measured,
            weight,
            steps: Steps { alpha, beta },
            ..
        } = claims[index];
        let target = level * weight;
        if measured >= target - TIE * capacity {
            break;
        }
        let step = (alpha * (target - measured))
            .max(beta * alpha * target)
            .min(alpha * target);
        steps[index] = Some(match rule.knife_edge {
            KnifeEdge::AsPrinted => step,
            KnifeEdge::Capped => step.min(target - measured),
        });
        left -= measured;
        weights -= weight;
        level = left / weights;
    }
    share_steps(capacity, rule.crowd, claims, &mut steps);
    let free = free_for_newcomers(capacity, claims, waits);
    let grant = |(claim, step): (&Claim, &Option<f64>)| match step {
        Some(step) => claim.measured + step,
        None if waits(claim) => {
            let target = level * claim.weight;
            (free * claim.weight).clamp(claim.steps.alpha * target, target)
        }
        None => level * claim.weight,
    };
    Ok(claims.iter().zip(&steps).map(grant).collect())
}

/// Makes steps smaller where they together would be more than one alpha of the capacity.
fn share_steps(capacity: f64, crowd: Crowd, claims: &[Claim], steps: &mut [Option<f64>]) {
    let is_at_zero = |claim: &Claim| claim.measured <= TIE * capacity;
    let shares = |claim: &Claim| match crowd {
        Crowd::AsPrinted => false,
        Crowd::NewcomersShare => is_at_zero(claim),
        Crowd::RisesShare => true,
    };
    let sharing = || claims.iter().zip(&*steps).filter(|(claim, _)| shares(claim));
    let rising = || sharing().filter_map(|(claim, step)| Some((claim, (*step)?)));
    let alpha = rising().map(|(claim, _)| claim.steps.alpha).fold(0.0, f64::max);
    let sum: f64 = rising().map(|(_, step)| step).sum();
    let weights: f64 = rising().map(|(claim, _)| claim.weight).sum();
    let most = alpha * capacity;
    for (claim, step) in claims.iter().zip(steps).filter(|(claim, _)| shares(claim)) {
        let Some(step) = step else { continue };
        match crowd {
            Crowd::NewcomersShare => *step = step.min(most * claim.weight / weights),
            _ if sum > most => *step *= most / sum,
            _ => {}
        }
    }
}

/// What those that are measured leave free, by the weight of the newcomers.
fn free_for_newcomers(capacity: f64, claims: &[Claim], waits: impl Fn(&Claim) -> bool) -> f64 {
    let weights: f64 = claims
        .iter()
        .filter(|claim| waits(claim))
        .map(|claim| claim.weight)
        .sum();
    let others = claims.iter().filter(|claim| !waits(claim));
    let free = capacity - others.map(|claim| claim.measured).sum::<f64>();
    if weights > 0.0 { free / weights } else { 0.0 }
}
