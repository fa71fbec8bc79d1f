// SPDX-License-Identifier: Apache-2.0
//! What the kernel says beside a frame: `struct virtio_net_hdr` of linux/virtio_net.h (VIRTIO 1.2, section 5.1.6), which a packet socket
//! has with the option PACKET_VNET_HDR, in the machine's byte order.

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 10;

const F_NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
/// The first segment alone has TCP's CWR flag.
const GSO_ECN: u8 = 0x80;

/// What a super-frame is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// TCP segments.
    Tcp,
    /// UDP datagrams.
    Udp,
}

/// A checksum that is still to be computed: over the frame from `start` on, which holds the sum of the pseudo header where the
/// checksum belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartialChecksum {
    /// From the frame's begin, in bytes.
    pub start: u16,
    /// Where the checksum belongs, from `start` on, in bytes.
    pub offset: u16,
}

/// How the kernel hands a frame over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offload {
    pub checksum: Option<PartialChecksum>,
    /// For a super-frame: its kind, and payload bytes of each part but the last.
    pub cut: Option<(Cut, u16)>,
}

/// A frame was handed over in a way that has no meaning, or with a kind of segmentation that was not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadOffload(pub &'static str);

impl Offload {
    /// Reads a header.
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Offload, BadOffload> {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let checksum = (bytes[0] & F_NEEDS_CSUM != 0).then(|| PartialChecksum {
            start: word(6),
            offset: word(8),
        });
        let kind = match bytes[1] & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 | GSO_TCPV6 => Some(Cut::Tcp),
            GSO_UDP_L4 => Some(Cut::Udp),
            _ => return Err(BadOffload("unexpected segmentation type")),
        };
        Ok(Offload {
            checksum,
            cut: kind.map(|kind| (kind, word(4))),
        })
    }

    /// The header of a TCP super-frame: `tcp` is where its TCP header starts, `payload` where its payload does.
    pub(crate) fn tcp_header(is_ipv6: bool, tcp: u16, payload: u16, segment: u16, has_cwr: bool) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = F_NEEDS_CSUM;
        bytes[1] = if is_ipv6 { GSO_TCPV6 } else { GSO_TCPV4 } | if has_cwr { GSO_ECN } else { 0 };
        let checksum_offset = super::headers::TCP_CHECKSUM as u16;
        for (at, value) in [(2, payload), (4, segment), (6, tcp), (8, checksum_offset)] {
            bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }
}
