// SPDX-License-Identifier: Apache-2.0
//! `slotwise line-card gates`: one line card as a process, between the interfaces of any P4 switch and a fibre.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use signal_hook::iterator::Signals;
use slotwise_cards::alone::{Alone, Output};
use slotwise_cards::gate_card::{CardConfig, GateCard, core_tick};
use slotwise_netio::{Ports, WallClock, be_realtime};
use slotwise_scenario::{WIRE_OVERHEAD, request_blocks};
use slotwise_units::{self as units, Bytes, Instant, Rate};
use slotwise_wire::limits;

use slotwise_cli::RunError;
use slotwise_cli::interrupts::end_signals;
use slotwise_cli::notes::{note, say};

/// As the live fabric's.
const PRIORITY: i32 = 20;
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

// Places in the list of interfaces.
const CONTROL: usize = 0;
const OPTICAL: usize = 1;
const FIBRE: usize = 2;

/// Run a TDMA line card: a queue and gate per VOQ before a fibre (needs root)
///
/// Runs until SIGINT, SIGTERM or SIGHUP: sends slot ticks, queues frames and opens the gates that P4 opens; then prints its
/// counters. Without --optical and --fibre it is the control unit of a core, which only sends ticks.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Interface to PORT_LINECARD (500) of the switch
    #[arg(long, value_name = "INTERFACE")]
    control: String,
    /// Interface to the optical port (256 + core) of the switch
    #[arg(long, value_name = "INTERFACE", requires = "fibre")]
    optical: Option<String>,
    /// Interface of the fibre
    #[arg(long, value_name = "INTERFACE", requires = "optical")]
    fibre: Option<String>,
    /// Edge number N; slot N of a frame is its signaling slot
    #[arg(long, value_name = "N", default_value_t = 0)]
    edge: u16,
    /// Core number
    #[arg(long, value_name = "N", default_value_t = 0)]
    core: u16,
    /// Number of edges (signaling slots per frame, and VOQs of the line card)
    #[arg(long, value_name = "N")]
    edges: u16,
    /// Slots per frame
    #[arg(long, value_name = "N")]
    slots: u32,
    /// Slot length, including the guard time (set by P4)
    #[arg(long, value_name = "NS")]
    slot_ns: u64,
    /// Start of slot 0 of frame 0 at the core, Unix time; same for all line cards
    #[arg(long, value_name = "NS")]
    epoch_ns: u64,
    /// Fibre rate
    #[arg(long, value_name = "BIT/S", default_value_t = 10_000_000)]
    rate_bps: u64,
    /// Timing advance T_d: start of the slots before those at the core
    #[arg(long, value_name = "NS", default_value_t = 0)]
    t_d_ns: u64,
    /// Queue limit
    #[arg(long, value_name = "BYTES", default_value_t = 200_000)]
    limit_bytes: u64,
    /// MTU of the hosts
    #[arg(long, value_name = "BYTES", default_value_t = 1450)]
    mtu: u32,
    /// Run the XCP interval timers
    #[arg(long)]
    xcp: bool,
}

enum Role {
    Card(Box<Alone<GateCard>>),
    /// A core's control unit.
    Core {
        slots: u32,
        slot_ns: u64,
        epoch_ns: u64,
        next_slot: u64,
    },
}

/// Runs until it is asked to end.
pub fn run(args: &Args) -> Result<(), RunError> {
    let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let clock = WallClock::start();
    let start_ns = u64::try_from(unix_ns)?;
    let frames = start_ns.saturating_sub(args.epoch_ns) / u64::from(args.slots).max(1) / args.slot_ns.max(1);
    if frames > u64::from(u32::MAX) {
        return Err("--epoch-ns: more than 2^32 frames ago; expected a later time".into());
    }
    // Both roles take only what a card could work with.
    let card = GateCard::alone(config(args), Instant::from_ns(start_ns))?;
    let (role, interfaces) = match (&args.optical, &args.fibre) {
        (Some(optical), Some(fibre)) => (Role::Card(Box::new(card)), vec![&args.control, optical, fibre]),
        _ => {
            let core = Role::Core {
                slots: args.slots,
                slot_ns: args.slot_ns,
                epoch_ns: args.epoch_ns,
                next_slot: start_ns.saturating_sub(args.epoch_ns).div_ceil(args.slot_ns),
            };
            (core, vec![&args.control])
        }
    };
    let ports = Ports::open(&interfaces, None)?;
    let stop = stop_on_signals(&ports)?;
    if let Err(error) = be_realtime(PRIORITY) {
        note!("slotwise line-card gates: no real-time priority, slots may be late: {error}");
    }
    say!("{}", json!({"event": "ready"}));
    let mut process = Process {
        clock,
        start_ns,
        ports,
        role,
        light_packets: 0,
        to_switch: 0,
    };
    while !stop.load(Ordering::Relaxed) {
        process.turn()?;
    }
    say!("{}", process.summary());
    Ok(())
}

