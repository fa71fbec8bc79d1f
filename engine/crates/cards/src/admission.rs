// SPDX-License-Identifier: Apache-2.0
//! Admission of packets to a queue: a row for each rule.
//!
//! A row has the key of a rule below `buffer` in a scenario, its text, its parameters with their bounds, and its type.
//! The reader, the schema and the reference of scenarios, the construction of queues and their behaviour follow from it.

mod ecn;
mod limits;

use std::fmt;
use std::ops::RangeInclusive;

use rand_pcg::Pcg64Mcg;
use slotwise_units::{Bytes, Duration};

use ecn::EcnMarks;
use limits::{ByteLimit, PacketLimit, TimeLimit};

/// Maximum number of parameters of a rule.
const MAX_PARAMETERS: usize = 4;

/// Queue at the arrival of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Length of the packet, as its link counts it.
    pub bytes: Bytes,
    /// True if the packet has to wait for the link.
    pub waits: bool,
    /// Time until its last bit leaves.
    pub leaves_in: Duration,
    /// Number of waiting packets, without the one in transmission.
    pub waiting_packets: usize,
    /// Their length.
    pub waiting_bytes: Bytes,
}

/// Rule of admission to one queue.
pub trait Rule {
    /// Returns true if the queue accepts the packet.
    fn admits(&mut self, arrival: &Arrival) -> bool;

    /// Returns true if an accepted packet is marked (ECN).
    #[inline]
    fn marks(&mut self, _: &Arrival) -> bool {
        false
    }
}

/// Rule that scenarios name.
pub trait NamedRule: Rule {
    /// Creates the rule of one queue, which may draw from a separate generator.
    fn new(parameters: &Parameters, random: Pcg64Mcg) -> Self;
}

/// Values of the parameters of a rule, in the order of its row.
pub type Parameters = [f64; MAX_PARAMETERS];

/// Range and unit of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Amount {
    /// Number of packets.
    Packets(RangeInclusive<u64>),
    /// Amount of data, at least one packet.
    Bytes(RangeInclusive<u64>),
    /// Number from 0 to 1.
    Fraction,
}

/// Parameter of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Key below that of the rule; empty if the value of the rule's key is the parameter.
    pub key: &'static str,
    /// Text of the key.
    pub text: &'static str,
    /// Range and unit.
    pub amount: Amount,
}

/// Rule as scenarios name it.
pub struct Row {
    /// Key below `buffer`.
    pub key: &'static str,
    /// Text of the key.
    pub text: &'static str,
    /// Parameters: one without a key, or some with keys.
    pub parameters: &'static [Parameter],
    name: &'static str,
    make: fn(&Parameters, Pcg64Mcg) -> Admission,
}

