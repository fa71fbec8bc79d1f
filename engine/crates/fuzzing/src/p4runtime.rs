// SPDX-License-Identifier: Apache-2.0
//! Batches for a P4Runtime server.

use crate::programs::{PROGRAMS, config, program};
use prost::Message;
use slotwise_p4::Pipeline;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::{
    Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, Uint128, WriteRequest,
};
use slotwise_p4runtime::{DeviceAccess, DeviceConfig, DeviceHub, Server, ServerConfig, Work};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

const DEVICE: u64 = 1;
const ELECTION_ID: Uint128 = Uint128 { high: 0, low: 1 };

/// A server with one device that runs `matching`, and its primary client. Lives as long as the process.
struct Bench {
    runtime: Runtime,
    client: P4RuntimeClient<Channel>,
    _server: Server,
    _stream: mpsc::Sender<StreamMessageRequest>,
}

static BENCH: OnceLock<Mutex<Bench>> = OnceLock::new();

/// A WriteRequest; what it names is read back, which must work whatever has been written.
pub fn p4runtime(data: &[u8]) {
    let Ok(mut write) = WriteRequest::decode(data) else {
        return;
    };
    let bench = BENCH.get_or_init(|| Mutex::new(Bench::start()));
    let Bench { runtime, client, .. } = &mut *bench.lock().unwrap_or_else(PoisonError::into_inner);
    // Those that are not ours are refused before anything else is looked at.
    (write.device_id, write.election_id) = (DEVICE, Some(ELECTION_ID));
    write.role.clear();
    let entities: Vec<Entity> = write
        .updates
        .iter()
        .filter_map(|update| update.entity.clone())
        .collect();
    runtime.block_on(async {
        // Refused or not: the server must answer.
        if let Err(status) = client.write(write).await {
            assert_ne!(status.code(), tonic::Code::Internal, "{status}");
            assert_ne!(status.code(), tonic::Code::Unavailable, "{status}");
        }
        let read = ReadRequest {
            device_id: DEVICE,
            entities,
            ..ReadRequest::default()
        };
        if let Ok(answers) = client.read(read).await {
            let mut answers = answers.into_inner();
            while let Ok(Some(_)) = answers.message().await {}
        }
    });
}

impl Bench {
    fn start() -> Bench {
        let (wake, woken) = channel();
        let device = DeviceConfig {
            device_id: DEVICE,
            pipeline: config(),
            tells_ports: true,
            program: None,
        };
        let server = ServerConfig::new(([127, 0, 0, 1], 0).into(), vec![device]);
        let wake = Mutex::new(wake);
        let waker = Arc::new(move || drop(wake.lock().map(|wake| wake.send(()))));
        let (server, hub) = Server::start(server, waker).expect("a port of the loopback interface is free");
        thread::spawn(move || own(hub, &woken));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime starts");
        let (client, stream) = runtime.block_on(connect(&server));
        Bench {
            runtime,
            client,
            _server: server,
            _stream: stream,
        }
    }
}

async fn connect(server: &Server) -> (P4RuntimeClient<Channel>, mpsc::Sender<StreamMessageRequest>) {
    let address = format!("http://{}", server.address());
    let mut client = P4RuntimeClient::connect(address).await.expect("the server listens");
    let (stream, requests) = mpsc::channel(1);
    let arbitration = MasterArbitrationUpdate {
        device_id: DEVICE,
        election_id: Some(ELECTION_ID),
        ..Default::default()
    };
    let arbitration = StreamMessageRequest {
        update: Some(Request::Arbitration(arbitration)),
    };
    stream.send(arbitration).await.expect("the stream is open");
    let answers = client
        .stream_channel(ReceiverStream::new(requests))
        .await
        .expect("the server takes streams");
    let answer = answers.into_inner().message().await;
    answer.expect("arbitration is answered");
    let source = PROGRAMS
        .iter()
        .find(|source| source.name == "matching")
        .expect("it is there");
    let request = SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(ELECTION_ID),
        action: Action::VerifyAndCommit.into(),
        config: Some(ForwardingPipelineConfig {
            p4info: Some(program("matching").p4info.clone()),
            p4_device_config: source.json.as_bytes().to_vec(),
            ..Default::default()
        }),
        ..Default::default()
    };
    client
        .set_forwarding_pipeline_config(request)
        .await
        .expect("the program is taken");
    (client, stream)
}

#[derive(Default)]
struct Device(Option<Pipeline>);

impl DeviceAccess for Device {
    fn pipeline(&mut self) -> Option<&mut Pipeline> {
        self.0.as_mut()
    }

    fn install(&mut self, pipeline: Pipeline) {
        self.0 = Some(pipeline);
    }
}

/// The thread that has the pipeline.
fn own(mut hub: DeviceHub, woken: &Receiver<()>) {
    let mut device = Device::default();
    while woken.recv().is_ok() {
        while let Some(command) = hub.try_recv() {
            if let Work::Call(call) = command.work {
                call.run(&mut device);
            }
        }
    }
}
