// SPDX-License-Identifier: Apache-2.0
//! The P4Runtime service: checks that concern a whole call, then the batch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use slotwise_p4::{Memory, Port};
use slotwise_units::Instant;
use tonic::{Request, Response, Status, Streaming};

use crate::compiler::Compiler;
use crate::device::{Control, Device, Installed};
use crate::entity::{self, State, Touched};
use crate::error::{ApiError, batch_status};
use crate::guard::{Guest, Received};
use crate::hub::{DeviceAccess, Owner};
use crate::incoming::Caller;
use crate::limits::ServerLimits;
use crate::link::{Client, STREAM_QUEUE};
use crate::outbox::{Bounds, Budget, Inbox, Outbox, outbox};
use crate::proto::p4::v1;
use crate::proto::p4::v1::{p4_runtime_server::P4Runtime, write_request::Atomicity};
use crate::role::Access;
use crate::room::{Full, Room};
use crate::stream::Session;
use crate::weigh::Head;

/// The version of the specification that the server follows.
const API_VERSION: &str = "1.5.0";
/// Updates that are checked in one go, before others have a turn.
const UPDATES_A_TURN: usize = 256;
/// Answers of a read that wait for its client.
const READ_QUEUE: usize = 4;

/// What all calls share.
pub(crate) struct Shared {
    pub devices: Arc<BTreeMap<u64, Device>>,
    pub owner: Owner,
    pub lock_step: bool,
    pub limits: ServerLimits,
    /// For programs, and what controllers add to them.
    pub memory: Memory,
    /// Bytes that clients have not read yet.
    pub unread: Budget,
    pub reads: Arc<Room>,
    pub compiler: Compiler,
    pub next_stream: AtomicU64,
}

/// The tonic service.
#[derive(Clone)]
pub(crate) struct Service(pub Arc<Shared>);

/// An election id as a number; unset is below all.
pub(crate) fn election_id(id: Option<&v1::Uint128>) -> Option<u128> {
    id.map(|id| u128::from(id.high) << 64 | u128::from(id.low))
}

