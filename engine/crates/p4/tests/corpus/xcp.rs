// SPDX-License-Identifier: Apache-2.0
//! The compiled `router.p4` as a test drives it: packets, interval ticks, registers.

use super::support::{Recorder, bits, call, config, entry, exact, fresh, lpm};
use slotwise_p4::{Pipeline, Program};
use slotwise_units::Instant;
use slotwise_wire::{
    ETHERTYPE_IPV4, ETHERTYPE_LINECARD, Ethernet, FlowControl, FlowOp, IP_PROTOCOL_XCP, IntervalTick, IntervalTimer,
    Ipv4, LINECARD_VERSION, LineCardKind, Linecard, PORT_LINECARD, QueueReport, XCP_LENGTH, XCP_VERSION, Xcp,
    XcpFormat,
};
use std::sync::{Arc, LazyLock};

/// The only output with a controller.
pub const OUTPUT: u16 = 2;
const INPUT: u16 = 1;
const TCP: u8 = 6;

/// 1/16 byte/s, the unit of rates in the program.
pub fn rate_of_bps(bps: f64) -> f64 {
    bps * 2.0
}

static EXACT: LazyLock<Arc<Program>> = LazyLock::new(|| compiled("router"));
static SCALED: LazyLock<Arc<Program>> = LazyLock::new(|| compiled("router_scaled"));

fn compiled(name: &str) -> Arc<Program> {
    let path = format!("{}/../../../p4src/p4c-out/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let json = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Arc::new(Program::from_json(&json).unwrap_or_else(|error| panic!("{path}: {error}")))
}

pub struct Router {
    pub pipeline: Pipeline,
}

/// What a timer's tick was answered with.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub op: FlowOp,
    pub next_ns: u64,
}

impl Router {
    /// `capacity` in 1/16 byte/s.
    pub fn new(capacity: u64, overhead_bytes: u64) -> Self {
        Self::of(&EXACT, capacity, overhead_bytes)
    }

    /// The same with the arithmetic of `xcp_scaled.p4`.
    pub fn scaled(capacity: u64, overhead_bytes: u64) -> Self {
        Self::of(&SCALED, capacity, overhead_bytes)
    }

    fn of(program: &Arc<Program>, capacity: u64, overhead_bytes: u64) -> Self {
        let mut pipeline = fresh(Arc::clone(program), config());
        let route = entry(
            vec![lpm(0, 0)],
            0,
            call("RouterIngress.to_port", &[OUTPUT.into(), 0x0200_0000_0001]),
        );
        pipeline.table_insert("RouterIngress.ipv4_route", route).unwrap();
        let mut router = Self { pipeline };
        router.control(OUTPUT, capacity, overhead_bytes);
        router
    }

    /// Gives an output a controller.
    pub fn control(&mut self, output: u16, capacity: u64, overhead_bytes: u64) {
        let action = call("RouterIngress.fixed_capacity", &[capacity, overhead_bytes]);
        let output = entry(vec![exact(output.into())], 0, action);
        self.pipeline.table_insert("RouterIngress.xcp_output", output).unwrap();
    }

    /// Changes the capacity of an output with a controller.
    pub fn set_capacity(&mut self, output: u16, capacity: u64, overhead_bytes: u64) {
        let action = call("RouterIngress.fixed_capacity", &[capacity, overhead_bytes]);
        let output = entry(vec![exact(output.into())], 0, action);
        self.pipeline.table_modify("RouterIngress.xcp_output", output).unwrap();
    }

    /// alpha, beta, gamma in 1/65536; initial round-trip time, least intervals and quantum in ns.
    pub fn set_params(&mut self, params: [u64; 7]) {
        let action = call("RouterIngress.set_xcp_params", &params);
        self.pipeline
            .table_set_default("RouterIngress.xcp_params", Some(action))
            .unwrap();
    }

