// SPDX-License-Identifier: Apache-2.0
//! `slotwise line-card fifo`: the line card of one router port as a process, between the switch's interface and a link's.
//!
//! ```text
//! switch port N == --switch   card: queue, rate, delay   --link == next router or host
//! switch port PORT_LINECARD == --control: interval ticks to it, flow control from it
//! ```

use std::time::Duration;

use serde::Serialize;
use slotwise_cards::DropCause;
use slotwise_cards::alone::{Alone, Output};
use slotwise_netio::{Ports, WallClock};
use slotwise_random::{Chance, Stream, generator};
use slotwise_units as units;

use slotwise_cli::RunError;
use slotwise_cli::interrupts::Stop;
use slotwise_cli::notes::say;

/// Places of the interfaces.
const CONTROL: usize = 0;
const SWITCH: usize = 1;
const LINK: usize = 2;

/// Longest link, in time: once around the Earth, and more.
const MAX_DELAY_US: u64 = 1_000_000;

/// Run a FIFO line card of a router port: queue, link, XCP timers (needs root)
///
/// Connects a switch that runs router.p4 (`slotwise switch` or simple_switch_grpc) to a link. Frames from the link
/// are passed to the switch at once. Stops at SIGINT, SIGTERM or SIGHUP and prints its counters in JSON.
#[derive(clap::Args)]
pub struct Args {
    /// Port number of the switch, and of its queue in xcp_output
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..=255))]
    port: u16,
    /// Interface to the line card port (500) of the switch; may be shared
    #[arg(long, value_name = "IFACE")]
    control: String,
    /// Interface to the port of the switch
    #[arg(long, value_name = "IFACE")]
    switch: String,
    /// Interface of the link
    #[arg(long, value_name = "IFACE")]
    link: String,
    /// Link rate, in IP bits
    #[arg(long, value_name = "BIT/S", value_parser = clap::value_parser!(u64).range(1_000..=400_000_000_000))]
    rate_bps: u64,
    /// Link delay, in the direction away from the switch
    #[arg(long, value_name = "US", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=MAX_DELAY_US))]
    delay_us: u64,
    /// Queue size, in IP bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1500..=1 << 32))]
    buffer_bytes: u64,
    /// Packet loss ratio of the link, 0 to 1
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = part)]
    loss: f64,
    /// Random seed of the losses
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A number from 0 to 1.
fn part(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| (0.0..=1.0).contains(number))
        .ok_or_else(|| format!("expected a number from 0 to 1, e.g. 0.0001, got {text:?}"))
}

#[derive(Serialize)]
struct Report {
    arrived_packets: u64,
    sent_packets: u64,
    sent_ip_bytes: u64,
    dropped_packets: u64,
    /// By the link.
    lost_packets: u64,
    most_queued_packets: u64,
    mean_wait_ns: u64,
    malformed_messages: u64,
    refused_frames: u64,
}

/// Runs the card until SIGINT, SIGTERM or SIGHUP.
pub fn run(args: &Args) -> Result<(), RunError> {
    let names = [&args.control, &args.switch, &args.link];
    if names.iter().enumerate().any(|(at, name)| names[..at].contains(name)) {
        return Err("--control, --switch and --link: duplicate interface; expected three different ones".into());
    }
    let mut ports = Ports::open(&names, None)?;
    let stop = Stop::listen(ports.waker())?;
    let clock = WallClock::start();
    let now = || clock.now();
    let link = (
        units::Rate::from_bps(args.rate_bps),
        units::Duration::from_us(args.delay_us),
    );
    let loss = Chance::new(
        args.loss,
        generator(args.seed, Stream::RoutedLoss, u64::from(args.port)),
    );
    let buffer = units::Bytes::new(args.buffer_bytes);
    let mut card = Alone::before_link(args.port, link, buffer, now()).losing(loss);
    say!("slotwise line-card fifo: ready, port {}", args.port);
    // Frames from the link: the loop cannot send while it receives.
    let mut inbound: Vec<Vec<u8>> = Vec::new();
    while !stop.is_requested() {
        let timeout = card
            .next_at()
            .map(|due| Duration::from_nanos(due.saturating_since(now()).ns()));
        ports.poll(timeout, &mut |place, frame| match place {
            CONTROL => card.told(now(), args.port, frame),
            // What finds no room is counted by the card.
            SWITCH => card.sends(now(), args.port, frame.to_vec()),
            _ => inbound.push(frame.to_vec()),
        })?;
        for frame in inbound.drain(..) {
            ports.send(SWITCH, &frame);
        }
        while let Some(due) = card.poll(now()) {
            match &due {
                Output::ToSwitch(message) => ports.send(CONTROL, message),
                Output::Link(frame) => ports.send(LINK, frame),
            }
        }
        ports.flush();
    }
    let used = card.card.take_use(now(), args.port).unwrap_or_default();
    let report = Report {
        arrived_packets: used.arrived_packets,
        sent_packets: used.sent_packets,
        sent_ip_bytes: used.sent_bytes.get(),
        dropped_packets: used.dropped_packets,
        lost_packets: card.lost(),
        most_queued_packets: used.most_packets,
        mean_wait_ns: used.waited.ns().checked_div(used.taken_packets).unwrap_or(0),
        malformed_messages: card.drops().get(&DropCause::Malformed).copied().unwrap_or(0),
        refused_frames: [CONTROL, SWITCH, LINK].map(|place| ports.refused(place)).iter().sum(),
    };
    say!("{}", serde_json::to_string(&report)?);
    Ok(())
}