impl Shared {
    /// Time in messages, ns: since the Unix epoch, or in lock step, where runs are to repeat, the device's.
    pub fn timestamp(&self, now: Instant) -> i64 {
        if self.lock_step {
            return i64::try_from(now.ns()).unwrap_or(i64::MAX);
        }
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX)
    }

    /// A bounded queue of messages for one client.
    fn outbox<T: prost::Message>(&self, messages: usize) -> (Outbox<T>, Inbox<T>) {
        let bytes = self.limits.unread_bytes_a_stream;
        outbox(Bounds { messages, bytes }, &self.unread)
    }

    pub fn device(&self, id: u64) -> Result<&Device, ApiError> {
        self.devices
            .get(&id)
            .ok_or_else(|| ApiError::not_found(format!("unknown device {id}")))
    }

    /// Changes what writes refer to; notifications follow what has changed.
    pub async fn with_state<R: Send + 'static>(
        &self,
        device: &Device,
        control: &mut Control,
        call: impl FnOnce(&mut State<'_>) -> R + Send + 'static,
    ) -> Result<R, ApiError> {
        let down = device.link().down_ports();
        if let Some((Installed { info, books, .. }, pipeline)) = &mut control.staged {
            let (info, touched) = (info.clone(), Touched::default());
            return Ok(call(&mut State {
                info: &info,
                pipeline,
                books,
                down: &down,
                touched,
            }));
        }
        let active = control.active.as_mut().ok_or_else(no_config)?;
        self.with_active(device, active, down, call).await
    }

    /// Changes the configuration in force.
    async fn with_active<R: Send + 'static>(
        &self,
        device: &Device,
        active: &mut Installed,
        down: BTreeSet<Port>,
        call: impl FnOnce(&mut State<'_>) -> R + Send + 'static,
    ) -> Result<R, ApiError> {
        let (info, mut books) = (active.info.clone(), std::mem::take(&mut active.books));
        let (devices, id) = (self.devices.clone(), device.id);
        let run = move |access: &mut dyn DeviceAccess| {
            let result = access.pipeline().map(|pipeline| {
                let touched = Touched::default();
                let mut state = State {
                    info: &info,
                    pipeline,
                    books: &mut books,
                    down: &down,
                    touched,
                };
                let result = call(&mut state);
                let (touched, now) = (state.touched, state.pipeline.now());
                let device = &devices[&id];
                let mut link = device.link();
                link.arm(touched.entries.iter(), &books.notes, now);
                if touched.digests {
                    link.configure_digests(&books.digests);
                    device.learning.look_again(now);
                }
                result
            });
            (result, books)
        };
        let (result, books) = self.owner.call(device.id, run).await?;
        active.books = books;
        result.ok_or_else(no_config)
    }

    /// After a port of a device went up or down.
    pub async fn refresh_ports(&self, device: &Device) -> Result<(), ApiError> {
        let mut control = device.control.lock().await;
        let down = device.link().down_ports();
        let Control { active, staged } = &mut *control;
        if let Some((Installed { info, books, .. }, pipeline)) = staged {
            let (info, touched) = (info.clone(), Touched::default());
            entity::refresh_ports(&mut State {
                info: &info,
                pipeline,
                books,
                down: &down,
                touched,
            })?;
        }
        match active {
            Some(active) => self.with_active(device, active, down, entity::refresh_ports).await?,
            None => Ok(()),
        }
    }

    /// Whether who sends this may do so.
    pub fn authorize(&self, head: &Head) -> Result<(), ApiError> {
        match head {
            Head::Write(request) => self.authorize_write(self.device(request.device_id)?, request).map(drop),
            Head::Config(request) => self.authorize_config(self.device(request.device_id)?, request),
        }
    }

    fn authorize_write(&self, device: &Device, request: &v1::WriteRequest) -> Result<Arc<Access>, ApiError> {
        let election_id = election_id(request.election_id.as_ref());
        device.link().authorize(&request.role, election_id)
    }

    async fn write(&self, request: v1::WriteRequest) -> Result<(), Status> {
        let device = self.device(request.device_id)?;
        let authorize = || self.authorize_write(device, &request);
        // Who may not write does not wait for those who may.
        authorize()?;
        let mut control = device.control.lock().await;
        let access = authorize()?;
        let all_or_none = match Atomicity::try_from(request.atomicity) {
            Ok(Atomicity::ContinueOnError) => false,
            // No packet runs during a batch, so that either way it sees all of it or nothing.
            Ok(Atomicity::RollbackOnError | Atomicity::DataplaneAtomic) => true,
            Err(_) => {
                let given = request.atomicity;
                return Err(ApiError::invalid(format!("unknown atomicity {given}")).into());
            }
        };
        let info = control.current().ok_or_else(no_config)?.info.clone();
        let plan = |update: &v1::Update| {
            let entity = entity::the_entity(update.entity.as_ref(), "update")?;
            if !access.permits(entity::object_id(entity)) {
                return Err(ApiError::denied(format!("not in role {:?}", request.role)));
            }
            entity::plan(&info, update)
        };
        let mut batch = Vec::with_capacity(request.updates.len());
        for updates in request.updates.chunks(UPDATES_A_TURN) {
            batch.extend(updates.iter().map(plan));
            tokio::task::yield_now().await;
        }
        let apply = move |state: &mut State<'_>| entity::apply_batch(batch, all_or_none, state);
        let outcomes = self.with_state(device, &mut control, apply).await?;
        batch_status("updates", outcomes.iter().map(Option::as_ref))
    }
}

pub(crate) fn no_config() -> ApiError {
    // Clients tell this case by the words "no forwarding pipeline config".
    ApiError::failed_precondition("no forwarding pipeline config is set for this device")
}

