// SPDX-License-Identifier: Apache-2.0
//! The wall-clock driver: a thread that paces a fabric's events, joins its hosts' interfaces to it, and runs what the
//! P4Runtime server wants done between two events.

mod account;
mod pace;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;
use slotwise_control::devices::has_routes;
use slotwise_control::network::Fibre;
use slotwise_kinds::{FrameRecord, World};
use slotwise_netio::{CpuPlan, Ports, ThreadUse, Waker, WallClock, be_realtime};
use slotwise_observe::lateness::{Cause, Lateness, SlotLateness};
use slotwise_observe::recorders::routed::RoutedRecorder;
use slotwise_observe::report::{DropCount, GrantLatency, SwitchAnswers};
use slotwise_observe::series::{self, PeriodNow};
use slotwise_scenario::Device;
use slotwise_units::{self as units, Bytes, Instant};

use self::account::{Account, Activity};
use self::pace::{Pace, Rest};
use crate::attach::Attachment;
use crate::run::{drops, grant_latency, poll_frame};
use crate::switches::Switches;
use slotwise_cli::RunError;
use slotwise_switch::links::{Change, Interface, LinkWatch};

/// Modest among the real-time priorities: kernel threads of the same class keep theirs.
const PRIORITY: i32 = 20;

/// A thread that shares its CPU looks after its events and ports at most this often: what falls together costs one timer and one
/// wake-up, which are most of what it costs.
const ROUND: units::Duration = units::Duration::from_us(40);

/// Slots this long or longer bear a thread that sleeps.
const LONG_SLOT: units::Duration = units::Duration::from_ms(1);

/// Longest sleep, so that a stop is noticed even if a wake-up were lost.
const LONGEST_SLEEP: units::Duration = units::Duration::from_ms(100);

/// From one look at what is not always counted along to the next.
const LOOK: units::Duration = units::Duration::from_ms(200);

/// Events handled before hosts and controller have their turn, should the fabric be behind.
const EVENTS_A_ROUND: usize = 64;

/// A switch's port to which a host is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessPort {
    /// The switch.
    pub device: Device,
    /// Its port.
    pub port: u16,
}

/// The hosts' side of the fabric.
pub struct Access {
    ports: Ports,
    /// Which access port is behind each.
    places: Vec<AccessPort>,
    links: LinkWatch,
    news: Receiver<String>,
}

impl Access {
    /// Opens the interfaces of a list of [`Attachment`]s and watches over them and their links.
    ///
    /// # Errors
    /// When the list is none, or an interface is missing.
    pub fn open(list: &Value, namespace: Option<File>) -> Result<Access, RunError> {
        let entries: Vec<Attachment> =
            serde_json::from_value(list.clone()).map_err(|error| format!("list of ports: {error}"))?;
        let unnamed = || RunError::from("list of ports: entry without a switch");
        let devices = entries.iter().map(|entry| entry.device().ok_or_else(unnamed));
        let devices: Vec<Device> = devices.collect::<Result<_, _>>()?;
        let interfaces: Vec<&str> = entries.iter().map(|entry| entry.interface.as_str()).collect();
        let ports = Ports::open(&interfaces, namespace.as_ref().map(|file| file.as_fd()))?;
        let watched = |(index, (device, entry)): (usize, (Device, Attachment))| {
            let Attachment { port, interface, .. } = entry;
            let called = format!("port {port} of {} {}", device.kind().name, device.place().1);
            let interface = Interface::new(interface, called, ports.opener(index));
            (AccessPort { device, port }, interface)
        };
        let (places, interfaces) = devices.into_iter().zip(entries).enumerate().map(watched).unzip();
        let (tell, news) = channel();
        let links = LinkWatch::start(interfaces, namespace, tell)?;
        Ok(Access {
            ports,
            places,
            links,
            news,
        })
    }

    /// Wakes the thread that waits for these ports.
    pub fn waker(&self) -> Waker {
        self.ports.waker()
    }
}

