// SPDX-License-Identifier: Apache-2.0
//! The list of the kinds of networks, a folder each: construction, behaviour of nodes and ends of lanes, checks
//! and measurements. A kind is given a [`Build`], then [`Effects`] at each call, and nothing else of the net. It is
//! named once, in the list below.

use slotwise_cards::card::{Action, Pass, Record};
use slotwise_cards::packet::{Flying, Frame, Origin};
use slotwise_p4::Port;
use slotwise_scenario::{Device, LinkChange, Scenario};
use slotwise_units::{Instant, SignedDuration};

use crate::build::{Build, Plan};
use crate::kind::Kind;
use slotwise_net::around::{Around, Beyond};
use slotwise_net::capture::CapturePoint;
use slotwise_net::effects::Effects;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::OwnEnd;
use slotwise_net::outside::Crossing;
use slotwise_net::ticket::{Owner, Ticket};
use slotwise_net::work::Ask;

/// Access to a kind among all.
pub trait Listed: Sized {
    #[doc(hidden)]
    fn of(kinds: &Kinds) -> Option<&Self>;
    #[doc(hidden)]
    fn of_mut(kinds: &mut Kinds) -> Option<&mut Self>;
}

/// The list of kinds, in order of construction: a folder and its type each.
macro_rules! kinds {
    ($($name:ident: $kind:ty,)+) => {
        /// Parts of a network, by kind.
        #[derive(Default)]
        pub struct Kinds {
            $($name: Option<Box<$kind>>,)+
        }

        #[expect(non_camel_case_types, reason = "words of the list")]
        #[repr(u8)]
        enum Word {
            $($name,)+
        }

        impl Kinds {
            /// Builds what a scenario has of each.
            pub(crate) fn build(plan: &Plan<'_>, build: &mut Build) -> Kinds {
                let mut kinds = Kinds::default();
                $(if <$kind>::is_in(plan.scenario) {
                    build.begin(Word::$name as Owner);
                    kinds.$name = Some(Box::new(<$kind>::build(plan, build)));
                })+
                kinds
            }

            /// Rules of what a scenario has.
            pub(crate) fn checks(scenario: &Scenario) -> Vec<Invariant> {
                let mut checks = Vec::new();
                $(if <$kind>::is_in(scenario) {
                    checks.extend_from_slice(<$kind>::CHECKS);
                })+
                checks
            }

            /// Rules that cannot be checked with switches outside.
            pub(crate) fn checks_inside() -> Vec<Invariant> {
                [$(<$kind>::CHECKS_INSIDE,)+].concat()
            }
        }

        $(impl Listed for $kind {
            fn of(kinds: &Kinds) -> Option<&$kind> {
                kinds.$name.as_deref()
            }

            fn of_mut(kinds: &mut Kinds) -> Option<&mut $kind> {
                kinds.$name.as_deref_mut()
            }
        })+

        /// Calls the kind of a number.
        macro_rules! of_owner {
            ($kinds:expr, $owner:expr, $method:ident $arguments:tt) => {
                match $owner {
                    $(owner if owner == Word::$name as Owner => match &mut $kinds.$name {
                        Some(kind) => kind.$method $arguments,
                        None => unreachable!("nodes and ends of lanes are of kinds that were built"),
                    },)+
                    _ => unreachable!("owners are in the list of kinds"),
                }
            };
        }

        /// Calls each kind that is there; gives the results.
        macro_rules! of_each {
            (&$kinds:expr, |$kind_there:ident| $call:expr) => {
                [$(match &$kinds.$name {
                    Some($kind_there) => Some($call),
                    None => None,
                },)+]
            };
            (&mut $kinds:expr, |$kind_there:ident| $call:expr) => {
                [$(match &mut $kinds.$name {
                    Some($kind_there) => Some($call),
                    None => None,
                },)+]
            };
        }
    };
}

kinds! {
    star: crate::star::Star,
    routed: crate::routed::Routed,
    ring: crate::ring::Ring,
    ops: crate::ops::Ops,
}

impl Beyond for Kinds {
    #[inline]
    fn acts(&mut self, fx: &mut Effects<'_>, node: usize, action: Action) {
        of_owner!(self, fx.look().owner(node), acts(fx, node, action));
    }
}

