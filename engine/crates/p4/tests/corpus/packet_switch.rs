// SPDX-License-Identifier: Apache-2.0
//! `ops.p4` to the nanosecond: what its labels reserve, and a model of it in plain numbers.

use super::support::{Recorder, call, config, entry, exact, fresh};
use proptest::prelude::*;
use slotwise_p4::{Pipeline, Program};
use slotwise_units::Instant;
use slotwise_wire::{
    ETHERTYPE_OPTICAL, Ethernet, LABEL_VERSION, Label, NO_FIBRE, OPTICAL_VERSION, Optical, PORT_OPTICAL_BASE, TrainPart,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const WAVELENGTHS: u8 = 2;
const FIBRE_SHIFT: u8 = 2;
const FIBRES: u8 = 4;
/// 1 Gb/s.
const NS_PER_BYTE: u64 = 8;
pub(super) const SOURCE: u16 = 9;
/// By fibre 1, else 2, else 3.
const MESHED: u16 = 1;
const MESHED_FIBRES: [u8; 3] = [1, 2, 3];
/// By fibre 1 only.
pub(super) const ALONE: u16 = 2;
pub(super) const HOPS: u8 = 5;
/// Where a clock of 48 bits goes round, after 78 hours.
const ROUND_NS: u64 = 1 << 48;

#[derive(Debug, Clone, Copy)]
pub(super) struct Switch {
    pub(super) converts: bool,
    pub(super) ns_per_byte: u64,
    pub(super) longest_bytes: u64,
    pub(super) guard_ns: u64,
    pub(super) ram_ns: u64,
}

impl Default for Switch {
    fn default() -> Switch {
        Switch {
            converts: false,
            ns_per_byte: NS_PER_BYTE,
            longest_bytes: 100_000,
            guard_ns: 0,
            ram_ns: 0,
        }
    }
}

impl Switch {
    pub(super) fn pipeline(self) -> Pipeline {
        let path = format!("{}/../../../p4src/p4c-out/ops.json", env!("CARGO_MANIFEST_DIR"));
        let json = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let program = Program::from_json(&json).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut pipeline = fresh(Arc::new(program), config());
        let params = [
            u64::from(WAVELENGTHS),
            u64::from(FIBRE_SHIFT),
            u64::from(self.converts),
            self.ns_per_byte << 16,
            self.longest_bytes,
            0,
            self.guard_ns,
            self.ram_ns,
        ];
        let params = call("OpsIngress.set_ops_params", &params);
        pipeline
            .table_set_default("OpsIngress.ops_params", Some(params))
            .unwrap();
        for (edge, fibres) in [(MESHED, MESHED_FIBRES), (ALONE, [1, NO_FIBRE, NO_FIBRE])] {
            let [first, second, third] = fibres.map(u64::from);
            let to_fibres = call("OpsIngress.to_fibres", &[first, second, third, u64::from(NO_FIBRE)]);
            let route = entry(vec![exact(u64::from(edge))], 0, to_fibres);
            pipeline.table_insert("OpsIngress.label_route", route).unwrap();
        }
        pipeline
    }
}

pub(super) fn port(fibre: u8, wavelength: u8) -> u16 {
    PORT_OPTICAL_BASE + (u16::from(fibre) << FIBRE_SHIFT) + u16::from(wavelength)
}

/// A train, by the fibre and wavelength on which it comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Train {
    fibre: u8,
    wavelength: u8,
    dst_edge: u16,
    length: u32,
    packets: u16,
    deflections_left: u8,
}

pub(super) fn train(fibre: u8, dst_edge: u16, length: u32) -> Train {
    Train {
        fibre,
        wavelength: 0,
        dst_edge,
        length,
        packets: 2,
        deflections_left: 3,
    }
}

fn light(dst_edge: u16, part: TrainPart) -> Optical {
    Optical {
        version: OPTICAL_VERSION,
        src_edge: SOURCE,
        dst_edge,
        train: part as u8,
        ..Optical::default()
    }
}

