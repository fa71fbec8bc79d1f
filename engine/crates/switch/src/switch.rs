// SPDX-License-Identifier: Apache-2.0
//! `slotwise switch`: one P4 switch between Linux interfaces, where `simple_switch_grpc` would stand.

mod bmv2_options;
mod capture;
mod delivery;
mod device;
mod limits;
mod log;
mod options;
mod orders;
mod queues;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use pcap_file::TsResolution;
use slotwise_netio::{Ports, WallClock, WhenFull};
use slotwise_p4::Port;
use slotwise_p4runtime::{DeviceAccess, DeviceConfig, Server, ServerConfig};
use slotwise_units::Instant;

pub use self::bmv2_options::{CommandLine, Manner};
use self::capture::{Capture, Direction};
use self::delivery::Surroundings;
use self::device::Device;
pub use self::options::Args;
use self::queues::Queues;
use self::settings::{Loaded, Settings};
use crate::links::{Interface, Links};
use slotwise_cli::RunError;
use slotwise_cli::interrupts::Stop;
use slotwise_cli::notes::{note, printable, say};

/// Runs the switch until SIGINT, SIGTERM or SIGHUP.
pub fn run(args: &Args, manner: Manner) -> Result<(), RunError> {
    let Settings {
        interfaces,
        device_id,
        address,
        tls,
        cpu_port,
        config,
        pcap,
        logs,
        queues,
        ignored,
        program,
    } = args.settings(manner)?;
    let surplus = &args.bmv2.surplus;
    if !surplus.is_empty() {
        note!(
            "slotwise switch: ignored arguments: {}; expected one interface per -i, and one program",
            printable(&surplus.join(" "))
        );
    }
    if !ignored.is_empty() {
        note!("slotwise switch: options without effect: {}", ignored.join(" "));
    }
    let like_bmv2 = manner == Manner::Bmv2;
    let names: Vec<String> = interfaces.iter().map(|it| it.name.clone()).collect();
    let when_full = if queues.is_some() {
        WhenFull::Keep
    } else {
        WhenFull::Lose
    };
    let (ports, missing) = Ports::open_existing(&names, when_full)?;
    let clock = WallClock::start();
    let resolution = if like_bmv2 {
        TsResolution::MicroSecond
    } else {
        TsResolution::NanoSecond
    };
    let capture = pcap
        .map(|directory| Capture::create(&directory, &interfaces, resolution, clock.now()))
        .transpose()?;
    let waker = ports.waker();
    let stop = Stop::listen(ports.waker())?;
    let (pipeline, program) = match program {
        Loaded::None => (None, None),
        Loaded::Pipeline(pipeline) => (Some(*pipeline), None),
        Loaded::WithP4Info(program) => (None, Some(*program)),
    };
    let device = DeviceConfig {
        device_id,
        pipeline: config,
        tells_ports: false,
        program,
    };
    let server = ServerConfig {
        tls,
        limits: args.limits.limits(),
        ..ServerConfig::new(address, vec![device])
    };
    let (server, hub) = Server::start(server, Arc::new(move || waker.wake()))?;
    for options::Interface { port, name } in missing.iter().map(|place| &interfaces[*place]) {
        note!("slotwise switch: interface {name} of port {port} does not exist: the port waits for it");
    }
    say_ready(device_id, &server, &interfaces);

    let mut device = Device::new(clock, logs.takes_traces(), like_bmv2, queues.map(Queues::new));
    if let Some(pipeline) = pipeline {
        device.install(pipeline);
    }
    let numbers: Vec<Port> = interfaces.iter().map(|it| it.port).collect();
    let watch = |(place, it): (usize, &options::Interface)| {
        let watch = if missing.contains(&place) {
            Interface::missing
        } else {
            Interface::new
        };
        watch(it.name.clone(), format!("port {}", it.port), ports.opener(place))
    };
    Switch {
        device,
        surroundings: Surroundings {
            places: numbers.iter().enumerate().map(|(place, &port)| (port, place)).collect(),
            device_id,
            cpu_port,
            hub,
            capture,
            logs,
            lost_packet_outs: 0,
        },
        interfaces: interfaces.iter().enumerate().map(watch).collect(),
        ports,
        numbers,
        links: Links::new(names),
    }
    .serve(&stop)
}

