// SPDX-License-Identifier: Apache-2.0
//! One device as the server knows it: configuration, notes on entries, and its controllers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slotwise_p4::{Pipeline, PipelineConfig, Program};
use tokio::sync::mpsc;
use tonic::Status;

use crate::arbitration::{Advisory, Election, StreamId};
use crate::error::ApiError;
use crate::hub::Delivery;
use crate::p4info::P4Info;
use crate::proto::google::rpc;
use crate::proto::p4::v1::{self, stream_message_response::Update};
use crate::read::Notes;

/// Messages that wait for one controller; what is above is dropped and counted.
pub(crate) const STREAM_QUEUE: usize = 8192;
/// Places kept free for arbitration: packets do not fill the queue.
const RESERVED: usize = 256;
/// Roles and streams a device takes.
const MAX_ROLES: usize = 64;
const MAX_STREAMS: usize = 256;
const MAX_ROLE_NAME: usize = 256;

/// The server's end of a StreamChannel.
pub(crate) type StreamSender = mpsc::Sender<Result<v1::StreamMessageResponse, Status>>;

/// A device.
pub(crate) struct Device {
    pub id: u64,
    pub pipeline_config: PipelineConfig,
    /// Held for the length of a Write, Read, configuration or arbitration, which makes them serializable.
    pub control: tokio::sync::Mutex<Control>,
    link: Mutex<Link>,
}

/// Forwarding configuration.
#[derive(Default)]
pub(crate) struct Control {
    /// Realized by the pipeline that the owner has.
    pub active: Option<Installed>,
    /// Saved and not yet committed. Writes and reads go to its own pipeline, so that a commit has nothing to replay.
    pub staged: Option<(Installed, Pipeline)>,
}

/// A configuration in force or staged.
pub(crate) struct Installed {
    pub config: v1::ForwardingPipelineConfig,
    pub info: Arc<P4Info>,
    pub notes: Notes,
}

impl Control {
    /// The configuration that reads and writes refer to.
    pub fn current(&mut self) -> Option<&mut Installed> {
        match &mut self.staged {
            Some((installed, _)) => Some(installed),
            None => self.active.as_mut(),
        }
    }
}

impl Installed {
    /// Checks that this engine can run a configuration, and makes its pipeline.
    pub fn verify(
        config: v1::ForwardingPipelineConfig,
        pipeline_config: &PipelineConfig,
    ) -> Result<(Installed, Pipeline), ApiError> {
        let p4info = config
            .p4info
            .as_ref()
            .ok_or_else(|| ApiError::invalid("configuration without P4Info"))?;
        let info = P4Info::new(p4info)?;
        let program = Program::from_json(&config.p4_device_config).map_err(|error| {
            ApiError::invalid(format!("p4_device_config is not a BMv2 JSON that runs here: {error}"))
        })?;
        let pipeline = Pipeline::new(Arc::new(program), pipeline_config.clone());
        for table in info.tables.values() {
            pipeline.table_default(&table.name).map_err(|error| mismatch(&error))?;
        }
        for counter in info.counters.values() {
            if let Some(last) = counter.size.checked_sub(1) {
                pipeline
                    .counter_read(&counter.name, last)
                    .map_err(|error| mismatch(&error))?;
            }
        }
        Ok((
            Installed {
                config,
                info: Arc::new(info),
                notes: Notes::new(),
            },
            pipeline,
        ))
    }
}

fn mismatch(error: &dyn std::fmt::Display) -> ApiError {
    ApiError::invalid(format!("P4Info does not fit p4_device_config: {error}"))
}

impl Device {
    pub fn new(id: u64, pipeline_config: PipelineConfig) -> Device {
        Device {
            id,
            pipeline_config,
            control: tokio::sync::Mutex::default(),
            link: Mutex::new(Link::new(id)),
        }
    }

    /// Short critical sections only: the owner's thread takes it for every packet-in.
    pub fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Controllers of a device, and the layout of its controller packets.
pub(crate) struct Link {
    device_id: u64,
    /// Of the configuration in force.
    pub info: Option<Arc<P4Info>>,
    roles: BTreeMap<String, Role>,
}

#[derive(Default)]
struct Role {
    election: Election,
    streams: BTreeMap<StreamId, StreamSender>,
}

impl Link {
    fn new(device_id: u64) -> Link {
        Link {
            device_id,
            info: None,
            roles: BTreeMap::from([(String::new(), Role::default())]),
        }
    }

