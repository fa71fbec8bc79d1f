// SPDX-License-Identifier: Apache-2.0
//! What makes rates max-min fair, against brute force; what the local rule keeps, and where it ends.

use proptest::prelude::*;
use slotwise_lambda::{
    Bound, Claim, Crowd, KnifeEdge, LambdaError, Network, NotFair, Rule, Session, Start, Steps, check, grants, max_min,
};

const TOLERANCE: f64 = 1e-9;

/// Networks of up to `links` links, sessions over one to three of them, some with demands and weights.
fn networks(links: usize, sessions: usize) -> impl Strategy<Value = Network> {
    let amounts = prop::sample::select(vec![1.0, 1.0, 2.0, 3.0, 5.0]);
    (2..=links)
        .prop_flat_map(move |links| {
            let capacities = prop::collection::vec(amounts.clone(), links);
            let session = (
                prop::sample::subsequence((0..links).collect::<Vec<usize>>(), 1..=links.min(3)),
                prop::option::weighted(0.4, 0.0..2.0),
                prop::sample::select(vec![1.0, 1.0, 1.0, 2.0, 0.5]),
            )
                .prop_map(|(links, demand, weight)| Session { links, demand, weight });
            (capacities, prop::collection::vec(session, 0..=sessions))
        })
        .prop_map(|(capacities, sessions)| Network::new(capacities, sessions).unwrap())
}

/// Levels (rates by weight), the least first.
fn sorted_levels(network: &Network, rates: &[f64]) -> Vec<f64> {
    let of = network.sessions().iter().zip(rates);
    let mut levels: Vec<f64> = of.map(|(session, rate)| rate / session.weight).collect();
    levels.sort_by(f64::total_cmp);
    levels
}

/// Whether `more` has a larger level at the first place where the two differ.
fn is_fairer(more: &[f64], than: &[f64]) -> bool {
    let differ = more.iter().zip(than).find(|(a, b)| (*a - *b).abs() > TOLERANCE);
    differ.is_some_and(|(more, than)| more > than)
}

