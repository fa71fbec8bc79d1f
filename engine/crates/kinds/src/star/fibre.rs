// SPDX-License-Identifier: Apache-2.0
//! Fibres.

use slotwise_scenario::{Fibre, Light, LinkChange, Optics};
use slotwise_units::{Bytes, Duration, Rate};

use slotwise_random::{Chance, Stream, generator};

/// Whether light comes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    Through,
    Lost,
    Down,
}

/// What one direction of a fibre carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkUse {
    /// Packets that entered while the fibre was up.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Time in which light entered.
    pub busy: Duration,
}

/// What a change did to the light of a pair of fibres; `None` where it stays as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LightChange {
    pub(super) is_up: Option<bool>,
    pub(super) is_weak: Option<bool>,
}

/// One direction of a fibre.
pub(super) struct Direction {
    loss: Chance,
    pub(super) lane: usize,
    pub(super) used: LinkUse,
}

/// A pair of fibres between an edge and a core. What is in a fibre when it goes down, or when its delay changes,
/// arrives as it would have.
pub(super) struct FibrePair {
    pub(super) edge: u16,
    pub(super) core: u16,
    /// The core's port.
    pub(super) port: u16,
    pub(super) rate_bps: u64,
    pub(super) delay_ns: u64,
    /// What the scenario's link changes say.
    up: bool,
    /// What a fault on purpose says: neither mends what the other broke.
    cut: bool,
    attenuation_mdb: u32,
    /// Transmitters and receivers, and how many edges share the core's port; without them light is always good.
    optics: Option<(Optics, usize)>,
    light: Light,
    pub(super) to_core: Direction,
    pub(super) to_edge: Direction,
}

impl FibrePair {
    /// Its lanes are those of these numbers, to the core and to the edge.
    pub(super) fn new(seed: u64, edge: u16, fibre: &Fibre, lanes: [usize; 2]) -> FibrePair {
        let direction = |stream, lane| {
            let random = generator(seed, stream, u64::from(fibre.core) << 16 | u64::from(edge));
            Direction {
                loss: Chance::new(fibre.loss, random),
                lane,
                used: LinkUse::default(),
            }
        };
        FibrePair {
            edge,
            core: fibre.core,
            port: fibre.port,
            rate_bps: fibre.rate.bps(),
            delay_ns: fibre.delay.ns(),
            up: true,
            cut: false,
            attenuation_mdb: fibre.attenuation_mdb,
            optics: None,
            light: Light::Good,
            to_core: direction(Stream::FibreToCore, lanes[0]),
            to_edge: direction(Stream::FibreToEdge, lanes[1]),
        }
    }

    /// The same with these transmitters and receivers, if any, at both ends; `edges` edges share the core's port.
    pub(super) fn with_optics(mut self, optics: Option<Optics>, edges: usize) -> FibrePair {
        self.optics = optics.map(|optics| (optics, edges));
        self.judge_light();
        self
    }

    fn judge_light(&mut self) {
        self.light = self.optics.map_or(Light::Good, |(optics, edges)| {
            optics.light(optics.received_mdbm(self.attenuation_mdb, edges))
        });
    }

    /// Whether light passes, and can be read.
    pub(super) fn is_up(&self) -> bool {
        self.passes_light() && self.light != Light::Lost
    }

    /// Whether light can be read only just.
    pub(super) fn is_weak(&self) -> bool {
        self.passes_light() && self.light == Light::Weak
    }

    fn passes_light(&self) -> bool {
        self.up && !self.cut
    }

    /// Whether a fault has cut it.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// A fault cuts it, or what it cut is mended.
    pub(super) fn set_cut(&mut self, cut: bool) -> LightChange {
        self.changed(|pair| pair.cut = cut)
    }

    pub(super) fn change(&mut self, change: &LinkChange) -> LightChange {
        self.changed(|pair| {
            pair.rate_bps = change.rate.map_or(pair.rate_bps, Rate::bps);
            pair.delay_ns = change.delay.map_or(pair.delay_ns, Duration::ns);
            if let Some(loss) = change.loss {
                pair.to_core.loss.set(loss);
                pair.to_edge.loss.set(loss);
            }
            pair.attenuation_mdb = change.attenuation_mdb.unwrap_or(pair.attenuation_mdb);
            pair.up = change.up.unwrap_or(pair.up);
            pair.judge_light();
        })
    }

    fn changed(&mut self, change: impl FnOnce(&mut FibrePair)) -> LightChange {
        let (was_up, was_weak) = (self.is_up(), self.is_weak());
        change(self);
        let changed = |was: bool, is: bool| (is != was).then_some(is);
        LightChange {
            is_up: changed(was_up, self.is_up()),
            is_weak: changed(was_weak, self.is_weak()),
        }
    }

    pub(super) fn enter_to_core(&mut self, bytes: usize, duration_ns: u64) -> Passage {
        let is_up = self.is_up();
        self.to_core.enter(is_up, bytes, duration_ns)
    }

