// SPDX-License-Identifier: Apache-2.0
//! A server with two devices, the thread that owns their pipelines, and a client.
#![allow(dead_code, reason = "each test file uses a part")]

mod messages;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use slotwise_p4::{Bits, Executor, Output, Pipeline, PipelineConfig, Port, TimestampUnit};
use slotwise_p4runtime::proto::p4::config::v1::P4Info;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::stream_message_response::Update;
use slotwise_p4runtime::proto::p4::v1::*;
use slotwise_p4runtime::{
    DeviceAccess, DeviceCommand, DeviceConfig, DeviceHub, Server, ServerConfig, Work, parse_p4info,
};
use slotwise_units::Instant;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

pub use messages::*;

pub const CPU_PORT: Port = 510;

/// One of the programs in `tests/programs`.
pub struct Program {
    json: &'static [u8],
    p4info: &'static str,
}

macro_rules! program {
    ($name:literal) => {
        Program {
            json: include_bytes!(concat!("../programs/", $name, ".json")),
            p4info: include_str!(concat!("../programs/", $name, ".p4info.txtpb")),
        }
    };
}

pub const TABLES: Program = program!("tables");
pub const WIDER: Program = program!("tables_wider");
pub const STATEFUL: Program = program!("tables_stateful");
pub const ENTITIES: Program = program!("entities");

impl Program {
    pub fn p4info(&self) -> P4Info {
        parse_p4info(self.p4info.as_bytes(), false).unwrap()
    }

    pub fn config(&self, cookie: u64) -> ForwardingPipelineConfig {
        ForwardingPipelineConfig {
            p4info: Some(self.p4info()),
            p4_device_config: self.json.to_vec(),
            cookie: Some(forwarding_pipeline_config::Cookie { cookie }),
        }
    }

    pub fn table(&self, name: &str) -> u32 {
        let wanted = format!("TablesIngress.{name}");
        let info = self.p4info();
        let ids = info.tables.iter().map(|table| table.preamble.as_ref().unwrap());
        ids.filter(|it| it.name == wanted).map(|it| it.id).next().unwrap()
    }

    pub fn action(&self, name: &str) -> u32 {
        let info = self.p4info();
        let ids = info.actions.iter().map(|action| action.preamble.as_ref().unwrap());
        ids.filter(|it| it.alias == name).map(|it| it.id).next().unwrap()
    }

    /// The object with this alias, of whatever kind.
    pub fn id(&self, alias: &str) -> u32 {
        let info = self.p4info();
        let preambles = (info.tables.iter().map(|it| &it.preamble))
            .chain(info.actions.iter().map(|it| &it.preamble))
            .chain(info.action_profiles.iter().map(|it| &it.preamble))
            .chain(info.counters.iter().map(|it| &it.preamble))
            .chain(info.meters.iter().map(|it| &it.preamble))
            .chain(info.registers.iter().map(|it| &it.preamble))
            .chain(info.value_sets.iter().map(|it| &it.preamble))
            .chain(info.digests.iter().map(|it| &it.preamble));
        preambles
            .flatten()
            .find(|it| it.alias == alias)
            .unwrap_or_else(|| panic!("no {alias}"))
            .id
    }

    pub fn counter(&self) -> u32 {
        self.p4info().counters[0].preamble.as_ref().unwrap().id
    }
}

#[derive(Default)]
struct Device {
    pipeline: Option<Pipeline>,
}

impl DeviceAccess for Device {
    fn pipeline(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    fn install(&mut self, pipeline: Pipeline) {
        self.pipeline = Some(pipeline);
    }
}

#[derive(Default)]
struct Emitted {
    frames: Vec<(Port, Vec<u8>)>,
    digests: Vec<(String, Vec<Bits>)>,
}

impl Output for Emitted {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        self.frames.push((port, frame.to_vec()));
    }

    fn digest(&mut self, name: &str, fields: &[Bits]) {
        self.digests.push((name.to_owned(), fields.to_vec()));
    }
}

enum Event {
    Wake,
    Inject {
        device_id: u64,
        port: Port,
        frame: Vec<u8>,
    },
    PortStatus {
        device_id: u64,
        port: Port,
        is_up: bool,
    },
    /// The devices' time goes on.
    Tick {
        now_ns: u64,
    },
}

/// A frame that left a device, not by its CPU port.
pub type Left = (u64, Port, Vec<u8>);

/// A server and the owner of its devices.
pub struct Bench {
    pub server: Server,
    events: Sender<Event>,
    pub left: mpsc::UnboundedReceiver<Left>,
}

pub fn pipeline_config() -> PipelineConfig {
    PipelineConfig {
        cpu_port: CPU_PORT,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: 1,
        executor: Executor::default(),
    }
}

pub fn server_config(lock_step: bool) -> ServerConfig {
    let device = |device_id| DeviceConfig {
        device_id,
        pipeline: pipeline_config(),
        tells_ports: device_id == 2,
        program: None,
    };
    ServerConfig {
        lock_step,
        ..ServerConfig::new("127.0.0.1:0".parse().unwrap(), vec![device(1), device(2)])
    }
}