/// What other threads see of a running fabric.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    begun: AtomicBool,
    has_routes: AtomicBool,
    now_ns: AtomicU64,
    violations: AtomicU64,
    lateness_p99_ns: AtomicU64,
    /// What is looked up less often.
    seen: Mutex<Seen>,
}

/// What the thread says of the fabric now and then.
#[derive(Default, Clone)]
struct Seen {
    grant_latency: Option<GrantLatency>,
    drops: Vec<DropCount>,
}

/// A fabric that lives on a thread of its own.
pub struct Realtime {
    shared: Arc<Shared>,
    waker: Waker,
    thread: JoinHandle<io::Result<Outcome>>,
    frames: Receiver<FrameRecord>,
    periods: Receiver<PeriodNow>,
    orders: Sender<Order>,
    news: Receiver<String>,
}

/// What the thread is to do.
enum Order {
    /// Cut or mend a fibre.
    Fibre(Fibre, bool),
    /// A phase begins.
    Begin(usize),
    /// A phase is over.
    End(usize),
    /// The run is over for its links and the flows that last as long as it.
    EndOfRun,
}

/// What is left when it has stopped.
pub struct Outcome {
    /// The fabric as it stood at the end.
    pub fabric: World,
    /// Over the time in which lateness was measured.
    pub lateness: Lateness,
    /// Frames for hosts that the kernel did not take.
    pub refused: u64,
    /// Times that hosts sent what was no frame, or a super-frame of a great many tiny segments.
    pub unreadable: u64,
    /// Of phases that are over, what each flow that the fabric plays had received by their end, in the order of [`World::flow_results`].
    pub phase_bytes: BTreeMap<usize, Vec<Bytes>>,
    /// What links between routers did.
    pub recorder: Option<RoutedRecorder>,
    /// How switches outside answered, if they were.
    pub switch_answers: Option<SwitchAnswers>,
    /// Why the thread runs without real-time priority, if it does.
    pub not_realtime: Option<io::Error>,
}

impl Realtime {
    /// Starts the fabric's time now; `switches` are served between events. A slot is `slot` long, or an event may be so late; what
    /// links do is written by `recorder`.
    pub fn start(
        fabric: World,
        (slot, recorder): (units::Duration, Option<RoutedRecorder>),
        access: Access,
        switches: Switches,
    ) -> io::Result<Realtime> {
        let Access {
            ports,
            places,
            links,
            news,
        } = access;
        let shared = Arc::new(Shared::default());
        let waker = ports.waker();
        let (frame_sender, frames) = channel();
        let (period_sender, periods) = channel();
        let (orders, asked_for) = channel();
        let clock = WallClock::start();
        let driver = Driver {
            timed: Timed {
                fabric,
                clock,
                account: Account::new(clock.now(), ThreadUse::now as fn() -> ThreadUse),
                slot_lateness: SlotLateness::new(slot),
                begun: false,
                has_news: false,
                next_look: Instant::ZERO,
                shared: shared.clone(),
            },
            ports,
            index: places
                .iter()
                .enumerate()
                .map(|(index, place)| (*place, index))
                .collect(),
            places,
            links,
            switches,
            frames: frame_sender,
            recorder,
            periods: period_sender,
            orders: asked_for,
            phase_bytes: BTreeMap::new(),
            is_patient: slot >= LONG_SLOT,
        };
        let thread = thread::Builder::new()
            .name("fabric".into())
            .spawn(move || driver.run())?;
        Ok(Realtime {
            shared,
            waker,
            thread,
            frames,
            periods,
            orders,
            news,
        })
    }

    /// Fabric time.
    pub fn now(&self) -> Instant {
        Instant::from_ns(self.shared.now_ns.load(Ordering::Relaxed))
    }

    /// Violated invariants so far.
    pub fn violations(&self) -> u64 {
        self.shared.violations.load(Ordering::Relaxed)
    }

    /// 99th percentile of the slots' lateness so far.
    pub fn lateness_p99(&self) -> units::Duration {
        units::Duration::from_ns(self.shared.lateness_p99_ns.load(Ordering::Relaxed))
    }

