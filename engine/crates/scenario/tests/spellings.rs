// SPDX-License-Identifier: Apache-2.0
//! Quantities with units, beside integers whose unit is the key's suffix.

use std::fs;
use std::path::Path;

use slotwise_scenario::Scenario;

const STAR4: &str = include_str!("../../../../topologies/star4.yaml");
const TWO_LINKS: &str = include_str!("../../../../topologies/two-links.yaml");
const EVERY_KEY: &str = include_str!("../../../../schema/examples/valid/every-key.yaml");

/// Suffixes of keys with the unit of their integers; those of decibels are thousandths.
const UNITS: [(&str, &str); 7] = [
    ("_ns", "ns"),
    ("_ms", "ms"),
    ("_bps", "bit/s"),
    ("_bytes", "B"),
    ("_mdbm", "dBm"),
    ("_mdb", "dB"),
    ("_ppb", "ppb"),
];

/// A file with units in place of suffixes, and how many there are.
fn with_units(text: &str) -> (String, usize) {
    let mut count = 0;
    let lines = text.lines().map(|line| {
        let has_delay_process = line.contains("delay: {");
        let mut written = String::new();
        let mut rest = line;
        while let Some(colon) = rest.find(": ") {
            let (before, after) = (&rest[..colon], &rest[colon + 2..]);
            let start = before
                .rfind(|c: char| !(c.is_ascii_lowercase() || c == '_'))
                .map_or(0, |at| at + 1);
            let end = after.find(|c: char| !"-.0123456789".contains(c)).unwrap_or(after.len());
            let (key, number) = (&before[start..], &after[..end]);
            let unit = UNITS
                .iter()
                .find_map(|(suffix, unit)| Some((key.strip_suffix(suffix)?, *unit)));
            let unit = unit.or((key == "bytes").then_some(("bytes", "B")));
            written += &before[..start];
            match unit.filter(|_| !number.is_empty()) {
                None => written += &format!("{key}: {number}"),
                Some((_, _)) if key == "delay_ns" && has_delay_process => {
                    written += &format!("length: {} m", number.parse::<u64>().unwrap() / 5);
                }
                Some((key, unit)) if unit.starts_with("dB") => {
                    written += &format!("{key}: {} {unit}", number.parse::<f64>().unwrap() / 1000.0);
                }
                Some((key, unit)) => written += &format!("{key}: {number} {unit}"),
            }
            count += usize::from(unit.is_some() && !number.is_empty());
            rest = &after[end..];
        }
        written + rest + "\n"
    });
    (lines.collect(), count)
}

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.located(text.as_bytes())))
}

/// Refusal of the file `text` once `from`, which it has, is `to`.
fn refused(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    let text = text.replacen(from, to, 1);
    let error = Scenario::parse(text.as_bytes()).expect_err(to);
    error.located(text.as_bytes()).to_string()
}

#[test]
fn files_with_units_are_those_with_suffixes() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut total = 0;
    for directory in ["topologies", "schema/examples/valid"] {
        for entry in fs::read_dir(repository.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let (written, count) = with_units(&text);
            total += count;
            assert_eq!(parsed(&written), parsed(&text), "{}", path.display());
        }
    }
    assert!(total > 1000, "{total}");
}

#[test]
fn larger_units_and_decimal_places_are_read_exactly() {
    for (from, to) in [
        ("slot_ns: 250000", "slot: 0.25 ms"),
        ("rate_bps: 200000000, delay_ns: 25000", "rate: 0.2 Gbit/s, length: 5 km"),
        ("limit_bytes: 400000", "limit: 400 KB"),
        ("duration_ms: 6000", "duration: 0.1 min"),
        ("bytes: 50000000", "bytes: 50 MB"),
    ] {
        assert_eq!(parsed(&STAR4.replacen(from, to, 1)), parsed(STAR4), "{to}");
    }
    let hold = (
        "hold_ms: [1, 100], mean_ms: 5, ",
        "hold: [1 ms, 0.1 s], mean: 5000 us, ",
    );
    assert_eq!(parsed(&TWO_LINKS.replacen(hold.0, hold.1, 1)), parsed(TWO_LINKS));
    let optics = ("max_drift_ppb: 50000", "max_drift: 50 ppm");
    assert_eq!(parsed(&EVERY_KEY.replacen(optics.0, optics.1, 1)), parsed(EVERY_KEY));
}

