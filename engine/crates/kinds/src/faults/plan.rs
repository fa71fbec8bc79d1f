// SPDX-License-Identifier: Apache-2.0
//! When and where faults happen.

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use slotwise_scenario::{Device, FaultKind, Faults, Scenario};
use slotwise_units::{Duration, Instant, SignedDuration};

use slotwise_net::fault::FaultRecord;
use slotwise_net::span::Span;
use slotwise_random::{self as random, Stream};

/// Bounds what a small file can ask for.
const MAX_FAULTS: usize = 100_000;

/// The faults of a run; routers have these links.
pub(crate) fn draw(scenario: &Scenario, spans: &[Span], seed: u64) -> Vec<FaultRecord> {
    let run = (scenario.epoch(), scenario.end());
    let records = again_and_again(&scenario.faults, run, seed, |faults, random, mut record| {
        choose(scenario, spans, faults, random, &mut record);
        record
    });
    without_kills_of_the_dead(records)
}

/// A controller that is away already is not killed again. Whether it is away is known beforehand: nothing else ends it.
fn without_kills_of_the_dead(records: Vec<FaultRecord>) -> Vec<FaultRecord> {
    let mut kills: Vec<usize> = (0..records.len()).filter(|index| is_kill(&records[*index])).collect();
    kills.sort_by_key(|index| times(&records[*index]));
    let mut back = Instant::ZERO;
    let mut of_the_dead = vec![false; records.len()];
    for index in kills {
        let (start, end) = times(&records[index]);
        of_the_dead[index] = start <= back;
        if start > back {
            back = end;
        }
    }
    let mut dead = of_the_dead.into_iter();
    let kept = records.into_iter().filter(|_| dead.next() == Some(false));
    kept.collect()
}

fn is_kill(record: &FaultRecord) -> bool {
    record.kind == FaultKind::ControllerRestart
}

fn times(record: &FaultRecord) -> (Instant, Instant) {
    (record.start, record.end)
}

/// Faults in the order of the scenario's entries. Each ends early enough that the mean time between two faults is left
/// for the network to be well again.
fn again_and_again(
    entries: &[Faults],
    (start, end): (Instant, Instant),
    seed: u64,
    mut choose: impl FnMut(&Faults, &mut Pcg64Mcg, FaultRecord) -> FaultRecord,
) -> Vec<FaultRecord> {
    let mut records = Vec::new();
    for (index, faults) in entries.iter().enumerate() {
        let mut random = random::generator(seed, Stream::Fault, index as u64);
        let every = Duration::from_ms(faults.every_ms);
        let last_end = end.saturating_sub(every);
        let mut now = start;
        while records.len() < MAX_FAULTS {
            let start = now + around(&mut random, every);
            let end = start + around(&mut random, Duration::from_ms(faults.for_ms));
            if end > last_end {
                break;
            }
            let record = FaultRecord {
                kind: faults.kind,
                devices: Vec::new(),
                span: None,
                start,
                end,
                step: SignedDuration::ZERO,
                mid_step: false,
                messages: 0,
                happened: false,
                recovered: None,
            };
            records.push(choose(faults, &mut random, record));
            now = end;
        }
    }
    records
}

fn around(random: &mut Pcg64Mcg, mean: Duration) -> Duration {
    let half = mean / 2;
    Duration::from_ns(random.random_range(half.ns()..=(mean + half).ns()))
}

