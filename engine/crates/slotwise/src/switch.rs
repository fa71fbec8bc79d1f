// SPDX-License-Identifier: Apache-2.0
//! `slotwise switch`: one P4 switch between Linux interfaces, where `simple_switch_grpc` would stand.

mod capture;
mod delivery;
mod options;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use slotwise_netio::{Ports, Waker, WallClock};
use slotwise_p4::{Pipeline, PipelineConfig, Port, Program, TimestampUnit};
use slotwise_p4runtime::{
    DeviceAccess, DeviceCommand, DeviceConfig, InitialProgram, Server, ServerConfig, Work, parse_p4info,
};

use self::capture::{Capture, Direction};
use self::delivery::{Delivery, Surroundings};
pub use self::options::{Args, without_separator};
use self::options::{Timestamps, read};
use crate::links::Links;
use crate::run::RunError;
use crate::trace::Trace;

/// Runs the switch until SIGINT or SIGTERM.
pub fn run(args: &Args) -> Result<(), RunError> {
    let ignored = args.ignored.given();
    if !ignored.is_empty() {
        eprintln!("slotwise switch: ignored, for BMv2 only: {}", ignored.join(" "));
    }
    if args.ignored.no_p4 && args.program.is_some() {
        return Err("--no-p4 and a program exclude each other".into());
    }
    let (numbers, names) = args.plan_ports()?;
    let config = PipelineConfig {
        cpu_port: args.cpu_port,
        drop_port: args.drop_port,
        timestamp_unit: match args.timestamps {
            Timestamps::Us => TimestampUnit::Microseconds,
            Timestamps::Ns => TimestampUnit::Nanoseconds,
        },
        seed: 0,
        executor: args.executor.into(),
    };
    let (pipeline, program) = load(args, &config)?;
    let ports = Ports::open(&names, None)?;
    let clock = WallClock::start();
    let capture = args
        .pcap
        .as_deref()
        .map(|directory| Capture::create(directory, &names, clock.now_ns()))
        .transpose()?;
    let waker = ports.waker();
    let stop = stop_on_signal(ports.waker())?;
    let server = ServerConfig {
        address: args.address()?,
        devices: vec![DeviceConfig {
            device_id: args.device_id,
            pipeline: config,
            program,
        }],
        tls: args.tls.load()?,
        lock_step: false,
    };
    let (server, hub) = Server::start(server, Arc::new(move || waker.wake()))?;

    let listed: Vec<String> = args
        .interfaces
        .iter()
        .map(|it| format!("{}@{}", it.port, it.name))
        .collect();
    println!(
        "slotwise switch: ready, device {}, P4Runtime on {}, ports: {}",
        args.device_id,
        server.address(),
        if listed.is_empty() {
            "none".to_owned()
        } else {
            listed.join(" ")
        }
    );
    let trace = args.trace.as_deref().map(Trace::create).transpose()?;
    let mut device = Device {
        pipeline: None,
        clock,
        trace,
        bmv2_compatible: args.bmv2_compat,
    };
    if let Some(pipeline) = pipeline {
        device.install(pipeline);
    }
    Switch {
        device,
        surroundings: Surroundings::new(&numbers, args.device_id, args.cpu_port, hub, capture),
        ports,
        numbers,
        links: Links::new(names),
    }
    .serve(&stop)
}

type Loaded = (Option<Pipeline>, Option<InitialProgram>);

/// With P4Info the server installs the program; without, only a controller that brings its own can write tables.
fn load(args: &Args, config: &PipelineConfig) -> Result<Loaded, RunError> {
    let Some(path) = &args.program else {
        return Ok((None, None));
    };
    let json = read(path)?;
    let Some(p4info_path) = &args.p4info else {
        let program = Program::from_json(&json).map_err(|error| format!("{}: {error}", path.display()))?;
        return Ok((Some(Pipeline::new(Arc::new(program), config.clone())), None));
    };
    let p4info = parse_p4info(
        &read(p4info_path)?,
        p4info_path.extension().is_some_and(|end| end == "bin"),
    );
    let p4info = p4info.map_err(|error| format!("{}: {error}", p4info_path.display()))?;
    Ok((None, Some(InitialProgram { p4info, json })))
}

