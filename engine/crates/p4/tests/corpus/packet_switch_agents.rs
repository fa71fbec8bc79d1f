// SPDX-License-Identifier: Apache-2.0
//! `ops.p4`'s agents: feedback against real arithmetic, and paced macroflows that obey it.

use super::packet_switch::{ALONE, HOPS, SOURCE, Switch, WAVELENGTHS, arrive, port, train};
use super::support::{Recorder, call, entry, exact};
use proptest::prelude::*;
use slotwise_p4::Pipeline;
use slotwise_units::Instant;
use slotwise_wire::{
    ETHERTYPE_LINECARD, ETHERTYPE_OPTICAL, Ethernet, IntervalTick, IntervalTimer, LABEL_VERSION, LINECARD_VERSION,
    Label, LabelKind, LineCardKind, Linecard, NO_FEEDBACK, PORT_LINECARD, PROBE_SATISFIED, Probe, QueueReport,
};

const PERIOD_NS: u64 = 50_000_000;
const PERIODS_PER_S: f64 = 20.0;
/// 1 Gb/s in byte/s.
const CAPACITY: u64 = 125_000_000;
const LONGEST_BYTES: u32 = (1 << 24) - 1;
/// The paper's 0.2, 0.056 and 0.1.
const ALPHA_Q16: u64 = 13_107;
const BETA_Q16: u64 = 3_670;
const GAMMA_Q16: u64 = 6_554;

/// An output with an agent.
struct Agent {
    switch: Pipeline,
    now_ns: u64,
}

impl Agent {
    /// With a target in byte/s. Trains take no time, so all find room.
    fn new(target: u64) -> Agent {
        let switch = Switch {
            ns_per_byte: 0,
            longest_bytes: u64::from(LONGEST_BYTES),
            ..Switch::default()
        };
        let mut switch = switch.pipeline();
        let params = [ALPHA_Q16, BETA_Q16, GAMMA_Q16, PERIOD_NS, PERIOD_NS, PERIOD_NS, 0];
        let params = call("OpsIngress.set_xcp_params", &params);
        switch.table_set_default("OpsIngress.xcp_params", Some(params)).unwrap();
        let agent = entry(
            vec![exact(u64::from(port(1, 0)))],
            0,
            call("OpsIngress.set_target", &[16 * target]),
        );
        switch.table_insert("OpsIngress.agent", agent).unwrap();
        let mut agent = Agent { switch, now_ns: 0 };
        agent.end_period(0);
        agent
    }

    fn process(&mut self, port: u16, parts: &[&[u8]]) -> (u16, Vec<u8>) {
        let mut recorder = Recorder::default();
        self.switch
            .process(Instant::from_ns(self.now_ns), port, &parts.concat(), &mut recorder);
        assert_eq!(recorder.packets.len(), 1, "{recorder:?}");
        recorder.packets.remove(0)
    }

    /// A period is over in which so much has always waited.
    fn end_period(&mut self, queue_bytes: u32) {
        self.now_ns += PERIOD_NS;
        for timer in [IntervalTimer::Queue, IntervalTimer::Control] {
            let ethernet = Ethernet {
                ether_type: ETHERTYPE_LINECARD,
                ..Ethernet::default()
            };
            let card = Linecard {
                version: LINECARD_VERSION,
                kind: LineCardKind::IntervalTick as u8,
                port: port(1, 0),
            };
            let tick = IntervalTick {
                timer: timer as u8,
                least_backlog_bytes: queue_bytes,
                local_ns: self.now_ns,
            };
            let report = QueueReport {
                queue: port(1, 0),
                ..QueueReport::default()
            };
            let parts: [&[u8]; 4] = [&ethernet.encode(), &card.encode(), &tick.encode(), &report.encode()];
            assert_eq!(self.process(PORT_LINECARD, &parts).0, PORT_LINECARD);
        }
    }

    fn carry(&mut self, bytes: u32) {
        assert!(arrive(&mut self.switch, self.now_ns, train(0, ALONE, bytes)).is_some());
    }

    /// What a macroflow that has sent so many bytes is told, byte/s.
    fn ask(&mut self, sent_bytes: u32, is_satisfied: bool) -> i32 {
        let ethernet = Ethernet {
            ether_type: ETHERTYPE_OPTICAL,
            ..Ethernet::default()
        };
        let label = Label {
            version: LABEL_VERSION,
            kind: LabelKind::Probe as u8,
            src_edge: SOURCE,
            dst_edge: ALONE,
            hops_left: HOPS,
            ..Label::default()
        };
        let probe = Probe {
            sent_bytes,
            feedback: NO_FEEDBACK,
            flags: if is_satisfied { PROBE_SATISFIED } else { 0 },
            ..Probe::default()
        };
        let parts: [&[u8]; 3] = [&ethernet.encode(), &label.encode(), &probe.encode()];
        let (leaves_by, frame) = self.process(port(0, WAVELENGTHS), &parts);
        assert_eq!(leaves_by, port(1, WAVELENGTHS));
        Probe::decode(&frame[Ethernet::SIZE + Label::SIZE..]).unwrap().feedback as i32
    }
}

