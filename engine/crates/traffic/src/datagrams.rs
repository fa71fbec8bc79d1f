// SPDX-License-Identifier: Apache-2.0
//! Sources and sinks of UDP datagrams.

use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng};
use rand_pcg::{Pcg64, Pcg64Mcg};
use slotwise_scenario::{Flow, HostId, OnOff, Process, Scenario, TrafficKind, edge_mac};
use slotwise_transport::{Arrivals, Departures};
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{DATAGRAM_HEADER_BYTES, ETHERTYPE_IPV4, Ethernet, IP_PROTOCOL_UDP, Ipv4, UDP_HEADER_BYTES};

use super::DelayUse;
use super::{DelaySummary, FlowResult, mac_number};
use slotwise_cards::measure::delays;
use slotwise_cards::packet::Frame;
use slotwise_random as random;

const PORT_DISCARD: u16 = 9;
const FIRST_SOURCE_PORT: u16 = 49_152;
const TTL: u8 = 64;
/// In each datagram: flow (4 bytes), sequence (8), time of sending in ns (8).
const STAMP_BYTES: usize = 20;
const HEADER_BYTES: usize = Ethernet::SIZE + DATAGRAM_HEADER_BYTES;

struct DatagramFlow {
    flow: Flow,
    rate_bps: u64,
    payload_bytes: usize,
    departures: Departures,
    end_ns: u64,
    /// What all times are later than the scenario's by.
    late_ns: u64,
    sent_packets: u64,
    sent_bytes: u64,
    received_packets: u64,
    received_bytes: u64,
    delays: Histogram<u64>,
    delay_sum_ns: u128,
    delay_range_ns: (u64, u64),
    lately: DelayUse,
}

/// All UDP flows of a scenario.
#[derive(Default)]
pub(crate) struct Datagrams {
    flows: Vec<DatagramFlow>,
}

impl Datagrams {
    /// Those that are played here. What a flow draws does not depend on which others are.
    pub(crate) fn new(scenario: &Scenario, seed: u64, is_played: impl Fn(&Flow) -> bool) -> Datagrams {
        let phases = (0..scenario.phases.len()).map(|phase| (scenario.phase_times(phase), scenario.flows(phase)));
        let flows = phases.flat_map(|(times, flows)| flows.into_iter().map(move |flow| (times, flow)));
        let datagrams = flows.filter(|(_, flow)| matches!(flow.kind, TrafficKind::Udp { .. }));
        let played = datagrams.enumerate().filter(|(_, (_, flow))| is_played(flow));
        let flows = played.filter_map(|(number, (times, flow))| {
            let random = random::generator(seed, random::Stream::Source, number as u64);
            DatagramFlow::new(flow, times, random)
        });
        Datagrams { flows: flows.collect() }
    }

    /// The flows of a phase begin so much later, modulo 2^64 ns; (flow, time) of every source's first datagram.
    pub(crate) fn begin_phase(&mut self, phase: usize, late_ns: u64) -> Vec<(usize, u64)> {
        let flows = self.flows.iter_mut().enumerate();
        let of_phase = flows.filter(|(_, flow)| flow.flow.phase == phase);
        let starts = of_phase.filter_map(|(index, flow)| {
            flow.late_ns = late_ns;
            Some((index, flow.next_ns()?))
        });
        starts.collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.flows.len()
    }

    /// (flow, time) of every source's first datagram.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let flows = self.flows.iter().enumerate();
        flows.filter_map(|(index, flow)| flow.next_ns().map(|next_ns| (index, next_ns)))
    }

    /// Sending host of a flow.
    pub(crate) fn host_of(&self, index: usize) -> HostId {
        self.flows[index].flow.from
    }

    /// Writes the flow's next datagram into `frame`: who sends it, and when the next one leaves.
    pub(crate) fn turn(&mut self, index: usize, now_ns: u64, frame: &mut Frame) -> (HostId, Option<u64>) {
        let flow = &mut self.flows[index];
        flow.write_datagram(index as u32, now_ns, frame);
        flow.sent_packets += 1;
        flow.sent_bytes += flow.payload_bytes as u64;
        flow.departures.advance();
        (flow.flow.from, flow.next_ns())
    }

    /// Takes a frame that arrived at a host; false if it is not for it.
    pub(crate) fn receive(&mut self, host: HostId, now_ns: u64, frame: &[u8]) -> bool {
        match read_datagram(frame, host) {
            Some(stamp) => self
                .flows
                .get_mut(stamp.flow as usize)
                .is_some_and(|flow| flow.receive(host, now_ns, &stamp)),
            None => false,
        }
    }

    pub(crate) fn take_delays(&mut self) -> impl Iterator<Item = (Flow, DelayUse)> + '_ {
        let flows = self.flows.iter_mut();
        flows.map(|flow| (flow.flow, std::mem::take(&mut flow.lately)))
    }

    pub(crate) fn results(&self) -> impl Iterator<Item = FlowResult> + '_ {
        self.flows.iter().map(DatagramFlow::result)
    }
}

