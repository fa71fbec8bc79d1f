// SPDX-License-Identifier: Apache-2.0
//! What a fact of an experiment is: what is measured of a run, and the band in which it must be.

use serde::Deserialize;

use super::Selection;

/// A number of each run, by which formulas call it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a formula, or a quantity with from_s, to_s and stat")]
pub enum Quantity {
    /// Of other quantities of the run.
    Formula(String),
    /// Of what was measured.
    Measured(Measured),
}

/// How a quantity is measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// What is measured.
    #[serde(rename = "measure")]
    pub what: Selection,
    /// Rows from this time on, s.
    pub from_s: f64,
    /// Up to and with this time, s.
    pub to_s: f64,
    /// How one number is made of them.
    #[serde(with = "serde_yaml_ng::with::singleton_map")]
    pub stat: Stat,
    /// A number of each name, in the order of the names, and not one of all.
    #[serde(default)]
    pub each: bool,
    /// A number of each period, in their order, of all names.
    #[serde(default)]
    pub by_time: bool,
}

/// A number that was published, and the band in which what a formula makes of several runs must be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormulaFact {
    /// What it says.
    pub text: String,
    /// Where the source says it.
    #[serde(rename = "where")]
    pub place: String,
    /// The formula, of one number.
    pub formula: String,
    /// Smallest and largest value that agree with the source.
    pub band: [f64; 2],
    /// The source's own number, where it gives one.
    #[serde(default)]
    pub published: Option<f64>,
    /// Why this band.
    pub why: String,
    /// What the value rests on.
    #[serde(default)]
    pub basis: Basis,
    /// Facts of one name measure one claim, which counts once and passes if all of them do.
    #[serde(default)]
    pub claim: Option<String>,
}

/// A number that was published, and the band in which ours must be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// What it says.
    pub text: String,
    /// Where the source says it.
    #[serde(rename = "where")]
    pub place: String,
    /// The run.
    pub run: String,
    /// What is measured.
    #[serde(rename = "measure")]
    pub what: Selection,
    /// Rows from this time on, s.
    pub from_s: f64,
    /// Up to and with this time, s.
    pub to_s: f64,
    /// How one number is made of them.
    #[serde(with = "serde_yaml_ng::with::singleton_map")]
    pub stat: Stat,
    /// If it is made of those of each name, and the numbers of all names are put together, how.
    #[serde(default)]
    pub across: Option<Across>,
    /// What the number is divided by.
    #[serde(default)]
    pub by: Option<By>,
    /// Smallest and largest value that agree with the source.
    pub band: [f64; 2],
    /// The source's own number, where it gives one.
    #[serde(default)]
    pub published: Option<f64>,
    /// Why this band.
    pub why: String,
    /// What the value rests on.
    #[serde(default)]
    pub basis: Basis,
    /// Facts of one name measure one claim, which counts once and passes if all of them do.
    #[serde(default)]
    pub claim: Option<String>,
}

/// How one number is made of those of several names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Across {
    /// The smallest.
    Least,
    /// The largest.
    Most,
    /// Their mean.
    Mean,
    /// The largest by the smallest.
    Ratio,
    /// The largest less the smallest.
    Difference,
    /// The median.
    Median,
    /// How many neighbours, in the order of the names' first rows, do not rise: the second is less than the first.
    Rising,
    /// The same the other way round.
    Falling,
    /// In how many clusters they are: neighbours of one are less than 10 % apart.
    Clusters,
}

/// What a fact's number is divided by.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a number, or the changed fields of the fact")]
pub enum By {
    /// This.
    Number(f64),
    /// What another run, or another selection of the same one, shows; of each seed.
    Another(Another),
}

/// A measurement like a fact's but for what is said here.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Another {
    /// The run.
    #[serde(default)]
    pub run: Option<String>,
    /// What is measured.
    #[serde(default, rename = "measure")]
    pub what: Option<Selection>,
    /// Rows from this time on, s.
    #[serde(default)]
    pub from_s: Option<f64>,
    /// Up to and with this time, s.
    #[serde(default)]
    pub to_s: Option<f64>,
    /// How one number is made of them.
    #[serde(default, with = "serde_yaml_ng::with::singleton_map")]
    pub stat: Option<Stat>,
}

/// One number of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement<'f> {
    pub(crate) run: &'f str,
    pub(crate) what: &'f Selection,
    pub(crate) time_s: (f64, f64),
    pub(crate) stat: Stat,
    pub(crate) across: Option<Across>,
}

impl Fact {
    /// What is measured for it: its number, and the one that it is divided by.
    pub(crate) fn measurements(&self) -> impl Iterator<Item = Measurement<'_>> {
        let own = Measurement {
            run: &self.run,
            what: &self.what,
            time_s: (self.from_s, self.to_s),
            stat: self.stat,
            across: self.across,
        };
        let other = match &self.by {
            Some(By::Another(other)) => Some(Measurement {
                run: other.run.as_deref().unwrap_or(own.run),
                what: other.what.as_ref().unwrap_or(own.what),
                time_s: (other.from_s.unwrap_or(self.from_s), other.to_s.unwrap_or(self.to_s)),
                stat: other.stat.unwrap_or(own.stat),
                across: own.across,
            }),
            _ => None,
        };
        [own].into_iter().chain(other)
    }
}

