// SPDX-License-Identifier: Apache-2.0
//! Generated from the P4Runtime protos and `schema/lockstep.proto`.
#![allow(missing_docs, clippy::doc_lazy_continuation, reason = "generated")]

/// `google.*`
pub mod google {
    /// `google.rpc`
    pub mod rpc {
        tonic::include_proto!("google.rpc");
    }
}

/// `p4.*`
pub mod p4 {
    /// `p4.config.*`
    pub mod config {
        /// `p4.config.v1`: P4Info.
        pub mod v1 {
            tonic::include_proto!("p4.config.v1");
        }
    }
    /// `p4.v1`: the P4Runtime service.
    pub mod v1 {
        tonic::include_proto!("p4.v1");
    }
}

/// `slotwise.v1`: lock step.
pub mod slotwise {
    /// `slotwise.v1`
    pub mod v1 {
        tonic::include_proto!("slotwise.v1");
    }
}

/// All of the above, described; for text formats.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