    /// How long new demand has waited for light so far, in a star.
    pub fn grant_latency(&self) -> Option<GrantLatency> {
        self.seen().grant_latency
    }

    /// Packets dropped so far.
    pub fn drops(&self) -> Vec<DropCount> {
        self.seen().drops
    }

    fn seen(&self) -> Seen {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first phase begins: from now on lateness is measured, and the scenario's link changes count from here.
    pub fn begin(&self) {
        self.shared.begun.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// Whether every router knew a way to hosts when measuring began, or knows one now.
    pub fn has_routes(&self) -> bool {
        self.shared.has_routes.load(Ordering::Relaxed)
    }

    /// Cuts or mends a fibre as soon as the thread sees it.
    pub fn set_fibre(&self, fibre: Fibre, is_up: bool) {
        self.order(Order::Fibre(fibre, is_up));
    }

    /// A phase begins for the flows that the fabric plays.
    pub fn begin_phase(&self, phase: usize) {
        self.order(Order::Begin(phase));
    }

    /// A phase is over: what its flows do from now on is none of its.
    pub fn end_phase(&self, phase: usize) {
        self.order(Order::End(phase));
    }

    /// The run is over: what links, and flows that last as long as it, do from now on is not written down.
    pub fn end_run(&self) {
        self.order(Order::EndOfRun);
    }

    fn order(&self, order: Order) {
        // A thread that has ended is found by `has_ended`.
        let _ = self.orders.send(order);
        self.waker.wake();
    }

    /// Frames that have ended since the last call.
    pub fn frames(&self) -> impl Iterator<Item = FrameRecord> + '_ {
        self.frames.try_iter()
    }

    /// What happened in the last period that has ended since the last call, if one has.
    pub fn last_period(&self) -> Option<PeriodNow> {
        self.periods.try_iter().last()
    }

    /// What is to be said of interfaces that went, or were made anew, since the last call.
    pub fn news(&self) -> impl Iterator<Item = String> + '_ {
        self.news.try_iter()
    }

    /// Whether the thread has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the thread and hands over what it had, with the frames not yet taken.
    pub fn stop(self) -> io::Result<(Outcome, Vec<FrameRecord>)> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        let outcome = self
            .thread
            .join()
            .map_err(|_| io::Error::other("the emulator's thread panicked"))??;
        Ok((outcome, self.frames.try_iter().collect()))
    }
}

/// The fabric and the wall clock that it follows.
struct Timed {
    fabric: World,
    clock: WallClock,
    account: Account<fn() -> ThreadUse>,
    slot_lateness: SlotLateness,
    begun: bool,
    /// Events were handled since what they brought was last handed over.
    has_news: bool,
    next_look: Instant,
    shared: Arc<Shared>,
}

impl Timed {
    /// Says how it is, now and then; who reads what was said last is not waited for.
    fn look(&mut self) {
        let now = self.fabric.now();
        if now < self.next_look {
            return;
        }
        let Ok(mut seen) = self.shared.seen.try_lock() else {
            return;
        };
        self.next_look = now + LOOK;
        *seen = Seen {
            grant_latency: grant_latency(&self.fabric),
            drops: drops(&self.fabric),
        };
    }

    /// Writes down the last period.
    fn end(&mut self, recorder: &mut Option<RoutedRecorder>) {
        if let Some(recorder) = recorder.as_mut().filter(|_| self.begun) {
            recorder.end(&mut self.fabric);
        }
    }

    /// The thread turns to something else; gives the time.
    fn turn_to(&mut self, activity: Activity) -> Instant {
        let now = self.clock.now();
        self.account.turn_to(now, activity);
        now
    }