/// What a fact's value rests on.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The source prints it, of this set-up.
    #[default]
    Published,
    /// This project asks it of itself.
    Own,
    /// The source prints it, but of another set-up than this one.
    SecondChance,
}

/// How one number is made of the rows of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Stat {
    /// Mean of all rows.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Smallest mean over `over_s`: the depth of a dip as an instrument of that period shows it.
    Lowest {
        /// Time of each mean, s.
        over_s: f64,
    },
    /// The value that the part `q` of all rows is not above.
    Quantile {
        /// The part, 0 to 1.
        q: f64,
    },
    /// Percentage of the rows that differ from the one before.
    Changes,
    /// Standard deviation of means over `over_s`.
    Deviation {
        /// Time of each mean, s.
        over_s: f64,
    },
    /// Part of the means over `over_s` that are at least `at_least`.
    Share {
        /// The smallest that counts.
        at_least: f64,
        /// Time of each mean, s.
        over_s: f64,
    },
    /// Of column `delay_deviation_ms` of table `reordering`: the standard deviation of the delays of all packets of a name, ms; mean over the names.
    Jitter,
    /// The largest by the mean.
    Peak,
    /// Of packets counted by their wait, the wait that the part `q` of them is not above, ms.
    Delay {
        /// The part, 0 to 1.
        q: f64,
    },
    /// Of the same, their mean wait, ms.
    #[serde(rename = "mean_delay")]
    MeanDelay,
    /// How far the mean is from that of another column, by that.
    Distance {
        /// The other column's name.
        from: PercentOf,
    },
    /// Sum.
    Sum,
    /// Jain's index of the means of each name.
    Jain,
    /// Time from `from_s` until all rows that follow, each the mean over `over_s`, are within `within` of `target`.
    Settle {
        /// The value aimed at.
        target: f64,
        /// Largest difference.
        within: f64,
        /// Time of each mean, s.
        over_s: f64,
    },
    /// The same again and again: from each multiple of `every_s` after `from_s` to the next one, and the longest of these times.
    Resettle {
        /// How often, s.
        every_s: f64,
        /// The value aimed at.
        target: f64,
        /// Largest difference.
        within: f64,
        /// Time of each mean, s.
        over_s: f64,
    },
    /// Time from `from_s` until the first mean over `over_s` that is at least `at_least`.
    Reach {
        /// The level.
        at_least: f64,
        /// Time of each mean, s.
        over_s: f64,
    },
    /// Time from `from_s` until the first mean over `over_s` that is at most `at_most`.
    Fall {
        /// The level.
        at_most: f64,
        /// Time of each mean, s.
        over_s: f64,
    },
    /// Time between the first means over `over_s` that are at least `from` and at least `to`.
    Stretch {
        /// The first level.
        from: f64,
        /// The second one.
        to: f64,
        /// Time of each mean, s.
        over_s: f64,
    },
    /// With T the time from `from_s` to [`Stat::Settle`]: what the means over `over_s` rise in its first fifth, from 0, by what they rise in its
    /// last fifth.
    Bend {
        /// The value aimed at.
        target: f64,
        /// Largest difference.
        within: f64,
        /// Time of each mean, s.
        over_s: f64,
    },
    /// Part of the names of which no mean over `over_s` is off `target` by more than `within`.
    Stays {
        /// The value.
        target: f64,
        /// Largest difference.
        within: f64,
        /// Time of each mean, s.
        over_s: f64,
    },
    /// By how much a mean over `over_s` is at most above an earlier one.
    Climb {
        /// Time of each mean, s.
        over_s: f64,
    },
    /// Standard deviation of means over `over_s`, by their mean.
    Variation {
        /// Time of each mean, s.
        over_s: f64,
    },
    /// How many rows are less than `least` or more than `most`.
    Outside {
        /// The smallest that is not.
        least: f64,
        /// The largest that is not.
        most: f64,
    },
    /// Sum of the column in percent of the sum of another.
    Percent {
        /// The other column's name.
        of: PercentOf,
    },
}

/// What a percentage is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PercentOf {
    /// Of the packets that came.
    ArrivedPackets,
    /// Of what the slots granted could carry.
    GrantedBytes,
    /// Of the packets that a station added.
    AddedPackets,
    /// Of the packets that hosts gave it.
    OfferedPackets,
    /// Of what a ring or a mesh should give.
    FairKbps,
    /// Of what a session of a lambda network should have.
    FairMbps,
}

impl PercentOf {
    /// The column.
    pub fn column(self) -> &'static str {
        match self {
            PercentOf::ArrivedPackets => "arrived_packets",
            PercentOf::GrantedBytes => "granted_bytes",
            PercentOf::AddedPackets => "added_packets",
            PercentOf::OfferedPackets => "offered_packets",
            PercentOf::FairKbps => "fair_kbps",
            PercentOf::FairMbps => "fair_mbps",
        }
    }
}
