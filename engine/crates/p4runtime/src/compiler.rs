// SPDX-License-Identifier: Apache-2.0
//! Programs are loaded and compiled one at a time, on a thread that has nothing else to do.

use std::sync::Arc;

use slotwise_p4::{Pipeline, PipelineConfig};
use tokio::sync::Semaphore;

use crate::device::Installed;
use crate::error::ApiError;
use crate::programs::Programs;
use crate::proto::p4::v1::ForwardingPipelineConfig;

/// Makes pipelines.
pub(crate) struct Compiler {
    programs: Arc<Programs>,
    place: Arc<Semaphore>,
    /// Called first on a thread that is to compile.
    prepare: Option<fn()>,
}

impl Compiler {
    pub fn new(programs: Arc<Programs>, prepare: Option<fn()>) -> Compiler {
        Compiler {
            programs,
            place: Arc::new(Semaphore::new(1)),
            prepare,
        }
    }

    /// Checks that this engine can run a configuration, and makes its pipeline.
    pub async fn verify(
        &self,
        config: ForwardingPipelineConfig,
        pipeline_config: PipelineConfig,
    ) -> Result<(Installed, Pipeline), ApiError> {
        let place = self.place.clone().acquire_owned().await;
        let (programs, prepare) = (self.programs.clone(), self.prepare);
        let verified = tokio::task::spawn_blocking(move || {
            if let Some(prepare) = prepare {
                prepare();
            }
            let verified = Installed::verify(config, &pipeline_config, &programs);
            drop(place);
            verified
        });
        verified.await.unwrap_or_else(|error| {
            Err(ApiError::unavailable(format!(
                "the program could not be compiled: {error}"
            )))
        })
    }
}
