// SPDX-License-Identifier: Apache-2.0
//! Flows by weights of pairs: `pairs: {skew: 0.5}`, `pairs: {hotspot: {hosts: 2, fraction: 0.3}}`, `pairs: {file: m.csv}`.
//!
//! A weight multiplies the rate of datagrams. Of other flows it is the number of flows of the pair, which only a matrix can give.

use std::ops::RangeInclusive;

use super::flows::{MAX_FLOWS, permutation, split_mix};
use super::{Column, Unfolding};
use crate::doc::Doc;
use crate::parse::FLOW_RATE_BPS;
use crate::reader::{Fields, Reader};
use crate::section::{Section, integer, nested, number, raw, section};

/// Maximum number of hosts, above that of all scenarios.
const HOSTS: RangeInclusive<u64> = 1..=10_000;
/// Largest number of a matrix.
const MAX_WEIGHT: f64 = 1_000_000.0;

section! {
    /// Weights of pairs.
    #[derive(Debug)]
    struct WeightKeys [r, fields, _context: ()] {
        /// Fraction of each sender's rate that goes to one receiver, drawn once for each as in a permutation; the rest goes to all
        /// others in equal parts.
        skew: Option<f64> = "skew" optional, number(0.0..=1.0);
        /// Fraction of each sender's rate that goes to the same few receivers, drawn once.
        hotspot: Option<Hotspot> = "hotspot" optional, nested::<Hotspot>();
        /// Numbers by sender and receiver, a row per sender.
        matrix: Option<Doc> = "matrix" read_optional(r.optional(fields, "matrix").cloned()), raw(r#"{"type": "array"}"#);
    }
}

section! {
    /// Hotspot receivers.
    #[derive(Debug, Clone, Copy)]
    struct Hotspot {
        /// Number of these receivers.
        hosts: u64 = "hosts" or(1), integer(HOSTS);
        /// Fraction of each sender's rate to them; the rest goes to all others in equal parts.
        fraction: f64 = "fraction" required, number(0.0..=1.0);
    }
}

impl Unfolding<'_> {
    /// Ends of the flows of an entry with weights, and the column that the weights determine; `None` if something is wrong, which is
    /// reported. Without `receivers` the senders send to each other.
    pub(super) fn weighted(
        &mut self,
        entry: &Doc,
        place: &str,
        senders: &[Doc],
        receivers: Option<&[Doc]>,
        seed: u64,
    ) -> Option<(Vec<(Doc, Doc)>, Column)> {
        let pairs = entry.get("pairs")?;
        let place_of_pairs = format!("{place}/pairs");
        let keys = self.section::<WeightKeys>(pairs, &place_of_pairs)?;
        let count = senders.len();
        let is_one = [keys.skew.is_some(), keys.hotspot.is_some(), keys.matrix.is_some()];
        let is_drawn = keys.matrix.is_none();
        let problem = if is_one.into_iter().filter(|is_given| *is_given).count() != 1 {
            Some(("none or several patterns", "one of skew, hotspot and file"))
        } else if is_drawn && (receivers.is_some() || count < 2) {
            Some((
                "receivers are the other senders",
                "no 'to', and several senders under 'from'",
            ))
        } else if is_drawn && entry.get("udp").is_none() {
            Some(("fractions of a rate, but the flows have none", "'udp' with a rate"))
        } else if entry.get("udp").is_none() && entry.get("flows_per_pair").is_some() {
            Some(("'flows_per_pair', and a matrix with numbers of flows", "one of the two"))
        } else {
            None
        };
        if let Some((reason, expected)) = problem {
            self.report(pairs, place_of_pairs, reason.to_owned(), expected);
            return None;
        }
        let to = receivers.unwrap_or(senders);
        if senders.len() as u64 * to.len() as u64 > MAX_FLOWS {
            let expected = format!("senders and receivers in at most {MAX_FLOWS} combinations");
            self.report(entry, format!("{place}/from"), "too many flows".to_owned(), expected);
            return None;
        }
        let weights = match (keys.skew, keys.hotspot, &keys.matrix) {
            (Some(fraction), ..) => skew(count, fraction, seed),
            (_, Some(hotspot), _) => self.hotspot(pairs, &place_of_pairs, count, hotspot, seed)?,
            (.., matrix) => self.matrix(matrix.as_ref()?, &place_of_pairs, count, to, receivers.is_none())?,
        };
        let mut ends = Vec::new();
        let mut chosen = Vec::new();
        for (sender, row) in senders.iter().zip(weights) {
            for (receiver, weight) in to.iter().zip(row).filter(|(_, weight)| *weight > 0.0) {
                ends.push((sender.clone(), receiver.clone()));
                chosen.push(weight);
            }
        }
        let column = self.by_weight(entry, place, &chosen)?;
        Some((ends, column))
    }

    /// Rates of datagrams, or numbers of flows of each pair.
    fn by_weight(&mut self, entry: &Doc, place: &str, weights: &[f64]) -> Option<Column> {
        let line = entry.line();
        let Some(udp) = entry.get("udp") else {
            let whole = |weight: &f64| Doc::scalar(weight.to_string(), line);
            return Some(Column {
                key: "flows_per_pair".to_owned(),
                values: weights.iter().map(whole).collect(),
            });
        };
        let mut reader = Reader::default();
        let fields = Fields::of(udp, format!("{place}/udp"));
        let rate = reader.integer(&fields, "rate_bps", FLOW_RATE_BPS) as f64;
        self.take_problems(reader, udp)?;
        let values = weights.iter().map(|weight| {
            let mut udp = udp.clone();
            udp.remove(|key| key == "rate");
            udp.set("rate_bps", Doc::scalar(format!("{:.0}", rate * weight), line));
            udp
        });
        Some(Column {
            key: "udp".to_owned(),
            values: values.collect(),
        })
    }

    fn hotspot(&mut self, at: &Doc, place: &str, count: usize, of: Hotspot, seed: u64) -> Option<Vec<Vec<f64>>> {
        let hosts = of.hosts as usize;
        if hosts >= count {
            let expected = format!("an integer from 1 to {}", count - 1);
            self.report(
                at,
                format!("{place}/hotspot/hosts"),
                format!("{hosts} of {count} hosts"),
                expected,
            );
            return None;
        }
        let mut order: Vec<usize> = (0..count).collect();
        let mut random = seed;
        for first in 0..hosts {
            order.swap(
                first,
                first + (split_mix(&mut random) % (count - first) as u64) as usize,
            );
        }
        let hot = &order[..hosts];
        let row = |sender: usize| {
            let others = hot.iter().filter(|hot| **hot != sender).count();
            let fraction = if others == 0 { 0.0 } else { of.fraction };
            let weight = |receiver: usize| match receiver == sender {
                true => 0.0,
                false => {
                    let more = if hot.contains(&receiver) {
                        fraction / others as f64
                    } else {
                        0.0
                    };
                    (1.0 - fraction) / (count - 1) as f64 + more
                }
            };
            (0..count).map(weight).collect()
        };
        Some((0..count).map(row).collect())
    }

    /// Numbers of a matrix of the right size.
    fn matrix(&mut self, matrix: &Doc, place: &str, count: usize, to: &[Doc], is_among: bool) -> Option<Vec<Vec<f64>>> {
        let rows = matrix.as_list().unwrap_or_default();
        if rows.len() != count {
            let expected = format!("{count} rows, one per sender");
            self.report(
                matrix,
                place.to_owned(),
                format!("matrix of {} rows", rows.len()),
                expected,
            );
            return None;
        }
        let mut weights = Vec::with_capacity(count);
        for (index, row) in rows.iter().enumerate() {
            let numbers = row.as_list().unwrap_or_default();
            let place = format!("{place}/matrix/{index}");
            if numbers.len() != to.len() {
                let expected = format!("{} numbers, one per receiver", to.len());
                self.report(row, place, format!("row of {} numbers", numbers.len()), expected);
                return None;
            }
            let mut of_row = Vec::with_capacity(numbers.len());
            for (column, number) in numbers.iter().enumerate() {
                let value = number.as_f64().filter(|value| (0.0..=MAX_WEIGHT).contains(value));
                let is_right = |value: &f64| !(is_among && index == column && *value != 0.0);
                let Some(value) = value.filter(is_right) else {
                    let expected = match is_among && index == column {
                        true => "0: no host sends to itself".to_owned(),
                        false => format!("a number from 0 to {MAX_WEIGHT}"),
                    };
                    self.report(
                        number,
                        format!("{place}/{column}"),
                        format!("found {}", number.describe()),
                        expected,
                    );
                    return None;
                };
                of_row.push(value);
            }
            weights.push(of_row);
        }
        Some(weights)
    }

    fn section<S: for<'c> Section<Context<'c> = ()>>(&mut self, value: &Doc, place: &str) -> Option<S> {
        let mut reader = Reader::default();
        let keys = S::of(&mut reader, value, place.to_owned(), ());
        self.take_problems(reader, value)?;
        Some(keys)
    }

    /// Adds the problems of a reader; `None` if it has any.
    fn take_problems(&mut self, reader: Reader, at: &Doc) -> Option<()> {
        let is_right = reader.problems.is_empty();
        for mut problem in reader.problems {
            problem.line = Some(at.line());
            self.r.problems.push(problem);
        }
        is_right.then_some(())
    }
}

fn skew(count: usize, fraction: f64, seed: u64) -> Vec<Vec<f64>> {
    let receivers = permutation(count, seed);
    let row = |(sender, chosen): (usize, usize)| {
        let weight = |receiver: usize| match receiver {
            receiver if receiver == sender => 0.0,
            receiver if receiver == chosen => fraction + (1.0 - fraction) / (count - 1) as f64,
            _ => (1.0 - fraction) / (count - 1) as f64,
        };
        (0..count).map(weight).collect()
    };
    receivers.into_iter().enumerate().map(row).collect()
}
