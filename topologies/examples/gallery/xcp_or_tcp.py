#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four flows on a link of 40 Mb/s and 40 ms: XCP fills it without a queue, Reno by filling the queue and losing packets."""

from matplotlib import pyplot

from slotwise import Network

figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
for transport, colour in (("xcp", "#1f5fa8"), ("reno", "#d9822b")):
    network = Network(transport, seconds=8, sample_ms=50).node("left", "right")
    network.link(
        "left", "right", rate_bps=40_000_000, delay_ns=20_000_000, buffer_packets=200, xcp_capacity_bps=40_000_000
    )
    network.hosts("s", "left", 4, rate_bps=100_000_000).hosts("d", "right", 4, rate_bps=100_000_000)
    links = network.tcp("s", "d", transport=transport).simulate(columns=transport, quiet=True).columns("links")
    link = links[links["link"] == "left-right"]
    axes.plot(link["time_s"], link["queue_bytes"] / 1000, label=transport, color=colour)
    late = link[link["time_s"] > 4]
    print(transport, f"utilization {late['utilization'].mean():.3f}, queue {late['queue_bytes'].mean() / 1000:.1f} kB")
axes.set(xlabel="time, s", ylabel="queue, kB")
axes.legend()
figure.savefig("xcp_or_tcp.png", dpi=100)
