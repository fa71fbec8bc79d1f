// SPDX-License-Identifier: Apache-2.0
//! What a role may do. The specification leaves `Role.config` open; we take the message `stratum.P4RoleConfig` of the
//! Stratum switch, which other clients know.

use std::collections::BTreeSet;

use prost::Message;

use crate::bits;
use crate::error::ApiError;
use crate::proto::p4::v1::{PacketMetadata, Role};

const TYPE_NAME: &str = "stratum.P4RoleConfig";

/// `stratum.P4RoleConfig`
#[derive(Clone, PartialEq, Message)]
struct RoleConfig {
    #[prost(uint32, repeated, tag = "1")]
    exclusive_p4_ids: Vec<u32>,
    #[prost(uint32, repeated, tag = "2")]
    shared_p4_ids: Vec<u32>,
    #[prost(message, optional, tag = "3")]
    packet_in_filter: Option<PacketFilter>,
    #[prost(bool, tag = "4")]
    receives_packet_ins: bool,
    #[prost(bool, tag = "5")]
    can_push_pipeline: bool,
}

#[derive(Clone, PartialEq, Message)]
struct PacketFilter {
    #[prost(uint32, tag = "1")]
    metadata_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// The rights of a role. By default, all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    /// As it was sent, for advisories.
    pub message: Option<prost_types::Any>,
    limits: Option<RoleConfig>,
}

impl Access {
    /// The rights in an arbitration update.
    pub fn parse(role: &Role) -> Result<Access, ApiError> {
        let Some(config) = &role.config else {
            return Ok(Access::default());
        };
        if config.type_url.rsplit('/').next() != Some(TYPE_NAME) {
            let given = &config.type_url;
            return Err(ApiError::invalid(format!(
                "role.config is {given:?}; {TYPE_NAME} is what is taken"
            )));
        }
        let limits = RoleConfig::decode(config.value.as_slice())
            .map_err(|error| ApiError::invalid(format!("role.config is not a {TYPE_NAME}: {error}")))?;
        Ok(Access {
            message: Some(config.clone()),
            limits: Some(limits),
        })
    }

    /// Whether writes, reads and notifications about a P4Info object are for this role. Packet replication has id 0:
    /// it is for roles without limits.
    pub fn permits(&self, object_id: u32) -> bool {
        self.limits.as_ref().is_none_or(|limits| {
            limits.exclusive_p4_ids.contains(&object_id) || limits.shared_p4_ids.contains(&object_id)
        })
    }

    /// Whether it may set the forwarding pipeline.
    pub fn may_configure(&self) -> bool {
        self.limits.as_ref().is_none_or(|limits| limits.can_push_pipeline)
    }

    /// Whether a packet-in with this metadata is for this role.
    pub fn takes_packet(&self, metadata: &[PacketMetadata]) -> bool {
        let Some(limits) = &self.limits else { return true };
        let matches = |filter: &PacketFilter| {
            let wanted = bits::canonical(&filter.value);
            metadata
                .iter()
                .any(|item| item.metadata_id == filter.metadata_id && item.value == wanted)
        };
        limits.receives_packet_ins && limits.packet_in_filter.as_ref().is_none_or(matches)
    }

    /// An object that both claim although one of them claims it for itself alone.
    pub fn conflict(&self, other: &Access) -> Option<u32> {
        let (Some(ours), Some(theirs)) = (&self.limits, &other.limits) else {
            return None;
        };
        let all = |limits: &RoleConfig| -> BTreeSet<u32> {
            limits
                .exclusive_p4_ids
                .iter()
                .chain(&limits.shared_p4_ids)
                .copied()
                .collect()
        };
        let (our_ids, their_ids) = (all(ours), all(theirs));
        let taken = ours.exclusive_p4_ids.iter().find(|id| their_ids.contains(id));
        taken
            .or_else(|| theirs.exclusive_p4_ids.iter().find(|id| our_ids.contains(id)))
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(config: &RoleConfig) -> Access {
        let config = crate::error::any(TYPE_NAME, config);
        Access::parse(&Role {
            config: Some(config),
            ..Role::default()
        })
        .unwrap()
    }

    #[test]
    fn without_a_config_everything_is_allowed() {
        let access = Access::parse(&Role::default()).unwrap();
        assert!(access.permits(7) && access.permits(0) && access.may_configure() && access.takes_packet(&[]));
    }

    #[test]
    fn a_config_allows_what_it_names() {
        let filter = PacketFilter {
            metadata_id: 1,
            value: vec![0, 5],
        };
        let limited = access(&RoleConfig {
            exclusive_p4_ids: vec![7],
            shared_p4_ids: vec![8],
            packet_in_filter: Some(filter),
            receives_packet_ins: true,
            can_push_pipeline: false,
        });
        assert_eq!([7, 8, 9, 0].map(|id| limited.permits(id)), [true, true, false, false]);
        assert!(!limited.may_configure());
        let packet = |value: u8| {
            [PacketMetadata {
                metadata_id: 1,
                value: vec![value],
            }]
        };
        assert!(limited.takes_packet(&packet(5)) && !limited.takes_packet(&packet(6)));
        assert!(!access(&RoleConfig::default()).takes_packet(&packet(5)));
    }

    #[test]
    fn what_is_exclusive_is_nobody_elses() {
        let ids = |exclusive: &[u32], shared: &[u32]| {
            access(&RoleConfig {
                exclusive_p4_ids: exclusive.to_vec(),
                shared_p4_ids: shared.to_vec(),
                ..RoleConfig::default()
            })
        };
        assert_eq!(ids(&[1], &[2]).conflict(&ids(&[3], &[2])), None);
        assert_eq!(ids(&[1], &[2]).conflict(&ids(&[2], &[])), Some(2));
        assert_eq!(ids(&[1], &[]).conflict(&ids(&[], &[1])), Some(1));
        assert_eq!(ids(&[1], &[]).conflict(&Access::default()), None);
    }

    #[test]
    fn other_messages_are_refused() {
        for (name, value) in [("nobody.Knows", vec![]), (TYPE_NAME, vec![0xff])] {
            let config = prost_types::Any {
                type_url: format!("type.googleapis.com/{name}"),
                value,
            };
            assert!(
                Access::parse(&Role {
                    config: Some(config),
                    ..Role::default()
                })
                .is_err(),
                "{name}"
            );
        }
    }
}
