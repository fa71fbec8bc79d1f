// SPDX-License-Identifier: Apache-2.0
//! `slotwise switch`: one P4 switch between Linux interfaces, where `simple_switch_grpc` would stand.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::{ArgAction, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use slotwise_netio::{Ports, Waker, WallClock};
use slotwise_p4::{Output, Pipeline, PipelineConfig, Port, Program, TimestampUnit};
use slotwise_p4runtime::{
    DeviceAccess, DeviceCommand, DeviceConfig, DeviceHub, InitialProgram, Server, ServerConfig, Work, parse_p4info,
};

use crate::run::RunError;
use crate::trace::Trace;

/// Ports are 9 bits wide, as in v1model.
const LAST_PORT: Port = 511;

/// Run one P4 switch between Linux interfaces, controlled over P4Runtime.
///
/// Options of simple_switch_grpc that concern BMv2 only are accepted and named as ignored.
#[derive(clap::Args)]
pub struct Args {
    /// Program in p4c's BMv2 JSON; without it the switch waits for a controller's
    program: Option<PathBuf>,
    /// P4Info of PROGRAM (text format, or binary when it ends in .bin): lets controllers write tables at once
    #[arg(long, value_name = "FILE", requires = "program")]
    p4info: Option<PathBuf>,
    /// Interface behind a port of the switch, e.g. 1@veth0; any number of times
    #[arg(short, long = "interface", value_name = "PORT@IFACE")]
    interfaces: Vec<Interface>,
    /// Id in P4Runtime messages
    #[arg(long, default_value_t = 1)]
    device_id: u64,
    /// Where the P4Runtime server listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9559")]
    grpc_server_addr: String,
    /// Port whose packets go to and come from the controller
    #[arg(long, value_name = "PORT", default_value_t = 510, value_parser = clap::value_parser!(u16).range(0..=511))]
    cpu_port: Port,
    /// Port of dropped packets
    #[arg(long, value_name = "PORT", default_value_t = 511, value_parser = clap::value_parser!(u16).range(0..=511))]
    drop_port: Port,
    /// Unit of the program's timestamps: BMv2's is us
    #[arg(long, value_enum, default_value_t = Timestamps::Ns)]
    timestamps: Timestamps,
    /// Write which way each packet takes: P4 file and line, branches, tables, entries, actions
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    ignored: Bmv2Options,
}

#[derive(Clone, Copy, ValueEnum)]
enum Timestamps {
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

/// Options that have a meaning for BMv2 and none here.
#[derive(clap::Args)]
struct Bmv2Options {
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    no_p4: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    log_console: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    log_flush: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    debugger: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    enable_swap: bool,
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    disable_swap: bool,
    #[arg(long, hide = true)]
    thrift_port: Option<String>,
    #[arg(long, hide = true)]
    log_file: Option<String>,
    #[arg(long, short = 'L', hide = true)]
    log_level: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1)]
    pcap: Option<Option<String>>,
    #[arg(long, hide = true)]
    nanolog: Option<String>,
    #[arg(long, hide = true)]
    notifications_addr: Option<String>,
    #[arg(long, hide = true)]
    debugger_addr: Option<String>,
    #[arg(long, hide = true)]
    dump_packet_data: Option<String>,
    #[arg(long, hide = true)]
    dp_grpc_server_addr: Option<String>,
    #[arg(long, hide = true)]
    priority_queues: Option<String>,
}

impl Bmv2Options {
    /// Those that were given. `--no-p4` is not among them: without PROGRAM it says what happens anyway.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--log-console", self.log_console),
            ("--log-flush", self.log_flush),
            ("--debugger", self.debugger),
            ("--enable-swap", self.enable_swap),
            ("--disable-swap", self.disable_swap),
            ("--thrift-port", self.thrift_port.is_some()),
            ("--log-file", self.log_file.is_some()),
            ("--log-level", self.log_level.is_some()),
            ("--pcap", self.pcap.is_some()),
            ("--nanolog", self.nanolog.is_some()),
            ("--notifications-addr", self.notifications_addr.is_some()),
            ("--debugger-addr", self.debugger_addr.is_some()),
            ("--dump-packet-data", self.dump_packet_data.is_some()),
            ("--dp-grpc-server-addr", self.dp_grpc_server_addr.is_some()),
            ("--priority-queues", self.priority_queues.is_some()),
        ];
        all.into_iter()
            .filter(|(_, given)| *given)
            .map(|(name, _)| name)
            .collect()
    }
}

/// `PORT@IFACE`
#[derive(Debug, Clone, PartialEq, Eq)]
struct Interface {
    port: Port,
    name: String,
}

impl FromStr for Interface {
    type Err = String;

    fn from_str(text: &str) -> Result<Interface, String> {
        let wanted = || format!("{text:?} is not PORT@IFACE with a port in 0..={LAST_PORT}, e.g. 1@veth0");
        let (port, name) = text.split_once('@').ok_or_else(wanted)?;
        let port = port.parse().ok().filter(|port| *port <= LAST_PORT).ok_or_else(wanted)?;
        if name.is_empty() {
            return Err(wanted());
        }
        Ok(Interface {
            port,
            name: name.to_owned(),
        })
    }
}

