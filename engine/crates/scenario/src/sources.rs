// SPDX-License-Identifier: Apache-2.0
//! Keys of rate-limited sources: arrival processes of datagrams, and web users.

use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Duration, Rate};

use crate::model::{OnOff, Process, Web};
use crate::parse::FLOW_RATE_BPS;
use crate::section::{Only, above, flag, integer, only, section, word};

/// UDP payload of a datagram; a stamp of the source has to fit in.
const PAYLOAD_BYTES: RangeInclusive<u64> = 64..=8972;
/// Users of a flow.
const USERS: RangeInclusive<u64> = 1..=64;
const HOUR_NS: u64 = 3_600_000_000_000;
const MEAN_NS: RangeInclusive<u64> = 1_000..=HOUR_NS;
const PAGE_BYTES: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// Usual for lengths of bursts.
const ON_OFF_SHAPE: f64 = 1.5;
/// Measured for pages (Crovella, Bestavros, IEEE/ACM Trans. Networking 5(6), 1997: 1.0 to 1.3).
const WEB_SHAPE: f64 = 1.2;
/// Above this a Pareto distribution is all but constant.
const MAX_SHAPE: f64 = 100.0;

/// Packet spacing of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Even.
    Constant,
    /// Exponentially distributed.
    Poisson,
    /// Even within on periods.
    OnOff,
}

const ON_OFF: &str = "on-off-pareto";
const SPACINGS: [(&str, Spacing); 3] = [
    ("constant", Spacing::Constant),
    ("poisson", Spacing::Poisson),
    (ON_OFF, Spacing::OnOff),
];
const PARETO: &str = "pareto";
/// Distributions of page sizes, and whether they have a shape.
const SIZES: [(&str, bool); 2] = [(PARETO, true), ("exponential", false)];

fn on_off() -> Only {
    only("process", [ON_OFF])
}

/// Declares the keys of datagrams: those of an arrival process behind the ones that only some datagrams have.
macro_rules! datagrams {
    (
        $(#[doc = $about:literal])+
        struct $name:ident {
            $(#[doc = $rate:literal])+
            rate,
            $(#[doc = $process:literal])+
            process
            $(
                ; $(#[doc = $text:literal])+
                $field:ident: $type:ty = $key:literal $presence:ident, $shape:expr
            )*
        }
    ) => {
        section! {
            $(#[doc = $about])+
            #[derive(Debug, Clone, Copy, PartialEq)]
            pub(crate) struct $name {
                $(#[doc = $rate])+
                pub(crate) rate: Rate = "rate_bps" required, integer(FLOW_RATE_BPS);
                $(
                    $(#[doc = $text])+
                    pub(crate) $field: $type = $key $presence, $shape;
                )*
                $(#[doc = $process])+
                spacing: Spacing = "process" required, word(SPACINGS);
                /// Mean on period in ns, Pareto-distributed.
                mean_on: Option<Duration> = "mean_on_ns" required_if(on_off()), integer(MEAN_NS);
                /// Mean off period in ns, Pareto-distributed.
                mean_off: Option<Duration> = "mean_off_ns" required_if(on_off()), integer(MEAN_NS);
                /// Shape of both Pareto distributions. Default: 1.5.
                shape: Option<f64> = "shape" optional_if(on_off()), above(1.0, MAX_SHAPE);
            }
        }

        impl $name {
            pub(crate) fn process(&self) -> Process {
                match self.spacing {
                    Spacing::Constant => Process::Constant,
                    Spacing::Poisson => Process::Poisson,
                    Spacing::OnOff => Process::OnOffPareto(OnOff {
                        mean_on: self.mean_on.unwrap_or(Duration::from_ns(*MEAN_NS.start())),
                        mean_off: self.mean_off.unwrap_or(Duration::from_ns(*MEAN_NS.start())),
                        shape: self.shape.unwrap_or(ON_OFF_SHAPE),
                    }),
                }
            }
        }
    };
}

datagrams! {
    /// UDP datagrams in full IP packets instead of a TCP stream.
    struct GroupUdp {
        /// Rate in bit/s, counted in IP bytes; with `on-off-pareto`, that of the on periods.
        rate,
        /// Packet spacing: even (`constant`), exponentially distributed (`poisson`), or even within on periods
        /// (`on-off-pareto`).
        process
    }
}

datagrams! {
    /// UDP datagrams.
    struct EdgeUdp {
        /// Rate per flow in bit/s, counted in payload bytes; with `on-off-pareto`, that of the on periods.
        rate,
        /// Packet spacing: even (`constant`), exponentially distributed (`poisson`), or even within on periods
        /// (`on-off-pareto`). In emulation, hosts send `constant` only, and the engine generates the others.
        process;
        /// UDP payload per datagram in bytes.
        payload_bytes: u32 = "payload_bytes" required, integer(PAYLOAD_BYTES)
    }
}

section! {
    /// Web users at the receiving host that fetch pages, one connection per page.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) struct FlowWeb {
        /// Users per flow. Default: 1.
        pub(crate) users: u32 = "users" or(1), integer(USERS);
        /// Mean think time in ns from the end of a page (with `open`, from its start) to the next request, exponentially
        /// distributed.
        mean_think: Duration = "mean_think_ns" required, integer(MEAN_NS);
        /// If true, requests do not wait for earlier pages to complete (open loop); at most 200 at once per user.
        /// Default: false.
        open: bool = "open" or(false), flag();
        /// Mean page size in bytes.
        mean_size: Bytes = "mean_bytes" required, integer(PAGE_BYTES);
        /// Distribution of page sizes. Default: `pareto`.
        is_pareto: bool = "sizes" or(true), word(SIZES);
        /// Shape of Pareto-distributed sizes. Default: 1.2.
        shape: Option<f64> = "shape" optional_if(only("sizes", [PARETO]).or_without()), above(1.0, MAX_SHAPE);
        /// Maximum page size in bytes; larger sizes are truncated to it. Default: 10^12.
        max_size: Bytes = "max_bytes" or(Bytes::new(*PAGE_BYTES.end())), integer(PAGE_BYTES);
    }
}

impl FlowWeb {
    pub(crate) fn web(&self) -> Web {
        Web {
            mean_think: self.mean_think,
            open: self.open,
            mean_size: self.mean_size,
            shape: self.is_pareto.then(|| self.shape.unwrap_or(WEB_SHAPE)),
            max_size: self.max_size,
        }
    }
}
