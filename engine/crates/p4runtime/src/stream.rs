// SPDX-License-Identifier: Apache-2.0
//! StreamChannel: arbitration, packet-out, and lock step's `Done`.

use prost::Message;
use tonic::{Status, Streaming};

use crate::arbitration::StreamId;
use crate::device::Device;
use crate::error::ApiError;
use crate::hub::{DeviceCommand, HubEvent, Work};
use crate::link::{Client, send_error};
use crate::proto::p4::v1::{self, stream_error::Details, stream_message_request};
use crate::proto::slotwise::v1::Done;
use crate::role::Access;
use crate::service::{Shared, election_id};

/// Longest payload of a packet-out.
const MAX_PAYLOAD_BYTES: usize = 16 * 1024;
const DONE: &str = "slotwise.v1.Done";

/// One stream, from its first message to its end.
pub(crate) struct Session<'a> {
    shared: &'a Shared,
    stream: StreamId,
    /// The client may listen, but never be primary, and nothing that it sends counts.
    is_guest: bool,
    client: Client,
    /// Device and role: fixed by the first arbitration.
    member: Option<(&'a Device, String)>,
}

impl<'a> Session<'a> {
    /// Serves the stream until the client ends it or breaks the rules of arbitration.
    pub async fn run(
        shared: &'a Shared,
        (stream, is_guest): (StreamId, bool),
        mut requests: Streaming<v1::StreamMessageRequest>,
        client: Client,
    ) {
        let outbox = client.sender.clone();
        let mut session = Session {
            shared,
            stream,
            is_guest,
            client,
            member: None,
        };
        // In lock step nothing depends on the wall clock; a controller that does not read is noticed at its turn.
        let patience = (!shared.lock_step || is_guest).then_some(shared.limits.patience);
        let ended = async {
            match patience {
                Some(patience) => outbox.watch(patience).await,
                None => std::future::pending().await,
            }
        };
        let status = tokio::select! {
            status = session.serve(&mut requests) => status,
            () = ended => None,
        };
        if let Some((device, role)) = session.member {
            let _in_flight = device.control.lock().await;
            device.link().leave(&role, stream);
            // If the owner is gone, there is nobody to tell.
            let _ = shared.owner.send(HubEvent::StreamEnded).await;
        }
        drop(requests);
        outbox.close(status, None, shared.limits.patience).await;
    }

    /// Does what the client wants until it ends the stream, or is to be ended with a status.
    async fn serve(&mut self, requests: &mut Streaming<v1::StreamMessageRequest>) -> Option<Status> {
        loop {
            match requests.message().await {
                Ok(Some(request)) => {
                    if self.client.sender.is_over() {
                        return None;
                    }
                    if let Err(error) = self.handle(request).await {
                        return Some(error.into());
                    }
                }
                Ok(None) => return None,
                Err(status) => return Some(status),
            }
        }
    }

    /// An error ends the stream.
    async fn handle(&mut self, request: v1::StreamMessageRequest) -> Result<(), ApiError> {
        use stream_message_request::Update;
        let (result, details) = match request.update {
            Some(Update::Arbitration(update)) => return self.arbitrate(&update).await,
            Some(Update::Packet(packet)) => {
                let result = self.packet_out(&packet).await;
                (
                    result,
                    Details::PacketOut(v1::PacketOutError {
                        packet_out: Some(packet),
                    }),
                )
            }
            Some(Update::DigestAck(ack)) => {
                let result = self.acknowledge(&ack);
                (
                    result,
                    Details::DigestListAck(v1::DigestListAckError {
                        digest_list_ack: Some(ack),
                    }),
                )
            }
            Some(Update::Other(other)) => {
                let result = self.done(&other).await;
                (result, Details::Other(v1::StreamOtherError { other: Some(other) }))
            }
            None => {
                let result = Err(ApiError::invalid("stream message of an unknown type"));
                (result, Details::Other(v1::StreamOtherError::default()))
            }
        };
        if let Err(error) = result {
            let error = v1::StreamError {
                canonical_code: error.code.into(),
                message: error.message,
                details: Some(details),
                ..v1::StreamError::default()
            };
            send_error(&self.client.sender, error);
        }
        Ok(())
    }

