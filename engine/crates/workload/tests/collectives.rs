// SPDX-License-Identifier: Apache-2.0
//! Collectives over the ideal switch, against their closed forms.

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_workload::{BigSwitch, Collective, CollectiveConfig, CompletionSummary, Operation, Workload};

const RATE: Rate = Rate::from_bps(10_000_000_000);

fn config(operation: Operation, hosts: u32, size: u64) -> CollectiveConfig {
    CollectiveConfig {
        operation,
        hosts,
        size: Bytes::new(size),
        compute: Duration::ZERO,
        rounds: 1,
    }
}

/// Completions, and the data of all flows.
fn run(config: CollectiveConfig) -> (CompletionSummary, Bytes) {
    let mut data = Bytes::ZERO;
    let mut collective = Collective::new(config).unwrap();
    let mut switch = BigSwitch::new(config.hosts, RATE);
    let completions = switch.run(&mut collective, Instant::MAX, |flow| data += flow.size);
    let summary = completions.summary();
    assert_eq!(
        summary.all.time.unwrap().count,
        config.steps() * u64::from(config.rounds)
    );
    assert_eq!((summary.all.unfinished, summary.unfinished_coflows), (0, 0));
    (summary, data)
}

fn assert_time(summary: &CompletionSummary, expected: Duration) {
    let time = summary.coflows.unwrap().max;
    let expected = expected.ns() as f64;
    assert!((time - expected).abs() <= expected * 1e-6 + 100.0, "{time} {expected}");
}

#[test]
fn a_ring_all_reduce_takes_its_steps() {
    // 30 steps of 1 MB.
    let (summary, data) = run(config(Operation::RingAllReduce, 16, 16_000_000));
    assert_time(&summary, Duration::from_ms(24));
    assert_eq!(
        data,
        Bytes::new(30 * 16_000_000),
        "each host sends 2 (N - 1) / N of the vector"
    );
    let (_, data) = run(config(Operation::RingAllReduce, 3, 100));
    assert_eq!(data, Bytes::new(400), "sizes that hosts do not divide");
}

#[test]
fn a_ring_all_reduce_computes_between_steps() {
    let mut config = config(Operation::RingAllReduce, 4, 4_000_000);
    config.compute = Duration::from_us(100);
    assert_time(&run(config).0, Duration::from_us(6 * 800 + 5 * 100));
}

#[test]
fn a_tree_all_reduce_takes_its_depth() {
    // Levels up and down, each with two children that share the parent's link, or the parent's link to two children.
    let (summary, data) = run(config(Operation::TreeAllReduce { chunks: 1 }, 7, 1_000_000));
    assert_time(&summary, Duration::from_us(4 * 1_600));
    assert_eq!(data, Bytes::new(12_000_000));
    // Chunks follow each other. The hosts below the root send and receive the vector three times.
    let (summary, data) = run(config(Operation::TreeAllReduce { chunks: 100 }, 7, 1_000_000));
    assert_eq!(data, Bytes::new(12_000_000));
    let time = summary.coflows.unwrap().max;
    assert!((2.4e6..2.6e6).contains(&time), "{time}");
}

#[test]
fn an_all_to_all_takes_the_data_of_a_host() {
    let (summary, _) = run(config(Operation::AllToAll, 16, 1_000_000));
    assert_time(&summary, Duration::from_us(15 * 800));
}

#[test]
fn a_pipeline_takes_stages_and_micro_batches() {
    for hosts in [4, 12] {
        let operation = Operation::ExpertPipeline {
            stages: 4,
            micro_batches: 8,
        };
        let mut config = config(operation, hosts, 1_000_000);
        config.compute = Duration::from_us(50);
        // The longest chain has 3 passages and 7 micro-batches before the last one; the first needs no computation.
        let passages = 3 + 8 - 1;
        assert_time(
            &run(config).0,
            passages * Duration::from_us(800) + (passages - 1) * Duration::from_us(50),
        );
    }
}

#[test]
fn rounds_follow_each_other() {
    let mut config = config(Operation::AllToAll, 4, 1_000);
    config.rounds = 3;
    config.compute = Duration::from_ms(1);
    let (summary, _) = run(config);
    let coflows = summary.coflows.unwrap();
    assert_eq!((coflows.count, coflows.max), (3, 2_400.0));
}

#[test]
fn a_round_begins_without_a_look_at_each_of_its_steps() {
    // 10^15 and 4 * 10^12 steps; these can start at once: from each host of the first group, and from each leaf.
    let pipeline = Operation::ExpertPipeline {
        stages: 2,
        micro_batches: 1_000_000_000,
    };
    let tree = Operation::TreeAllReduce { chunks: 1_000_000_000 };
    for (operation, expected) in [(pipeline, 1_000 * 1_000), (tree, 1_000)] {
        let mut collective = Collective::new(config(operation, 2_000, 1_000_000_000)).unwrap();
        assert_eq!(std::iter::from_fn(|| collective.next_flow()).count(), expected);
    }
}

#[test]
fn settings_out_of_range_are_errors() {
    let pipeline = |stages, micro_batches| Operation::ExpertPipeline { stages, micro_batches };
    for (config, place) in [
        (config(Operation::AllToAll, 1, 1), "'hosts'"),
        (config(Operation::AllToAll, 2, 0), "'size'"),
        (config(Operation::TreeAllReduce { chunks: 0 }, 2, 1), "'chunks'"),
        (config(pipeline(1, 1), 2, 1), "'stages'"),
        (config(pipeline(3, 1), 4, 1), "'stages'"),
        (config(pipeline(2, 0), 4, 1), "'micro-batches'"),
    ] {
        let error = Collective::new(config).err().unwrap().to_string();
        assert!(
            error.starts_with(&format!("{place}: out of range; expected")),
            "{error}"
        );
    }
}
