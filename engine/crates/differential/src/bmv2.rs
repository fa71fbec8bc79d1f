// SPDX-License-Identifier: Apache-2.0
//! A case on stock simple_switch_grpc.

use crate::engine::Outputs;
use slotwise_bmv2::dataplane::PacketStreamRequest;
use slotwise_bmv2::dataplane::dataplane_interface_client::DataplaneInterfaceClient;
use slotwise_p4runtime::proto::p4::config::v1 as config;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::{
    ForwardingPipelineConfig, MasterArbitrationUpdate, SetForwardingPipelineConfigRequest, StreamMessageRequest,
    Uint128, Update, WriteRequest,
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
                return Err(format!("{COMMAND} does not listen on {address}: {error}"));
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
        let answer = timeout(ANSWER_LIMIT, answers.into_inner().message()).await;
        answer
            .map_err(|_| "no answer to arbitration".to_owned())?
            .map_err(said("arbitration"))?;
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
            written
                .map_err(|status| format!("{COMMAND} refuses what the engine takes: {}: {shown}", status.message()))?;
        }
        Ok(())
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
