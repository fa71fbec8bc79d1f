// SPDX-License-Identifier: Apache-2.0
//! The allocation by hand, and what makes any allocation RIAS fair.

use proptest::prelude::*;
use serde::Deserialize;
use slotwise_rias::{Flow, RiasError, Ring, distance};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    name: String,
    capacities: Vec<f64>,
    weights: Option<Vec<f64>>,
    flows: Vec<ExampleFlow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleFlow {
    source: usize,
    destination: usize,
    demand: Option<f64>,
    rate: f64,
}

#[test]
fn examples_worked_out_by_hand() {
    let examples: Vec<Example> = serde_json::from_str(include_str!("../examples.json")).unwrap();
    assert!(!examples.is_empty());
    for example in examples {
        let flows: Vec<Flow> = example
            .flows
            .iter()
            .map(|flow| Flow {
                source: flow.source,
                destination: flow.destination,
                demand: flow.demand,
            })
            .collect();
        let stations = example.capacities.len();
        let ring = Ring::new(example.capacities).unwrap();
        let weights = example.weights.unwrap_or(vec![1.0; stations]);
        let rates = ring.with_weights(weights).unwrap().allocate(&flows).unwrap();
        let wanted: Vec<f64> = example.flows.iter().map(|flow| flow.rate).collect();
        assert!(distance(&rates, &wanted) < 1e-9, "{}: {rates:?}", example.name);
    }
}

#[test]
fn work_has_a_bound_and_is_counted() {
    let ring = Ring::new(vec![1.0; 5]).unwrap();
    let flows: Vec<Flow> = (0..4).map(|station| Flow::greedy(station, 4)).collect();
    let mut left = 1_000_000;
    let rates = ring.allocate_within(&flows, &mut left).unwrap();
    let used = 1_000_000 - left;
    // A step looks at each of the stations of a link beside each other one, and at the one flow of each.
    assert!(
        used > 0 && used.is_multiple_of(1 + 1 + 4 + 2 + 9 + 3 + 16 + 4),
        "{used}"
    );
    assert_eq!(ring.allocate_within(&flows, &mut { used }), Ok(rates));
    assert_eq!(ring.allocate_within(&flows, &mut { used - 1 }), Err(RiasError::TooMuch));
}

#[test]
fn a_parking_lot_of_64_stations() {
    let ring = Ring::new(vec![150e6; 64]).unwrap();
    let flows: Vec<Flow> = (0..63).map(|station| Flow::greedy(station, 63)).collect();
    let rates = ring.allocate(&flows).unwrap();
    assert!(distance(&rates, &[150e6 / 63.0; 63]) < 1e-9);
}

#[test]
fn distance_is_that_of_the_worst_flow() {
    assert_eq!(distance(&[90.0, 110.0, 5.0], &[100.0, 100.0, 0.0]), 0.1);
    assert_eq!(distance(&[], &[]), 0.0);
}

#[test]
fn what_is_no_ring_is_refused() {
    assert_eq!(Ring::new(vec![1.0]), Err(RiasError::TooSmall(1)));
    for capacity in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            Ring::new(vec![1.0, capacity]),
            Err(RiasError::BadAmount { index: 1, .. })
        ));
    }
    let ring = Ring::new(vec![1.0; 3]).unwrap();
    assert!(matches!(
        ring.clone().with_weights(vec![1.0; 2]),
        Err(RiasError::Weights { .. })
    ));
    assert!(matches!(
        ring.clone().with_weights(vec![1.0, 0.0, 1.0]),
        Err(RiasError::BadAmount { .. })
    ));
    for flow in [Flow::greedy(0, 0), Flow::greedy(3, 0), Flow::greedy(0, 3)] {
        assert!(matches!(
            ring.allocate(&[flow]),
            Err(RiasError::BadFlow { flow: 0, .. })
        ));
    }
    let negative = Flow {
        demand: Some(-1.0),
        ..Flow::greedy(0, 1)
    };
    assert!(matches!(ring.allocate(&[negative]), Err(RiasError::BadAmount { .. })));
}

/// A ring, and flows by any ways on it, some with demands.
fn rings() -> impl Strategy<Value = (Ring, Vec<Flow>)> {
    (2usize..10).prop_flat_map(|stations| {
        let amounts = || prop::sample::select(vec![100.0, 100.0, 100.0, 37.0, 250.0]);
        let ring = (
            prop::collection::vec(amounts(), stations),
            prop::collection::vec(prop::sample::select(vec![1.0, 1.0, 2.0, 5.0]), stations),
        )
            .prop_map(|(capacities, weights)| Ring::new(capacities).unwrap().with_weights(weights).unwrap());
        let flow = (0..stations, 1..stations, prop::option::weighted(0.3, 0.0..120.0)).prop_map(
            move |(source, hops, demand)| Flow {
                source,
                destination: (source + hops) % stations,
                demand,
            },
        );
        (ring, prop::collection::vec(flow, 0..24))
    })
}

const TOLERANCE: f64 = 1e-6;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_link_is_overfull_and_each_flow_has_what_it_wants_or_a_bottleneck((ring, flows) in rings()) {
        let rates = ring.allocate(&flows).unwrap();
        prop_assert!(ring.is_feasible(&flows, &rates, TOLERANCE));
        for (index, flow) in flows.iter().enumerate() {
            let satisfied = flow.demand.is_some_and(|demand| rates[index] >= demand - TOLERANCE);
            prop_assert!(flow.demand.is_none_or(|demand| rates[index] <= demand + TOLERANCE));
            prop_assert!(
                satisfied || ring.bottleneck(&flows, &rates, index, TOLERANCE).is_some(),
                "flow {} of {:?} has {:?}", index, flows, rates
            );
        }
    }

    /// Whoever gains takes it from a flow of its own station that has no more, or a station that has no more on a link: all
    /// that the richer ones have does not make room for it.
    #[test]
    fn what_one_flow_gains_is_taken_from_one_that_has_no_more((ring, flows) in rings()) {
        let rates = ring.allocate(&flows).unwrap();
        for (chosen, own) in flows.iter().enumerate().filter(|(_, flow)| flow.demand.is_none()) {
            let part = |link: usize, station: usize| {
                let crossing = flows.iter().zip(&rates).filter(|(flow, _)| {
                    flow.source == station && ring.path(flow).any(|crossed| crossed == link)
                });
                crossing.map(|(_, rate)| rate).sum::<f64>() / ring.weight(station)
            };
            let mut more = rates.clone();
            more[chosen] += 1.0;
            for (index, flow) in flows.iter().enumerate() {
                let is_richer = if flow.source == own.source {
                    rates[index] > rates[chosen] + TOLERANCE
                } else {
                    ring.path(own)
                        .filter(|&link| ring.path(flow).any(|crossed| crossed == link))
                        .all(|link| part(link, flow.source) > part(link, own.source) + TOLERANCE)
                };
                if index != chosen && is_richer {
                    more[index] = 0.0;
                }
            }
            prop_assert!(!ring.is_feasible(&flows, &more, TOLERANCE), "{:?} of {:?}", rates, flows);
        }
    }
}
