// SPDX-License-Identifier: Apache-2.0
//! When and where faults happen.

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use slotwise_scenario::{Device, FaultKind, Faults, Scenario};

use super::record::FaultRecord;
use crate::net::span::Span;
use slotwise_cards::random::{self, Stream};

const NS_PER_MS: u64 = 1_000_000;
/// Bounds what a small file can ask for.
const MAX_FAULTS: usize = 100_000;

/// The faults of a run; routers have these links.
pub(crate) fn draw(scenario: &Scenario, spans: &[Span], seed: u64) -> Vec<FaultRecord> {
    let run_ns = (scenario.epoch().ns(), scenario.end().ns());
    let records = again_and_again(&scenario.faults, run_ns, seed, |faults, random, mut record| {
        choose(scenario, spans, faults, random, &mut record);
        record
    });
    without_kills_of_the_dead(records)
}

/// A controller that is away already is not killed again. Whether it is away is known beforehand: nothing else ends it.
fn without_kills_of_the_dead(records: Vec<FaultRecord>) -> Vec<FaultRecord> {
    let mut kills: Vec<usize> = (0..records.len()).filter(|index| is_kill(&records[*index])).collect();
    kills.sort_by_key(|index| times_ns(&records[*index]));
    let mut back_ns = 0;
    let mut of_the_dead = vec![false; records.len()];
    for index in kills {
        let (start_ns, end_ns) = times_ns(&records[index]);
        of_the_dead[index] = start_ns <= back_ns;
        if start_ns > back_ns {
            back_ns = end_ns;
        }
    }
    let mut dead = of_the_dead.into_iter();
    let kept = records.into_iter().filter(|_| dead.next() == Some(false));
    kept.collect()
}

fn is_kill(record: &FaultRecord) -> bool {
    record.kind == FaultKind::ControllerRestart
}

fn times_ns(record: &FaultRecord) -> (u64, u64) {
    (record.start_ns, record.end_ns)
}

/// Faults in the order of the scenario's entries. Each ends early enough that the mean time between two faults is left
/// for the network to be well again.
fn again_and_again(
    entries: &[Faults],
    (start_ns, end_ns): (u64, u64),
    seed: u64,
    mut choose: impl FnMut(&Faults, &mut Pcg64Mcg, FaultRecord) -> FaultRecord,
) -> Vec<FaultRecord> {
    let mut records = Vec::new();
    for (index, faults) in entries.iter().enumerate() {
        let mut random = random::generator(seed, Stream::Fault, index as u64);
        let last_end_ns = end_ns.saturating_sub(faults.every_ms * NS_PER_MS);
        let mut now_ns = start_ns;
        while records.len() < MAX_FAULTS {
            let start_ns = now_ns + around(&mut random, faults.every_ms * NS_PER_MS);
            let end_ns = start_ns + around(&mut random, faults.for_ms * NS_PER_MS);
            if end_ns > last_end_ns {
                break;
            }
            let record = FaultRecord {
                kind: faults.kind,
                devices: Vec::new(),
                span: None,
                start_ns,
                end_ns,
                step_ns: 0,
                in_turn: false,
                messages: 0,
                happened: false,
                recovered_ns: None,
            };
            records.push(choose(faults, &mut random, record));
            now_ns = end_ns;
        }
    }
    records
}

fn around(random: &mut Pcg64Mcg, mean_ns: u64) -> u64 {
    random.random_range(mean_ns / 2..=mean_ns + mean_ns / 2)
}

fn choose(scenario: &Scenario, spans: &[Span], faults: &Faults, random: &mut Pcg64Mcg, record: &mut FaultRecord) {
    match faults.kind {
        FaultKind::LinkCut => {
            if let Some(span) = span(scenario, spans, faults, random) {
                record.span = Some(span);
                record.devices = spans[span].ends.map(|(device, _)| device).to_vec();
                return;
            }
            if !scenario.has_star() {
                return;
            }
            let edge = edge(scenario, faults, random, |_| true);
            let fibres = &scenario.edges[usize::from(edge)].fibres;
            let core = fibres[random.random_range(0..fibres.len())].core;
            record.devices = vec![Device::Edge(edge), Device::Core(core)];
        }
        FaultKind::Restart(kind) => {
            let number = match faults.edge {
                Some(edge) => edge,
                None => random.random_range(0..(kind.count)(scenario)) as u16,
            };
            record.devices = vec![kind.device(number)];
        }
        FaultKind::ControllerRestart => record.in_turn = random.random(),
        FaultKind::ClockStep { least, most } => {
            let is_slave = |edge| scenario.cores.iter().all(|core| core.master != edge);
            record.devices = vec![Device::Edge(edge(scenario, faults, random, is_slave))];
            record.step_ns = step(random, least.ns(), most.ns());
        }
        FaultKind::Messages { .. } => {}
    }
}

/// The link of routers that is cut; `None`: a fibre is.
fn span(scenario: &Scenario, spans: &[Span], faults: &Faults, random: &mut Pcg64Mcg) -> Option<usize> {
    if spans.is_empty() || faults.edge.is_some() {
        return None;
    }
    let fibres: usize = scenario.edges.iter().map(|edge| edge.fibres.len()).sum();
    let drawn = random.random_range(0..spans.len() + fibres);
    (drawn < spans.len()).then_some(drawn)
}