    fn run(&mut self, port: u16, frame: &[u8]) -> Option<Vec<u8>> {
        let mut recorder = Recorder::default();
        self.pipeline.process(Instant::ZERO, port, frame, &mut recorder);
        assert!(recorder.packets.len() <= 1);
        recorder.packets.pop().map(|(_, frame)| frame)
    }

    /// A tick of one of the timers of `OUTPUT`.
    pub fn tick(
        &mut self,
        timer: IntervalTimer,
        local_ns: u64,
        least_backlog_bytes: u32,
        backlog_bytes: u32,
    ) -> Answer {
        let tick = IntervalTick {
            timer: timer.into(),
            least_backlog_bytes,
            local_ns,
        };
        let report = QueueReport {
            queue: OUTPUT,
            backlog_bytes,
            ..QueueReport::default()
        };
        let linecard = Linecard {
            version: LINECARD_VERSION,
            kind: LineCardKind::IntervalTick.into(),
            port: OUTPUT,
        };
        let mut frame = ethernet(ETHERTYPE_LINECARD);
        frame.extend(linecard.encode());
        frame.extend(tick.encode());
        frame.extend(report.encode());
        let answer = self
            .run(PORT_LINECARD, &frame)
            .expect("a tick of an output is answered");
        let at = Ethernet::SIZE + Linecard::SIZE;
        assert_eq!(
            Linecard::decode(&answer[Ethernet::SIZE..]).unwrap().kind,
            u8::from(LineCardKind::FlowControl)
        );
        let answer = FlowControl::decode(&answer[at..]).unwrap();
        assert_eq!(answer.queue, OUTPUT);
        Answer {
            op: FlowOp::try_from(answer.op).unwrap(),
            next_ns: answer.value,
        }
    }

    /// Sends a packet of `ip_bytes` and returns its header as it leaves.
    pub fn packet(&mut self, ip_bytes: u16, header: &Xcp) -> Xcp {
        let ipv4 = Ipv4 {
            version: 4,
            ihl: 5,
            total_len: ip_bytes,
            ttl: 64,
            protocol: IP_PROTOCOL_XCP,
            ..Ipv4::default()
        };
        let mut frame = ethernet(ETHERTYPE_IPV4);
        frame.extend(ipv4.encode());
        frame.extend(header.encode());
        frame.resize(frame.len().max(Ethernet::SIZE + usize::from(ip_bytes)), 0);
        let out = self.run(INPUT, &frame).expect("a packet is forwarded");
        Xcp::decode(&out[Ethernet::SIZE + Ipv4::SIZE..]).unwrap()
    }

    /// Change that a packet is granted, 1/16 byte/s.
    pub fn feedback(&mut self, ip_bytes: u16, rtt: u32, x: u32, wanted: i32) -> i32 {
        self.packet(ip_bytes, &request(rtt, x, wanted)).delta_throughput as i32
    }

    pub fn read(&self, register: &str) -> u64 {
        self.read_at(register, OUTPUT.into())
    }

    pub fn read_at(&self, register: &str, index: usize) -> u64 {
        let bytes = self.pipeline.register_read(register, index).unwrap();
        bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    pub fn write(&mut self, register: &str, value: u64) {
        self.pipeline
            .register_write(register, OUTPUT.into(), &bits(value))
            .unwrap();
    }

    /// Value of a factor: 32 bits of mantissa, 8 bits of shift.
    pub fn factor(&self, register: &str) -> f64 {
        let factor = self.read(register);
        (factor >> 8) as f64 * 2f64.powi(-((factor & 0xff) as i32))
    }
}

fn ethernet(ether_type: u16) -> Vec<u8> {
    let header = Ethernet {
        dst: 1,
        src: 2,
        ether_type,
    };
    header.encode().to_vec()
}

/// A header that asks for `wanted`.
pub fn request(rtt: u32, x: u32, wanted: i32) -> Xcp {
    Xcp {
        protocol: TCP,
        length: XCP_LENGTH,
        version: XCP_VERSION,
        format: XcpFormat::Standard.into(),
        rtt,
        x,
        delta_throughput: wanted as u32,
        reverse_feedback: 0,
    }
}
