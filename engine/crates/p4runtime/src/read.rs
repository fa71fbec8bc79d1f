// SPDX-License-Identifier: Apache-2.0
//! Read: in slices, between which packets run and writes get their turn, sent as the client takes them.

use std::sync::Arc;

use slotwise_p4::Pipeline;
use tonic::Status;

use crate::device::Device;
use crate::entity::{self, Finding, Query, Selection};
use crate::error::{ApiError, batch_status};
use crate::hub::DeviceAccess;
use crate::outbox::Outbox;
use crate::p4info::P4Info;
use crate::proto::p4::v1::{self, entity::Entity};
use crate::service::{Shared, no_config};

/// Entities in one `ReadResponse`: keeps messages below common limits.
const ENTITIES_A_RESPONSE: usize = 256;

/// Entities on their way to the client. `Err`: it is gone, or has been ended.
struct Answer<'a> {
    replies: &'a Outbox<v1::ReadResponse>,
    shared: &'a Shared,
    entities: Vec<v1::Entity>,
}

/// The client is gone, or has been ended.
struct ClientLeft;

impl Answer<'_> {
    /// Sends what fills a response; all of it at the end.
    async fn flush(&mut self, is_last: bool) -> Result<(), ClientLeft> {
        while self.entities.len() >= ENTITIES_A_RESPONSE || is_last && !self.entities.is_empty() {
            let count = self.entities.len().min(ENTITIES_A_RESPONSE);
            let entities = self.entities.drain(..count).collect();
            let sent = self
                .replies
                .send(v1::ReadResponse { entities }, self.shared.limits.patience);
            sent.await.map_err(|_| ClientLeft)?;
        }
        Ok(())
    }
}

impl Shared {
    pub async fn read(&self, request: v1::ReadRequest, replies: &Outbox<v1::ReadResponse>) -> Result<(), Status> {
        let device = self.device(request.device_id)?;
        let (queries, most) = (request.entities.len(), self.limits.queries);
        if queries > most {
            return Err(ApiError::exhausted(format!("{queries} entities in one Read; expected at most {most}")).into());
        }
        let access = device.link().access(&request.role);
        let info = device
            .control
            .lock()
            .await
            .current()
            .ok_or_else(no_config)?
            .info
            .clone();
        let mut answer = Answer {
            replies,
            shared: self,
            entities: Vec::new(),
        };
        let mut errors = Vec::with_capacity(queries);
        for entity in &request.entities {
            let mut outcome = Ok(());
            match Query::new(&info, entity) {
                Err(error) => outcome = Err(error),
                Ok(mut query) => {
                    while let Some(selection) = query.next() {
                        // If nothing is found, nothing is sent that would tell.
                        if replies.is_over() {
                            return Ok(());
                        }
                        let mut give = |entity: Entity| {
                            if access.permits(entity::object_id(&entity)) {
                                answer.entities.push(v1::Entity { entity: Some(entity) });
                            }
                        };
                        match self.read_slice(device, &info, selection, &mut give).await {
                            Ok(Some(rest)) => query.put_back(rest),
                            Ok(None) => {}
                            Err(SliceError::Ended(error)) => return Err(error.into()),
                            Err(SliceError::Refused(error)) => {
                                outcome = Err(error);
                                break;
                            }
                        }
                        if answer.flush(false).await.is_err() {
                            return Ok(());
                        }
                    }
                }
            }
            errors.push(outcome.err());
        }
        if answer.flush(true).await.is_err() {
            return Ok(());
        }
        batch_status("read requests", errors.iter().map(Option::as_ref))
    }

    /// Reads one slice and gives its entities; nothing is written meanwhile. Returns what is left to be read.
    async fn read_slice(
        &self,
        device: &Device,
        info: &Arc<P4Info>,
        mut selection: Selection,
        give: &mut (dyn FnMut(Entity) + Send),
    ) -> Result<Option<Selection>, SliceError> {
        let mut control = device.control.lock().await;
        loop {
            let current = control.current().ok_or_else(|| SliceError::Ended(no_config()))?;
            if !Arc::ptr_eq(&current.info, info) {
                let message = "the forwarding pipeline config changed during the read";
                return Err(SliceError::Ended(ApiError::aborted(message)));
            }
            let finding = if selection.asks_pipeline() {
                let asked = info.clone();
                let run = move |pipeline: &mut Pipeline| {
                    let finding = selection.run(&asked, pipeline);
                    (selection, finding)
                };
                let answer = match &mut control.staged {
                    Some((_, pipeline)) => Some(run(pipeline)),
                    None => {
                        let slice = move |access: &mut dyn DeviceAccess| access.pipeline().map(run);
                        let called = self.owner.call_slice(device.id, slice).await;
                        called.map_err(SliceError::Ended)?
                    }
                };
                let (asked, finding) = answer.ok_or_else(|| SliceError::Ended(no_config()))?;
                selection = asked;
                finding.map_err(SliceError::Refused)?
            } else {
                Finding::InBooks
            };
            let current = control.current().ok_or_else(|| SliceError::Ended(no_config()))?;
            let rest = selection
                .encode(info, &current.books, finding, give)
                .map_err(SliceError::Refused)?;
            match rest {
                Some(rest) if rest.is_half_an_entity() => selection = rest,
                rest => {
                    drop(control);
                    // Others have a turn, too.
                    tokio::task::yield_now().await;
                    return Ok(rest);
                }
            }
        }
    }
}

/// Why a slice could not be read.
enum SliceError {
    /// The read cannot go on.
    Ended(ApiError),
    /// This element of it is not answered.
    Refused(ApiError),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::outbox::{Bounds, Budget, outbox};

    #[tokio::test]
    async fn a_read_ends_when_its_client_is_gone() {
        // The first slice is waited for.
        let (_server, hub) = crate::testing::unserved();
        let bounds = Bounds {
            messages: 4,
            bytes: 1000,
        };
        let (replies, inbox) = outbox(bounds, &Budget::new(1000));
        drop(inbox);
        let entity = Some(Entity::TableEntry(v1::TableEntry::default()));
        let request = v1::ReadRequest {
            device_id: 1,
            role: String::new(),
            entities: vec![v1::Entity { entity }],
        };
        let read = hub.shared.read(request, &replies);
        tokio::time::timeout(Duration::from_secs(60), read)
            .await
            .unwrap()
            .unwrap();
    }
}