impl Around for Kinds {
    #[inline]
    fn leaves(&mut self, origin: Origin, bytes: usize) {
        if let Origin::Fibre { .. } = origin {
            let _ = of_each!(&mut self, |kind| kind.leaves(origin, bytes));
        }
    }

    fn comes_late(&mut self, fx: &mut Effects<'_>, end: OwnEnd, frame: Frame) {
        of_owner!(self, end.owner, comes_late(fx, end, frame));
    }

    fn changes_light(&mut self, fx: &mut Effects<'_>, node: usize) {
        of_owner!(self, fx.look().owner(node), changes_light(fx, node));
    }

    fn overdue(&mut self, fx: &mut Effects<'_>, crossing: &Crossing) {
        let node = fx.node(crossing.device);
        of_owner!(self, fx.look().owner(node), overdue(fx, crossing));
    }

    fn reports(&mut self, now: Instant, frame: &[u8]) {
        let _ = of_each!(&mut self, |kind| kind.reports(now, frame));
    }

    fn passed(&mut self, fx: &mut Effects<'_>, ticket: Ticket, pass: Pass) {
        of_owner!(self, ticket.owner, passed(fx, ticket.number, pass));
    }

    fn goes_on(&mut self, fx: &mut Effects<'_>, ticket: Ticket) {
        of_owner!(self, ticket.owner, goes_on(fx, ticket.number));
    }
}

impl Kinds {
    /// Takes a packet at the end of a lane. Returns one that enters P4 at once.
    #[inline]
    pub(crate) fn arrives(&mut self, fx: &mut Effects<'_>, end: OwnEnd, flying: Flying) -> Option<Ask> {
        of_owner!(self, end.owner, arrives(fx, end, flying))
    }

    /// Takes a record of a node, after the event.
    pub(crate) fn seen(&mut self, fx: &mut Effects<'_>, node: usize, record: &Record) {
        of_owner!(self, fx.look().owner(node), seen(fx, node, record));
    }

    pub(crate) fn starts(&mut self, fx: &mut Effects<'_>, device: Device) {
        let node = fx.node(device);
        of_owner!(self, fx.look().owner(node), starts(fx, device));
    }

    pub(crate) fn stops(&mut self, fx: &mut Effects<'_>, device: Device) {
        let node = fx.node(device);
        of_owner!(self, fx.look().owner(node), stops(fx, device));
    }

    pub(crate) fn step_clocks(&mut self, fx: &mut Effects<'_>, device: Device, step: SignedDuration) {
        let node = fx.node(device);
        of_owner!(self, fx.look().owner(node), step_clocks(fx, device, step));
    }

    /// Port at which a link of the scenario begins, where links have numbers.
    pub(crate) fn port_of_link(&self, link: usize) -> Option<(Device, Port)> {
        of_each!(&self, |kind| kind.port_of_link(link))
            .into_iter()
            .flatten()
            .flatten()
            .next()
    }

    /// Places of captures beside ports.
    pub(crate) fn capture_points(&self) -> Vec<CapturePoint> {
        let points = of_each!(&self, |kind| kind.capture_points());
        points.into_iter().flatten().flatten().collect()
    }

    pub(crate) fn change_fibres(&mut self, fx: &mut Effects<'_>, change: &LinkChange) {
        let _ = of_each!(&mut self, |kind| kind.change_fibres(fx, change));
    }

    /// Cuts a pair of fibres, or restores it. False if nothing changes.
    pub(crate) fn cut_fibres(&mut self, fx: &mut Effects<'_>, ends: (u16, u16), is_cut: bool) -> bool {
        let changed = of_each!(&mut self, |kind| kind.cut_fibres(fx, ends, is_cut));
        changed.contains(&Some(true))
    }

    /// Starts to watch the recovery from a fault. False if flows are watched instead.
    pub(crate) fn watches(&mut self, fx: &mut Effects<'_>, fault: usize) -> bool {
        of_each!(&mut self, |kind| kind.watches(fx, fault)).contains(&Some(true))
    }
}
