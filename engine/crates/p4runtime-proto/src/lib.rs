// SPDX-License-Identifier: Apache-2.0
//! Messages and services of P4Runtime, of lock step (`schema/lockstep.proto`) and of simple_switch_grpc's packet interface
//! (`proto/dataplane.proto`).
//!
//! `scripts/gen-protos` writes `generated`: compiling the protos in each build would take a minute of processor time. P4Runtime's
//! protos are those of p4lang/p4runtime (Apache-2.0).
#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]

/// `google.*`
pub mod google {
    /// `google.rpc`
    pub mod rpc {
        include!("generated/google.rpc.rs");
    }
}

/// `p4.*`
pub mod p4 {
    /// `p4.config.*`
    pub mod config {
        /// `p4.config.v1`: P4Info.
        pub mod v1 {
            include!("generated/p4.config.v1.rs");
        }
    }
    /// `p4.v1`: the P4Runtime service.
    pub mod v1 {
        include!("generated/p4.v1.rs");
    }
    /// `p4.bm`: the packet interface of simple_switch_grpc.
    pub mod bm {
        include!("generated/p4.bm.rs");
    }
}

/// `slotwise.v1`: lock step.
pub mod slotwise {
    /// `slotwise.v1`
    pub mod v1 {
        include!("generated/slotwise.v1.rs");
    }
}

/// Descriptors of P4Runtime and lock step, a serialized `FileDescriptorSet`; for text formats.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");