impl Bench {
    /// Devices 1 and 2, without a program.
    pub fn start() -> Bench {
        Bench::with(server_config(false))
    }

    /// The same, with another configuration of the server.
    pub fn with(config: ServerConfig) -> Bench {
        let (events, inbox) = channel();
        let (outbox, left) = mpsc::unbounded_channel();
        let waker = events.clone();
        let (server, hub) = Server::start(config, Arc::new(move || drop(waker.send(Event::Wake)))).unwrap();
        thread::spawn(move || own(hub, &inbox, &outbox));
        Bench { server, events, left }
    }

    pub async fn client(&self) -> P4RuntimeClient<Channel> {
        client(self.server.address()).await
    }

    /// A frame arrives at a device.
    pub fn inject(&self, device_id: u64, port: Port, frame: &[u8]) {
        self.events
            .send(Event::Inject {
                device_id,
                port,
                frame: frame.to_vec(),
            })
            .unwrap();
    }

    /// A port of a device gets or loses its link.
    pub fn port_status(&self, device_id: u64, port: Port, is_up: bool) {
        self.events.send(Event::PortStatus { device_id, port, is_up }).unwrap();
    }

    /// It becomes `now_ns` at the devices, which begin at 0.
    pub fn tick(&self, now_ns: u64) {
        self.events.send(Event::Tick { now_ns }).unwrap();
    }

    /// A client that is primary of device 1, whose pipeline is installed.
    pub async fn ready(&self, program: &Program) -> Primary {
        let mut primary = Primary::of(&self.server, 1, 1).await;
        primary
            .set_config(ConfigAction::VerifyAndCommit, Some(program.config(7)))
            .await
            .unwrap();
        primary
    }
}

/// A client that lets the server be at most 64 kB ahead of it.
pub async fn near_client(address: SocketAddr) -> P4RuntimeClient<Channel> {
    const WINDOW_BYTES: u32 = 65_535;
    let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
    let endpoint = endpoint
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES);
    P4RuntimeClient::new(endpoint.connect().await.unwrap())
}

pub async fn client(address: SocketAddr) -> P4RuntimeClient<Channel> {
    P4RuntimeClient::connect(format!("http://{address}")).await.unwrap()
}

fn own(mut hub: DeviceHub, inbox: &Receiver<Event>, outbox: &mpsc::UnboundedSender<Left>) {
    let mut devices = BTreeMap::from([(1, Device::default()), (2, Device::default())]);
    let mut now = Instant::ZERO;
    let process = |device: &mut Device, hub: &DeviceHub, now: Instant, device_id: u64, port: Port, frame: &[u8]| {
        let mut emitted = Emitted::default();
        if let Some(pipeline) = &mut device.pipeline {
            pipeline.process(now, port, frame, &mut emitted);
        }
        for (name, fields) in emitted.digests {
            hub.digest(device_id, &name, &fields, now);
        }
        for (port, frame) in emitted.frames {
            if port == CPU_PORT {
                hub.packet_in(device_id, &frame);
            } else if outbox.send((device_id, port, frame)).is_err() {
                return;
            }
        }
    };
    while let Ok(event) = inbox.recv() {
        match &event {
            Event::Wake => {}
            Event::Inject { device_id, port, frame } => {
                process(devices.get_mut(device_id).unwrap(), &hub, now, *device_id, *port, frame);
            }
            Event::PortStatus { device_id, port, is_up } => hub.port_status(*device_id, *port, *is_up),
            Event::Tick { now_ns } => {
                now = Instant::from_ns(*now_ns);
                for (device_id, device) in &mut devices {
                    if let Some(pipeline) = &mut device.pipeline {
                        hub.tick(*device_id, now, pipeline);
                    }
                }
            }
        }
        while let Some(DeviceCommand { device_id, work }) = hub.try_recv() {
            let device = devices.get_mut(&device_id).unwrap();
            match work {
                Work::Call(call) => call.run(device),
                Work::PacketOut(frame) => process(device, &hub, now, device_id, CPU_PORT, &frame),
            }
        }
    }
}

/// One StreamChannel.
pub struct Stream {
    requests: mpsc::Sender<StreamMessageRequest>,
    responses: Streaming<StreamMessageResponse>,
}

impl Stream {
    pub async fn open(client: &mut P4RuntimeClient<Channel>) -> Stream {
        Stream::open_with(client, None).await
    }

    /// With what the client shows to be let in.
    pub async fn open_with(client: &mut P4RuntimeClient<Channel>, authorization: Option<&'static str>) -> Stream {
        let (requests, receiver) = mpsc::channel(64);
        let mut request = tonic::Request::new(ReceiverStream::new(receiver));
        if let Some(shown) = authorization {
            let shown = tonic::metadata::MetadataValue::from_static(shown);
            request.metadata_mut().insert("authorization", shown);
        }
        let responses = client.stream_channel(request).await.unwrap().into_inner();
        Stream { requests, responses }
    }