fn edge(scenario: &Scenario, faults: &Faults, random: &mut Pcg64Mcg, may: impl Fn(u16) -> bool) -> u16 {
    let edges: Vec<u16> = (0..scenario.edges.len() as u16).filter(|edge| may(*edge)).collect();
    match faults.edge {
        Some(edge) => edge,
        None if edges.is_empty() => 0,
        None => edges[random.random_range(0..edges.len())],
    }
}

/// A length of which the logarithm is even, in whole ns: an octave is drawn, then a place in it.
fn step(random: &mut Pcg64Mcg, least_ns: u64, most_ns: u64) -> i64 {
    let octave = random.random_range(least_ns.ilog2()..=most_ns.ilog2());
    let low_ns = (1 << octave).max(least_ns);
    let high_ns = ((2 << octave) - 1).min(most_ns);
    let length_ns = random.random_range(low_ns..=high_ns) as i64;
    if random.random() { length_ns } else { -length_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAR4: &str = include_str!("../../../../../topologies/star4.yaml");

    fn drawn(faults: &str, seed: u64) -> (Scenario, Vec<FaultRecord>) {
        let clocks = "clocks: {max_offset_ns: 1000, max_drift_ppb: 10, walk_ppb: 1, step_ns: 1000000}";
        let scenario = Scenario::parse(format!("{STAR4}\n{clocks}\nfaults:\n{faults}\n").as_bytes()).unwrap();
        let records = draw(&scenario, &[], seed);
        (scenario, records)
    }

    #[test]
    fn faults_repeat_by_seed_and_end_before_the_run() {
        let text = "  - {kind: link-cut, every_ms: 100, for_ms: 30}\n  - {kind: core-down, every_ms: 500, for_ms: 20}";
        let (scenario, records) = drawn(text, 1);
        assert_eq!(records, drawn(text, 1).1);
        assert_ne!(records, drawn(text, 2).1);
        let cuts: Vec<_> = records
            .iter()
            .filter(|record| record.kind == FaultKind::LinkCut)
            .collect();
        assert!((120..230).contains(&cuts.len()), "22 s / 130 ms: {}", cuts.len());
        for pair in cuts.windows(2) {
            let gap_ms = (pair[1].start_ns - pair[0].end_ns) / NS_PER_MS;
            let length_ms = (pair[1].end_ns - pair[1].start_ns) / NS_PER_MS;
            assert!((50..=150).contains(&gap_ms) && (15..=45).contains(&length_ms));
        }
        let last_ns = records.iter().map(|record| record.end_ns).max().unwrap();
        assert!(last_ns + 100 * NS_PER_MS <= scenario.end().ns());
        assert!((0..4).all(|edge| cuts.iter().any(|cut| cut.edge() == Some(edge))));
    }

    #[test]
    fn a_controller_is_killed_only_when_it_is_there() {
        let text = "  - {kind: controller-restart, every_ms: 20, for_ms: 200}\n  - {kind: controller-restart, every_ms: 60, for_ms: 40}";
        let (scenario, records) = drawn(text, 1);
        let run_ns = (scenario.epoch().ns(), scenario.end().ns());
        let all = again_and_again(&scenario.faults, run_ns, 1, |faults, random, mut record| {
            choose(&scenario, &[], faults, random, &mut record);
            record
        });
        let mut kept: Vec<_> = records.iter().map(times_ns).collect();
        kept.sort_unstable();
        assert!(kept.windows(2).all(|pair| pair[0].1 < pair[1].0), "{kept:?}");
        let dropped: Vec<_> = all
            .iter()
            .filter(|record| !records.contains(record))
            .map(times_ns)
            .collect();
        assert!(
            kept.len() > 20 && dropped.len() > 20,
            "{} and {}",
            kept.len(),
            dropped.len()
        );
        assert!(dropped.iter().all(|(at_ns, _)| {
            kept.iter()
                .any(|(start_ns, end_ns)| (start_ns..=end_ns).contains(&at_ns))
        }));
    }

    #[test]
    fn of_two_kills_at_one_time_one_is_left() {
        let text = "  - {kind: controller-restart, every_ms: 500, for_ms: 20}";
        let (_, records) = drawn(text, 1);
        let twice: Vec<FaultRecord> = records
            .iter()
            .flat_map(|record| [record.clone(), record.clone()])
            .collect();
        assert!(!records.is_empty());
        assert_eq!(without_kills_of_the_dead(twice), records);
    }

    #[test]
    fn steps_span_their_range_both_ways_and_spare_the_master() {
        let text = "  - {kind: clock-step, every_ms: 20, min_ns: 50, max_ns: 3000000}";
        let (_, records) = drawn(text, 1);
        let lengths = || records.iter().map(|record| record.step_ns.unsigned_abs());
        assert!(
            records
                .iter()
                .all(|record| record.edge() != Some(0) && record.start_ns == record.end_ns)
        );
        assert!(lengths().all(|length_ns| (50..=3_000_000).contains(&length_ns)));
        assert!(lengths().any(|length_ns| length_ns < 1000) && lengths().any(|length_ns| length_ns > 500_000));
        assert!(records.iter().any(|record| record.step_ns < 0) && records.iter().any(|record| record.step_ns > 0));
    }
}