/// Wakes a loop at SIGINT or SIGTERM, which is to end it then.
pub fn stop_on_signal(waker: Waker) -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let flag = stop.clone();
    thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            flag.store(true, Ordering::Relaxed);
            waker.wake();
        }
    })?;
    Ok(stop)
}

struct Device {
    pipeline: Option<Pipeline>,
    clock: WallClock,
    trace: Option<Trace>,
    bmv2_compatible: bool,
}

impl Device {
    /// Without a program, every packet is dropped.
    fn process(&mut self, port: Port, frame: &[u8], mut delivery: Delivery) {
        if let Some(pipeline) = &mut self.pipeline {
            let now_ns = delivery.now_ns;
            pipeline.process(now_ns, port, frame, &mut delivery);
            if let Some(trace) = &mut self.trace {
                trace.write(now_ns, pipeline);
            }
        }
    }
}

impl DeviceAccess for Device {
    fn pipeline(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    fn install(&mut self, mut pipeline: Pipeline) {
        pipeline.set_tracing(self.trace.is_some());
        pipeline.set_bmv2_compatible(self.bmv2_compatible);
        self.pipeline = Some(pipeline);
    }
}

struct Switch {
    device: Device,
    surroundings: Surroundings,
    ports: Ports,
    numbers: Vec<Port>,
    links: Links,
}

impl Switch {
    fn serve(mut self, stop: &AtomicBool) -> Result<(), RunError> {
        let mut due_ns = None;
        while !stop.load(Ordering::Relaxed) {
            self.poll(due_ns)?;
            self.execute();
            self.watch_links();
            self.ports.flush();
            self.surroundings.check()?;
            let now_ns = self.device.clock.now_ns();
            let pipeline = self.device.pipeline.as_mut();
            let Surroundings { hub, device_id, .. } = &self.surroundings;
            due_ns = pipeline.and_then(|pipeline| hub.tick(*device_id, now_ns, pipeline));
        }
        self.report_losses();
        Ok(())
    }

    /// Waits for packets, commands or `due_ns`, and runs the packets.
    fn poll(&mut self, due_ns: Option<u64>) -> Result<(), RunError> {
        let Switch {
            device,
            surroundings,
            ports,
            numbers,
            links,
        } = self;
        let now_ns = device.clock.now_ns();
        let due_ns = [due_ns, links.deadline_ns()].into_iter().flatten().min();
        let timeout = due_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)));
        ports.poll_and_send(timeout, &mut |senders, place, frame| {
            let now_ns = device.clock.now_ns();
            surroundings.record(place, Direction::In, now_ns, frame);
            let delivery = Delivery {
                surroundings,
                senders,
                now_ns,
            };
            device.process(numbers[place], frame, delivery);
        })?;
        Ok(())
    }

    /// Does what the controllers want done.
    fn execute(&mut self) {
        while let Some(DeviceCommand { work, .. }) = self.surroundings.hub.try_recv() {
            match work {
                Work::Call(call) => {
                    let now_ns = self.device.clock.now_ns();
                    self.device
                        .pipeline
                        .iter_mut()
                        .for_each(|pipeline| pipeline.advance_time(now_ns));
                    call.run(&mut self.device);
                }
                Work::PacketOut(frame) => {
                    let cpu_port = self.surroundings.cpu_port;
                    let delivery = Delivery {
                        surroundings: &mut self.surroundings,
                        senders: self.ports.senders(),
                        now_ns: self.device.clock.now_ns(),
                    };
                    self.device.process(cpu_port, &frame, delivery);
                }
            }
        }
    }

    fn watch_links(&mut self) {
        let Surroundings { hub, device_id, .. } = &self.surroundings;
        for (place, is_up) in self.links.changes(self.device.clock.now_ns()) {
            hub.port_status(*device_id, self.numbers[place], is_up);
        }
    }

    /// Says what did not get through between the switch and the kernel.
    fn report_losses(&self) {
        for (place, number) in self.numbers.iter().enumerate() {
            let refused = self.ports.refused(place);
            if refused != 0 {
                eprintln!("slotwise switch: the kernel did not take {refused} frames for port {number}");
            }
        }
        let unreadable = self.ports.unreadable();
        if unreadable != 0 {
            eprintln!("slotwise switch: {unreadable} times the kernel handed over what was no frame");
        }
    }
}