/// Calls `visit` with every feasible vector of multiples of `step` that goes on from `rates`.
fn for_each_feasible(network: &Network, step: f64, rates: &mut Vec<f64>, visit: &mut impl FnMut(&[f64])) {
    let Some(session) = network.sessions().get(rates.len()) else {
        visit(rates);
        return;
    };
    let room = |link: usize| {
        let crossing = network.crossing(link).iter().filter(|&&other| other < rates.len());
        network.capacities()[link] - crossing.map(|&other| rates[other]).sum::<f64>()
    };
    let most = session
        .links
        .iter()
        .map(|&link| room(link))
        .fold(session.wanted(), f64::min);
    for part in 0..=((most + TOLERANCE) / step) as usize {
        rates.push(part as f64 * step);
        for_each_feasible(network, step, rates, visit);
        rates.pop();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_oracle_is_certified_and_ends_in_as_many_rounds_as_sessions(network in networks(8, 24)) {
        let fair = max_min(&network);
        prop_assert!(fair.rounds <= network.sessions().len());
        let bounds = check(&network, &fair.rates, TOLERANCE);
        prop_assert!(bounds.is_ok(), "{bounds:?}");
        for ((session, bound), rate) in network.sessions().iter().zip(&fair.bounds).zip(&fair.rates) {
            match bound {
                Bound::Demand => prop_assert_eq!(Some(*rate), session.demand),
                Bound::Link(link) => {
                    prop_assert!(session.links.contains(link));
                    let on_it = network.crossing(*link);
                    let load: f64 = on_it.iter().map(|&other| fair.rates[other]).sum();
                    prop_assert!((load - network.capacities()[*link]).abs() < TOLERANCE, "not full");
                    let level = rate / session.weight;
                    let is_most = |&other: &usize| fair.rates[other] / network.sessions()[other].weight <= level + TOLERANCE;
                    prop_assert!(on_it.iter().all(is_most));
                }
            }
        }
    }

    /// Brute force: of all feasible vectors of a grid none is fairer, by the least rate, then the second least, and so on.
    #[test]
    fn no_feasible_rates_are_fairer(network in networks(3, 4)) {
        let ours = sorted_levels(&network, &max_min(&network).rates);
        let mut fairer = None;
        for_each_feasible(&network, 0.25, &mut Vec::new(), &mut |rates| {
            let levels = sorted_levels(&network, rates);
            if is_fairer(&levels, &ours) {
                fairer = Some(levels);
            }
        });
        prop_assert_eq!(fairer, None, "ours: {:?}", ours);
    }

    #[test]
    fn other_rates_have_no_certificate(network in networks(6, 12), which in any::<prop::sample::Index>(), factor in 0.5..1.5_f64) {
        let mut rates = max_min(&network).rates;
        prop_assume!(!rates.is_empty() && (factor - 1.0).abs() > 0.01);
        let which = which.index(rates.len());
        prop_assume!(rates[which] > 0.01);
        rates[which] *= factor;
        prop_assert!(check(&network, &rates, TOLERANCE).is_err());
    }

    #[test]
    fn grants_are_a_step_above_what_rises_and_one_target_for_the_rest(
        measured in prop::collection::vec(prop_oneof![Just(0.0), 0.0..1.2_f64], 1..20),
        alpha in 0.01..0.9_f64,
        beta in 0.01..0.9_f64,
    ) {
        let steps = Steps::new(alpha, beta).unwrap();
        let claims: Vec<Claim> = measured.iter().map(|&measured| Claim { steps, ..Claim::of(measured) }).collect();
        let granted = grants(1.0, Rule::default(), &claims).unwrap();
        let rises = |(&measured, &granted): (&f64, &f64)| granted > measured;
        let rising: f64 = measured.iter().zip(&granted).filter(|of| rises(*of)).map(|(measured, granted)| granted - measured).sum();
        let rest: Vec<f64> = measured.iter().zip(&granted).filter(|of| !rises(*of)).map(|(_, &granted)| granted).collect();
        prop_assert!(rest.windows(2).all(|pair| pair[0] == pair[1]));
        let sum: f64 = granted.iter().sum();
        // What those below their targets were measured at and the target of the others are the capacity, or less if all rise.
        prop_assert!(sum <= 1.0 + rising + TOLERANCE);
        if !rest.is_empty() {
            prop_assert!((sum - 1.0 - rising).abs() < TOLERANCE, "{sum} {rising}");
        }
        // Twice the capacity and twice the rates: twice the grants.
        let twice: Vec<Claim> = claims.iter().map(|claim| Claim { measured: 2.0 * claim.measured, ..*claim }).collect();
        let of_twice = grants(2.0, Rule::default(), &twice).unwrap();
        prop_assert!(of_twice.iter().zip(&granted).all(|(twice, once)| (twice - 2.0 * once).abs() < TOLERANCE));
    }

    #[test]
    fn better_rules_keep_their_bounds(
        measured in prop::collection::vec(prop_oneof![Just(0.0), 0.0..0.3_f64, 0.9..1.1_f64], 1..30),
        alpha in 0.01..0.5_f64,
    ) {
        let steps = Steps::new(alpha, 0.2).unwrap();
        let claims: Vec<Claim> = measured.iter().map(|&measured| Claim { steps, ..Claim::of(measured) }).collect();
        let granted = |rule| grants(1.0, rule, &claims).unwrap();
        let printed = granted(Rule::default());
        let shared = granted(Rule { crowd: Crowd::RisesShare, ..Rule::default() });
        prop_assert!(shared.iter().sum::<f64>() <= 1.0 + alpha + TOLERANCE);
        let newcomers = granted(Rule { crowd: Crowd::NewcomersShare, ..Rule::default() });
        let of_newcomers = measured.iter().zip(&newcomers).filter(|(measured, _)| **measured == 0.0);
        prop_assert!(of_newcomers.map(|(_, granted)| granted).sum::<f64>() <= alpha + TOLERANCE);
        let capped = granted(Rule { knife_edge: KnifeEdge::Capped, ..Rule::default() });
        for (index, &printed) in printed.iter().enumerate() {
            prop_assert!(shared[index] <= printed && newcomers[index] <= printed && capped[index] <= printed);
            prop_assert!(capped[index] >= printed / (1.0 + 0.2 * alpha) - TOLERANCE);
        }
    }

    /// Proposition 2: at max-min fair rates, measured exactly, no node takes any from a session, and each session has a node that gives it
    /// no more, or its demand.
    #[test]
    fn max_min_rates_stay(network in networks(8, 24)) {
        let rates = max_min(&network).rates;
        prop_assert!(next(&network, Rule::default(), &rates).iter().zip(&rates).all(|(next, rate)| (next - rate).abs() < TOLERANCE));
    }
}

/// The rates after each node has calculated once, all at one time: what the least of its nodes grants a session, and it can use.
fn next(network: &Network, rule: Rule, rates: &[f64]) -> Vec<f64> {
    let mut least: Vec<f64> = network.sessions().iter().map(Session::wanted).collect();
    for (link, &capacity) in network.capacities().iter().enumerate() {
        let crossing = network.crossing(link);
        let claim = |&index: &usize| Claim {
            weight: network.sessions()[index].weight,
            rank: index as u32,
            ..Claim::of(rates[index])
        };
        let claims: Vec<Claim> = crossing.iter().map(claim).collect();
        for (&index, granted) in crossing.iter().zip(grants(capacity, rule, &claims).unwrap()) {
            least[index] = least[index].min(granted);
        }
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Proposition 3, with all nodes in step, for each rule.
    #[test]
    fn any_rates_come_to_max_min(network in networks(6, 12), from in prop::collection::vec(0.0..2.0_f64, 12)) {
        let fair = max_min(&network).rates;
        let capped = Rule { knife_edge: KnifeEdge::Capped, ..Rule::default() };
        for rule in [
            Rule::default(),
            capped,
            Rule { crowd: Crowd::NewcomersShare, ..capped },
            Rule { crowd: Crowd::RisesShare, ..capped },
        ] {
            let mut rates = from[..fair.len()].to_vec();
            for _ in 0..2000 {
                rates = next(&network, rule, &rates);
            }
            let worst = rates.iter().zip(&fair).map(|(rate, fair)| (rate - fair).abs()).fold(0.0, f64::max);
            prop_assert!(worst < 1e-6, "{rule:?}: {worst}");
        }
    }
}

#[test]
fn a_crowd_gets_what_the_harmonic_numbers_say() {
    for newcomers in [1_u32, 4, 19] {
        let harmonic: f64 = (1..=newcomers + 1).map(|n| 1.0 / f64::from(n)).sum();
        let mut claims = vec![Claim::of(1.0)];
        claims.extend((0..newcomers).map(|rank| Claim { rank, ..Claim::of(0.0) }));
        let sum: f64 = grants(1.0, Rule::default(), &claims).unwrap().iter().sum();
        assert!(
            (sum - (1.0 + 0.15 * (harmonic - 1.0))).abs() < TOLERANCE,
            "{newcomers}: {sum}"
        );
    }
}

#[test]
fn a_session_alone_rises_by_the_ramp_of_the_formula() {
    let mut rate = 0.0;
    let mut steps = 0;
    while rate < 1.0 - TOLERANCE {
        rate = grants(1.0, Rule::default(), &[Claim::of(rate)]).unwrap()[0];
        steps += 1;
        if rate < 0.8 {
            assert!((rate - (1.0 - 0.85_f64.powi(steps))).abs() < TOLERANCE);
        }
    }
    assert_eq!(steps, 17, "alpha 0.15, beta 0.2 of the table in consequence `ramp`");
}

#[test]
fn one_who_starts_at_the_fair_share_waits_for_the_others() {
    let rule = Rule {
        start: Start::FairShare,
        ..Rule::default()
    };
    let newcomer = Claim {
        is_new: true,
        ..Claim::of(0.0)
    };
    let of = |others: &[f64]| {
        let mut claims = vec![newcomer];
        claims.extend(others.iter().map(|&measured| Claim::of(measured)));
        grants(1.0, rule, &claims).unwrap()
    };
    assert_eq!(of(&[]), [1.0]);
    assert_eq!(of(&[0.5]), [0.5, 0.5]);
    assert!((of(&[0.9])[0] - 0.1).abs() < TOLERANCE);
    assert_eq!(of(&[1.0]), [0.075, 0.5]);
    // A session that wants little keeps its rate and a step.
    let beside_little = of(&[0.1]);
    assert!((beside_little[0] - 0.9).abs() < TOLERANCE && beside_little[1] < 0.2);
}

#[test]
fn what_is_no_network_no_claim_and_no_rate_is_refused() {
    let two = || vec![Session::between(0, 1)];
    for capacity in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Network::new(vec![1.0, capacity], two());
        assert!(matches!(refused, Err(LambdaError::BadAmount { index: 1, .. })));
        assert!(grants(capacity, Rule::default(), &[]).is_err());
    }
    let session = |links: Vec<usize>| {
        vec![Session {
            links,
            ..Session::between(0, 1)
        }]
    };
    let with = |sessions| Network::new(vec![1.0, 1.0], sessions);
    assert_eq!(with(session(vec![])), Err(LambdaError::NoLink { session: 0 }));
    for links in [vec![2], vec![0, 0], vec![0, 1, 0]] {
        assert!(matches!(
            with(session(links)),
            Err(LambdaError::BadLink { session: 0, .. })
        ));
    }
    let mut bad = two();
    bad[0].demand = Some(-1.0);
    assert!(matches!(with(bad.clone()), Err(LambdaError::BadAmount { .. })));
    bad[0] = Session {
        weight: 0.0,
        ..Session::between(0, 1)
    };
    assert!(matches!(with(bad), Err(LambdaError::BadAmount { .. })));
    for (alpha, beta) in [(0.0, 0.5), (1.0, 0.5), (0.5, f64::NAN), (0.5, 1.0)] {
        assert!(Steps::new(alpha, beta).is_err(), "{alpha} {beta}");
    }
    assert!(grants(1.0, Rule::default(), &[Claim::of(f64::NAN)]).is_err());
    assert!(grants(1.0, Rule::default(), &[Claim::of(-0.1)]).is_err());
    let network = with(two()).unwrap();
    assert!(matches!(
        check(&network, &[], TOLERANCE),
        Err(NotFair::NoRates(LambdaError::Rates { .. }))
    ));
    assert!(matches!(
        check(&network, &[-1.0], TOLERANCE),
        Err(NotFair::NoRates(LambdaError::BadAmount { .. }))
    ));
    assert!(matches!(
        check(&network, &[1.5], TOLERANCE),
        Err(NotFair::Overfull { link: 0, .. })
    ));
    assert_eq!(
        check(&network, &[0.5], TOLERANCE),
        Err(NotFair::NoBound { session: 0, rate: 0.5 })
    );
    assert_eq!(check(&network, &[1.0], TOLERANCE), Ok(vec![Bound::Link(0)]));
    let mut little = two();
    little[0].demand = Some(0.4);
    let network = with(little).unwrap();
    assert!(matches!(
        check(&network, &[0.5], TOLERANCE),
        Err(NotFair::AboveDemand { .. })
    ));
    assert_eq!(check(&network, &[0.4], TOLERANCE), Ok(vec![Bound::Demand]));
}
