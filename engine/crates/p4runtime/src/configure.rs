// SPDX-License-Identifier: Apache-2.0
//! SetForwardingPipelineConfig and GetForwardingPipelineConfig.

use std::sync::Arc;

use slotwise_p4::Pipeline;
use slotwise_units::Instant;

use crate::answer::Answer;
use crate::device::{Control, Device, Installed};
use crate::entity::{Books, State, Touched};
use crate::error::ApiError;
use crate::hub::DeviceAccess;
use crate::p4info::P4Info;
use crate::proto::p4::v1::{self, get_forwarding_pipeline_config_request::ResponseType};
use crate::reconfigure;
use crate::service::{Shared, election_id, no_config};

impl Shared {
    pub async fn set_config(&self, mut request: v1::SetForwardingPipelineConfigRequest) -> Result<(), ApiError> {
        use v1::set_forwarding_pipeline_config_request::Action;
        let device = self.device(request.device_id)?;
        let action = request.action();
        self.authorize_config(device, &request)?;
        if action == Action::Unspecified {
            return Err(ApiError::invalid(
                "action is not set to VERIFY ... RECONCILE_AND_COMMIT",
            ));
        }
        if action == Action::Commit {
            if request.config.is_some() {
                return Err(ApiError::invalid(
                    "COMMIT with a configuration; expected none: it realizes the saved one",
                ));
            }
            let mut control = device.control.lock().await;
            self.authorize_config(device, &request)?;
            let staged = control.staged.take();
            let (installed, pipeline) =
                staged.ok_or_else(|| ApiError::not_found("no saved configuration; expected VERIFY_AND_SAVE first"))?;
            return self.commit(device, &mut control, installed, pipeline).await;
        }
        let config = request
            .config
            .take()
            .ok_or_else(|| ApiError::invalid("request without a configuration"))?;
        // Reads, writes and elections go on while a program is compiled.
        let (installed, pipeline) = self.compiler.verify(config, device.pipeline_config.clone()).await?;
        let mut control = device.control.lock().await;
        self.authorize_config(device, &request)?;
        match action {
            Action::Verify => Ok(()),
            Action::VerifyAndSave => {
                control.staged = Some((installed, pipeline));
                Ok(())
            }
            Action::ReconcileAndCommit => self.reconcile(device, &mut control, installed, pipeline).await,
            _ => self.commit(device, &mut control, installed, pipeline).await,
        }
    }

    /// Whether the request comes from a primary that may set the pipeline.
    pub fn authorize_config(
        &self,
        device: &Device,
        request: &v1::SetForwardingPipelineConfigRequest,
    ) -> Result<(), ApiError> {
        let role = &request.role;
        let access = device
            .link()
            .authorize(role, election_id(request.election_id.as_ref()))?;
        if access.may_configure() {
            return Ok(());
        }
        Err(ApiError::denied(format!(
            "role {role:?} is not allowed to set the pipeline"
        )))
    }

    /// Puts a configuration in force.
    async fn commit(
        &self,
        device: &Device,
        control: &mut Control,
        mut installed: Installed,
        pipeline: Pipeline,
    ) -> Result<(), ApiError> {
        let (devices, id) = (self.devices.clone(), device.id);
        let (info, books) = (installed.info.clone(), std::mem::take(&mut installed.books));
        let install = move |access: &mut dyn DeviceAccess| {
            put_in_force(&devices[&id], access, pipeline, info, &books);
            books
        };
        installed.books = self.owner.call(device.id, install).await?;
        control.staged = None;
        control.active = Some(installed);
        Ok(())
    }

    /// Puts a configuration in force and keeps the forwarding state.
    async fn reconcile(
        &self,
        device: &Device,
        control: &mut Control,
        mut installed: Installed,
        mut pipeline: Pipeline,
    ) -> Result<(), ApiError> {
        let Some(active) = &mut control.active else {
            return self.commit(device, control, installed, pipeline).await;
        };
        if active.device_config[..] == installed.device_config[..] && active.config.p4info == installed.config.p4info {
            active.adopt(installed.config);
            control.staged = None;
            return Ok(());
        }
        reconfigure::check(&active.info, &installed.info)?;
        let mut books = reconfigure::carry_books(&active.info, &installed.info, &active.books)?;
        let down = device.link().down_ports();
        let (devices, id) = (self.devices.clone(), device.id);
        let (from, to) = (active.info.clone(), installed.info.clone());
        let migrate = move |access: &mut dyn DeviceAccess| {
            let old = access.pipeline().ok_or_else(no_config)?;
            pipeline.advance_time(old.now());
            let touched = Touched::default();
            let mut new = State {
                info: &to,
                pipeline: &mut pipeline,
                books: &mut books,
                down: &down,
                touched,
            };
            reconfigure::copy_state(&from, old, &mut new)?;
            put_in_force(&devices[&id], access, pipeline, to.clone(), &books);
            Ok::<_, ApiError>(books)
        };
        installed.books = self.owner.call(device.id, migrate).await??;
        control.staged = None;
        control.active = Some(installed);
        Ok(())
    }

    /// The configuration, or the parts of it that are asked for; `None`: there is none.
    pub async fn get_config(
        &self,
        request: v1::GetForwardingPipelineConfigRequest,
    ) -> Result<Option<Answer>, ApiError> {
        let mut control = self.device(request.device_id)?.control.lock().await;
        let wanted = ResponseType::try_from(request.response_type)
            .map_err(|_| ApiError::invalid(format!("unknown response type {}", request.response_type)))?;
        let Some(installed) = control.current() else {
            return Ok(None);
        };
        let answer = installed.answer(wanted, &self.memory);
        Ok(Some(answer.map_err(|error| ApiError::exhausted(error.to_string()))?))
    }
}

/// Installs a pipeline, and in the same step what the owner's thread knows of it, so that no controller packet is read by
/// another program's header.
fn put_in_force(
    device: &Device,
    access: &mut dyn DeviceAccess,
    mut pipeline: Pipeline,
    info: Arc<P4Info>,
    books: &Books,
) {
    // A new pipeline begins at the time of the one before.
    pipeline.advance_time(access.pipeline().map_or(Instant::ZERO, |before| before.now()));
    let now = pipeline.now();
    access.install(pipeline);
    device.link().install(info, books, now);
}