/// Declares the list of rules.
macro_rules! rules {
    ($(#[doc = $text:literal] $name:ident($rule:ty) = $key:literal { $($parameter:literal: $amount:expr, $about:literal;)+ })+) => {
        /// Admission to one queue, by its rule.
        pub enum Admission {
            $(#[doc = $text] $name($rule),)+
            /// Maximum time until the last bit leaves. No scenario names it.
            Time(TimeLimit),
        }

        impl Admission {
            /// Returns true if the queue accepts the packet.
            #[inline]
            pub fn admits(&mut self, arrival: &Arrival) -> bool {
                match self {
                    $(Admission::$name(rule) => rule.admits(arrival),)+
                    Admission::Time(rule) => rule.admits(arrival),
                }
            }

            /// Returns true if an accepted packet is marked (ECN).
            #[inline]
            pub fn marks(&mut self, arrival: &Arrival) -> bool {
                match self {
                    $(Admission::$name(rule) => rule.marks(arrival),)+
                    Admission::Time(rule) => rule.marks(arrival),
                }
            }
        }

        /// Rules that scenarios name.
        pub const ROWS: &[Row] = &[$(Row {
            key: $key,
            text: $text,
            parameters: &[$(Parameter { key: $parameter, text: $about, amount: $amount }),+],
            name: stringify!($name),
            make: |parameters, random| Admission::$name(<$rule as NamedRule>::new(parameters, random)),
        }),+];
    };
}

rules! {
    /// Maximum number of waiting packets of any size.
    Packets(PacketLimit) = "packets" { "": Amount::Packets(1..=10_000_000), ""; }
    /// Maximum IP bytes of waiting packets.
    Bytes(ByteLimit) = "bytes" { "": Amount::Bytes(1..=1 << 40), ""; }
    /// Maximum number of waiting packets, and a threshold: packets that find more waiting are marked (ECN, for DCTCP).
    Ecn(EcnMarks) = "ecn" {
        "packets": Amount::Packets(1..=10_000_000), "Maximum number of waiting packets.";
        "mark_above": Amount::Packets(0..=10_000_000), "Threshold K in packets. Packets of transports without ECN are not marked.";
    }
}

impl Admission {
    /// Admission while fewer packets wait.
    pub fn packets(most: u32) -> Admission {
        Admission::Packets(PacketLimit(most as usize))
    }

    /// Admission while the total length of the waiting packets is at most this limit.
    pub fn bytes(most: Bytes) -> Admission {
        Admission::Bytes(ByteLimit(most))
    }

    /// Admission of packets whose last bit leaves within a time.
    pub fn time(most: Duration) -> Admission {
        Admission::Time(TimeLimit(most))
    }
}

/// Choice of a scenario: a rule and its parameters.
#[derive(Clone, Copy, PartialEq)]
pub struct Setting {
    row: usize,
    parameters: Parameters,
}

impl Setting {
    /// The rule of a row of [`ROWS`] with parameters in its order.
    pub fn new(row: usize, values: impl IntoIterator<Item = f64>) -> Setting {
        let mut parameters = [0.0; MAX_PARAMETERS];
        for (parameter, value) in parameters.iter_mut().zip(values) {
            *parameter = value;
        }
        Setting { row, parameters }
    }

    /// Row of the rule.
    pub fn row(&self) -> &'static Row {
        &ROWS[self.row]
    }

    /// Parameters and their values.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static Parameter, f64)> + use<> {
        self.row().parameters.iter().zip(self.parameters)
    }

    /// Creates the admission to one queue, which may draw from a separate generator.
    pub fn admission(&self, random: Pcg64Mcg) -> Admission {
        (self.row().make)(&self.parameters, random)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple(self.row().name);
        for (parameter, value) in self.parameters() {
            match parameter.amount {
                Amount::Packets(_) => tuple.field(&(value as u64)),
                Amount::Bytes(_) => tuple.field(&Bytes::new(value as u64)),
                Amount::Fraction => tuple.field(&value),
            };
        }
        tuple.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use slotwise_random::{Stream, generator};

    use super::*;

    fn arrival(waiting: usize) -> Arrival {
        Arrival {
            bytes: Bytes::new(100),
            waits: waiting > 0,
            leaves_in: Duration::from_us(1 + waiting as u64),
            waiting_packets: waiting,
            waiting_bytes: Bytes::new(100 * waiting as u64),
        }
    }

    /// Number of packets of 100 bytes that may wait.
    fn admitted(mut admission: Admission) -> usize {
        (0..100)
            .take_while(|waiting| admission.admits(&arrival(*waiting)))
            .count()
    }

    #[test]
    fn rows_have_keys_of_their_own_and_parameters_that_fit() {
        let keys: BTreeSet<&str> = ROWS.iter().map(|row| row.key).collect();
        assert_eq!(keys.len(), ROWS.len());
        for Row {
            key, text, parameters, ..
        } in ROWS
        {
            let names: BTreeSet<&str> = parameters.iter().map(|parameter| parameter.key).collect();
            assert!(
                !text.is_empty() && (1..=MAX_PARAMETERS).contains(&parameters.len()),
                "{key}"
            );
            assert_eq!(names.len(), parameters.len(), "{key}");
            assert!(parameters.len() == 1 || !names.contains(""), "{key}");
        }
    }

    #[test]
    fn a_setting_makes_the_rule_of_its_row() {
        let row = |key| ROWS.iter().position(|row| row.key == key).unwrap();
        let random = || generator(1, Stream::Admission, 0);
        let packets = Setting::new(row("packets"), [3.0]);
        assert_eq!(format!("{packets:?}"), "Packets(3)");
        assert_eq!(admitted(packets.admission(random())), 3);
        let bytes = Setting::new(row("bytes"), [250.0]);
        assert_eq!(format!("{bytes:?}"), "Bytes(Bytes(250))");
        assert_eq!(admitted(bytes.admission(random())), 2);
        let ecn = Setting::new(row("ecn"), [5.0, 2.0]);
        assert_eq!(format!("{ecn:?}"), "Ecn(5, 2)");
        assert_eq!(admitted(ecn.admission(random())), 5);
        let marked = (0..6).filter(|waiting| ecn.admission(random()).marks(&arrival(*waiting)));
        assert_eq!(marked.collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(admitted(Admission::time(Duration::from_us(7))), 7);
    }
}