    /// Handles events that are due, one after the other by the clock, up to [`EVENTS_A_ROUND`]. The thread turns to them only if there
    /// are any.
    fn run_due(&mut self) {
        let mut now = self.clock.now();
        for _ in 0..EVENTS_A_ROUND {
            let due = self.fabric.next_event_at();
            let Some(due) = due.filter(|due| *due <= now) else {
                self.fabric.run_until(now);
                return;
            };
            self.account.turn_to(now, Activity::Busy(Cause::Events));
            if self.begun {
                let blame = || self.account.blame(due);
                if let Some(p99) = self.slot_lateness.record(due, now, blame) {
                    self.shared.lateness_p99_ns.store(p99.ns(), Ordering::Relaxed);
                }
            }
            if !self.fabric.run_next(now) {
                return;
            }
            self.has_news = true;
            now = self.clock.now();
        }
    }
}

struct Driver {
    timed: Timed,
    ports: Ports,
    places: Vec<AccessPort>,
    index: BTreeMap<AccessPort, usize>,
    links: LinkWatch,
    switches: Switches,
    frames: Sender<FrameRecord>,
    recorder: Option<RoutedRecorder>,
    periods: Sender<PeriodNow>,
    orders: Receiver<Order>,
    phase_bytes: BTreeMap<usize, Vec<Bytes>>,
    /// Slots are long.
    is_patient: bool,
}

impl Driver {
    fn run(mut self) -> io::Result<Outcome> {
        let cpus = CpuPlan::new();
        cpus.pin_fabric();
        let not_realtime = be_realtime(PRIORITY).err();
        let is_alone = cpus.fabric_cpu().is_some() && not_realtime.is_none();
        let mut pace = (is_alone && !self.is_patient).then(|| Pace::new(self.timed.clock.now()));
        while !self.timed.shared.stop.load(Ordering::Relaxed) {
            if !self.timed.begun && self.timed.shared.begun.load(Ordering::Relaxed) {
                self.timed.begun = true;
                self.timed.fabric.schedule_link_changes(self.timed.clock.now());
                if let Some(recorder) = &mut self.recorder {
                    recorder.begin(&mut self.timed.fabric);
                }
            }
            self.timed.run_due();
            self.hand_over();
            self.timed.turn_to(Activity::Busy(Cause::Control));
            let Timed { fabric, clock, .. } = &mut self.timed;
            let has_served = self.switches.serve(fabric, clock)?;
            self.timed.run_due();
            if let Some(standstill) = self.timed.fabric.standstill() {
                return Err(io::Error::other(standstill.clone()));
            }
            match &mut pace {
                Some(pace) => self.rest_if_due(pace)?,
                None if has_served => {}
                None => self.sleep()?,
            }
            self.receive()?;
        }
        // Whoever stops it at once was not heard.
        self.timed.end(&mut self.recorder);
        let refused = (0..self.places.len()).map(|index| self.ports.refused(index)).sum();
        let Timed {
            mut fabric,
            clock,
            slot_lateness,
            ..
        } = self.timed;
        let switch_answers = self.switches.finish(&mut fabric, &clock);
        Ok(Outcome {
            fabric,
            lateness: slot_lateness.summary(),
            refused,
            unreadable: self.ports.unreadable(),
            phase_bytes: self.phase_bytes,
            recorder: self.recorder,
            switch_answers,
            not_realtime,
        })
    }

    /// How long nothing is due.
    fn idle(&self, now: Instant) -> units::Duration {
        let due = self.timed.fabric.next_event_at();
        due.map_or(LONGEST_SLEEP, |due| due.saturating_since(now).min(LONGEST_SLEEP))
    }

    /// On a CPU of its own the thread goes on looking, but for the rest that it has to take.
    fn rest_if_due(&mut self, pace: &mut Pace) -> io::Result<()> {
        let now = self.timed.clock.now();
        let next = now + self.idle(now);
        if let Some(Rest { until, is_forced }) = pace.rest(now, next) {
            self.timed.turn_to(Activity::Rest { until });
            if is_forced {
                self.timed.clock.sleep_until(until);
            } else {
                self.ports.wait(Some(Duration::from_nanos((until - now).ns())))?;
            }
            pace.rested(self.timed.turn_to(Activity::Busy(Cause::Receive)) - now);
        }
        Ok(())
    }