fn frame(label: Option<Label>, light: Optical) -> Vec<u8> {
    let ethernet = Ethernet {
        ether_type: ETHERTYPE_OPTICAL,
        ..Ethernet::default()
    };
    let label = label.map_or(Vec::new(), |label| label.encode().to_vec());
    [ethernet.encode().to_vec(), label, light.encode().to_vec()].concat()
}

impl Train {
    fn first_frame(self) -> Vec<u8> {
        let label = Label {
            version: LABEL_VERSION,
            src_edge: SOURCE,
            dst_edge: self.dst_edge,
            length: self.length,
            packets: self.packets,
            wavelength: self.wavelength,
            deflections_left: self.deflections_left,
            hops_left: HOPS,
            ..Label::default()
        };
        let part = if self.packets == 1 {
            TrainPart::Only
        } else {
            TrainPart::First
        };
        frame(Some(label), light(self.dst_edge, part))
    }
}

/// Where what comes leaves, and its label's wavelength and deflections left.
pub(super) type Way = Option<(u16, u8, u8)>;

pub(super) fn arrive(switch: &mut Pipeline, now_ns: u64, train: Train) -> Way {
    let mut recorder = Recorder::default();
    let input = port(train.fibre, train.wavelength);
    switch.process(Instant::from_ns(now_ns), input, &train.first_frame(), &mut recorder);
    assert!(recorder.packets.len() <= 1);
    let (port, frame) = recorder.packets.pop()?;
    let label = Label::decode(&frame[Ethernet::SIZE..]).unwrap();
    assert_eq!(label.hops_left, HOPS - 1);
    Some((port, label.wavelength, label.deflections_left))
}

/// Whether a frame behind the label passes.
fn follows(switch: &mut Pipeline, now_ns: u64, train: Train, part: TrainPart) -> bool {
    let mut recorder = Recorder::default();
    let frame = frame(None, light(train.dst_edge, part));
    switch.process(
        Instant::from_ns(now_ns),
        port(train.fibre, train.wavelength),
        &frame,
        &mut recorder,
    );
    !recorder.packets.is_empty()
}

/// Times at which a train of 1000 bytes, 8 us, begins: the clock goes round before it, in it, and after it.
const STARTS_NS: [u64; 5] = [
    1_000_000,
    ROUND_NS - 20_000,
    ROUND_NS - 8_001,
    ROUND_NS - 4_000,
    ROUND_NS - 1,
];

#[test]
fn an_output_is_taken_for_as_long_as_the_label_says() {
    for start_ns in STARTS_NS {
        for guard_ns in [0, 100] {
            let switch = Switch {
                guard_ns,
                ..Switch::default()
            };
            let mut switch = switch.pipeline();
            let end_ns = start_ns + 8_000 + guard_ns;
            assert!(arrive(&mut switch, start_ns, train(0, ALONE, 1_000)).is_some());
            for now_ns in [start_ns, start_ns + 1, start_ns + 4_000, end_ns - 1] {
                assert_eq!(arrive(&mut switch, now_ns, train(2, ALONE, 1_000)), None, "{start_ns}");
            }
            assert!(
                arrive(&mut switch, end_ns, train(2, ALONE, 1_000)).is_some(),
                "{start_ns}"
            );
        }
    }
}

#[test]
fn frames_pass_until_their_train_is_over() {
    for start_ns in STARTS_NS {
        let mut switch = Switch::default().pipeline();
        let first = train(0, ALONE, 1_000);
        assert!(arrive(&mut switch, start_ns, first).is_some());
        for (after_ns, passes) in [(0, true), (8_000, true), (8_001, false)] {
            let now_ns = start_ns + after_ns;
            assert_eq!(
                follows(&mut switch, now_ns, first, TrainPart::Middle),
                passes,
                "{start_ns} {after_ns}"
            );
        }
    }
}

