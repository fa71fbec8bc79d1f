// SPDX-License-Identifier: Apache-2.0
//! The net: switches, the lanes between them, and what moves there.

pub(crate) mod actions;
pub(crate) mod build;
pub(crate) mod event;
pub(crate) mod groups;
pub(crate) mod kind;
pub(crate) mod lane;
pub(crate) mod node;
pub(crate) mod outside;
pub(crate) mod parcel;
pub(crate) mod pass;
pub(crate) mod pump;
pub(crate) mod span;
pub(crate) mod standstill;
