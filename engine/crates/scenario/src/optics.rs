// SPDX-License-Identifier: Apache-2.0
//! The power budget of fibres, in thousandths of a decibel: what is launched, what is lost on the way, what a receiver needs.

use std::ops::RangeInclusive;

use crate::model::{Fibre, Scenario};
use crate::reader::Reader;
use crate::section::{integer, section, signed};

const LAUNCH_MDBM: RangeInclusive<i64> = -30_000..=30_000;
const SENSITIVITY_MDBM: RangeInclusive<i64> = -60_000..=30_000;
const MARGIN_MDB: RangeInclusive<u64> = 0..=30_000;
pub(crate) const ATTENUATION_MDB: RangeInclusive<u64> = 0..=100_000;

section! {
    /// Transmitters and receivers of line cards and core ports. At the start, all received power must exceed the
    /// sensitivity by the margin. Default: unlimited power budget.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Optics {
        /// Launch power into a fibre in dBm/1000.
        pub launch_mdbm: i32 = "launch_mdbm" required, signed(LAUNCH_MDBM);
        /// Receiver sensitivity in dBm/1000; a signal below it is lost.
        pub sensitivity_mdbm: i32 = "sensitivity_mdbm" required, signed(SENSITIVITY_MDBM);
        /// Power margin above the sensitivity in dB/1000; a signal within it is reported (POWER).
        pub margin_mdb: u32 = "margin_mdb" required, integer(MARGIN_MDB);
    }
}

/// How light comes out of a fibre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Light {
    /// With the margin and more to spare.
    Good,
    /// It can be read, but the margin is not kept.
    Weak,
    /// It cannot be read.
    Lost,
}

impl Optics {
    /// Power that a receiver gets at the end of a fibre that attenuates by `attenuation_mdb`, if `edges` edges share the
    /// core's port; in dBm / 1000.
    pub fn received_mdbm(&self, attenuation_mdb: u32, edges: usize) -> i32 {
        self.launch_mdbm - (attenuation_mdb + splitting_loss_mdb(edges)) as i32
    }

    /// What a receiver makes of such a power.
    pub fn light(&self, received_mdbm: i32) -> Light {
        if received_mdbm < self.sensitivity_mdbm {
            Light::Lost
        } else if received_mdbm < self.sensitivity_mdbm + self.margin_mdb as i32 {
            Light::Weak
        } else {
            Light::Good
        }
    }
}

/// What an ideal combiner and splitter of `edges` fibres takes from light either way, 10 log10(edges), in dB / 1000.
pub fn splitting_loss_mdb(edges: usize) -> u32 {
    (10_000.0 * libm::log10(edges.max(1) as f64)).round() as u32
}

impl Scenario {
    /// Edges behind the port of a core that a fibre leads to.
    pub fn edges_at_port(&self, fibre: &Fibre) -> usize {
        let fibres = self.edges.iter().filter_map(|edge| edge.fibre_to(fibre.core));
        fibres.filter(|other| other.port == fibre.port).count()
    }
}

/// Light is good to begin with, and attenuation means something.
pub(crate) fn check(scenario: &Scenario, r: &mut Reader) {
    for (e, edge) in scenario.edges.iter().enumerate() {
        for (f, fibre) in edge.fibres.iter().enumerate() {
            let place = || format!("/edges/{e}/fibres/{f}/attenuation_mdb");
            let Some(optics) = scenario.optics else {
                if fibre.attenuation_mdb > 0 {
                    without_optics(place(), r);
                }
                continue;
            };
            let lossless_mdbm = optics.received_mdbm(0, scenario.edges_at_port(fibre));
            let received_mdbm = lossless_mdbm - fibre.attenuation_mdb as i32;
            if optics.light(received_mdbm) != Light::Good {
                let reason = format!("received power of {received_mdbm} mdBm is below sensitivity plus margin");
                let most = i64::from(lossless_mdbm) - i64::from(optics.sensitivity_mdbm) - i64::from(optics.margin_mdb);
                r.report(place(), reason, format!("at most {most}"));
            }
        }
    }
    for (index, change) in scenario.link_changes.iter().enumerate() {
        if scenario.optics.is_none() && change.attenuation_mdb.is_some() {
            without_optics(format!("{}/attenuation_mdb", r.changes.fibres[index]), r);
        }
    }
}

fn without_optics(place: String, r: &mut Reader) {
    r.report(
        place,
        "attenuation has no effect without 'optics'",
        "'optics' too, or no 'attenuation_mdb'",
    );
}

#[cfg(test)]
mod tests {
    use slotwise_wire::MAX_FIBRES;

    use super::*;

    const OPTICS: Optics = Optics {
        launch_mdbm: 1_000,
        sensitivity_mdbm: -28_000,
        margin_mdb: 3_000,
    };

    #[test]
    fn a_splitter_takes_ten_times_the_logarithm() {
        let losses: Vec<u32> = [0, 1, 2, 4, 10, 32].map(splitting_loss_mdb).into();
        assert_eq!(losses, [0, 0, 3_010, 6_021, 10_000, 15_051]);
    }

    #[test]
    fn no_splitter_is_rounded_by_the_machines_last_digit() {
        for edges in 2..=usize::from(MAX_FIBRES) {
            let fraction = (10_000.0 * libm::log10(edges as f64)).fract();
            assert!((fraction - 0.5).abs() > 1e-6, "{edges}");
        }
    }

    #[test]
    fn light_is_judged_by_sensitivity_and_margin() {
        let light = |attenuation_mdb, edges| OPTICS.light(OPTICS.received_mdbm(attenuation_mdb, edges));
        assert_eq!(light(26_000, 1), Light::Good);
        assert_eq!(light(26_001, 1), Light::Weak);
        assert_eq!(light(29_000, 1), Light::Weak);
        assert_eq!(light(29_001, 1), Light::Lost);
        assert_eq!(light(26_000 - 3_010, 2), Light::Good);
        assert_eq!(light(26_000 - 3_009, 2), Light::Weak);
    }
}