fn config(args: &Args) -> CardConfig {
    CardConfig {
        edge: args.edge,
        core: args.core,
        edges: args.edges,
        slots: args.slots,
        slot: units::Duration::from_ns(args.slot_ns),
        signaling_ticks: signaling_ticks(args.core, args.edges),
        limit: Bytes::new(args.limit_bytes),
        max_frame: Bytes::new(args.mtu.into()) + WIRE_OVERHEAD,
        // The clock of a core has no fibre that its slots must suit.
        rate: Rate::from_bps(if args.fibre.is_some() {
            args.rate_bps
        } else {
            *limits::RATE_BPS.end()
        }),
        epoch: Instant::from_ns(args.epoch_ns),
        t_d: units::Duration::from_ns(args.t_d_ns),
        xcp: args.xcp,
    }
}

/// One for each block of requests that holds VOQs of the core, one for the beacon.
fn signaling_ticks(core: u16, edges: u16) -> u16 {
    let first_voq = core.saturating_mul(edges);
    let end = first_voq.saturating_add(edges);
    request_blocks(first_voq..end).len() as u16 + 1
}

fn stop_on_signals(ports: &Ports) -> Result<Arc<AtomicBool>, RunError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (flag, waker) = (stop.clone(), ports.waker());
    let mut signals = Signals::new(end_signals())?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            flag.store(true, Ordering::Relaxed);
            waker.wake();
        }
    });
    Ok(stop)
}

struct Process {
    clock: WallClock,
    /// Unix time when the clock was 0. Steps of the system's clock after that are not followed.
    start_ns: u64,
    ports: Ports,
    role: Role,
    light_packets: u64,
    to_switch: u64,
}

impl Process {
    fn now_ns(&self) -> u64 {
        self.start_ns + self.clock.now().ns()
    }

    /// Does what is due, then waits for the next event and takes what has come.
    fn turn(&mut self) -> Result<(), RunError> {
        let now_ns = self.now_ns();
        let next_ns = match &mut self.role {
            Role::Card(card) => {
                while let Some(output) = card.poll(Instant::from_ns(now_ns)) {
                    match output {
                        Output::ToSwitch(message) => {
                            self.to_switch += 1;
                            self.ports.send(CONTROL, &message);
                        }
                        Output::Link(frame) => {
                            self.light_packets += 1;
                            self.ports.send(FIBRE, &frame);
                        }
                    }
                }
                card.next_at().unwrap_or(Instant::MAX).ns()
            }
            Role::Core {
                slots,
                slot_ns,
                epoch_ns,
                next_slot,
            } => {
                if now_ns >= *epoch_ns + *next_slot * *slot_ns {
                    let slot = (now_ns - *epoch_ns) / *slot_ns;
                    self.to_switch += 1;
                    let start = Instant::from_ns(*epoch_ns + slot * *slot_ns);
                    self.ports.send(CONTROL, &core_tick(*slots, slot, start));
                    *next_slot = slot + 1;
                }
                *epoch_ns + *next_slot * *slot_ns
            }
        };
        self.ports.flush();
        let wait = Duration::from_nanos(next_ns.saturating_sub(self.now_ns())).min(LONGEST_SLEEP);
        self.receive(wait)
    }

    fn receive(&mut self, wait: Duration) -> Result<(), RunError> {
        let Process {
            clock,
            start_ns,
            ports,
            role,
            ..
        } = self;
        let mut from_fibre = Vec::new();
        ports.poll(Some(wait), &mut |place, frame| {
            let now = Instant::from_ns(*start_ns + clock.now().ns());
            match (&mut *role, place) {
                (Role::Card(card), CONTROL) => card.told(now, card.card.port(), frame),
                (Role::Card(card), OPTICAL) => card.sends(now, card.card.port(), frame.to_vec()),
                (Role::Card(_), _) => from_fibre.push(frame.to_vec()),
                // Nothing that a core's switch says is for its clock.
                (Role::Core { .. }, _) => {}
            }
        })?;
        for frame in from_fibre {
            ports.send(OPTICAL, &frame);
        }
        ports.flush();
        Ok(())
    }

    fn summary(&self) -> serde_json::Value {
        let drops: serde_json::Map<_, _> = match &self.role {
            Role::Card(card) => card
                .drops()
                .iter()
                .map(|(cause, packets)| (cause.name().to_owned(), json!(packets)))
                .collect(),
            Role::Core { .. } => serde_json::Map::new(),
        };
        json!({"event": "ended", "to_switch": self.to_switch, "light_packets": self.light_packets, "drops": drops})
    }
}
