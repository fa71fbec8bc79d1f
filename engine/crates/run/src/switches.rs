// SPDX-License-Identifier: Apache-2.0
//! Who runs the P4 switches of a live fabric: the fabric itself, or processes outside.

use std::io;
use std::time::Duration;

use hdrhistogram::Histogram;
use slotwise_bmv2::Packets;
use slotwise_kinds::{ControlEvent, ControlMessage, World};
use slotwise_netio::WallClock;
use slotwise_observe::report::SwitchAnswers;
use slotwise_p4::Port;
use slotwise_p4runtime::DeviceHub;
use slotwise_units::{self as units, Instant};

use slotwise_control::devices::execute;
use slotwise_control::port_news::PortNews;

/// How often digests and idle entries are looked after: their times are given in milliseconds at best.
const AGENT_INTERVAL: units::Duration = units::Duration::from_ms(1);

/// Time for the processes to put out what they still have at the end.
const LAST_PACKETS: Duration = Duration::from_secs(5);

/// Packets that are taken from the processes before the fabric looks at its events again.
const OUTPUTS_A_ROUND: usize = 64;

/// Who runs the switches.
pub enum Switches {
    /// The fabric.
    Inside(OwnSwitches),
    /// BMv2 processes.
    Bmv2(Bmv2Switches),
}

impl Switches {
    /// Carries frames and commands to and from the fabric, which stands still meanwhile.
    /// True if there may be more at once: all that came together woke the thread once.
    ///
    /// # Errors
    /// What ended a process's packets.
    pub fn serve(&mut self, fabric: &mut World, clock: &WallClock) -> io::Result<bool> {
        match self {
            Switches::Inside(switches) => Ok(switches.serve(fabric)),
            Switches::Bmv2(switches) => switches.serve(fabric, clock),
        }
    }

    /// Takes what one of the fabric's own switches has for the controller or for its agent. A process speaks for itself, but for what it
    /// cannot know.
    pub fn tell(&mut self, fabric: &mut World, event: ControlEvent) {
        match self {
            Switches::Inside(switches) => switches.tell(fabric, event),
            Switches::Bmv2(switches) => {
                if let Some(news) = PortNews::of(&event) {
                    (switches.tell)(news);
                }
                if let ControlMessage::Packet(frame) = event.message {
                    fabric.recycle(frame);
                }
            }
        }
    }

    /// A host's link came or went.
    pub fn port_status(&mut self, device_id: u64, port: Port, is_up: bool) {
        if let Switches::Inside(switches) = self {
            switches.hub.port_status(device_id, port, is_up);
        }
    }

    /// Ends the processes' packets; afterwards the fabric has all that they put out. Says how long they had light.
    pub fn finish(self, fabric: &mut World, clock: &WallClock) -> Option<SwitchAnswers> {
        match self {
            Switches::Inside(_) => None,
            Switches::Bmv2(switches) => Some(switches.finish(fabric, clock)),
        }
    }
}

/// Switches of the fabric itself: what the P4Runtime server wants done is done between two events.
pub struct OwnSwitches {
    hub: DeviceHub,
    /// When to look after digests and idle entries.
    agents: Instant,
}

impl OwnSwitches {
    /// Serves the switches' agents at once and then regularly.
    pub fn new(hub: DeviceHub) -> OwnSwitches {
        OwnSwitches {
            hub,
            agents: Instant::ZERO,
        }
    }

    fn serve(&mut self, fabric: &mut World) -> bool {
        // One at a time: what is due meanwhile goes before the next.
        let command = self.hub.try_recv();
        let has_served = command.is_some();
        if let Some(command) = command {
            execute(fabric, command);
        }
        let now = fabric.now();
        if now >= self.agents {
            self.agents = now + AGENT_INTERVAL;
            for device in fabric.devices() {
                if let Some(pipeline) = fabric.pipeline_mut(device.id()) {
                    self.hub.tick(device.id(), now, pipeline);
                }
            }
        }
        has_served
    }

    fn tell(&mut self, fabric: &mut World, event: ControlEvent) {
        let ControlEvent { at, device_id, message } = event;
        match message {
            ControlMessage::Packet(frame) => {
                // Without a controller the packet is lost, as on any switch; the schedule goes on.
                self.hub.packet_in(device_id, &frame);
                fabric.recycle(frame);
            }
            ControlMessage::Digest { name, fields } => {
                self.hub.digest(device_id, &name, &fields, at);
            }
            ControlMessage::Link { port, is_up } => self.hub.port_status(device_id, port, is_up),
            // Only faults on purpose do that, and there are none in a live run.
            ControlMessage::Device { .. } => {}
        }
    }
}

/// BMv2 processes and their packets.
pub struct Bmv2Switches {
    packets: Packets,
    tell: Box<dyn Fn(PortNews) + Send>,
    answers: Histogram<u64>,
}

impl Bmv2Switches {
    /// Takes streams to all switches of the fabric; `tell` is called with what their ports cannot tell.
    pub fn new(packets: Packets, tell: impl Fn(PortNews) + Send + 'static) -> Bmv2Switches {
        const LONGEST_NS: u64 = 60_000_000_000;
        const SIGNIFICANT_DIGITS: u8 = 3;
        Bmv2Switches {
            packets,
            tell: Box::new(tell),
            answers: Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
                .expect("bounds and digits are allowed"),
        }
    }

    fn serve(&mut self, fabric: &mut World, clock: &WallClock) -> io::Result<bool> {
        // What falls due meanwhile is not kept waiting, however much the processes put out.
        let mut taken = 0;
        while taken < OUTPUTS_A_ROUND
            && let Some(output) = self.packets.try_recv().map_err(io::Error::other)?
        {
            let answer = put_out(fabric, clock.now(), &output);
            self.note(answer);
            taken += 1;
        }
        while let Some(input) = fabric.poll_switch_input() {
            self.packets.send(input.device_id, input.port, input.id, &input.frame);
            fabric.recycle(input.frame);
        }
        Ok(taken == OUTPUTS_A_ROUND)
    }

    fn note(&mut self, answer: Option<units::Duration>) {
        if let Some(answer) = answer {
            self.answers.saturating_record(answer.ns());
        }
    }

    fn finish(mut self, fabric: &mut World, clock: &WallClock) -> SwitchAnswers {
        fabric.set_switches_running(false);
        let lost = self.packets.lost();
        for output in self.packets.finish(LAST_PACKETS) {
            if let Some(answer) = put_out(fabric, clock.now(), &output) {
                self.answers.saturating_record(answer.ns());
            }
        }
        fabric.run_until(clock.now());
        fabric.settle_switches();
        SwitchAnswers {
            light: self.answers.len(),
            p50_ns: units::Duration::from_ns(self.answers.value_at_quantile(0.5)),
            p99_ns: units::Duration::from_ns(self.answers.value_at_quantile(0.99)),
            max_ns: units::Duration::from_ns(self.answers.max()),
            not_taken: lost,
        }
    }
}

/// How long the switch had it, if it was light.
fn put_out(fabric: &mut World, now: Instant, output: &slotwise_bmv2::Output) -> Option<units::Duration> {
    // No switch has ports that do not fit; what comes from outside is not trusted to know.
    let port = u16::try_from(output.port).ok()?;
    fabric
        .switch_output(now, output.device_id, port, output.id, &output.packet)
        .expect("streams belong to devices of the network")
}
