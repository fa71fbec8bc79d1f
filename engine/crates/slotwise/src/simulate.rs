// SPDX-License-Identifier: Apache-2.0
//! `slotwise simulate`: a scenario in virtual time, with the same controller in lock step. Needs no root; the same seed gives
//! the same report and the same captures.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use serde_json::{Value, json};
use slotwise_fabric::lockstep::{Controller, Exchange, Lockstep, PacketOut};
use slotwise_fabric::{ControlEvent, ControlMessage, Fabric, FabricOptions, FlowResult, FrameRecord, HostMode};
use slotwise_p4runtime::{ControllerPacket, LockstepError, LockstepLink, Server, ServerConfig, Turn};
use slotwise_scenario::{Scenario, TrafficKind};

use crate::child::ChildEvent;
use crate::controller::{self, Addresses, Clock};
use crate::devices;
use crate::home::Home;
use crate::live::LiveView;
use crate::progress::Progress;
use crate::run::{Gathered, PhaseRun, RunArgs, RunError, check_free, report};

/// A controller that says nothing for so long has failed. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the live view is fed, in frames.
const VIEW_FRAMES: u64 = 100;

/// The controller process behind the P4Runtime server.
struct RemoteController {
    link: LockstepLink,
    child: Receiver<ChildEvent>,
}

impl RemoteController {
    fn answer(&self, turn: Result<Turn, LockstepError>) -> Result<Exchange, RunError> {
        let turn = turn.map_err(|error| match self.child.try_recv() {
            Ok(ChildEvent::Closed) | Err(TryRecvError::Disconnected) => format!("the controller has ended: {error}"),
            _ => error.to_string(),
        })?;
        let packet_outs = turn
            .packet_outs
            .into_iter()
            .map(|ControllerPacket { device_id, frame }| PacketOut { device_id, frame });
        Ok(Exchange {
            packet_outs: packet_outs.collect(),
            next_deadline_ns: turn.next_deadline_ns,
        })
    }
}

impl Controller for RemoteController {
    type Error = RunError;

    fn start(&mut self, fabric: &mut Fabric) -> Result<Exchange, RunError> {
        let turn = self.link.ready(&mut |command| devices::execute(fabric, command));
        self.answer(turn)
    }

    fn exchange(&mut self, fabric: &mut Fabric, now_ns: u64, arrived: Vec<ControlEvent>) -> Result<Exchange, RunError> {
        let packets: Vec<ControllerPacket> = arrived
            .into_iter()
            .filter_map(|event| match event.message {
                ControlMessage::Packet(frame) => Some(ControllerPacket {
                    device_id: event.device_id,
                    frame: frame.to_vec(),
                }),
                ControlMessage::Digest { .. } => None,
            })
            .collect();
        let turn = self
            .link
            .exchange(now_ns, &packets, &mut |command| devices::execute(fabric, command));
        self.answer(turn)
    }
}