    /// A stream joins a role's election or changes its id; tells everybody concerned.
    pub fn arbitrate(
        &mut self,
        role_name: &str,
        stream: StreamId,
        election_id: Option<u128>,
        sender: &StreamSender,
    ) -> Result<(), ApiError> {
        if !self.roles.contains_key(role_name) {
            if self.roles.len() >= MAX_ROLES || role_name.len() > MAX_ROLE_NAME {
                let limits = format!("a device takes {MAX_ROLES} roles with names of up to {MAX_ROLE_NAME} bytes");
                return Err(ApiError::exhausted(limits));
            }
            self.roles.insert(role_name.to_owned(), Role::default());
        }
        let role = self.roles.entry(role_name.to_owned()).or_default();
        if role.election.len() >= MAX_STREAMS && !role.streams.contains_key(&stream) {
            return Err(ApiError::exhausted(format!("a role takes {MAX_STREAMS} streams")));
        }
        let advisory = role
            .election
            .arbitrate(stream, election_id)
            .map_err(|_| ApiError::invalid("another live controller of this device and role uses this election id"))?;
        role.streams.insert(stream, sender.clone());
        role.advise(self.device_id, role_name, advisory);
        Ok(())
    }

    /// A stream ended.
    pub fn leave(&mut self, role_name: &str, stream: StreamId) {
        if let Some(role) = self.roles.get_mut(role_name) {
            role.streams.remove(&stream);
            let advisory = role.election.leave(stream);
            role.advise(self.device_id, role_name, advisory);
        }
    }

    /// Whether a request comes from a role's primary.
    pub fn authorize(&self, role_name: &str, election_id: Option<u128>) -> Result<(), ApiError> {
        let role = self.roles.get(role_name);
        let role =
            role.ok_or_else(|| ApiError::not_found(format!("device {} has no role {role_name:?}", self.device_id)))?;
        if role.election.is_primary(election_id) {
            return Ok(());
        }
        let given = election_id.map_or_else(|| "no election id".to_owned(), |id| format!("election id {id}"));
        Err(ApiError::denied(format!(
            "not the primary controller of device {} ({given})",
            self.device_id
        )))
    }

    /// Whether a stream is its role's primary.
    pub fn is_primary(&self, role_name: &str, stream: StreamId) -> bool {
        self.roles
            .get(role_name)
            .is_some_and(|role| role.election.primary() == Some(stream))
    }

    /// Streams of the primaries of all roles.
    pub fn primaries(&self) -> impl Iterator<Item = &StreamSender> {
        self.roles
            .values()
            .filter_map(|role| role.streams.get(&role.election.primary()?))
    }

    /// A frame with the program's controller header goes to the primaries.
    pub fn packet_in(&self, frame: &[u8]) -> Delivery {
        let header = self.info.as_ref().and_then(|info| info.packet_in.as_ref());
        let Some((metadata, payload)) = header.map_or(Some((Vec::new(), frame)), |header| header.decode(frame)) else {
            return Delivery::Malformed;
        };
        let packet = v1::PacketIn {
            payload: payload.to_vec(),
            metadata,
        };
        let mut delivery = Delivery::NoController;
        for sender in self.primaries() {
            if send(sender, Update::Packet(packet.clone())) {
                delivery = Delivery::Delivered;
            } else if delivery == Delivery::NoController {
                delivery = Delivery::QueueFull;
            }
        }
        delivery
    }
}

impl Role {
    fn advise(&self, device_id: u64, role_name: &str, advisory: Advisory) {
        for (&stream, sender) in &self.streams {
            if advisory != Advisory::All && advisory != Advisory::Only(stream) {
                continue;
            }
            let code = self.election.status_for(stream);
            let message = match code {
                tonic::Code::Ok => "you are the primary",
                tonic::Code::AlreadyExists => "you are a backup; another controller is the primary",
                _ => "there is no primary",
            };
            let status = rpc::Status {
                code: code.into(),
                message: message.to_owned(),
                details: Vec::new(),
            };
            let role = (!role_name.is_empty()).then(|| v1::Role {
                name: role_name.to_owned(),
                ..v1::Role::default()
            });
            let election_id = self.election.highest();
            let update = v1::MasterArbitrationUpdate {
                device_id,
                role,
                election_id: election_id.map(|id| v1::Uint128 {
                    high: (id >> 64) as u64,
                    low: id as u64,
                }),
                status: Some(status),
            };
            // A controller that left RESERVED messages unread learns its role from its next refused request.
            let _ = sender.try_send(Ok(message_of(Update::Arbitration(update))));
        }
    }
}

/// Queues a message unless the stream is congested or gone.
pub(crate) fn send(sender: &StreamSender, update: Update) -> bool {
    sender.capacity() > RESERVED && sender.try_send(Ok(message_of(update))).is_ok()
}

fn message_of(update: Update) -> v1::StreamMessageResponse {
    v1::StreamMessageResponse { update: Some(update) }
}
