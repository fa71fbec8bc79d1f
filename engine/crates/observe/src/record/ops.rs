// SPDX-License-Identifier: Apache-2.0
//! The columns of optical packet switches and their edges.

use super::{Column, column};

/// Of wavelengths for data of optical packet switches and their edges; the names, `FROM-TO/WAVELENGTH`, are in column `output`. Bytes are
/// those that links count.
pub const OUTPUT_COLUMNS: [Column; 13] = [
    column("time_s", "end of the period, s"),
    column(
        "utilization",
        "bits of frames that began transmission or entered optical RAM, divided by the bits that the rate allows",
    ),
    column("kbps", "the same, kbit/s"),
    column("frames", "frames"),
    column("trains", "bursts, counted by labels"),
    column("waited_trains", "of these, bursts buffered in optical RAM; 0 at edges"),
    column(
        "wait_us",
        "mean waiting time of all bursts, us; at edges, of packets in their queue",
    ),
    column(
        "most_ram_bytes",
        "maximum backlog found by an arriving burst, bytes; 0 at edges",
    ),
    column("queue_bytes", "bytes waiting at the end of the period; 0 at switches"),
    column(
        "dropped_packets",
        "frames dropped by the line card: queue full or fibre down",
    ),
    column("intervals", "completed intervals of its XCP agent; 0 at edges"),
    column(
        "overloaded_intervals",
        "of these, overloaded intervals: arrivals above 1.05 times its rate, including drops",
    ),
    column("tcp_frames", "frames with TCP; 0 at switches, and at edges of packets"),
];

/// Of optical packet switches, by their counters; the names are in column `switch`.
pub const SWITCH_COLUMNS: [Column; 12] = [
    column("time_s", "end of the period, s"),
    column("straight", "bursts forwarded at once on the preferred fibre"),
    column("waited", "bursts forwarded on it after buffering in optical RAM"),
    column("converted", "bursts forwarded on it after wavelength conversion"),
    column("deflected", "bursts deflected to another fibre"),
    column("refused", "bursts blocked"),
    column("dropped", "frames dropped"),
    column("contention", "of these, because all outputs were busy"),
    column(
        "not_deflected",
        "because the preferred output was busy and no deflections were left",
    ),
    column("no_route", "because no fibre leads to their edge"),
    column("ttl_expired", "because no hops were left"),
    column("bad_field", "because of an invalid label"),
];

/// Of the trains of edges of optical packet switches; the names are in column `edge`. Bytes are those of IP packets.
pub const TRAIN_COLUMNS: [Column; 20] = [
    column("time_s", "end of the period, s"),
    column("formed", "bursts assembled by the edge"),
    column("packets", "packets in these bursts"),
    column("packet_bytes", "bytes in these bursts"),
    column("most_bytes", "bytes of the largest burst"),
    column(
        "refused",
        "bursts without buffer space at an output; without aggregation counted by P4",
    ),
    column("delivered", "bursts delivered to another edge"),
    column("lost", "bursts lost in the network"),
    column("lost_by_links", "of these, on links between edges"),
    column("packets_lost_by_links", "packets in the lost bursts"),
    column(
        "straight_ms",
        "mean transit time of the bursts delivered without a deflection, ms; without their transmission time",
    ),
    column(
        "deflected",
        "deflected bursts delivered; deflected at a switch, or into the alternate fibre between two edges",
    ),
    column("deflected_lost", "deflected bursts lost"),
    column(
        "deflected_ms",
        "mean transit time of the deflected bursts delivered, ms",
    ),
    column("deflected_deviation_ms", "standard deviation of this time, ms"),
    column("under_way", "bursts in flight at the end of the period"),
    column("resequenced", "packets from other edges that waited for resequencing"),
    column(
        "longest_probe_ms",
        "maximum time from a probe to the resulting rate, ms; 0 without probes",
    ),
    column(
        "most_held_bytes",
        "maximum bytes waiting in the edge; 0 without aggregation or pacing",
    ),
    column(
        "unserved",
        "bursts without a row in `delays`: paced at the end of the period, or lost meanwhile",
    ),
];
