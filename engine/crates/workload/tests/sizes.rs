// SPDX-License-Identifier: Apache-2.0
//! Tables of flow sizes: their means, their draws, and errors in them.

use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use slotwise_units::Bytes;
use slotwise_workload::{Interpolation, LICENCES, Problem, SHIPPED, SizeTable, Sizes};

/// The web search table of HPCC's generator, whose mean is known and whose probabilities are percents.
const HPCC: &str = "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n2000000 80\n5000000 90\n10000000 97\n30000000 100\n";

fn shipped(name: &str) -> SizeTable {
    let text = SHIPPED.iter().find(|table| table.name() == name).unwrap().text();
    SizeTable::read(name, text, None).unwrap()
}

/// Mean of draws, and the fraction of bytes in flows of 15 MB and more.
fn drawn(sizes: &SizeTable, draws: u64) -> (f64, f64) {
    let mut rng = Pcg64::seed_from_u64(1);
    let (mut sum, mut large) = (0, 0);
    for _ in 0..draws {
        let size = sizes.draw(&mut rng).get();
        sum += size;
        large += if size >= 15_000_000 { size } else { 0 };
    }
    (sum as f64 / draws as f64, large as f64 / sum as f64)
}

#[test]
fn means_of_draws_are_those_of_the_published_files() {
    let (websearch, _) = drawn(&shipped("websearch"), 1_000_000);
    assert!((1.850e6..1.902e6).contains(&websearch), "{websearch}");
    let (datamining, large) = drawn(&shipped("datamining"), 10_000_000);
    assert!((7.73e6..8.0e6).contains(&datamining), "{datamining}");
    assert!((0.957..0.963).contains(&large), "{large}");
    let hpcc = SizeTable::read("hpcc", HPCC, Some(Interpolation::Linear)).unwrap();
    let (linear, _) = drawn(&hpcc, 1_000_000);
    assert!((1.69e6..1.735e6).contains(&linear), "{linear}");
}

#[test]
fn means_of_tables_are_those_of_the_published_files() {
    for (name, steps, linear) in [
        ("websearch", 1_875_927.94, 1_490_032.72),
        ("datamining", 7_861_994.52, 5_036_535.18),
        ("hadoop", 4_865_995.74, 3_423_728.35),
        ("rpc", 789_190.80, 581_312.50),
        ("coco", 11_331_076.86, 8_119_195.21),
        ("w3", 2_927.354, 2_890.239),
        ("w4", 127_796.644, 121_848.961),
    ] {
        let mean = shipped(name).mean();
        assert!((mean - steps).abs() < 0.01, "{name}: {mean}");
        let table = Sizes::named(name, Some(Interpolation::Linear)).unwrap();
        assert!((table.mean() - linear).abs() < 0.01, "{name}: {}", table.mean());
    }
    let hpcc = SizeTable::read("hpcc", HPCC, Some(Interpolation::Linear)).unwrap();
    assert!((hpcc.mean() - 1_711_250.0).abs() < 0.01);
}

#[test]
fn shipped_tables_have_origin_and_licence() {
    for table in SHIPPED {
        for key in ["title", "origin", "commit", "interpolate"] {
            assert!(table.comment(key).is_some(), "{}: {key}", table.name());
        }
        let licence = table.comment("licence").unwrap();
        assert!(licence.starts_with("BSD-3-Clause, LICENSE-"), "{licence}");
    }
    assert!(
        LICENCES
            .iter()
            .all(|text| text.contains("Redistributions in binary form"))
    );
}

#[test]
fn quantiles_are_sizes_of_the_table_or_between_them() {
    let text = "100,0.5\n300,1\n";
    let steps = SizeTable::read("t", text, Some(Interpolation::Steps)).unwrap();
    let linear = SizeTable::read("t", text, Some(Interpolation::Linear)).unwrap();
    for (quantile, step, between) in [(0.1, 100, 100), (0.5, 100, 100), (0.75, 300, 200), (1.0, 300, 300)] {
        assert_eq!(steps.quantile(quantile), Bytes::new(step));
        assert_eq!(linear.quantile(quantile), Bytes::new(between));
    }
    assert_eq!((steps.mean(), linear.mean()), (200.0, 150.0));
}

#[test]
fn small_sizes_can_be_left_out() {
    let text = "100,0.5\n300,1\n";
    let steps = SizeTable::read("t", text, Some(Interpolation::Steps)).unwrap();
    assert_eq!(steps.at_least(Bytes::new(101)).unwrap().mean(), 300.0);
    assert_eq!(steps.at_least(Bytes::new(100)).unwrap(), steps);
    let linear = SizeTable::read("t", text, Some(Interpolation::Linear)).unwrap();
    assert_eq!(linear.at_least(Bytes::new(200)).unwrap().mean(), 250.0);
    let error = linear.at_least(Bytes::new(301)).unwrap_err().to_string();
    assert_eq!(
        error,
        "'least size': out of range; expected at most the largest size of the table, 300 bytes, got 301 bytes"
    );
}

#[test]
fn errors_name_line_problem_and_expectation() {
    for (text, message) in [
        (
            "10,0.5\n10,1\n",
            "t.csv: line 2: size does not rise; expected more than 10, got 10",
        ),
        (
            "# interpolate: steps\n10,0.5\n20,0.4\n30,1",
            "t.csv: line 3: probability does not rise; expected more than 0.5, got 0.4",
        ),
        (
            "10,0.5\n20,1.2\n",
            "t.csv: line 2: probability beyond 1; expected 0 to 1, or 0 to 100 in a table that ends at 100, got 1.2",
        ),
        (
            "10,0.5\n20,0.9\n",
            "t.csv: line 2: last probability below 1; expected 1 or 100, got 0.9",
        ),
        (
            "10,0.5\n20,x\n",
            "t.csv: line 2: invalid probability; expected a number of at least 0, got 'x'",
        ),
        (
            "10,0.5\n-1,1\n",
            "t.csv: line 2: invalid size; expected a number of at least 0, got '-1'",
        ),
        (
            "10,0.5\n1,2,3\n",
            "t.csv: line 2: invalid line; expected a size and a probability, got '1,2,3'",
        ),
        (
            "# empty\n",
            "t.csv: empty file; expected at least a size and its probability",
        ),
        (
            "12\n10 0.5\n20 1\n",
            "t.csv: line 1: mean of the table differs from its first line; expected 12, got 15",
        ),
        (
            "# interpolate: cubic\n10,1\n",
            "t.csv: line 1: invalid interpolation; expected 'steps' or 'linear', got 'cubic'",
        ),
    ] {
        let error = SizeTable::read("t.csv", text, Some(Interpolation::Steps)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = SizeTable::read("t.csv", "10,1\n", None).unwrap_err();
    assert_eq!(error.problem, Problem::Interpolation);
    let error = Sizes::named("web", None).unwrap_err().to_string();
    assert_eq!(
        error,
        "'sizes': unknown table 'web'; expected a file or one of websearch, datamining, hadoop, rpc, coco, w3, w4"
    );
}

proptest! {
    #[test]
    fn any_text_is_a_table_or_an_error(text in "([0-9.,# a-z]{0,12}\n){0,8}") {
        if let Ok(table) = SizeTable::read("t", &text, Some(Interpolation::Linear)) {
            let size = table.draw(&mut Pcg64::seed_from_u64(1));
            prop_assert!(size >= Bytes::new(1) && table.mean() >= 0.0);
        }
    }
}
