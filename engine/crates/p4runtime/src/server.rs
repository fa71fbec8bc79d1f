// SPDX-License-Identifier: Apache-2.0
//! Starting and stopping the server.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use slotwise_p4::{Memory, PipelineConfig};
use slotwise_units::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tonic::Status;

use crate::compiler::Compiler;
use crate::device::{Device, Installed};
use crate::error::ApiError;
use crate::guard::GuardLayer;
use crate::hub::{Call, DeviceCommand, DeviceHub, HubEvent, Owner, Waker, Work};
use crate::incoming::Incoming;
use crate::limits::ServerLimits;
use crate::outbox::Budget;
use crate::programs::Programs;
use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1::{ForwardingPipelineConfig, p4_runtime_server::P4RuntimeServer};
use crate::room::Room;
use crate::service::{Service, Shared};
use crate::tls::Tls;
use crate::weigh::Head;

/// Commands that wait for the owner; controllers wait when it is full.
const COMMAND_QUEUE: usize = 1024;
/// Slices of reads that wait for the owner; a device has one at a time.
const SLICE_QUEUE: usize = 64;

/// One device to serve.
#[derive(Debug, Clone)]
pub struct DeviceConfig {
    /// Id in P4Runtime messages.
    pub device_id: u64,
    /// For each pipeline that a controller installs.
    pub pipeline: PipelineConfig,
    /// Its controllers hear by `PortStatus` (`schema/lockstep.proto`) which of its ports have a link.
    pub tells_ports: bool,
    /// Program to begin with; `None` waits for SetForwardingPipelineConfig.
    pub program: Option<InitialProgram>,
}

/// A program installed at start instead of by a controller.
#[derive(Debug, Clone)]
pub struct InitialProgram {
    /// See [`crate::parse_p4info`].
    pub p4info: P4Info,
    /// p4c's BMv2 JSON.
    pub json: Vec<u8>,
}

/// What to serve, and where.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address to listen on; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Devices, each id once.
    pub devices: Vec<DeviceConfig>,
    /// Encrypts connections; `None` leaves them plain.
    pub tls: Option<Tls>,
    /// Take `Done` messages; the hub then belongs into a [`crate::LockstepLink`].
    pub lock_step: bool,
    /// How much clients may have.
    pub limits: ServerLimits,
    /// Who calls has to show it, as `authorization: Bearer TOKEN`; `None`: everybody may call.
    pub token: Option<String>,
    /// Those who do not show the token may read, and have streams that are never primary.
    pub takes_guests: bool,
    /// Called first on a thread that is to compile programs: it inherits the priority of the thread that starts the server.
    pub prepare_compiler: Option<fn()>,
}

impl ServerConfig {
    /// These devices, for everybody who can reach `address`, with the default limits.
    pub fn new(address: SocketAddr, devices: Vec<DeviceConfig>) -> ServerConfig {
        ServerConfig {
            address,
            devices,
            tls: None,
            lock_step: false,
            limits: ServerLimits::default(),
            token: None,
            takes_guests: false,
            prepare_compiler: None,
        }
    }
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// As configured.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// No threads, no event queue.
    #[error("cannot start the server's threads: {0}")]
    Runtime(#[source] io::Error),
    /// The certificates or the key are not what they should be.
    #[error("TLS: {0}")]
    Tls(#[source] tonic::transport::Error),
    /// Two devices with one id.
    #[error("duplicate device {0}")]
    DuplicateDevice(u64),
    /// The initial program does not run here.
    #[error("device {device_id}: {source}")]
    Program {
        /// Whose program.
        device_id: u64,
        /// What is wrong with it.
        source: ApiError,
    },
}

/// A running server. Dropping it closes all connections.
pub struct Server {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Server {
    /// Listens, and serves until it is dropped; the hub has to go first. `waker` is called after each command put into the hub.
    pub fn start(config: ServerConfig, waker: Waker) -> Result<(Server, DeviceHub), StartError> {
        let (events, receiver) = mpsc::channel(COMMAND_QUEUE + config.devices.len());
        let mut devices = BTreeMap::new();
        let memory = Memory::of(config.limits.memory_bytes);
        let programs = Arc::new(Programs::within(config.limits.program, memory.clone()));
        for DeviceConfig {
            device_id,
            pipeline,
            tells_ports,
            program,
        } in config.devices
        {
            let mut device = Device::new(device_id, pipeline, tells_ports);
            if let Some(InitialProgram { p4info, json }) = program {
                let program = ForwardingPipelineConfig {
                    p4info: Some(p4info),
                    p4_device_config: json,
                    cookie: None,
                };
                let (installed, pipeline) = Installed::verify(program, &device.pipeline_config, &programs)
                    .map_err(|source| StartError::Program { device_id, source })?;
                device
                    .link()
                    .install(installed.info.clone(), &installed.books, Instant::ZERO);
                device.control.get_mut().active = Some(installed);
                let install = Work::Call(Call::new(move |device| device.install(pipeline)));
                let command = HubEvent::Command(DeviceCommand {
                    device_id,
                    work: install,
                });
                assert!(
                    events.try_send(command).is_ok(),
                    "the queue has a place for each device"
                );
            }
            if devices.insert(device_id, device).is_some() {
                return Err(StartError::DuplicateDevice(device_id));
            }
        }

        let listen = |source| StartError::Listen {
            address: config.address,
            source,
        };
        let listener = TcpListener::bind(config.address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("p4runtime")
            .enable_all()
            .build()
            .map_err(StartError::Runtime)?;

        let devices = Arc::new(devices);
        let limits = config.limits;
        let streams = u32::try_from(devices.len()).unwrap_or(u32::MAX);
        let (slice_sender, slices) = mpsc::channel(SLICE_QUEUE);
        let shared = Arc::new(Shared {
            devices,
            owner: Owner::new(events, (!config.lock_step).then_some(slice_sender), waker),
            lock_step: config.lock_step,
            memory,
            unread: Budget::new(limits.unread_bytes),
            reads: Room::new(limits.reads, limits.reads),
            compiler: Compiler::new(programs, config.prepare_compiler),
            limits: limits.clone(),
            next_stream: AtomicU64::new(1),
        });
        if !config.lock_step {
            for &device_id in shared.devices.keys() {
                runtime.spawn(shared.clone().look_after_digests(device_id));
            }
        }
        let hub = DeviceHub {
            events: receiver,
            slices,
            has_given_slice: false,
            shared: shared.clone(),
            runtime: runtime.handle().clone(),
        };
        let incoming = {
            let _inside = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener).map_err(listen)?;
            Incoming::new(listener, &limits)
        };
        let authorizing = shared.clone();
        let authorize = Box::new(move |head: &Head| authorizing.authorize(head).map_err(Status::from));
        let service = P4RuntimeServer::new(Service(shared)).max_decoding_message_size(limits.message_bytes);
        let mut server = tonic::transport::Server::builder()
            .max_concurrent_streams(limits.calls_a_connection.saturating_add(streams))
            .http2_keepalive_interval(Some(limits.keepalive))
            .http2_keepalive_timeout(Some(limits.keepalive))
            .layer(GuardLayer::new(&limits, config.token, config.takes_guests, authorize));
        if let Some(tls) = &config.tls {
            server = server.tls_config(tls.into()).map_err(StartError::Tls)?;
        }
        let serving = server.add_service(service).serve_with_incoming(incoming);
        runtime.spawn(serving);
        Ok((
            Server {
                address,
                runtime: Some(runtime),
            },
            hub,
        ))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
