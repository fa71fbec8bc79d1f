// SPDX-License-Identifier: Apache-2.0
//! P4Runtime server for many devices.
pub mod proto;
