#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packets assembled into bursts at the edges: fewer decisions in optical switches and less overhead, for some delay."""

from matplotlib import pyplot

from slotwise import OpsMesh

sizes, packets, delays_ms = (500, 1500, 3000, 6000, 9000), [], []
for size_bytes in sizes:
    trains = {"scheme": "full", "size_bytes": size_bytes, "interval_ns": 5_000_000}
    mesh = OpsMesh(4, rate_bps=50_000_000, seconds=1, packet_bytes=500, more={"aggregation": trains})
    report = mesh.udp("hosts0", "hosts2", 20_000_000, process="poisson").simulate(columns="bursts", quiet=True)
    edges = report.columns("bursts").sum(numeric_only=True)
    packets.append(edges["packets"] / edges["assembled"])
    delays_ms.append(report.flows()["delay_ns_mean"].mean() / 1e6)
figure, (above, below) = pyplot.subplots(2, sharex=True, figsize=(6, 4), layout="constrained")
above.plot(sizes, packets, "o-", color="#1f5fa8")
above.set(ylabel="packets per burst", ylim=(0, None))
below.plot(sizes, delays_ms, "o-", color="#d9822b")
below.set(xlabel="maximum burst size, bytes", ylabel="mean delay, ms", ylim=(0, None))
figure.savefig("trains.png", dpi=100)
print(f"{packets[-1]:.1f} packets per burst, {delays_ms[-1] - delays_ms[0]:.2f} ms more delay")
