// SPDX-License-Identifier: Apache-2.0
//! Kinds of networks, a folder each.

pub(crate) mod ops;
pub(crate) mod ring;
pub(crate) mod routed;
pub(crate) mod star;