impl DatagramFlow {
    /// The source of a `udp` flow; `None` for others.
    fn new(flow: Flow, (start, end): (Instant, Instant), mut random: Pcg64Mcg) -> Option<DatagramFlow> {
        let TrafficKind::Udp {
            rate,
            payload_bytes,
            process,
        } = flow.kind
        else {
            return None;
        };
        let (rate_bps, start_ns, end_ns) = (rate.bps(), start.ns(), end.ns());
        let gap_ns = payload_ns(payload_bytes.into(), rate_bps).max(1);
        // Sources of one rate would otherwise all send at the same nanosecond.
        let first_ns = start_ns + random.random_range(0..gap_ns);
        let arrivals = arrivals(process, rate_bps);
        let departures = Departures::new(
            arrivals,
            payload_bytes as u16,
            Instant::from_ns(first_ns),
            Pcg64::from_rng(&mut random),
        )
        .expect("a scenario's rates, times and shapes are within the source's bounds");
        Some(DatagramFlow {
            flow,
            rate_bps: mean_bps(process, rate_bps),
            payload_bytes: payload_bytes as usize,
            departures,
            end_ns,
            late_ns: 0,
            sent_packets: 0,
            sent_bytes: 0,
            received_packets: 0,
            received_bytes: 0,
            delays: delays(),
            delay_sum_ns: 0,
            delay_range_ns: (u64::MAX, 0),
            lately: DelayUse::default(),
        })
    }

    /// When the next datagram leaves, unless the phase is over then.
    fn next_ns(&self) -> Option<u64> {
        let next_ns = Some(self.departures.next().ns()).filter(|next_ns| *next_ns < self.end_ns);
        next_ns.map(|next_ns| next_ns.wrapping_add(self.late_ns))
    }

    fn write_datagram(&self, index: u32, now_ns: u64, frame: &mut Frame) {
        let Flow { from, to, .. } = self.flow;
        let ethernet = Ethernet {
            dst: mac_number(edge_mac(from.edge)),
            src: mac_number(from.mac()),
            ether_type: ETHERTYPE_IPV4,
        };
        let udp_len = UDP_HEADER_BYTES + self.payload_bytes;
        let mut ipv4 = Ipv4 {
            version: 4,
            ihl: 5,
            total_len: (Ipv4::SIZE + udp_len) as u16,
            identification: self.sent_packets as u16,
            ttl: TTL,
            protocol: IP_PROTOCOL_UDP,
            src: from.ip().to_bits(),
            dst: to.ip().to_bits(),
            ..Ipv4::default()
        };
        ipv4.checksum = internet_checksum(&ipv4.encode());
        frame.clear();
        frame.extend_from_slice(&ethernet.encode());
        frame.extend_from_slice(&ipv4.encode());
        frame.extend_from_slice(&ports(index));
        frame.extend_from_slice(&(udp_len as u16).to_be_bytes());
        // IPv4 lets a UDP sender do without a checksum.
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(&index.to_be_bytes());
        frame.extend_from_slice(&self.sent_packets.to_be_bytes());
        frame.extend_from_slice(&now_ns.to_be_bytes());
        frame.resize(HEADER_BYTES + self.payload_bytes, 0);
    }

    fn receive(&mut self, host: HostId, now_ns: u64, stamp: &Stamp) -> bool {
        let delay_ns = now_ns.checked_sub(stamp.sent_ns);
        let (Some(delay_ns), true) = (delay_ns, self.flow.to == host) else {
            return false;
        };
        self.received_packets += 1;
        self.received_bytes += stamp.payload_bytes;
        self.lately.add(Duration::from_ns(delay_ns));
        self.delays.saturating_record(delay_ns);
        self.delay_sum_ns += u128::from(delay_ns);
        let (min_ns, max_ns) = self.delay_range_ns;
        self.delay_range_ns = (min_ns.min(delay_ns), max_ns.max(delay_ns));
        true
    }

    fn result(&self) -> FlowResult {
        let delay = (self.received_packets > 0).then(|| DelaySummary {
            min: Duration::from_ns(self.delay_range_ns.0),
            mean: Duration::from_ns((self.delay_sum_ns / u128::from(self.received_packets)) as u64),
            p99: Duration::from_ns(self.delays.value_at_quantile(0.99).min(self.delay_range_ns.1)),
            max: Duration::from_ns(self.delay_range_ns.1),
        });
        FlowResult {
            flow: self.flow,
            offered: Some(Rate::from_bps(self.rate_bps)),
            sent_packets: self.sent_packets,
            sent_bytes: Bytes::new(self.sent_bytes),
            received_packets: self.received_packets,
            received_bytes: Bytes::new(self.received_bytes),
            delay,
            start: None,
            completed: None,
            stream: None,
            pages: None,
        }
    }
}