/// The arguments of `switch` without BMv2's `--`, which parts the options of bmv2 from those of its gRPC target.
pub fn without_separator(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    if args.get(1).is_some_and(|command| command == "switch")
        && let Some(separator) = args.iter().position(|arg| arg == "--")
    {
        args.remove(separator);
    }
    args
}

/// Runs the switch until SIGINT or SIGTERM.
pub fn run(args: &Args) -> Result<(), RunError> {
    let ignored = args.ignored.given();
    if !ignored.is_empty() {
        eprintln!("slotwise switch: ignored, for BMv2 only: {}", ignored.join(" "));
    }
    if args.ignored.no_p4 && args.program.is_some() {
        return Err("--no-p4 and a program exclude each other".into());
    }
    let (numbers, names) = plan_ports(args)?;
    let config = PipelineConfig {
        cpu_port: args.cpu_port,
        drop_port: args.drop_port,
        timestamp_unit: match args.timestamps {
            Timestamps::Us => TimestampUnit::Microseconds,
            Timestamps::Ns => TimestampUnit::Nanoseconds,
        },
        seed: 0,
    };
    let (pipeline, program) = load(args, &config)?;
    let ports = Ports::open(&names, None)?;
    let waker = ports.waker();
    let stop = stop_on_signal(ports.waker())?;
    let server = ServerConfig {
        address: resolve(&args.grpc_server_addr)?,
        devices: vec![DeviceConfig {
            device_id: args.device_id,
            pipeline: config,
            program,
        }],
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
        clock: WallClock::start(),
        outputs,
        trace,
    };
    if let Some(pipeline) = pipeline {
        device.install(pipeline);
    }
    let switch = Switch {
        device,
        device_id: args.device_id,
        cpu_port: args.cpu_port,
        hub,
        ports,
        numbers,
    };
    switch.serve(&stop)
}

/// Port numbers and interface names, in the same order.
fn plan_ports(args: &Args) -> Result<(Vec<Port>, Vec<String>), String> {
    for (index, Interface { port, name }) in args.interfaces.iter().enumerate() {
        if *port == args.cpu_port || *port == args.drop_port {
            return Err(format!("port {port} ({name}) is the CPU port or the drop port"));
        }
        if args.interfaces[..index]
            .iter()
            .any(|other| other.port == *port || other.name == *name)
        {
            return Err(format!("{port}@{name}: port or interface is there twice"));
        }
    }
    Ok(args.interfaces.iter().map(|it| (it.port, it.name.clone())).unzip())
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

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn resolve(address: &str) -> Result<SocketAddr, String> {
    let mut found = address
        .to_socket_addrs()
        .map_err(|error| format!("--grpc-server-addr {address}: {error}"))?;
    found
        .next()
        .ok_or_else(|| format!("--grpc-server-addr {address}: no such address"))
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
}

struct Device {
    pipeline: Option<Pipeline>,
    clock: WallClock,
    outputs: Outputs,
    trace: Option<Trace>,
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
}

impl Switch {
    fn serve(mut self, stop: &AtomicBool) -> Result<(), RunError> {
        while !stop.load(Ordering::Relaxed) {
            let Switch {
                device, ports, numbers, ..
            } = &mut self;
            ports.poll(None, &mut |place, frame| device.process(numbers[place], frame))?;
            while let Some(DeviceCommand { work, .. }) = self.hub.try_recv() {
                match work {
                    Work::Call(call) => call.run(&mut self.device),
                    Work::PacketOut(frame) => self.device.process(self.cpu_port, &frame),
                }
            }
            self.hand_over();
        }
        Ok(())
    }

    fn hand_over(&mut self) {
        let Outputs { bytes, frames, .. } = &mut self.device.outputs;
        let mut start = 0;
        for (destination, end) in frames.drain(..) {
            let frame = &bytes[start..end];
            match destination {
                Destination::Interface(place) => self.ports.send(place, frame),
                // Without a controller, or with one that does not keep up, the packet is lost as on any switch.
                Destination::Controller => drop(self.hub.packet_in(self.device_id, frame)),
            }
            start = end;
        }
        bytes.clear();
        self.ports.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_port_at_name() {
        assert_eq!(
            "1@veth0".parse(),
            Ok(Interface {
                port: 1,
                name: "veth0".to_owned()
            })
        );
        for wrong in ["veth0", "512@veth0", "-1@veth0", "1@", "x@veth0"] {
            assert!(wrong.parse::<Interface>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_separator_of_bmv2_is_dropped() {
        let args = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = args("slotwise switch -i 1@a x.json -- --cpu-port 255");
        assert_eq!(
            without_separator(given.into_iter()),
            args("slotwise switch -i 1@a x.json --cpu-port 255")
        );
        let other = args("slotwise simulate -- x.yaml");
        assert_eq!(without_separator(other.clone().into_iter()), other);
    }
}
