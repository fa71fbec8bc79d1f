// SPDX-License-Identifier: Apache-2.0
//! Frames as they are on a wire, though the kernel hands over and takes larger ones.
//!
//! With offloads on, as Linux has them, a host's kernel gives a TCP or UDP sender's data to a virtual cable in one *super-frame* of
//! up to 64 KB, and leaves checksums half done: whoever drives the cable is to cut and to finish. A switch that does that here sees
//! exactly what a wire would carry ([`segment`]), and packs what it sends in the same way again ([`coalesce`]), so that a system call
//! moves dozens of frames:
//!
//! ```text
//! kernel -- virtio_net_hdr, up to 64 KB --> segment --> frame by frame --> P4 --> coalesce -- virtio_net_hdr, up to 64 KB --> kernel
//! ```
//!
//! A super-frame may be in tunnels. Then each frame that is cut out of it gets lengths, identifications and checksums of its own in
//! all headers ([`layers`]).
//!
//! Packing can be undone: cutting a packed super-frame gives the same frames, byte for byte.

pub(crate) mod checksum;
pub(crate) mod coalesce;
pub(crate) mod headers;
pub(crate) mod layers;
pub(crate) mod segment;
pub(crate) mod virtio;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tunnel_tests;
