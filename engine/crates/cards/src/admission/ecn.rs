// SPDX-License-Identifier: Apache-2.0
//! Marks above a threshold of the queue at arrival (RFC 8257 section 3.1).

use rand_pcg::Pcg64Mcg;

use super::{Arrival, NamedRule, Parameters, Rule};

/// Maximum number of waiting packets, with marks above a threshold.
pub struct EcnMarks {
    most: usize,
    threshold: usize,
}

impl Rule for EcnMarks {
    #[inline]
    fn admits(&mut self, arrival: &Arrival) -> bool {
        !arrival.waits || arrival.waiting_packets < self.most
    }

    #[inline]
    fn marks(&mut self, arrival: &Arrival) -> bool {
        arrival.waiting_packets > self.threshold
    }
}

impl NamedRule for EcnMarks {
    fn new(&[most, threshold, ..]: &Parameters, _: Pcg64Mcg) -> EcnMarks {
        EcnMarks {
            most: most as usize,
            threshold: threshold as usize,
        }
    }
}
