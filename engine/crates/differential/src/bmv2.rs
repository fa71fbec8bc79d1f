// SPDX-License-Identifier: Apache-2.0
//! A case on stock simple_switch_grpc.

use crate::aftermath::{self, Aftermath, Count, Counted, Digests};
use crate::engine::Outputs;
use crate::entities;
use slotwise_bmv2::dataplane::PacketStreamRequest;
use slotwise_bmv2::dataplane::dataplane_interface_client::DataplaneInterfaceClient;
use slotwise_p4runtime::proto::p4::config::v1 as config;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::{
    CounterData, DigestList, Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, P4Data, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, TableEntry, Uint128, Update, WriteRequest, entity,
    p4_data, stream_message_response,
};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};

pub const COMMAND: &str = "simple_switch_grpc";
const DEVICE: u64 = 1;
const ELECTION_ID: Uint128 = Uint128 { high: 0, low: 1 };
const START_LIMIT: Duration = Duration::from_secs(10);
/// For one answer of a switch that is up.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// A fresh process.
pub struct Bmv2 {
    process: Child,
    runtime: P4RuntimeClient<Channel>,
    dataplane: DataplaneInterfaceClient<Channel>,
    /// The device is ours as long as the stream is open.
    _stream: mpsc::Sender<StreamMessageRequest>,
    digests: mpsc::UnboundedReceiver<DigestList>,
}

fn said(what: &str) -> impl Fn(tonic::Status) -> String {
    move |status| format!("{what}: {:?}: {}", status.code(), status.message())
}

async fn connect(address: &str) -> Result<Channel, String> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(|error| error.to_string())?;
    let deadline = Instant::now() + START_LIMIT;
    loop {
        match endpoint.connect().await {
            Ok(channel) => return Ok(channel),
            Err(error) if Instant::now() > deadline => {
                return Err(format!("{COMMAND} is not listening on {address}: {error}"));
            }
            // It is starting.
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    }
}

