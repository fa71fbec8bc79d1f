// SPDX-License-Identifier: Apache-2.0
//! `slotwise switch`: one P4 switch between Linux interfaces, where `simple_switch_grpc` would stand.

mod capture;
mod options;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use slotwise_netio::{Ports, Waker, WallClock};
use slotwise_p4::{Bits, Output, Pipeline, PipelineConfig, Port, Program, TimestampUnit};
use slotwise_p4runtime::{
    DeviceAccess, DeviceCommand, DeviceConfig, DeviceHub, InitialProgram, Server, ServerConfig, Work, parse_p4info,
};

use self::capture::{Capture, Direction};
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
    let outputs = Outputs::new(&numbers, args.cpu_port);
    let trace = args.trace.as_deref().map(Trace::create).transpose()?;
    let mut device = Device {
        pipeline: None,
        clock,
        outputs,
        trace,
        bmv2_compatible: args.bmv2_compat,
    };
    if let Some(pipeline) = pipeline {
        device.install(pipeline);
    }
    let links = Links::new(names);
    let (device_id, cpu_port) = (args.device_id, args.cpu_port);
    Switch {
        device,
        device_id,
        cpu_port,
        hub,
        ports,
        numbers,
        links,
        capture,
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

fn stop_on_signal(waker: Waker) -> std::io::Result<Arc<AtomicBool>> {
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

/// Frames that the pipeline made and that have not left yet.
struct Outputs {
    /// From port number to place among the interfaces.
    places: BTreeMap<Port, usize>,
    cpu_port: Port,
    bytes: Vec<u8>,
    /// Destination and end in `bytes`, in order.
    frames: Vec<(Destination, usize)>,
    digests: Vec<(String, Vec<Bits>)>,
}

#[derive(Clone, Copy)]
enum Destination {
    Interface(usize),
    Controller,
}

impl Outputs {
    fn new(numbers: &[Port], cpu_port: Port) -> Outputs {
        let places = numbers.iter().enumerate().map(|(place, &port)| (port, place)).collect();
        Outputs {
            places,
            cpu_port,
            bytes: Vec::new(),
            frames: Vec::new(),
            digests: Vec::new(),
        }
    }
}

impl Output for Outputs {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        let destination = match self.places.get(&port) {
            _ if port == self.cpu_port => Destination::Controller,
            Some(&place) => Destination::Interface(place),
            // No cable in that port.
            None => return,
        };
        self.bytes.extend_from_slice(frame);
        self.frames.push((destination, self.bytes.len()));
    }

    fn digest(&mut self, name: &str, fields: &[Bits]) {
        self.digests.push((name.to_owned(), fields.to_vec()));
    }
}

struct Device {
    pipeline: Option<Pipeline>,
    clock: WallClock,
    outputs: Outputs,
    trace: Option<Trace>,
    bmv2_compatible: bool,
}

impl Device {
    /// Without a program, every packet is dropped.
    fn process(&mut self, port: Port, frame: &[u8]) {
        if let Some(pipeline) = &mut self.pipeline {
            let now_ns = self.clock.now_ns();
            pipeline.process(now_ns, port, frame, &mut self.outputs);
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
    device_id: u64,
    cpu_port: Port,
    hub: DeviceHub,
    ports: Ports,
    numbers: Vec<Port>,
    links: Links,
    capture: Option<Capture>,
}

impl Switch {
    fn serve(mut self, stop: &AtomicBool) -> Result<(), RunError> {
        let mut due_ns = None;
        while !stop.load(Ordering::Relaxed) {
            self.poll(due_ns)?;
            self.execute();
            self.watch_links();
            self.hand_over()?;
            let now_ns = self.device.clock.now_ns();
            let pipeline = self.device.pipeline.as_mut();
            due_ns = pipeline.and_then(|pipeline| self.hub.tick(self.device_id, now_ns, pipeline));
        }
        Ok(())
    }

    /// Waits for packets, commands or `due_ns`, and runs the packets.
    fn poll(&mut self, due_ns: Option<u64>) -> Result<(), RunError> {
        let Switch {
            device,
            ports,
            numbers,
            links,
            capture,
            ..
        } = self;
        let now_ns = device.clock.now_ns();
        let due_ns = [due_ns, links.deadline_ns()].into_iter().flatten().min();
        let timeout = due_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)));
        let mut captured = Ok(());
        ports.poll(timeout, &mut |place, frame| {
            if let Some(capture) = capture.as_mut().filter(|_| captured.is_ok()) {
                captured = capture.record(place, Direction::In, device.clock.now_ns(), frame);
            }
            device.process(numbers[place], frame);
        })?;
        Ok(captured?)
    }

    /// Does what the controllers want done.
    fn execute(&mut self) {
        while let Some(DeviceCommand { work, .. }) = self.hub.try_recv() {
            match work {
                Work::Call(call) => {
                    let now_ns = self.device.clock.now_ns();
                    self.device
                        .pipeline
                        .iter_mut()
                        .for_each(|pipeline| pipeline.advance_time(now_ns));
                    call.run(&mut self.device);
                }
                Work::PacketOut(frame) => self.device.process(self.cpu_port, &frame),
            }
        }
    }

    fn watch_links(&mut self) {
        for (place, is_up) in self.links.changes(self.device.clock.now_ns()) {
            self.hub.port_status(self.device_id, self.numbers[place], is_up);
        }
    }

    /// Sends what the pipeline made.
    fn hand_over(&mut self) -> Result<(), RunError> {
        let now_ns = self.device.clock.now_ns();
        let Outputs {
            bytes, frames, digests, ..
        } = &mut self.device.outputs;
        let mut start = 0;
        for (destination, end) in frames.drain(..) {
            let frame = &bytes[start..end];
            match destination {
                Destination::Interface(place) => {
                    self.ports.send(place, frame);
                    if let Some(capture) = &mut self.capture {
                        capture.record(place, Direction::Out, now_ns, frame)?;
                    }
                }
                // Without a controller, or with one that does not keep up, the packet is lost as on any switch.
                Destination::Controller => drop(self.hub.packet_in(self.device_id, frame)),
            }
            start = end;
        }
        bytes.clear();
        self.ports.flush();
        for (name, fields) in digests.drain(..) {
            self.hub.digest(self.device_id, &name, &fields, now_ns);
        }
        Ok(())
    }
}