fn say_ready(device_id: u64, server: &Server, interfaces: &[options::Interface]) {
    let listed: Vec<String> = interfaces.iter().map(|it| format!("{}@{}", it.port, it.name)).collect();
    say!(
        "slotwise switch: ready, device {device_id}, P4Runtime on {}, ports: {}",
        server.address(),
        if listed.is_empty() {
            "none".to_owned()
        } else {
            listed.join(" ")
        }
    );
}

struct Switch {
    device: Device,
    surroundings: Surroundings,
    ports: Ports,
    /// Of the ports, by place.
    numbers: Vec<Port>,
    /// By place.
    interfaces: Vec<Interface>,
    links: Links,
}

impl Switch {
    fn serve(mut self, stop: &Stop) -> Result<(), RunError> {
        let mut due = None;
        while !stop.is_requested() {
            self.poll(due)?;
            orders::execute(&mut self.device, &mut self.surroundings, self.ports.senders());
            self.watch_links();
            let leaves = self.device.empty_queues(&mut self.surroundings, self.ports.senders());
            self.ports.flush();
            let now = self.device.clock.now();
            let Surroundings { hub, device_id, .. } = &self.surroundings;
            let pipeline = self.device.pipeline();
            let tick = pipeline.and_then(|pipeline| hub.tick(*device_id, now, pipeline));
            due = [leaves, tick].into_iter().flatten().min();
        }
        self.report_losses();
        Ok(())
    }

    /// Waits for packets, commands, room or `due`, and runs the packets.
    fn poll(&mut self, due: Option<Instant>) -> Result<(), RunError> {
        let Switch {
            device,
            surroundings,
            ports,
            numbers,
            links,
            ..
        } = self;
        let now = device.clock.now();
        let due = [due, links.deadline()].into_iter().flatten().min();
        let timeout = due.map(|due| Duration::from_nanos(due.saturating_since(now).ns()));
        ports.poll_and_send(timeout, &mut |senders, place, frame| {
            let port = numbers[place];
            surroundings.record((place, port), Direction::In, device.clock.now(), frame);
            orders::run_packet(device, port, frame, surroundings, senders);
        })?;
        Ok(())
    }

    fn watch_links(&mut self) {
        let Surroundings { hub, device_id, .. } = &self.surroundings;
        let now = self.device.clock.now();
        if self.links.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        for (place, is_up) in self.links.changes(now) {
            hub.port_status(*device_id, self.numbers[place], is_up);
        }
        for (place, interface) in self.interfaces.iter_mut().enumerate() {
            let (opened, text) = interface.look();
            if let Some(opened) = opened {
                self.ports.replace(place, opened);
            }
            if let Some(text) = text {
                note!("slotwise switch: {text}");
            }
        }
    }

    /// Says what did not get through between the switch and the kernel.
    fn report_losses(&self) {
        for (place, number) in self.numbers.iter().enumerate() {
            let refused = self.ports.refused(place);
            if refused != 0 {
                note!("slotwise switch: port {number}: {refused} frames rejected by the kernel");
            }
        }
        let unreadable = self.ports.unreadable();
        if unreadable != 0 {
            note!("slotwise switch: {unreadable} invalid frames from the kernel");
        }
        let dropped = self.device.dropped();
        if dropped != 0 {
            note!("slotwise switch: {dropped} packets dropped: queue full or unknown");
        }
        let lost = self.surroundings.lost_packet_outs;
        if lost != 0 {
            note!("slotwise switch: {lost} packet-outs dropped: no CPU port");
        }
    }
}