    pub(super) fn enter_to_edge(&mut self, bytes: usize, duration_ns: u64) -> Passage {
        let is_up = self.is_up();
        self.to_edge.enter(is_up, bytes, duration_ns)
    }
}

impl Direction {
    fn enter(&mut self, up: bool, bytes: usize, duration_ns: u64) -> Passage {
        if !up {
            return Passage::Down;
        }
        self.used.packets += 1;
        self.used.bytes += Bytes::of(bytes);
        self.used.busy += Duration::from_ns(duration_ns);
        if self.loss.comes() {
            return Passage::Lost;
        }
        Passage::Through
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_CHANGE: LinkChange = LinkChange {
        at_ms: 0,
        core: 0,
        edge: 2,
        rate: None,
        delay: None,
        loss: None,
        attenuation_mdb: None,
        up: None,
    };

    fn fibre(loss: f64) -> FibrePair {
        FibrePair::new(
            1,
            2,
            &Fibre {
                core: 0,
                rate: Rate::from_bps(200_000_000),
                delay: Duration::from_ns(100),
                loss,
                port: 2,
                attenuation_mdb: 20_000,
            },
            [0, 1],
        )
    }

    fn passages(pair: &mut FibrePair, packets: usize) -> usize {
        (0..packets)
            .filter(|_| pair.enter_to_core(1000, 40_000) == Passage::Through)
            .count()
    }

    #[test]
    fn loss_takes_its_share() {
        assert_eq!(passages(&mut fibre(0.0), 1000), 1000);
        assert_eq!(passages(&mut fibre(1.0), 1000), 0);
        let through = passages(&mut fibre(0.25), 10_000);
        assert!((7_200..7_800).contains(&through), "{through} of 10000 came through");
    }

    #[test]
    fn directions_lose_independently_and_the_same_each_run() {
        let mut one = fibre(0.5);
        let up: Vec<Passage> = (0..64).map(|_| one.enter_to_core(1, 1)).collect();
        let down: Vec<Passage> = (0..64).map(|_| one.enter_to_edge(1, 1)).collect();
        let mut again = fibre(0.5);
        let up_again: Vec<Passage> = (0..64).map(|_| again.enter_to_core(1, 1)).collect();
        assert_ne!(up, down);
        assert_eq!(up, up_again);
    }

    #[test]
    fn changes_touch_only_what_they_name() {
        let mut pair = fibre(0.0);
        let down = LinkChange {
            up: Some(false),
            ..NO_CHANGE
        };
        assert_eq!(pair.change(&down).is_up, Some(false));
        assert_eq!(pair.change(&down).is_up, None, "it was down already");
        assert_eq!(pair.enter_to_edge(1, 1), Passage::Down);
        assert_eq!((pair.rate_bps, pair.delay_ns), (200_000_000, 100));
        let up = LinkChange {
            up: Some(true),
            delay: Some(Duration::from_ns(7)),
            ..NO_CHANGE
        };
        assert_eq!(pair.change(&up).is_up, Some(true));
        assert_eq!(pair.enter_to_edge(1, 1), Passage::Through);
        assert_eq!((pair.rate_bps, pair.delay_ns), (200_000_000, 7));
    }

    #[test]
    fn attenuation_makes_light_weak_and_then_takes_it() {
        let optics = Optics {
            launch_mdbm: 0,
            sensitivity_mdbm: -28_000,
            margin_mdb: 3_000,
        };
        // Two edges at a port: 3.01 dB.
        let mut pair = fibre(0.0).with_optics(Some(optics), 2);
        let mut attenuate = |attenuation_mdb, up| {
            pair.change(&LinkChange {
                attenuation_mdb: Some(attenuation_mdb),
                up,
                ..NO_CHANGE
            })
        };
        let changed = |is_up, is_weak| LightChange { is_up, is_weak };
        assert_eq!(attenuate(21_990, None), changed(None, None));
        assert_eq!(attenuate(21_991, None), changed(None, Some(true)));
        assert_eq!(attenuate(24_990, None), changed(None, None));
        assert_eq!(attenuate(24_991, None), changed(Some(false), Some(false)));
        assert_eq!(attenuate(24_991, Some(false)), changed(None, None), "cut as well");
        assert_eq!(attenuate(20_000, None), changed(None, None), "still cut");
        assert_eq!(attenuate(24_000, Some(true)), changed(Some(true), Some(true)));
        assert_eq!(attenuate(20_000, None), changed(None, Some(false)));
    }

    #[test]
    fn a_cut_and_a_change_do_not_mend_each_other() {
        let mut pair = fibre(0.0);
        let set_up = |up| LinkChange {
            up: Some(up),
            ..NO_CHANGE
        };
        assert_eq!(pair.set_cut(true).is_up, Some(false));
        assert_eq!(pair.change(&set_up(true)).is_up, None, "still cut");
        assert_eq!(pair.change(&set_up(false)).is_up, None);
        assert_eq!(pair.set_cut(false).is_up, None, "still taken down");
        assert_eq!(pair.change(&set_up(true)).is_up, Some(true));
    }
}