    /// Ends the stream; returns when the server knows it.
    pub async fn close(self) {
        let Stream {
            requests,
            mut responses,
        } = self;
        drop(requests);
        while responses.message().await.unwrap().is_some() {}
    }

    pub async fn send(&self, update: stream_message_request::Update) {
        self.requests
            .send(StreamMessageRequest { update: Some(update) })
            .await
            .unwrap();
    }

    pub async fn arbitrate(&self, device_id: u64, role: &str, election_id: Option<u64>) {
        let role = (!role.is_empty()).then(|| Role {
            name: role.to_owned(),
            ..Role::default()
        });
        let election_id = election_id.map(|low| Uint128 { high: 0, low });
        let update = MasterArbitrationUpdate {
            device_id,
            role,
            election_id,
            status: None,
        };
        self.send(stream_message_request::Update::Arbitration(update)).await;
    }

    pub async fn next(&mut self) -> Result<Update, Status> {
        let message = self.responses.message().await?;
        Ok(message
            .ok_or_else(|| Status::cancelled("the stream ended"))?
            .update
            .unwrap())
    }

    /// The next message, which is an arbitration update: its status and election id.
    pub async fn advisory(&mut self) -> (Code, Option<u64>) {
        match self.next().await.unwrap() {
            Update::Arbitration(update) => (
                Code::from(update.status.unwrap().code),
                update.election_id.map(|id| id.low),
            ),
            other => panic!("expected an arbitration update, got {other:?}"),
        }
    }
}

/// A client that is primary.
pub struct Primary {
    pub client: P4RuntimeClient<Channel>,
    pub stream: Stream,
    pub device_id: u64,
    pub election_id: u64,
}

impl Primary {
    pub async fn of(server: &Server, device_id: u64, election_id: u64) -> Primary {
        Primary::at(server.address(), device_id, election_id).await
    }

    pub async fn at(address: SocketAddr, device_id: u64, election_id: u64) -> Primary {
        let mut client = client(address).await;
        let mut stream = Stream::open(&mut client).await;
        stream.arbitrate(device_id, "", Some(election_id)).await;
        assert_eq!(stream.advisory().await, (Code::Ok, Some(election_id)));
        Primary {
            client,
            stream,
            device_id,
            election_id,
        }
    }

    fn id(&self) -> Option<Uint128> {
        Some(Uint128 {
            high: 0,
            low: self.election_id,
        })
    }

    pub async fn set_config(
        &mut self,
        action: ConfigAction,
        config: Option<ForwardingPipelineConfig>,
    ) -> Result<(), Status> {
        let request = SetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            election_id: self.id(),
            action: action.into(),
            config,
            ..SetForwardingPipelineConfigRequest::default()
        };
        self.client.set_forwarding_pipeline_config(request).await.map(drop)
    }

    pub async fn get_config(
        &mut self,
        kind: get_forwarding_pipeline_config_request::ResponseType,
    ) -> Option<ForwardingPipelineConfig> {
        let request = GetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            response_type: kind.into(),
        };
        self.client
            .get_forwarding_pipeline_config(request)
            .await
            .unwrap()
            .into_inner()
            .config
    }

    pub async fn write(&mut self, updates: Vec<Update_>) -> Result<(), Status> {
        self.write_atomically(updates, write_request::Atomicity::ContinueOnError)
            .await
    }

    pub async fn write_atomically(
        &mut self,
        updates: Vec<Update_>,
        atomicity: write_request::Atomicity,
    ) -> Result<(), Status> {
        let request = WriteRequest {
            atomicity: atomicity.into(),
            device_id: self.device_id,
            election_id: self.id(),
            updates,
            ..WriteRequest::default()
        };
        self.client.write(request).await.map(drop)
    }

    pub async fn read(&mut self, entities: Vec<entity::Entity>) -> Result<Vec<entity::Entity>, Status> {
        let entities = entities
            .into_iter()
            .map(|entity| Entity { entity: Some(entity) })
            .collect();
        let request = ReadRequest {
            device_id: self.device_id,
            role: String::new(),
            entities,
        };
        let mut responses = self.client.read(request).await?.into_inner();
        let mut found = Vec::new();
        while let Some(response) = responses.message().await? {
            found.extend(response.entities.into_iter().map(|entity| entity.entity.unwrap()));
        }
        Ok(found)
    }

    pub async fn read_entries(&mut self, entry: TableEntry) -> Vec<TableEntry> {
        let found = self.read(vec![entity::Entity::TableEntry(entry)]).await.unwrap();
        let entry = |entity| match entity {
            entity::Entity::TableEntry(entry) => entry,
            other => panic!("expected a table entry, got {other:?}"),
        };
        found.into_iter().map(entry).collect()
    }
}