#[test]
fn ram_takes_what_comes_while_no_more_than_its_bytes_are_to_be_sent() {
    // The output works off 1500 bytes; with six of them before it a train is taken, whose first bit then waits for 9000 bytes.
    for start_ns in STARTS_NS {
        let ram = Switch {
            ram_ns: 9_000 * NS_PER_BYTE,
            ..Switch::default()
        };
        let mut switch = ram.pipeline();
        let taken = |switch: &mut Pipeline, now_ns| arrive(switch, now_ns, train(0, ALONE, 1_500)).is_some();
        for count in 0..10 {
            assert_eq!(taken(&mut switch, start_ns), count < 7, "{count}");
        }
        let one_ns = 1_500 * NS_PER_BYTE;
        assert!(!taken(&mut switch, start_ns + one_ns - 1));
        assert!(taken(&mut switch, start_ns + one_ns));
        assert!(!taken(&mut switch, start_ns + one_ns));
    }
}

#[test]
fn an_output_that_was_idle_for_long_is_free() {
    for idle_ns in [ROUND_NS / 4, ROUND_NS / 2 + 9_000, ROUND_NS - 1_000_000] {
        let mut switch = Switch::default().pipeline();
        assert!(arrive(&mut switch, 1_000, train(0, ALONE, 1_000)).is_some());
        assert!(
            arrive(&mut switch, 1_000 + idle_ns, train(2, ALONE, 1_000)).is_some(),
            "after {idle_ns} ns"
        );
        assert!(!follows(
            &mut switch,
            1_000 + idle_ns,
            train(0, ALONE, 1_000),
            TrainPart::Middle
        ));
    }
}

/// The same in plain numbers, which do not go round: when each output is free again.
#[derive(Default)]
struct Model {
    switch: Switch,
    free_ns: BTreeMap<u16, u64>,
}

impl Model {
    fn arrive(&mut self, now_ns: u64, train: Train) -> Way {
        let fibres = MESHED_FIBRES.into_iter().filter(|fibre| *fibre != train.fibre);
        let most = if train.deflections_left == 0 { 1 } else { 3 };
        for (deflected, fibre) in fibres.take(most).enumerate() {
            for step in 0..if self.switch.converts { WAVELENGTHS } else { 1 } {
                let wavelength = (train.wavelength + step) % WAVELENGTHS;
                let free_ns = self.free_ns.entry(port(fibre, wavelength)).or_default();
                let start_ns = now_ns.max(*free_ns);
                if start_ns - now_ns <= self.switch.ram_ns {
                    *free_ns = start_ns + u64::from(train.length) * NS_PER_BYTE + self.switch.guard_ns;
                    let left = train.deflections_left - u8::from(deflected != 0);
                    return Some((port(fibre, wavelength), wavelength, left));
                }
            }
        }
        None
    }
}

prop_compose! {
    fn any_train()(
        gap_ns in 0..6_000u64,
        fibre in 0..FIBRES,
        wavelength in 0..WAVELENGTHS,
        length in 50..3_000u32,
        packets in 1..3u16,
        deflections_left in 0..3u8,
    ) -> (u64, Train) {
        (gap_ns, Train { fibre, wavelength, dst_edge: MESHED, length, packets, deflections_left })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trains_go_as_in_the_model(
        trains in prop::collection::vec(any_train(), 1..200),
        converts in any::<bool>(),
        guard_ns in prop::sample::select(vec![0, 50]),
        ram_ns in prop::sample::select(vec![0, 12_000, 40_000]),
        early_ns in 0..600_000u64,
    ) {
        let switch = Switch { converts, guard_ns, ram_ns, ..Switch::default() };
        let (mut pipeline, mut model) = (switch.pipeline(), Model { switch, ..Model::default() });
        let mut now_ns = ROUND_NS - early_ns;
        for (gap_ns, train) in trains {
            now_ns += gap_ns;
            prop_assert_eq!(arrive(&mut pipeline, now_ns, train), model.arrive(now_ns, train), "{:?} at {}", train, now_ns);
        }
    }
}