/// A period: what has come, of how many macroflows, what waited, and what the one that asks has sent of it.
#[derive(Debug, Clone)]
struct Period {
    arrived: u32,
    probes: u32,
    queue_bytes: u32,
    sent: u32,
}

impl Period {
    /// What it gives to each, and takes from the one that asks.
    fn shares(&self, target: u64) -> (f64, f64) {
        let q16 = |factor: u64| factor as f64 / 65_536.0;
        let arriving = f64::from(self.arrived) * PERIODS_PER_S;
        let waiting = f64::from(self.queue_bytes) * PERIODS_PER_S;
        let phi = q16(ALPHA_Q16) * (target as f64 - arriving) - q16(BETA_Q16) * waiting;
        let shuffled = (q16(GAMMA_Q16) * arriving - phi.abs()).max(0.0);
        let give = (shuffled + phi.max(0.0)) / f64::from(self.probes);
        let take = f64::from(self.sent) / f64::from(self.arrived) * (shuffled + (-phi).max(0.0));
        (give, take)
    }
}

prop_compose! {
    fn any_period()(arrived in 1_000..LONGEST_BYTES, probes in 1..60u32, queue_bytes in 0..20_000u32, part in 0.0..1.0f64) -> Period {
        Period { arrived, probes, queue_bytes, sent: (f64::from(arrived) * part) as u32 }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn feedback_is_as_exact_as_two_bytes_a_second(periods in prop::collection::vec(any_period(), 1..25), target in 1_000_000..4 * CAPACITY) {
        let mut agent = Agent::new(target);
        for period in periods {
            agent.carry(period.arrived);
            for _ in 0..period.probes {
                agent.ask(0, false);
            }
            agent.end_period(period.queue_bytes);
            let (give, take) = period.shares(target);
            let told = f64::from(agent.ask(period.sent, false));
            let off = (told - (give - take)).abs();
            prop_assert!(off <= 2.0 + (give + take) / f64::from(1 << 26), "told {told}, exact {}, {period:?}", give - take);
            agent.end_period(0);
        }
    }
}

/// One packet of 1500 bytes a period, byte/s.
const FLOOR: f64 = 1_500.0 * PERIODS_PER_S;

/// The mean load over the last half of 20 s, by the target, of so many macroflows that always have something to send and as many that use a
/// fiftieth of what those do. Edges obey as docs/ops.md says; unless they `spare`, no macroflow ever says that it is satisfied.
fn load_by_target(target: u64, backlogged: usize, modest: usize, spare: bool) -> f64 {
    let mut agent = Agent::new(target);
    let mut allowed = vec![FLOOR; backlogged + modest];
    let mut carried = 0.0;
    for period in 0..400 {
        let greedy = allowed[0];
        for (number, allowed) in allowed.iter_mut().enumerate() {
            let wanted = if number < backlogged {
                f64::INFINITY
            } else {
                (greedy / 50.0).max(FLOOR)
            };
            let sent = (allowed.min(wanted) / PERIODS_PER_S).round();
            let rate = sent * PERIODS_PER_S;
            agent.carry(sent as u32);
            if period >= 200 {
                carried += sent;
            }
            let is_satisfied = spare && rate < 0.875 * *allowed;
            let feedback = f64::from(agent.ask(sent as u32, is_satisfied));
            *allowed = allowed.min(2.0 * rate) + feedback;
            *allowed = allowed.max(FLOOR);
        }
        agent.end_period(0);
    }
    carried / 10.0 / target as f64
}

#[test]
fn macroflows_settle_at_the_target() {
    for percent in [30, 50, 70, 90, 100] {
        let load = load_by_target(CAPACITY * percent / 100, 13, 0, false);
        assert!((0.99..1.01).contains(&load), "{load} of {percent} %");
    }
}

#[test]
fn what_the_satisfied_cannot_use_is_given_to_the_others() {
    let as_printed = load_by_target(CAPACITY, 13, 13, false);
    assert!((0.75..0.85).contains(&as_printed), "{as_printed}");
    let spared = load_by_target(CAPACITY, 13, 13, true);
    assert!((0.99..1.001).contains(&spared), "{spared}");
}