/// Runs a scenario. True if all was well.
pub fn simulate(args: &RunArgs) -> Result<bool, RunError> {
    let scenario = args.load()?;
    let home = Home::find()?;
    let addresses = args.addresses();
    check_free(addresses.rest, "controller (REST)")?;
    let mut fabric = Fabric::new(
        &scenario,
        FabricOptions {
            seed: scenario.seed,
            host_mode: HostMode::Simulated,
            captures: args.captures()?,
            frame_records: true,
        },
    );
    let config = ServerConfig {
        address: addresses.p4runtime,
        devices: devices::configs(&fabric),
        tls: None,
        lock_step: true,
    };
    let (server, hub) = Server::start(config, Arc::new(|| {}))?;
    let addresses = Addresses {
        p4runtime: server.address(),
        ..addresses
    };
    let directory = tempfile::Builder::new().prefix("slotwise-").tempdir()?;
    let (events, child) = channel();
    let mut process = controller::start(
        &home,
        &scenario,
        &addresses,
        Clock::Lockstep,
        directory.path(),
        events,
        |event| event,
    )?;
    let remote = RemoteController {
        link: LockstepLink::new(hub, PATIENCE),
        child,
    };
    let latency_ns = scenario.controller.control_latency_ns;
    let mut lockstep = Lockstep::start(remote, &mut fabric, latency_ns).map_err(|error| error.to_string())?;

    let mut view = LiveView::new();
    let mut progress = Progress::new(&scenario);
    let mut frames: Vec<FrameRecord> = Vec::new();
    let end_ns = scenario.end_ns();
    while fabric.now() < end_ns {
        let stop_ns = (fabric.now() + VIEW_FRAMES * scenario.frame.frame_ns()).min(end_ns);
        lockstep
            .run_until(&mut fabric, stop_ns)
            .map_err(|error| error.to_string())?;
        while let Some(record) = fabric.poll_frame() {
            progress.add(&record);
            frames.push(record);
        }
        let phase = (0..scenario.phases.len())
            .rfind(|&index| scenario.phase_ns(index).0 < fabric.now())
            .unwrap_or(0);
        view.show(&progress.snapshot(fabric.now() - scenario.epoch_ns(), end_ns - scenario.epoch_ns(), phase));
    }
    fabric.finish_captures()?;
    let statistics = deterministic(controller::statistics(addresses.rest));
    process.stop(PATIENCE)?;

    let gathered = Gathered {
        command: "simulate",
        phases: phases(&scenario, &fabric),
        frames,
        lateness: None,
        switch_answers: None,
        controller: statistics,
        controller_restarts: 0,
        failures: failures(&fabric),
        notes: Vec::new(),
    };
    args.finish(&report(&scenario, &fabric, gathered))
}

/// The controller's statistics without what depends on the machine.
fn deterministic(mut statistics: Value) -> Value {
    if let Some(fields) = statistics.as_object_mut() {
        fields.remove("scheduling_ns");
    }
    statistics
}

fn failures(fabric: &Fabric) -> Vec<String> {
    let wrong_bytes: u64 = fabric
        .flow_results()
        .iter()
        .filter_map(|flow| flow.stream)
        .map(|stream| stream.wrong_bytes)
        .sum();
    if wrong_bytes == 0 {
        return Vec::new();
    }
    vec![format!(
        "{wrong_bytes} bytes of streams arrived that are not what was sent"
    )]
}

fn phases(scenario: &Scenario, fabric: &Fabric) -> Vec<PhaseRun> {
    let results = fabric.flow_results();
    (0..scenario.phases.len())
        .map(|index| {
            let (start_ns, end_ns) = scenario.phase_ns(index);
            let flows = results.iter().filter(|result| result.flow.phase == index);
            PhaseRun {
                start_ns,
                end_ns,
                flows: flows.map(|result| flow(result, end_ns - start_ns)).collect(),
                files: Vec::new(),
            }
        })
        .collect()
}

fn flow(result: &FlowResult, phase_ns: u64) -> Value {
    let kind = match result.flow.kind {
        TrafficKind::Tcp { .. } => "tcp",
        TrafficKind::Udp { .. } => "udp",
        TrafficKind::File { .. } => "file",
    };
    let transport = match result.flow.kind {
        TrafficKind::Tcp { transport, .. } | TrafficKind::File { transport, .. } => Some(transport.name()),
        TrafficKind::Udp { .. } => None,
    };
    let delay = result.delay.as_ref();
    json!({
        "kind": kind,
        "transport": transport,
        "entry": result.flow.entry,
        "from": result.flow.from.to_string(),
        "to": result.flow.to.to_string(),
        "offered_bps": result.offered_bps,
        "sent_packets": result.sent_packets,
        "received_packets": result.received_packets,
        "bytes": result.received_bytes,
        "seconds": phase_ns as f64 / 1e9,
        "goodput_bps": result.received_bytes as f64 * 8e9 / phase_ns as f64,
        "delay_ns": delay.map(|delay| json!({"min": delay.min_ns, "mean": delay.mean_ns, "p99": delay.p99_ns, "max": delay.max_ns})),
        "completed_ns": result.completed_ns,
        "stream": result.stream.map(|stream| json!({
            "retransmissions": stream.retransmissions,
            "timeouts": stream.timeouts,
            "srtt_ns": stream.srtt_ns,
            "window_bytes": stream.window_bytes,
        })),
    })
}