/// The transports' name for a scenario's process.
pub(crate) fn arrivals(process: Process, rate_bps: u64) -> Arrivals {
    let rate = Rate::from_bps(rate_bps);
    match process {
        Process::Constant => Arrivals::Constant { rate },
        Process::Poisson => Arrivals::Poisson { rate },
        Process::OnOffPareto(OnOff {
            mean_on,
            mean_off,
            shape,
        }) => Arrivals::OnOffPareto {
            peak: rate,
            mean_on,
            mean_off,
            shape,
        },
    }
}

/// The rate in the long run.
fn mean_bps(process: Process, rate_bps: u64) -> u64 {
    match process {
        Process::Constant | Process::Poisson => rate_bps,
        Process::OnOffPareto(OnOff { mean_on, mean_off, .. }) => {
            (u128::from(rate_bps) * u128::from(mean_on.ns()) / u128::from((mean_on + mean_off).ns())) as u64
        }
    }
}

fn payload_ns(payload_bytes: u64, rate_bps: u64) -> u64 {
    Rate::from_bps(rate_bps)
        .time_rounded_down(Bytes::new(payload_bytes))
        .ns()
}

/// Ports of a flow's datagrams, source first.
fn ports(flow: u32) -> [u8; 4] {
    let source = FIRST_SOURCE_PORT + (flow % 16_384) as u16;
    let ([a, b], [c, d]) = (source.to_be_bytes(), PORT_DISCARD.to_be_bytes());
    [a, b, c, d]
}

struct Stamp {
    flow: u32,
    sent_ns: u64,
    payload_bytes: u64,
}

/// Whether a frame is UDP, as far as its headers say.
pub(crate) fn is_datagram(frame: &[u8]) -> bool {
    let ip = frame.get(Ethernet::SIZE..).and_then(Ipv4::decode);
    ip.is_some_and(|ipv4| ipv4.protocol == IP_PROTOCOL_UDP)
}

/// Reads a datagram of a source if it is a whole one for this host.
fn read_datagram(frame: &[u8], host: HostId) -> Option<Stamp> {
    let ethernet = Ethernet::decode(frame)?;
    let ip = frame.get(Ethernet::SIZE..)?;
    let ipv4 = Ipv4::decode(ip)?;
    let for_host = ethernet.dst == mac_number(host.mac()) && ipv4.dst == host.ip().to_bits();
    let whole = ipv4.ihl == 5 && usize::from(ipv4.total_len) == ip.len() && internet_checksum(&ip[..Ipv4::SIZE]) == 0;
    if !for_host || !whole || ethernet.ether_type != ETHERTYPE_IPV4 || ipv4.protocol != IP_PROTOCOL_UDP {
        return None;
    }
    let stamp: &[u8; STAMP_BYTES] = frame.get(HEADER_BYTES..HEADER_BYTES + STAMP_BYTES)?.try_into().ok()?;
    let (flow, rest) = stamp.split_first_chunk::<4>()?;
    // Others may send datagrams of their own to the host.
    if !ip[Ipv4::SIZE..].starts_with(&ports(u32::from_be_bytes(*flow))) {
        return None;
    }
    let sent_ns = rest.last_chunk::<8>()?;
    Some(Stamp {
        flow: u32::from_be_bytes(*flow),
        sent_ns: u64::from_be_bytes(*sent_ns),
        payload_bytes: (frame.len() - HEADER_BYTES) as u64,
    })
}