    /// On a CPU that it shares it sleeps until something is due or comes.
    fn sleep(&mut self) -> io::Result<()> {
        let until = self.timed.clock.now() + ROUND;
        self.timed.turn_to(Activity::Rest { until });
        self.timed.clock.sleep_until(until);
        let now = self.timed.clock.now();
        // What events brought since it was last handed over would else wait until something is due, 100 ms in a network without traffic.
        let idle = match self.timed.has_news {
            true => units::Duration::ZERO,
            false => self.idle(now),
        };
        self.timed.turn_to(Activity::Rest { until: now + idle });
        self.ports.wait(Some(Duration::from_nanos(idle.ns())))
    }

    /// Takes what hosts have sent; what falls due meanwhile is not kept waiting.
    fn receive(&mut self) -> io::Result<()> {
        let receiving = Activity::Busy(Cause::Receive);
        self.timed.turn_to(receiving);
        let Driver {
            ports, places, timed, ..
        } = self;
        ports.poll(Some(Duration::ZERO), &mut |index, frame| {
            timed.run_due();
            let now = timed.turn_to(receiving);
            let AccessPort { device, port } = places[index];
            timed
                .fabric
                .inject_host(now, device, port, frame)
                .expect("access ports are the scenario's");
        })
    }

    /// Gives hosts, controller and spectators what the fabric has for them.
    fn hand_over(&mut self) {
        let Driver {
            timed,
            ports,
            places,
            index,
            links,
            switches,
            frames,
            recorder,
            periods,
            orders,
            phase_bytes,
            ..
        } = self;
        timed.has_news = false;
        timed.turn_to(Activity::Busy(Cause::Send));
        while let Some(output) = timed.fabric.poll_host_output() {
            if let Some(&index) = index.get(&AccessPort {
                device: output.device,
                port: output.port,
            }) {
                ports.send(index, &output.frame);
            }
            timed.fabric.recycle(output.frame);
        }
        for port in 0..places.len() {
            if ports.flush_port(port) {
                timed.run_due();
                timed.turn_to(Activity::Busy(Cause::Send));
            }
        }
        timed.turn_to(Activity::Busy(Cause::Control));
        while let Ok(order) = orders.try_recv() {
            match order {
                Order::Fibre(fibre, is_up) => fibre.set_up(&mut timed.fabric, is_up),
                Order::Begin(phase) => timed.fabric.begin_phase(phase),
                Order::End(phase) => {
                    let results = timed.fabric.flow_results().into_iter();
                    phase_bytes.insert(phase, results.map(|result| result.received_bytes).collect());
                }
                Order::EndOfRun => timed.end(recorder),
            }
        }
        while let Some(event) = timed.fabric.poll_control() {
            switches.tell(&mut timed.fabric, event);
        }
        while let Some((index, change)) = links.poll() {
            let AccessPort { device, port } = places[index];
            match change {
                Change::Link(is_up) => switches.port_status(device.id(), port, is_up),
                Change::Renewed(opened) => ports.replace(index, opened),
            }
        }
        while let Some(record) = poll_frame(&mut timed.fabric) {
            // Nobody listens only while the run is being stopped.
            let _ = frames.send(record);
        }
        if let Some(recorder) = recorder.as_mut().filter(|_| timed.begun)
            && recorder.next().is_some_and(|at| at <= timed.fabric.now())
        {
            recorder.sample(&mut timed.fabric);
            let _ = periods.send(series::last_period(recorder));
        }
        let invariants = timed.fabric.invariants();
        let violations = invariants.checked().iter().map(|&kind| invariants.count(kind)).sum();
        if !timed.begun {
            let has_routes = has_routes(&mut timed.fabric);
            timed.shared.has_routes.store(has_routes, Ordering::Relaxed);
        }
        timed.look();
        timed.shared.violations.store(violations, Ordering::Relaxed);
        timed.shared.now_ns.store(timed.fabric.now().ns(), Ordering::Relaxed);
    }
}
