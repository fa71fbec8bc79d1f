// SPDX-License-Identifier: Apache-2.0
//! Who runs the P4 switches of a live fabric: the fabric itself, or processes outside.

use std::io;
use std::time::Duration;

use hdrhistogram::Histogram;
use slotwise_bmv2::Packets;
use slotwise_fabric::Fabric;
use slotwise_netio::WallClock;
use slotwise_p4runtime::DeviceHub;

use crate::devices::execute;
use crate::report::SwitchAnswers;

/// Time for the processes to put out what they still have at the end.
const LAST_PACKETS: Duration = Duration::from_secs(5);

/// Who runs the switches.
pub enum Switches {
    /// The fabric; what the P4Runtime server wants done is done between two events.
    Inside(DeviceHub),
    /// BMv2 processes.
    Bmv2(Bmv2Switches),
}

impl Switches {
    /// Carries frames and commands to and from the fabric, which stands still meanwhile.
    ///
    /// # Errors
    /// What ended a process's packets.
    pub fn serve(&mut self, fabric: &mut Fabric, clock: &WallClock) -> io::Result<()> {
        match self {
            Switches::Inside(hub) => {
                while let Some(command) = hub.try_recv() {
                    execute(fabric, command);
                }
                Ok(())
            }
            Switches::Bmv2(switches) => switches.serve(fabric, clock),
        }
    }

    /// Gives the controller a packet that left by the CPU port of one of the fabric's own switches. A process has sent its own.
    pub fn packet_in(&mut self, device_id: u64, frame: &[u8]) {
        if let Switches::Inside(hub) = self {
            // Without a controller the packet is lost, as on any switch; the schedule goes on.
            hub.packet_in(device_id, frame);
        }
    }

    /// Ends the processes' packets; afterwards the fabric has all that they put out. Says how long they had light.
    pub fn finish(self, fabric: &mut Fabric, clock: &WallClock) -> Option<SwitchAnswers> {
        match self {
            Switches::Inside(_) => None,
            Switches::Bmv2(switches) => Some(switches.finish(fabric, clock)),
        }
    }
}

/// BMv2 processes and their packets.
pub struct Bmv2Switches {
    packets: Packets,
    answers: Histogram<u64>,
}

impl Bmv2Switches {
    /// Takes streams to all switches of the fabric.
    pub fn new(packets: Packets) -> Bmv2Switches {
        const LONGEST_NS: u64 = 60_000_000_000;
        const SIGNIFICANT_DIGITS: u8 = 3;
        Bmv2Switches {
            packets,
            answers: Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
                .expect("bounds and digits are allowed"),
        }
    }

    fn serve(&mut self, fabric: &mut Fabric, clock: &WallClock) -> io::Result<()> {
        while let Some(output) = self.packets.try_recv().map_err(io::Error::other)? {
            let answer = put_out(fabric, clock.now_ns(), &output);
            self.note(answer);
        }
        while let Some(input) = fabric.poll_switch_input() {
            self.packets
                .send(input.device_id, input.port, input.light, &input.frame);
            fabric.recycle(input.frame);
        }
        Ok(())
    }

    fn note(&mut self, answer_ns: Option<u64>) {
        if let Some(answer_ns) = answer_ns {
            self.answers.saturating_record(answer_ns);
        }
    }

    fn finish(mut self, fabric: &mut Fabric, clock: &WallClock) -> SwitchAnswers {
        fabric.set_switches_running(false);
        let lost = self.packets.lost();
        for output in self.packets.finish(LAST_PACKETS) {
            if let Some(answer_ns) = put_out(fabric, clock.now_ns(), &output) {
                self.answers.saturating_record(answer_ns);
            }
        }
        fabric.run_until(clock.now_ns());
        fabric.settle_switches();
        SwitchAnswers {
            light: self.answers.len(),
            p50_ns: self.answers.value_at_quantile(0.5),
            p99_ns: self.answers.value_at_quantile(0.99),
            max_ns: self.answers.max(),
            not_taken: lost,
        }
    }
}

/// How long the switch had it, if it was light.
fn put_out(fabric: &mut Fabric, now_ns: u64, output: &slotwise_bmv2::Output) -> Option<u64> {
    // No switch has ports that do not fit; what comes from outside is not trusted to know.
    let port = u16::try_from(output.port).ok()?;
    fabric
        .switch_output(now_ns, output.device_id, port, output.id, &output.packet)
        .expect("streams are of the fabric's devices")
}