/// Marks an IPv4 packet of a host, whose checksum stays right.
pub(crate) fn set_dscp(packet: &mut [u8], dscp: u8) {
    const CHECKSUM: usize = 10;
    let Some(header) = packet.get_mut(..Ipv4::SIZE) else {
        return;
    };
    header[1] = dscp << 2 | header[1] & 0b11;
    header[CHECKSUM..CHECKSUM + 2].fill(0);
    let checksum = internet_checksum(header);
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// RFC 1071; 0 over a header whose checksum is right.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_changes_the_dscp_and_the_checksum_only() {
        let mut packet = Ipv4 {
            version: 4,
            ihl: 5,
            ecn: 2,
            total_len: 40,
            protocol: IP_PROTOCOL_UDP,
            ..Ipv4::default()
        }
        .encode();
        set_dscp(&mut packet, 46);
        let marked = Ipv4::decode(&packet).unwrap();
        assert_eq!((marked.dscp, marked.ecn, marked.total_len), (46, 2, 40));
        assert_eq!(internet_checksum(&packet), 0);
        set_dscp(&mut packet[..10], 3);
        assert_eq!(Ipv4::decode(&packet).unwrap().dscp, 46, "too short to be one");
    }

    fn traffic(entry: &str) -> Datagrams {
        let star = include_str!("../../../../topologies/star4.yaml");
        let head = &star[..star.find("phases:").unwrap()];
        let text = format!("{head}phases:\n  - {{name: one, duration_ms: 100, flows: [{entry}]}}\n");
        Datagrams::new(&Scenario::parse(text.as_bytes()).unwrap(), 1, |_| true)
    }

    /// Runs one flow into its sink with this delay; the times of sending.
    fn run(traffic: &mut Datagrams, delay_ns: u64) -> Vec<u64> {
        let (index, mut now_ns) = traffic.starts().next().unwrap();
        let to = traffic.flows[index].flow.to;
        let mut times = Vec::new();
        let mut frame = Frame::new();
        loop {
            let (_, sent) = traffic.turn(index, now_ns, &mut frame);
            times.push(now_ns);
            // What the far edge does.
            frame[..6].copy_from_slice(&to.mac());
            assert!(traffic.receive(to, now_ns + delay_ns, &frame));
            let Some(next_ns) = sent else { break };
            now_ns = next_ns;
        }
        times
    }

    #[test]
    fn a_constant_source_keeps_its_rate_without_drift() {
        let mut traffic =
            traffic("{from: h0_0, to: h1_0, udp: {rate_bps: 3000000, payload_bytes: 1000, process: constant}}");
        let times = run(&mut traffic, 250);
        // 2666666.67 ns apart for 100 ms.
        assert!((37..=38).contains(&times.len()), "{} datagrams", times.len());
        assert_eq!(times[36] - times[0], 96_000_000);
        let result = traffic.results().next().unwrap();
        let sent = times.len() as u64;
        assert_eq!(
            (result.received_packets, result.received_bytes),
            (sent, Bytes::new(sent * 1000))
        );
        let delay = result.delay.unwrap();
        assert_eq!(
            [delay.min, delay.mean, delay.p99, delay.max],
            [Duration::from_ns(250); 4]
        );
    }

    #[test]
    fn a_poisson_source_keeps_its_mean() {
        let mut traffic =
            traffic("{from: h0_0, to: h1_0, udp: {rate_bps: 80000000, payload_bytes: 100, process: poisson}}");
        let sent = run(&mut traffic, 1).len();
        assert!(
            (9_700..10_300).contains(&sent),
            "{sent} datagrams where 10000 are the mean"
        );
    }

    #[test]
    fn an_on_off_source_sends_bursts_at_its_rate_and_is_silent_between_them() {
        let mut traffic = traffic(
            "{from: h0_0, to: h1_0, udp: {rate_bps: 8000000, payload_bytes: 100, process: on-off-pareto, \
             mean_on_ns: 1000000, mean_off_ns: 1000000, shape: 1.5}}",
        );
        let times = run(&mut traffic, 1);
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // 100 us in a burst, at least the third of the mean silence between two.
        let (within, between): (Vec<u64>, Vec<u64>) = gaps.iter().partition(|gap| **gap <= 100_000);
        assert!(
            within.len() > 100 && between.len() > 5,
            "{} and {}",
            within.len(),
            between.len()
        );
        assert!(within.iter().all(|gap| *gap == 100_000));
        assert!(between.iter().all(|gap| *gap >= 333_333));
        assert_eq!(
            traffic.results().next().unwrap().offered,
            Some(Rate::from_bps(4_000_000))
        );
    }

    #[test]
    fn a_sink_takes_only_whole_datagrams_for_its_host() {
        let mut traffic =
            traffic("{from: h0_0, to: h1_0, udp: {rate_bps: 8000, payload_bytes: 64, process: constant}}");
        let to = traffic.flows[0].flow.to;
        let mut good = Frame::new();
        traffic.turn(0, 1000, &mut good);
        good[..6].copy_from_slice(&to.mac());
        let mut refused = |change: &dyn Fn(&mut Frame)| {
            let mut frame = good.clone();
            change(&mut frame);
            !traffic.receive(to, 2000, &frame)
        };
        assert!(refused(&|frame| frame.truncate(60)));
        assert!(refused(&|frame| frame.clear()));
        assert!(refused(&|frame| frame[5] ^= 1));
        assert!(refused(&|frame| frame[22] = 63), "TTL changed and the checksum did not");
        assert!(refused(&|frame| frame[42] = 1), "unknown flow");
        assert!(refused(&|frame| frame[54] = 0xff), "sent in the future");
        assert!(!traffic.receive(HostId { edge: 1, index: 1 }, 2000, &good));
        assert!(traffic.receive(to, 2000, &good));
    }
}