fn choose(scenario: &Scenario, spans: &[Span], faults: &Faults, random: &mut Pcg64Mcg, record: &mut FaultRecord) {
    match faults.kind {
        FaultKind::LinkDown => {
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
        FaultKind::ControllerRestart => record.mid_step = random.random(),
        FaultKind::ClockStep { least, most } => {
            let is_slave = |edge| scenario.cores.iter().all(|core| core.master != edge);
            record.devices = vec![Device::Edge(edge(scenario, faults, random, is_slave))];
            record.step = step(random, least.ns(), most.ns());
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
fn step(random: &mut Pcg64Mcg, least_ns: u64, most_ns: u64) -> SignedDuration {
    let octave = random.random_range(least_ns.ilog2()..=most_ns.ilog2());
    let low_ns = (1 << octave).max(least_ns);
    let high_ns = ((2 << octave) - 1).min(most_ns);
    let length_ns = random.random_range(low_ns..=high_ns) as i64;
    let is_forward = random.random();
    SignedDuration::from_ns(if is_forward { length_ns } else { -length_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_ms(1);
    const STAR4: &str = include_str!("../../../../../topologies/star4.yaml");

    fn drawn(faults: &str, seed: u64) -> (Scenario, Vec<FaultRecord>) {
        let clocks = "clocks: {max_offset_ns: 1000, max_drift_ppb: 10, walk_ppb: 1, step_ns: 1000000}";
        let scenario = Scenario::parse(format!("{STAR4}\n{clocks}\nfaults:\n{faults}\n").as_bytes()).unwrap();
        let records = draw(&scenario, &[], seed);
        (scenario, records)
    }

    #[test]
    fn faults_repeat_by_seed_and_end_before_the_run() {
        let text = "  - {kind: link-down, every_ms: 100, for_ms: 30}\n  - {kind: core-down, every_ms: 500, for_ms: 20}";
        let (scenario, records) = drawn(text, 1);
        assert_eq!(records, drawn(text, 1).1);
        assert_ne!(records, drawn(text, 2).1);
        let cuts: Vec<_> = records
            .iter()
            .filter(|record| record.kind == FaultKind::LinkDown)
            .collect();
        assert!((120..230).contains(&cuts.len()), "22 s / 130 ms: {}", cuts.len());
        for pair in cuts.windows(2) {
            let gap_ms = (pair[1].start - pair[0].end) / MS;
            let length_ms = (pair[1].end - pair[1].start) / MS;
            assert!((50..=150).contains(&gap_ms) && (15..=45).contains(&length_ms));
        }
        let last = records.iter().map(|record| record.end).max().unwrap();
        assert!(last + 100 * MS <= scenario.end());
        assert!((0..4).all(|edge| cuts.iter().any(|cut| cut.edge() == Some(edge))));
    }

    #[test]
    fn a_controller_is_killed_only_when_it_is_there() {
        let text = "  - {kind: controller-restart, every_ms: 20, for_ms: 200}\n  - {kind: controller-restart, every_ms: 60, for_ms: 40}";
        let (scenario, records) = drawn(text, 1);
        let run = (scenario.epoch(), scenario.end());
        let all = again_and_again(&scenario.faults, run, 1, |faults, random, mut record| {
            choose(&scenario, &[], faults, random, &mut record);
            record
        });
        let mut kept: Vec<_> = records.iter().map(times).collect();
        kept.sort_unstable();
        assert!(kept.windows(2).all(|pair| pair[0].1 < pair[1].0), "{kept:?}");
        let dropped: Vec<_> = all
            .iter()
            .filter(|record| !records.contains(record))
            .map(times)
            .collect();
        assert!(
            kept.len() > 20 && dropped.len() > 20,
            "{} and {}",
            kept.len(),
            dropped.len()
        );
        assert!(
            dropped
                .iter()
                .all(|(at, _)| { kept.iter().any(|(start, end)| (start..=end).contains(&at)) })
        );
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
        let lengths = || records.iter().map(|record| record.step.abs().ns());
        assert!(
            records
                .iter()
                .all(|record| record.edge() != Some(0) && record.start == record.end)
        );
        assert!(lengths().all(|length_ns| (50..=3_000_000).contains(&length_ns)));
        assert!(lengths().any(|length_ns| length_ns < 1000) && lengths().any(|length_ns| length_ns > 500_000));
        assert!(
            records.iter().any(|record| record.step < SignedDuration::ZERO)
                && records.iter().any(|record| record.step > SignedDuration::ZERO)
        );
    }
}
