// SPDX-License-Identifier: Apache-2.0
//! The P4Runtime service: checks that concern a whole call, then the batch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slotwise_p4::{Pipeline, Port};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::device::{Control, Device, Installed, STREAM_QUEUE};
use crate::entity::{self, Found, Query, State, Touched};
use crate::error::{ApiError, batch_status};
use crate::hub::{DeviceAccess, Owner};
use crate::proto::p4::v1;
use crate::proto::p4::v1::{p4_runtime_server::P4Runtime, write_request::Atomicity};
use crate::stream::Session;

/// The version of the specification that the server follows.
const API_VERSION: &str = "1.5.0";
/// Entities in one `ReadResponse`: keeps messages below common limits.
const ENTITIES_PER_RESPONSE: usize = 256;

/// What all calls share.
pub(crate) struct Shared {
    pub devices: Arc<BTreeMap<u64, Device>>,
    pub owner: Owner,
    pub lock_step: bool,
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
    pub fn device(&self, id: u64) -> Result<&Device, ApiError> {
        self.devices
            .get(&id)
            .ok_or_else(|| ApiError::not_found(format!("there is no device {id}")))
    }

    /// Runs something on the pipeline that reads and writes refer to.
    async fn with_pipeline<R: Send + 'static>(
        &self,
        device: &Device,
        control: &mut Control,
        call: impl FnOnce(&mut Pipeline) -> R + Send + 'static,
    ) -> Result<R, ApiError> {
        if let Some((_, pipeline)) = &mut control.staged {
            return Ok(call(pipeline));
        }
        let result = self.owner.call(device.id, |device| device.pipeline().map(call)).await?;
        result.ok_or_else(no_config)
    }

    /// Changes what writes refer to; notifications follow what has changed.
    pub async fn with_state<R: Send + 'static>(
        &self,
        device: &Device,
        control: &mut Control,
        call: impl FnOnce(&mut State<'_>) -> R + Send + 'static,
    ) -> Result<R, ApiError> {
        let down = device.link().down_ports.clone();
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
                let (touched, now_ns) = (state.touched, state.pipeline.now_ns());
                let mut link = devices[&id].link();
                link.arm(touched.entries.iter(), &books.notes, now_ns);
                if touched.digests {
                    link.digests.configure(&books.digests);
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
        let down = device.link().down_ports.clone();
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

    async fn write(&self, request: v1::WriteRequest) -> Result<(), Status> {
        let device = self.device(request.device_id)?;
        let mut control = device.control.lock().await;
        let access = device
            .link()
            .authorize(&request.role, election_id(request.election_id.as_ref()))?;
        let all_or_none = match Atomicity::try_from(request.atomicity) {
            Ok(Atomicity::ContinueOnError) => false,
            // No packet runs during a batch, so that either way it sees all of it or nothing.
            Ok(Atomicity::RollbackOnError | Atomicity::DataplaneAtomic) => true,
            Err(_) => {
                let given = request.atomicity;
                return Err(ApiError::invalid(format!("atomicity {given} is not known")).into());
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
        let batch = request.updates.iter().map(plan).collect();
        let apply = move |state: &mut State<'_>| entity::apply_batch(batch, all_or_none, state);
        let outcomes = self.with_state(device, &mut control, apply).await?;
        batch_status("updates", outcomes.iter().map(Option::as_ref))
    }

    async fn read(&self, request: v1::ReadRequest, replies: &ReadSender) -> Result<(), Status> {
        let device = self.device(request.device_id)?;
        let mut control = device.control.lock().await;
        let access = device.link().access(&request.role);
        let info = control.current().ok_or_else(no_config)?.info.clone();
        let mut errors = Vec::with_capacity(request.entities.len());
        let mut queries = Vec::new();
        for entity in &request.entities {
            let query = Query::new(&info, entity);
            errors.push(query.as_ref().err().cloned());
            queries.extend(query.ok());
        }
        let run = move |pipeline: &mut Pipeline| -> Vec<(Query, Result<Found, ApiError>)> {
            let answer = |query: Query| (query.run(pipeline), query);
            queries
                .into_iter()
                .map(answer)
                .map(|(found, query)| (query, found))
                .collect()
        };
        let answers = self.with_pipeline(device, &mut control, run).await?;
        let current = control.current().ok_or_else(no_config)?;
        let mut entities = Vec::new();
        let mut places = errors.iter_mut().filter(|error| error.is_none());
        for (query, found) in answers {
            let place = places.next().expect("one answer a valid query");
            match found {
                Ok(found) => query.encode(&info, &current.books, found, &mut entities),
                Err(error) => *place = Some(error),
            }
        }
        drop(control);
        entities.retain(|entity| {
            entity
                .entity
                .as_ref()
                .is_some_and(|it| access.permits(entity::object_id(it)))
        });
        let mut rest = entities.into_iter();
        loop {
            let entities: Vec<_> = rest.by_ref().take(ENTITIES_PER_RESPONSE).collect();
            if entities.is_empty() || replies.send(Ok(v1::ReadResponse { entities })).await.is_err() {
                break;
            }
        }
        batch_status("read requests", errors.iter().map(Option::as_ref))
    }
}

pub(crate) fn no_config() -> ApiError {
    // Clients tell this case by the words "no forwarding pipeline config".
    ApiError::failed_precondition("no forwarding pipeline config is set for this device")
}

type ReadSender = mpsc::Sender<Result<v1::ReadResponse, Status>>;

/// Runs a call to its end even if the client goes away in the middle.
async fn uninterrupted<R: Send + 'static>(
    call: impl Future<Output = Result<R, Status>> + Send + 'static,
) -> Result<R, Status> {
    tokio::spawn(call)
        .await
        .unwrap_or_else(|error| Err(Status::internal(format!("the call ended early: {error}"))))
}

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = ReceiverStream<Result<v1::ReadResponse, Status>>;
    type StreamChannelStream = ReceiverStream<Result<v1::StreamMessageResponse, Status>>;

    async fn write(&self, request: Request<v1::WriteRequest>) -> Result<Response<v1::WriteResponse>, Status> {
        let shared = self.0.clone();
        uninterrupted(async move { shared.write(request.into_inner()).await }).await?;
        Ok(Response::new(v1::WriteResponse {}))
    }

    async fn read(&self, request: Request<v1::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let (sender, replies) = mpsc::channel(4);
        let shared = self.0.clone();
        tokio::spawn(async move {
            if let Err(status) = shared.read(request.into_inner(), &sender).await {
                // A client that has gone needs no status.
                let _ = sender.send(Err(status)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(replies)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<v1::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::SetForwardingPipelineConfigResponse>, Status> {
        let shared = self.0.clone();
        uninterrupted(async move { Ok(shared.set_config(request.into_inner()).await?) }).await?;
        Ok(Response::new(v1::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<v1::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::GetForwardingPipelineConfigResponse>, Status> {
        Ok(Response::new(self.0.get_config(request.into_inner()).await?))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<v1::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (sender, replies) = mpsc::channel(STREAM_QUEUE);
        let shared = self.0.clone();
        let stream = shared.next_stream.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move { Session::run(&shared, stream, request.into_inner(), sender).await });
        Ok(Response::new(ReceiverStream::new(replies)))
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