/// What a client asked for, and what its message counts as until that is done.
fn taken<T>(request: Request<T>) -> (T, Option<Received>) {
    let (_, mut extensions, message) = request.into_parts();
    (message, extensions.remove())
}

/// Runs a call to its end even if the client goes away in the middle. Its message counts as received until then.
async fn uninterrupted<T, R, F>(request: Request<T>, call: impl FnOnce(T) -> F) -> Result<R, Status>
where
    F: Future<Output = Result<R, Status>> + Send + 'static,
    R: Send + 'static,
{
    let (message, received) = taken(request);
    let call = call(message);
    let call = async move {
        let _received = received;
        call.await
    };
    tokio::spawn(call)
        .await
        .unwrap_or_else(|error| Err(Status::internal(format!("call aborted: {error}"))))
}

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = Inbox<v1::ReadResponse>;
    type StreamChannelStream = Inbox<v1::StreamMessageResponse>;

    async fn write(&self, request: Request<v1::WriteRequest>) -> Result<Response<v1::WriteResponse>, Status> {
        let shared = self.0.clone();
        uninterrupted(request, |request| async move { shared.write(request).await }).await?;
        Ok(Response::new(v1::WriteResponse {}))
    }

    async fn read(&self, request: Request<v1::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let (sender, replies) = self.0.outbox(READ_QUEUE);
        let ending = sender.clone();
        let end = Arc::new(move || ending.cut(Status::resource_exhausted("too many concurrent reads; retry later")));
        let reading = self
            .0
            .reads
            .take(&Caller::of(request.extensions()), 1, end)
            .map_err(|Full| {
                let reads = self.0.limits.reads;
                Status::resource_exhausted(format!("{reads} reads in progress; retry later"))
            })?;
        let shared = self.0.clone();
        let (request, received) = taken(request);
        tokio::spawn(async move {
            let outcome = shared.read(request, &sender).await;
            drop(received);
            let patience = shared.limits.patience;
            sender.close(outcome.err(), Some(Box::new(reading)), patience).await;
        });
        Ok(Response::new(replies))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<v1::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::SetForwardingPipelineConfigResponse>, Status> {
        let shared = self.0.clone();
        uninterrupted(request, |request| async move {
            shared.set_config(request).await.map_err(Status::from)
        })
        .await?;
        Ok(Response::new(v1::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<v1::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::GetForwardingPipelineConfigResponse>, Status> {
        let answer = self.0.get_config(request.into_inner()).await?;
        let mut response = Response::new(v1::GetForwardingPipelineConfigResponse::default());
        if let Some(answer) = answer {
            response.extensions_mut().insert(answer);
        }
        Ok(response)
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<v1::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (sender, replies) = self.0.outbox(STREAM_QUEUE);
        let shared = self.0.clone();
        let stream = shared.next_stream.fetch_add(1, Ordering::Relaxed);
        let id = (stream, request.extensions().get::<Guest>().is_some());
        let caller = Caller::of(request.extensions());
        let client = Client { sender, caller };
        tokio::spawn(async move { Session::run(&shared, id, request.into_inner(), client).await });
        Ok(Response::new(replies))
    }

    async fn capabilities(
        &self,
        request: Request<v1::CapabilitiesRequest>,
    ) -> Result<Response<v1::CapabilitiesResponse>, Status> {
        // Many clients leave the device out: the answer is the same for all.
        let _ = request;
        Ok(Response::new(v1::CapabilitiesResponse {
            p4runtime_api_version: API_VERSION.to_owned(),
            experimental: None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn who_may_not_write_waits_for_nobody() {
        let (_server, hub) = crate::testing::unserved();
        let shared = &hub.shared;
        let _writing = shared.devices[&1].control.lock().await;
        let request = v1::WriteRequest {
            device_id: 1,
            ..v1::WriteRequest::default()
        };
        let answer = tokio::time::timeout(Duration::from_secs(60), shared.write(request));
        let status = answer.await.unwrap().unwrap_err();
        assert_eq!(status.code(), tonic::Code::PermissionDenied);
    }
}
