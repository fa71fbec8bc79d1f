// SPDX-License-Identifier: Apache-2.0
//! What controllers want done, between packets, however much those have to do.

use slotwise_netio::Senders;
use slotwise_p4::Port;
use slotwise_p4runtime::{DeviceAccess, DeviceCommand, Work};

use super::delivery::Surroundings;
use super::device::Device;
use slotwise_cli::notes::note;

/// Does what the controllers want done; a new turn begins.
pub fn execute(device: &mut Device, around: &mut Surroundings, senders: &mut Senders) {
    while let Some(DeviceCommand { work, .. }) = around.hub.try_recv() {
        match work {
            Work::Call(call) => {
                let now = device.clock.now();
                if let Some(pipeline) = device.pipeline() {
                    pipeline.advance_time(now);
                }
                call.run(device);
            }
            Work::PacketOut(frame) => match around.cpu_port {
                Some(port) => device.process(port, &frame, around, senders),
                None => lose_packet_out(around),
            },
        }
    }
    device.begin_turn();
}

/// Runs a packet that came in, and then, if it is the controllers' turn, what they want done.
pub fn run_packet(device: &mut Device, port: Port, frame: &[u8], around: &mut Surroundings, senders: &mut Senders) {
    device.process(port, frame, around, senders);
    if device.is_turn_over() {
        execute(device, around, senders);
    }
}

