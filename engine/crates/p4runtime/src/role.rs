// SPDX-License-Identifier: Apache-2.0
//! What a role may do. The specification leaves `Role.config` open; we take the message `stratum.P4RoleConfig` of the
//! Stratum switch, which other clients know.

use std::collections::BTreeMap;

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

/// Objects that a role may name.
const MAX_OBJECTS: usize = 4096;
/// Enough for so many, whatever their numbers.
const MAX_CONFIG_BYTES: usize = 32 * 1024;

/// The rights of a role. By default, all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access(Option<Limits>);

#[derive(Debug, Clone)]
struct Limits {
    /// The objects that it may use, and whether nobody else may.
    objects: BTreeMap<u32, bool>,
    packet_in_filter: Option<PacketFilter>,
    receives_packet_ins: bool,
    can_push_pipeline: bool,
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
                "role.config: unsupported type; expected {TYPE_NAME}, got {given:?}"
            )));
        }
        let too_large = |given: String| {
            ApiError::exhausted(format!(
                "role.config: too large; expected at most {MAX_OBJECTS} objects in {MAX_CONFIG_BYTES} bytes, got {given}"
            ))
        };
        if config.value.len() > MAX_CONFIG_BYTES {
            return Err(too_large(format!("{} bytes", config.value.len())));
        }
        let config = RoleConfig::decode(config.value.as_slice())
            .map_err(|error| ApiError::invalid(format!("role.config is not a {TYPE_NAME}: {error}")))?;
        let named = config.exclusive_p4_ids.len() + config.shared_p4_ids.len();
        if named > MAX_OBJECTS {
            return Err(too_large(format!("{named} objects")));
        }
        let shared = config.shared_p4_ids.into_iter().map(|id| (id, false));
        let exclusive = config.exclusive_p4_ids.into_iter().map(|id| (id, true));
        Ok(Access(Some(Limits {
            objects: shared.chain(exclusive).collect(),
            packet_in_filter: config.packet_in_filter,
            receives_packet_ins: config.receives_packet_ins,
            can_push_pipeline: config.can_push_pipeline,
        })))
    }

    /// Whether writes, reads and notifications about a P4Info object are for this role. Packet replication has id 0:
    /// it is for roles without limits.
    pub fn permits(&self, object_id: u32) -> bool {
        self.0
            .as_ref()
            .is_none_or(|limits| limits.objects.contains_key(&object_id))
    }

    /// Whether it may set the forwarding pipeline.
    pub fn may_configure(&self) -> bool {
        self.0.as_ref().is_none_or(|limits| limits.can_push_pipeline)
    }

    /// Whether a packet-in with this metadata is for this role.
    pub fn takes_packet(&self, metadata: &[PacketMetadata]) -> bool {
        let Some(limits) = &self.0 else { return true };
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
        let (Some(ours), Some(theirs)) = (&self.0, &other.0) else {
            return None;
        };
        let both = ours
            .objects
            .iter()
            .filter_map(|(id, is_exclusive)| Some((*id, *is_exclusive, *theirs.objects.get(id)?)));
        let mut taken = both.filter(|(_, ours, theirs)| *ours || *theirs);
        taken.next().map(|(id, ..)| id)
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
    fn objects_of_a_role_are_bounded() {
        let parsed = |ids: u32| {
            let config = RoleConfig {
                exclusive_p4_ids: (0..ids / 2).map(|id| u32::MAX - id).collect(),
                shared_p4_ids: (ids / 2..ids).map(|id| u32::MAX - id).collect(),
                ..RoleConfig::default()
            };
            let config = Some(crate::error::any(TYPE_NAME, &config));
            Access::parse(&Role {
                config,
                ..Role::default()
            })
        };
        assert!(parsed(MAX_OBJECTS as u32).unwrap().permits(u32::MAX));
        for ids in [MAX_OBJECTS as u32 + 1, 200_000] {
            assert_eq!(parsed(ids).unwrap_err().code, tonic::Code::ResourceExhausted);
        }
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