#[test]
fn wrong_quantities_are_refused_with_line_and_what_would_be_right() {
    const RATE: &str =
        "a rate from 1 Mbit/s to 400 Gbit/s with its unit, e.g. '200 Mbit/s', or an integer under 'rate_bps'";
    let rate = "rate_bps: 200000000";
    for (to, reason) in [
        ("rate: 200000000", "found 200000000"),
        ("rate: 5 ms", "found '5 ms': unknown unit 'ms'"),
        ("rate: 200 mbit/s", "found '200 mbit/s': unknown unit 'mbit/s'"),
        ("rate: fast", "found 'fast': no decimal number"),
        ("rate: '200'", "found '200': no unit"),
        (
            "rate: 1.0000001 Mbit/s",
            "found '1.0000001 Mbit/s': too many decimal places",
        ),
        ("rate: 10 kbit/s", "found '10 kbit/s'"),
        ("rate: 1 Tbit/s", "found '1 Tbit/s'"),
    ] {
        let expected = format!("line 11: /edges/0/fibres/0/rate: {reason}; expected {RATE}");
        assert_eq!(refused(STAR4, rate, to), expected);
    }
    assert_eq!(
        refused(STAR4, "duration_ms: 6000", "duration: 0.5 ms"),
        "line 20: /phases/0/duration: found '0.5 ms': no whole number of 1 ms; expected a time from 1 ms to 24 h with its unit, \
         e.g. '250 us', or an integer under 'duration_ms'"
    );
    assert_eq!(
        refused(STAR4, "bytes: 50000000", "bytes: 50 MBit"),
        "line 32: /phases/2/flows/1/file/bytes: found '50 MBit': unknown unit 'MBit'; expected an amount of data from 1 B to 1 TB with \
         its unit, e.g. '64 KB', or an integer of bytes"
    );
    assert_eq!(
        refused(TWO_LINKS, "hold_ms: [1, 100]", "hold: [1 ms, 100]"),
        "line 12: /ops/links/1/delay/hold_ms/1: found 100; expected a time from 1 ms to 100 s with its unit, e.g. '250 us', or an \
         integer under 'hold_ms'"
    );
    assert!(
        refused(TWO_LINKS, "mean_ms: 5", "mean: 5")
            .contains("line 12: /ops/links/1/delay/mean: found 5; expected a time")
    );
    assert!(refused(EVERY_KEY, "launch_mdbm: 1000", "launch: 1 dB").contains("unknown unit 'dB'; expected a power"));
}

#[test]
fn a_key_in_both_spellings_is_refused() {
    assert_eq!(
        refused(STAR4, "rate_bps: 200000000", "rate_bps: 200000000, rate: 1 Gbit/s"),
        "line 11: /edges/0/fibres/0/rate: 'rate' given with 'rate_bps'; expected one of the two"
    );
    assert_eq!(
        refused(STAR4, "delay_ns: 10000", "delay: 10 us, length: 2 km"),
        "line 11: /edges/0/fibres/0/length: 'length' given with 'delay'; expected one of the two"
    );
}

#[test]
fn a_problem_of_the_whole_has_the_line_of_the_spelling() {
    assert_eq!(
        refused(STAR4, "guard_ns: 10000", "guard: 250 us"),
        "line 7: /frame/guard_ns: a guard of 250000 ns fills the slot of 250000 ns; expected less than 250000"
    );
    assert_eq!(
        refused(STAR4, "rate_bps: 200000000", "rat: 1 Gbit/s").lines().next(),
        Some(
            "line 11: /edges/0/fibres/0/rat: unknown key 'rat'; expected 'rate' (closest of: core, rate_bps, delay_ns, loss, port, attenuation_mdb)"
        )
    );
}

#[test]
fn the_plain_form_is_the_same_scenario_with_suffixes() {
    let plain = |text: &str| -> serde_json::Value {
        serde_json::from_str(&Scenario::plain(text.as_bytes(), "mine").unwrap()).unwrap()
    };
    for text in [STAR4, TWO_LINKS, EVERY_KEY] {
        let as_written: serde_json::Value = serde_yaml_ng::from_str(text).unwrap();
        assert_eq!(plain(text), as_written);
        let (with_units, _) = with_units(text);
        let again = Scenario::plain(with_units.as_bytes(), "mine").unwrap();
        assert_eq!(parsed(&again), parsed(text));
        assert_eq!(
            plain(&with_units).to_string().matches("_ns").count(),
            text.matches("_ns:").count()
        );
    }
    let hold = TWO_LINKS.replacen("hold_ms: [1, 100]", "hold: [1 ms, 0.1 s]", 1);
    assert_eq!(plain(&hold), plain(TWO_LINKS));
}
