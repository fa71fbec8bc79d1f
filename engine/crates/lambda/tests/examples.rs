// SPDX-License-Identifier: Apache-2.0
//! `examples.json`, worked out by hand: every language's implementation has to come to the same.

use serde::Deserialize;
use slotwise_lambda::{Claim, Network, Rule, Session, Steps, check, grants, max_min};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Examples {
    max_min: Vec<OfNetwork>,
    grants: Vec<OfNode>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfNetwork {
    name: String,
    capacities: Vec<f64>,
    sessions: Vec<OfSession>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfSession {
    links: Vec<usize>,
    demand: Option<f64>,
    #[serde(default = "one")]
    weight: f64,
    rate: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfNode {
    name: String,
    capacity: f64,
    #[serde(default)]
    rule: Rule,
    claims: Vec<OfClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct OfClaim {
    measured: f64,
    #[serde(default = "one")]
    weight: f64,
    #[serde(default = "alpha")]
    alpha: f64,
    #[serde(default = "beta")]
    beta: f64,
    #[serde(default)]
    rank: u32,
    #[serde(default)]
    is_new: bool,
    grant: f64,
}

fn one() -> f64 {
    1.0
}

fn alpha() -> f64 {
    Steps::default().alpha()
}

fn beta() -> f64 {
    Steps::default().beta()
}

fn examples() -> Examples {
    serde_json::from_str(include_str!("../examples.json")).unwrap()
}

fn assert_near(ours: &[f64], wanted: &[f64], scale: f64, name: &str) {
    assert_eq!(ours.len(), wanted.len(), "{name}");
    let all_near = ours
        .iter()
        .zip(wanted)
        .all(|(ours, wanted)| (ours - wanted).abs() <= 1e-12 * scale);
    assert!(all_near, "{name}: {ours:?}, not {wanted:?}");
}

#[test]
fn max_min_rates() {
    let examples = examples().max_min;
    assert!(!examples.is_empty());
    for example in examples {
        let wanted: Vec<f64> = example.sessions.iter().map(|session| session.rate).collect();
        let sessions = example.sessions.into_iter().map(|session| Session {
            links: session.links,
            demand: session.demand,
            weight: session.weight,
        });
        let scale = example.capacities.iter().copied().fold(0.0, f64::max);
        let network = Network::new(example.capacities, sessions.collect()).unwrap();
        let fair = max_min(&network);
        assert_near(&fair.rates, &wanted, scale, &example.name);
        check(&network, &wanted, 1e-12 * scale).unwrap();
        assert!(fair.rounds <= wanted.len(), "{}", example.name);
    }
}

#[test]
fn grants_of_one_calculation() {
    let examples = examples().grants;
    assert!(!examples.is_empty());
    for example in examples {
        let claims: Vec<Claim> = example
            .claims
            .iter()
            .map(|claim| Claim {
                measured: claim.measured,
                weight: claim.weight,
                steps: Steps::new(claim.alpha, claim.beta).unwrap(),
                rank: claim.rank,
                is_new: claim.is_new,
            })
            .collect();
        let wanted: Vec<f64> = example.claims.iter().map(|claim| claim.grant).collect();
        let ours = grants(example.capacity, example.rule, &claims).unwrap();
        assert_near(&ours, &wanted, example.capacity, &example.name);
    }
}