    async fn arbitrate(&mut self, update: &v1::MasterArbitrationUpdate) -> Result<(), ApiError> {
        let role = update.role.clone().unwrap_or_default();
        let access = Access::parse(&role)?;
        #[expect(deprecated, reason = "clients of P4Runtime 1.2 and before name roles by number")]
        if role.id != 0 {
            return Err(ApiError::invalid(
                "numeric role IDs are not supported; expected role.name",
            ));
        }
        let device = self.shared.device(update.device_id)?;
        match &self.member {
            Some((member, _)) if member.id != device.id => {
                return Err(ApiError::failed_precondition(format!(
                    "this stream belongs to device {}",
                    member.id
                )));
            }
            Some((_, name)) if *name != role.name => {
                return Err(ApiError::failed_precondition(format!(
                    "this stream belongs to role {name:?}"
                )));
            }
            _ => {}
        }
        let mut presence = device.presence.subscribe();
        let waited = presence.wait_for(|is_there| *is_there).await;
        waited.map_err(|_| ApiError::unavailable("server shutting down"))?;
        // A new primary is told after the writes of the one before it.
        let in_flight = device.control.lock().await;
        // Without one, a stream is never primary.
        let election_id = election_id(update.election_id.as_ref()).filter(|_| !self.is_guest);
        // No role comes meanwhile, and the owner's thread does not wait.
        let others = device.link().other_roles(&role.name);
        for (name, other) in others {
            if let Some(id) = other.conflict(&access) {
                return Err(ApiError::invalid(format!(
                    "exclusive object {id:#010x} is already held by role {name:?}"
                )));
            }
        }
        device
            .link()
            .arbitrate(&role.name, self.stream, election_id, access, &self.client)?;
        self.member = Some((device, role.name));
        drop(in_flight);
        self.shared.owner.send(HubEvent::StreamJoined).await
    }

    /// The device and the role, if this stream is a primary.
    fn primary_of(&self) -> Result<(&'a Device, &str), ApiError> {
        let (device, role) = self
            .member
            .as_ref()
            .ok_or_else(|| ApiError::denied("stream without arbitration; expected it first"))?;
        if !device.link().is_primary(role, self.stream) {
            return Err(ApiError::denied(format!(
                "not the primary controller of device {}",
                device.id
            )));
        }
        Ok((device, role))
    }

    async fn packet_out(&self, packet: &v1::PacketOut) -> Result<(), ApiError> {
        let frame = self.primary_of().and_then(|(device, _)| {
            let length = packet.payload.len();
            if length > MAX_PAYLOAD_BYTES {
                let limit = format!("packet-out too large; expected at most {MAX_PAYLOAD_BYTES} bytes, got {length}");
                return Err(ApiError::invalid(limit));
            }
            let info = device.link().info.clone();
            let info = info.ok_or_else(|| ApiError::failed_precondition("no pipeline configured"))?;
            let frame = match &info.packet_out {
                Some(header) => header.encode(&packet.metadata, &packet.payload)?,
                None if packet.metadata.is_empty() => packet.payload.clone(),
                None => {
                    return Err(ApiError::invalid("metadata without a packet_out header in P4Info"));
                }
            };
            Ok((device.id, frame))
        });
        match frame {
            Ok((device_id, frame)) => {
                let command = DeviceCommand {
                    device_id,
                    work: Work::PacketOut(frame),
                };
                self.shared.owner.send(HubEvent::Command(command)).await
            }
            Err(error) => {
                // The controller counts what it has sent, and nobody else does.
                if !self.is_guest {
                    self.shared.owner.send(HubEvent::RefusedPacketOut).await?;
                }
                Err(error)
            }
        }
    }

    fn acknowledge(&self, ack: &v1::DigestListAck) -> Result<(), ApiError> {
        let (device, role) = self.primary_of()?;
        let link = device.link();
        if !link
            .info
            .as_ref()
            .is_some_and(|info| info.objects.digests.contains_key(&ack.digest_id))
        {
            return Err(ApiError::not_found(format!(
                "P4Info has no digest with id {:#010x}",
                ack.digest_id
            )));
        }
        let digests = link.role_digests(role);
        // It takes the longer the more is in the list.
        drop(link);
        if let Some(digests) = digests {
            digests.state().digests.acknowledge(ack.digest_id, ack.list_id);
        }
        Ok(())
    }

    async fn done(&self, other: &prost_types::Any) -> Result<(), ApiError> {
        self.primary_of()?;
        if other.type_url.rsplit('/').next() != Some(DONE) {
            return Err(ApiError::unimplemented(format!("{:?} is not {DONE}", other.type_url)));
        }
        if !self.shared.lock_step {
            return Err(ApiError::failed_precondition("this server does not run in lockstep"));
        }
        let done = Done::decode(other.value.as_slice())
            .map_err(|error| ApiError::invalid(format!("not a {DONE}: {error}")))?;
        self.shared.owner.send(HubEvent::Done(done)).await
    }
}