fn lose_packet_out(around: &mut Surroundings) {
    if around.lost_packet_outs == 0 {
        note!("slotwise switch: packet-out dropped: no CPU port (--cpu-port)");
    }
    around.lost_packet_outs += 1;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::thread;

    use serde_json::{Value, json};
    use slotwise_netio::{Ports, WallClock};
    use slotwise_p4::{Executor, Pipeline, PipelineConfig, TimestampUnit};
    use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
    use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
    use slotwise_p4runtime::proto::p4::v1::*;
    use slotwise_p4runtime::{DeviceConfig, InitialProgram, Server, ServerConfig, parse_p4info};

    use super::super::device::{PASSES_A_TURN, WORK_A_TURN};
    use super::super::log::Logs;
    use super::super::queues::{QueuePlan, Queues};
    use super::*;

    const PROGRAM: &[u8] = include_bytes!("../../../p4/tests/programs/replication.json");
    const P4INFO: &[u8] = include_bytes!("../../../p4/tests/programs/replication.p4info.txtpb");
    /// First byte of a packet that is resubmitted for ever, and of one that is recirculated for ever.
    const LOOPS: [u8; 2] = [9, 4];
    /// Most work of one packet, by itself.
    const MAX_WORK: u64 = 1 << 25;

    /// The program recirculates while `rounds < 3`; now the condition is always true.
    fn never_ending(value: &mut Value) {
        match value {
            Value::Object(members) if members.get("op") == Some(&json!("<")) => {
                members.insert("op".into(), json!("<="));
                members["right"]["value"] = json!("0xff");
            }
            Value::Object(members) => members.values_mut().for_each(never_ending),
            Value::Array(items) => items.iter_mut().for_each(never_ending),
            _ => {}
        }
    }

    /// Each round loops 50,000 times in an action before it begins anew: some hundred thousand units of work.
    fn toiling(json: &mut Value) {
        let length = json!({"type": "field", "value": ["standard_metadata", "packet_length"]});
        let number = |value: u64| json!({"type": "hexstr", "value": format!("{value:#x}")});
        let one_less = json!({"op": "-", "left": length, "right": number(1)});
        let toil = [
            ("assign", json!([length, number(50_000)])),
            ("assign", json!([length, {"type": "expression", "value": one_less}])),
            ("_jump_if_zero", json!([length, number(4)])),
            ("_jump", json!([number(1)])),
        ];
        let again = ["resubmit", "recirculate"];
        for action in json["actions"].as_array_mut().unwrap() {
            let primitives = action["primitives"].as_array_mut().unwrap();
            if primitives.iter().any(|one| again.iter().any(|op| one["op"] == *op)) {
                let toil = toil
                    .iter()
                    .map(|(op, parameters)| json!({"op": op, "parameters": parameters}));
                primitives.splice(0..0, toil);
            }
        }
    }

    /// A controller's write.
    async fn write(address: String) {
        let mut client = P4RuntimeClient::connect(address).await.unwrap();
        let election_id = Some(Uint128 { high: 0, low: 1 });
        let arbitration = MasterArbitrationUpdate {
            device_id: 1,
            election_id,
            ..MasterArbitrationUpdate::default()
        };
        let update = Some(Request::Arbitration(arbitration));
        let requests = tokio_stream::StreamExt::chain(
            tokio_stream::once(StreamMessageRequest { update }),
            tokio_stream::pending(),
        );
        let mut answers = client.stream_channel(requests).await.unwrap().into_inner();
        answers.message().await.unwrap().unwrap();
        let group = MulticastGroupEntry {
            multicast_group_id: 7,
            ..MulticastGroupEntry::default()
        };
        let group = packet_replication_engine_entry::Type::MulticastGroupEntry(group);
        let entry = PacketReplicationEngineEntry { r#type: Some(group) };
        let entity = Some(Entity {
            entity: Some(entity::Entity::PacketReplicationEngineEntry(entry)),
        });
        let update = Update {
            r#type: update::Type::Insert.into(),
            entity,
        };
        let request = WriteRequest {
            device_id: 1,
            election_id,
            updates: vec![update],
            ..WriteRequest::default()
        };
        client.write(request).await.unwrap();
    }

    /// Runs bursts of packets that loop until a controller's write has been answered.
    fn serve(first_byte: u8, queues: Option<Queues<slotwise_p4::Queued>>, toils: bool) {
        let mut json: Value = serde_json::from_slice(PROGRAM).unwrap();
        never_ending(&mut json);
        if toils {
            toiling(&mut json);
        }
        // What one poll hands over.
        let burst = if toils { 1 } else { 64 };
        let program = InitialProgram {
            p4info: parse_p4info(P4INFO, false).unwrap(),
            json: serde_json::to_vec(&json).unwrap(),
        };
        let config = DeviceConfig {
            device_id: 1,
            pipeline: PipelineConfig {
                cpu_port: 510,
                drop_port: 511,
                timestamp_unit: TimestampUnit::Nanoseconds,
                seed: 1,
                executor: Executor::Interpreter,
            },
            tells_ports: false,
            program: Some(program),
        };
        let config = ServerConfig::new("127.0.0.1:0".parse().unwrap(), vec![config]);
        let (server, hub) = Server::start(config, Arc::new(|| {})).unwrap();
        let address = format!("http://{}", server.address());
        let controller = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(write(address));
        });
        let has_queues = queues.is_some();
        let mut device = Device::new(WallClock::start(), false, false, queues);
        let mut around = Surroundings {
            places: BTreeMap::new(),
            device_id: 1,
            cpu_port: None,
            hub,
            capture: None,
            logs: Logs::default(),
            lost_packet_outs: 0,
        };
        let mut ports = Ports::open::<&str>(&[], None).unwrap();
        let frame = [first_byte, 0, 0, 0, 0, 0, 0, 0];
        let (mut passes, mut work) = (0, 0);
        let mut check = |device: &mut Device, what| {
            let spent = |pipeline: &mut Pipeline| (pipeline.passes(), pipeline.work());
            let now = device.pipeline().map_or((0, 0), spent);
            // Those of a turn, and of one packet more: ingress and egress of all that it may become.
            assert!(now.0 - passes <= 3 * PASSES_A_TURN + 2, "{what}: {}", now.0 - passes);
            assert!(now.1 - work <= WORK_A_TURN + MAX_WORK, "{what}: {}", now.1 - work);
            (passes, work) = now;
        };
        let mut due = None;
        while !controller.is_finished() {
            execute(&mut device, &mut around, ports.senders());
            for _ in 0..burst {
                run_packet(&mut device, 1, &frame, &mut around, ports.senders());
                check(&mut device, "a packet");
                assert!(!device.is_turn_over());
            }
            due = device.empty_queues(&mut around, ports.senders());
            check(&mut device, "queues");
        }
        controller.join().unwrap();
        let groups = device.pipeline().map(|pipeline| pipeline.multicast_groups().count());
        assert_eq!(groups, Some(1));
        // What is recirculated goes on where it waits.
        assert_eq!(
            due == Some(slotwise_units::Instant::ZERO),
            has_queues && first_byte == 4
        );
    }

    #[test]
    fn a_write_is_answered_while_packets_go_round_for_ever() {
        for first_byte in LOOPS {
            for toils in [false, true] {
                serve(first_byte, None, toils);
                serve(first_byte, Some(Queues::new(QueuePlan::default())), toils);
            }
        }
    }
}
