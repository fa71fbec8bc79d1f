// SPDX-License-Identifier: Apache-2.0
//! The P4Runtime service: checks that concern a whole call, then the batch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slotwise_p4::{ConfigError, Pipeline};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::device::{Control, Device, Installed, STREAM_QUEUE};
use crate::error::{ApiError, batch_status};
use crate::hub::{DeviceAccess, Owner};
use crate::proto::p4::v1::{self, get_forwarding_pipeline_config_request::ResponseType};
use crate::proto::p4::v1::{p4_runtime_server::P4Runtime, write_request::Atomicity};
use crate::read::{Found, Query};
use crate::reconfigure;
use crate::stream::Session;
use crate::write;

/// The version of the specification that the server follows.
const API_VERSION: &str = "1.4.1";
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

    async fn write(&self, request: v1::WriteRequest) -> Result<(), Status> {
        let device = self.device(request.device_id)?;
        let mut control = device.control.lock().await;
        device
            .link()
            .authorize(&request.role, election_id(request.election_id.as_ref()))?;
        if Atomicity::try_from(request.atomicity) != Ok(Atomicity::ContinueOnError) {
            return Err(ApiError::unimplemented("only atomicity CONTINUE_ON_ERROR is served").into());
        }
        let info = control.current().ok_or_else(no_config)?.info.clone();

        // `Err` is what was refused here, `Ok` what goes to the pipeline.
        let mut outcomes = Vec::with_capacity(request.updates.len());
        let mut operations = Vec::with_capacity(request.updates.len());
        for update in &request.updates {
            outcomes.push(write::plan(&info, update).map(|planned| {
                operations.push(planned.operation);
                planned.note
            }));
        }
        let apply = move |pipeline: &mut Pipeline| -> Vec<Result<(), ConfigError>> {
            operations
                .into_iter()
                .map(|operation| operation.apply(pipeline))
                .collect()
        };
        let mut applied = self.with_pipeline(device, &mut control, apply).await?.into_iter();

        let current = control.current().ok_or_else(no_config)?;
        for outcome in &mut outcomes {
            let Ok(note) = outcome else { continue };
            match applied.next().expect("one result an operation") {
                Err(error) => *outcome = Err(error.into()),
                Ok(()) => match note.take() {
                    Some((id, note)) if note == write::Note::default() => drop(current.notes.remove(&id)),
                    Some((id, note)) => drop(current.notes.insert(id, note)),
                    None => {}
                },
            }
        }
        batch_status("updates", outcomes.iter().map(|outcome| outcome.as_ref().err()))
    }

    async fn read(&self, request: v1::ReadRequest, replies: &ReadSender) -> Result<(), Status> {
        let device = self.device(request.device_id)?;
        let mut control = device.control.lock().await;
        let info = control.current().ok_or_else(no_config)?.info.clone();
        let mut errors = Vec::with_capacity(request.entities.len());
        let mut queries = Vec::new();
        for entity in &request.entities {
            let query = Query::new(&info, entity);
            errors.push(query.as_ref().err().cloned());
            queries.extend(query.ok());
        }
        let run = move |pipeline: &mut Pipeline| -> Vec<(Query, Result<Vec<Found>, ConfigError>)> {
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
                Ok(found) => {
                    let encode = |found| query.encode(&info, &current.notes, found);
                    entities.extend(found.into_iter().filter_map(encode));
                }
                Err(error) => *place = Some(error.into()),
            }
        }
        drop(control);
        let mut rest = entities.into_iter();
        loop {
            let entities: Vec<_> = rest.by_ref().take(ENTITIES_PER_RESPONSE).collect();
            if entities.is_empty() || replies.send(Ok(v1::ReadResponse { entities })).await.is_err() {
                break;
            }
        }
        batch_status("read requests", errors.iter().map(Option::as_ref))
    }

    async fn set_config(&self, request: v1::SetForwardingPipelineConfigRequest) -> Result<(), ApiError> {
        use v1::set_forwarding_pipeline_config_request::Action;
        let device = self.device(request.device_id)?;
        let mut control = device.control.lock().await;
        device
            .link()
            .authorize(&request.role, election_id(request.election_id.as_ref()))?;
        let action = request.action();
        if action == Action::Unspecified {
            return Err(ApiError::invalid(
                "action is not set to VERIFY ... RECONCILE_AND_COMMIT",
            ));
        }
        if action == Action::Commit {
            if request.config.is_some() {
                return Err(ApiError::invalid(
                    "COMMIT takes no configuration: it realizes the saved one",
                ));
            }
            let staged = control.staged.take();
            let (installed, pipeline) =
                staged.ok_or_else(|| ApiError::not_found("there is no saved configuration: VERIFY_AND_SAVE one"))?;
            return self.commit(device, &mut control, installed, pipeline).await;
        }
        let config = request
            .config
            .ok_or_else(|| ApiError::invalid("the request has no configuration"))?;
        if action == Action::ReconcileAndCommit {
            return self.reconcile(device, &mut control, config).await;
        }
        let (installed, pipeline) = Installed::verify(config, &device.pipeline_config)?;
        match action {
            Action::Verify => Ok(()),
            Action::VerifyAndSave => {
                control.staged = Some((installed, pipeline));
                Ok(())
            }
            _ => self.commit(device, &mut control, installed, pipeline).await,
        }
    }

    /// Puts a configuration in force.
    async fn commit(
        &self,
        device: &Device,
        control: &mut Control,
        installed: Installed,
        pipeline: Pipeline,
    ) -> Result<(), ApiError> {
        let devices = self.devices.clone();
        let (id, info) = (device.id, installed.info.clone());
        let install = move |access: &mut dyn DeviceAccess| {
            access.install(pipeline);
            // In the same step, so that no controller packet is read by the other program's header.
            devices[&id].link().info = Some(info);
        };
        self.owner.call(device.id, install).await?;
        control.staged = None;
        control.active = Some(installed);
        Ok(())
    }

    /// Puts a configuration in force and keeps the forwarding state.
    async fn reconcile(
        &self,
        device: &Device,
        control: &mut Control,
        config: v1::ForwardingPipelineConfig,
    ) -> Result<(), ApiError> {
        let (mut installed, mut pipeline) = Installed::verify(config, &device.pipeline_config)?;
        let Some(active) = &mut control.active else {
            return self.commit(device, control, installed, pipeline).await;
        };
        if active.config.p4_device_config == installed.config.p4_device_config
            && active.config.p4info == installed.config.p4info
        {
            active.config = installed.config;
            control.staged = None;
            return Ok(());
        }
        reconfigure::check(&active.info, &installed.info)?;
        installed.notes = reconfigure::carry_notes(&active.info, &installed.info, &active.notes);
        let devices = self.devices.clone();
        let (id, from, to) = (device.id, active.info.clone(), installed.info.clone());
        let migrate = move |access: &mut dyn DeviceAccess| {
            let old = access.pipeline().ok_or_else(no_config)?;
            reconfigure::copy_state(&from, old, &to, &mut pipeline)?;
            access.install(pipeline);
            devices[&id].link().info = Some(to);
            Ok::<(), ApiError>(())
        };
        self.owner.call(device.id, migrate).await??;
        control.staged = None;
        control.active = Some(installed);
        Ok(())
    }

    async fn get_config(
        &self,
        request: v1::GetForwardingPipelineConfigRequest,
    ) -> Result<v1::GetForwardingPipelineConfigResponse, ApiError> {
        let mut control = self.device(request.device_id)?.control.lock().await;
        let wanted = ResponseType::try_from(request.response_type)
            .map_err(|_| ApiError::invalid(format!("response type {} is not known", request.response_type)))?;
        let config = control.current().map(|installed| {
            let config = &installed.config;
            let with_p4info = matches!(wanted, ResponseType::All | ResponseType::P4infoAndCookie);
            let with_program = matches!(wanted, ResponseType::All | ResponseType::DeviceConfigAndCookie);
            v1::ForwardingPipelineConfig {
                p4info: config.p4info.clone().filter(|_| with_p4info),
                p4_device_config: if with_program {
                    config.p4_device_config.clone()
                } else {
                    Vec::new()
                },
                cookie: config.cookie,
            }
        });
        Ok(v1::GetForwardingPipelineConfigResponse { config })
    }
}

fn no_config() -> ApiError {
    ApiError::failed_precondition("the device has no forwarding pipeline yet: SetForwardingPipelineConfig first")
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
