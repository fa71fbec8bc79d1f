// SPDX-License-Identifier: Apache-2.0
//! The columns of optical packet switches and their edges.

use super::{Column, column};

/// Of wavelengths for data of optical packet switches and their edges; the names, `FROM-TO/WAVELENGTH`, are in column `output`. Bytes are
/// those that links count.
pub const OUTPUT_COLUMNS: [Column; 13] = [
    column("time_s", "end of the period, s"),
    column(
        "utilization",
        "bits of frames that began to leave, or were put into optical RAM, by what the rate lets through",
    ),
    column("kbps", "the same, kbit/s"),
    column("frames", "frames"),
    column("trains", "trains, by their labels"),
    column(
        "waited_trains",
        "of these, trains that waited in optical RAM; 0 at edges",
    ),
    column(
        "wait_us",
        "mean wait of all trains, us; at edges of packets, in their queue",
    ),
    column(
        "most_ram_bytes",
        "most that was to be sent yet when a train came; 0 at edges",
    ),
    column("queue_bytes", "bytes waiting at the end of the period; 0 at switches"),
    column(
        "dropped_packets",
        "frames that the card lost: its queue was full or its fibre dark",
    ),
    column("intervals", "intervals of its agent that ended; 0 at edges"),
    column(
        "overloaded_intervals",
        "of these, those in which more than 1.05 times what its rate lets through came for it, dropped or not",
    ),
    column("tcp_frames", "frames with TCP; 0 at switches, and at edges of packets"),
];

/// Of optical packet switches, by their counters; the names are in column `switch`.
pub const SWITCH_COLUMNS: [Column; 12] = [
    column("time_s", "end of the period, s"),
    column("straight", "trains that left at once by the fibre of their choice"),
    column("waited", "trains that left by it after a wait in optical RAM"),
    column("converted", "trains that left by it on another wavelength"),
    column("deflected", "trains that left by another fibre"),
    column("refused", "trains that were dropped"),
    column("dropped", "frames that were dropped"),
    column("contention", "of these, since all outputs were busy"),
    column(
        "not_deflected",
        "since the output of their choice was busy, and they had no deflections left",
    ),
    column("no_route", "since no fibre leads to their edge"),
    column("ttl_expired", "since they had no hops left"),
    column("bad_field", "since their label was wrong"),
];

/// Of the trains of edges of optical packet switches; the names are in column `edge`. Bytes are those of IP packets.
pub const TRAIN_COLUMNS: [Column; 20] = [
    column("time_s", "end of the period, s"),
    column("formed", "trains that the edge made"),
    column("packets", "packets in them"),
    column("packet_bytes", "their bytes"),
    column("most_bytes", "bytes of the packets of the largest one"),
    column(
        "refused",
        "trains for which there was no room at an output; where each packet is one they are among P4's drops",
    ),
    column("delivered", "its trains that came to another edge"),
    column("lost", "its trains that were lost on their way"),
    column("lost_by_links", "of these, by links between edges"),
    column("packets_lost_by_links", "packets in those"),
    column(
        "straight_ms",
        "mean time in light of its trains that came without a deflection, ms; their own length is left out",
    ),
    column(
        "deflected",
        "its trains that came though they had been deflected, at a switch or into the second fibre between two edges",
    ),
    column("deflected_lost", "its trains that had been deflected and were lost"),
    column("deflected_ms", "mean time in light of the deflected ones that came, ms"),
    column("deflected_deviation_ms", "standard deviation of these times, ms"),
    column("under_way", "its trains on their way at the end of the period"),
    column(
        "resequenced",
        "packets from other edges that waited here for those before them",
    ),
    column(
        "longest_probe_ms",
        "longest time from a probe to the rate that it brought, ms; 0 of none",
    ),
    column(
        "most_held_bytes",
        "most bytes that waited in the edge at once; 0 where each packet goes before its output at once",
    ),
    column(
        "unserved",
        "trains in no row of `delays`: waiting for the rate of their macroflow at the end of the period, or lost as they waited",
    ),
];