impl Bmv2 {
    /// Starts one that listens on two ports from `port` on, and gives it the program.
    pub async fn start(port: u16, p4info: &config::P4Info, json: &[u8]) -> Result<Bmv2, String> {
        let (runtime, dataplane) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{}", port + 1));
        let process = Command::new(COMMAND)
            .args(["--no-p4", "--device-id", &DEVICE.to_string(), "--"])
            .args(["--grpc-server-addr", &runtime, "--dp-grpc-server-addr", &dataplane])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{COMMAND}: {error}"))?;
        let mut runtime = P4RuntimeClient::new(connect(&runtime).await?);
        let dataplane = DataplaneInterfaceClient::new(connect(&dataplane).await?);
        let (stream, requests) = mpsc::channel(1);
        let arbitration = MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: Some(ELECTION_ID),
            ..Default::default()
        };
        let arbitration = StreamMessageRequest {
            update: Some(Request::Arbitration(arbitration)),
        };
        stream.send(arbitration).await.map_err(|error| error.to_string())?;
        let answers = runtime
            .stream_channel(ReceiverStream::new(requests))
            .await
            .map_err(said("stream"))?;
        let mut answers = answers.into_inner();
        let answer = timeout(ANSWER_LIMIT, answers.message()).await;
        answer
            .map_err(|_| "no response to arbitration".to_owned())?
            .map_err(said("arbitration"))?;
        let (learned, digests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok(Some(message)) = answers.message().await {
                if let Some(stream_message_response::Update::Digest(list)) = message.update
                    && learned.send(list).is_err()
                {
                    return;
                }
            }
        });
        let request = SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: Some(ELECTION_ID),
            action: Action::VerifyAndCommit.into(),
            config: Some(ForwardingPipelineConfig {
                p4info: Some(p4info.clone()),
                p4_device_config: json.to_vec(),
                ..Default::default()
            }),
            ..Default::default()
        };
        runtime
            .set_forwarding_pipeline_config(request)
            .await
            .map_err(said("pipeline configuration"))?;
        Ok(Bmv2 {
            process,
            runtime,
            dataplane,
            _stream: stream,
            digests,
        })
    }

    pub async fn write(&mut self, updates: Vec<Update>) -> Result<(), String> {
        for update in updates {
            let shown = format!("{:?}", update.entity);
            let request = WriteRequest {
                device_id: DEVICE,
                election_id: Some(ELECTION_ID),
                updates: vec![update],
                ..Default::default()
            };
            let written = self.runtime.write(request).await;
            written.map_err(|status| {
                format!(
                    "{COMMAND} rejects input that the engine accepts: {}: {shown}",
                    status.message()
                )
            })?;
        }
        Ok(())
    }

    /// Counters, and digests: as many as are `expected`, if they come, and those that have come by then.
    pub async fn aftermath(
        &mut self,
        p4info: &config::P4Info,
        counters: &[Counted],
        expected: Option<&Digests>,
    ) -> Result<Aftermath, String> {
        let mut counts = Vec::with_capacity(counters.len());
        for counter in counters {
            counts.push(Some(counter.counted(self.count(p4info, counter).await?)));
        }
        let mut digests = Digests::new();
        let limit = Instant::now() + ANSWER_LIMIT;
        let wanted = expected.map_or(0, Digests::len);
        loop {
            let list = match digests.len() < wanted {
                true => tokio::time::timeout_at(limit, self.digests.recv()).await.ok().flatten(),
                false => self.digests.try_recv().ok(),
            };
            let Some(DigestList { digest_id, data, .. }) = list else {
                break;
            };
            let named = p4info.digests.iter().filter_map(|digest| digest.preamble.as_ref());
            let name = named.into_iter().find(|preamble| preamble.id == digest_id);
            let name = name.map_or("", |preamble| preamble.name.as_str());
            for message in data {
                let mut fields = Vec::new();
                flatten(&message, &mut fields);
                digests.insert(aftermath::digest(name, &fields));
            }
        }
        Ok(Aftermath {
            counts,
            digests: Some(digests),
        })
    }

    async fn count(&mut self, p4info: &config::P4Info, counter: &Counted) -> Result<Count, String> {
        let wanted = entities::counter_read(p4info, &counter.place)?;
        let request = ReadRequest {
            device_id: DEVICE,
            entities: vec![Entity {
                entity: Some(wanted.clone()),
            }],
            ..Default::default()
        };
        let answers = self.runtime.read(request).await.map_err(said("counters"))?;
        let answer = answers.into_inner().message().await.map_err(said("counters"))?;
        let mut found = answer.into_iter().flat_map(|answer| answer.entities);
        let data = found.find_map(|it| match (it.entity, &wanted) {
            (Some(entity::Entity::CounterEntry(entry)), _) => Some(entry.data),
            // An entry for all packets has no match field, and so has the wildcard: all entries answer.
            (Some(entity::Entity::DirectCounterEntry(entry)), entity::Entity::DirectCounterEntry(asked)) => {
                let key = |entry: &Option<TableEntry>| entry.as_ref().map(|it| (it.r#match.clone(), it.priority));
                (key(&entry.table_entry) == key(&asked.table_entry)).then_some(entry.data)
            }
            _ => None,
        });
        let Some(data) = data else {
            return Err(format!("{COMMAND} has no counter {}", counter.name));
        };
        let CounterData {
            packet_count,
            byte_count,
        } = data.unwrap_or_default();
        Ok((packet_count.unsigned_abs(), byte_count.unsigned_abs()))
    }

    /// Ends the process; its ports are free afterwards.
    pub async fn stop(mut self) -> Result<(), String> {
        self.process.kill().await.map_err(|error| format!("{COMMAND}: {error}"))
    }

    /// What comes out for one packet. A stream of its own: the switch ends it when the packet is done with. `None` if
    /// the packet ends the switch, or never ends.
    pub async fn process(&mut self, port: u16, frame: &[u8]) -> Result<Option<Outputs>, String> {
        let request = PacketStreamRequest {
            id: 0,
            device_id: DEVICE,
            port: port.into(),
            packet: frame.to_vec(),
        };
        match timeout(ANSWER_LIMIT, self.exchange(request)).await {
            // The packet goes round and round.
            Err(_) => Ok(None),
            Ok(Ok(outputs)) => Ok(Some(outputs)),
            Ok(Err(status)) => self.ended(status).await,
        }
    }

    async fn exchange(&mut self, request: PacketStreamRequest) -> Result<Outputs, tonic::Status> {
        let mut answers = self
            .dataplane
            .packet_stream(tokio_stream::once(request))
            .await?
            .into_inner();
        let mut outputs = Outputs::new();
        while let Some(answer) = answers.message().await? {
            outputs.entry(answer.port as u16).or_default().push(answer.packet);
        }
        Ok(outputs)
    }

    /// After a failed call: has the process ended?
    async fn ended(&mut self, status: tonic::Status) -> Result<Option<Outputs>, String> {
        match timeout(ANSWER_LIMIT, self.process.wait()).await {
            Ok(Ok(_)) => Ok(None),
            _ => Err(said("packets")(status)),
        }
    }
}

/// The values of a digest, in order.
fn flatten(data: &P4Data, fields: &mut Vec<Vec<u8>>) {
    match &data.data {
        Some(p4_data::Data::Bitstring(bits)) => fields.push(bits.clone()),
        Some(p4_data::Data::Bool(value)) => fields.push(vec![u8::from(*value)]),
        Some(p4_data::Data::Struct(parts) | p4_data::Data::Tuple(parts)) => {
            parts.members.iter().for_each(|member| flatten(member, fields));
        }
        _ => {}
    }
}
