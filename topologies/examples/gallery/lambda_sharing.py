#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GTP shares a receiver max-min fair: a session with a low source limit leaves the rest to the others, as one after the other joins."""

from matplotlib import pyplot

from slotwise import Network

share = {"capacity_bps": 90_000_000, "interval_ms": 100}
network = Network("lambdas", seconds=9, sample_ms=100).node("core", "far")
network.link("core", "far", rate_bps=1_000_000_000, delay_ns=10_000_000, buffer_packets=500)
network.hosts("sink", "far", rate_bps=100_000_000, gtp=share, buffer_packets=500)
for number, limit_bps in enumerate((10_000_000, None, None)):
    network.hosts(f"s{number}", "core", rate_bps=100_000_000, gtp=share, buffer_packets=500)
    network.gtp(f"s{number}", "sink", source_limit_bps=limit_bps, name=f"session{number}", start_s=2.0 * number)
flows = network.simulate(columns="lambdas", quiet=True).columns("flows")
figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
for name, flow in flows.groupby("flow"):
    axes.plot(flow["time_s"], flow["goodput_kbps"] / 1000, label=name)
axes.set(xlabel="time, s", ylabel="goodput, Mb/s")
axes.legend()
figure.savefig("lambda_sharing.png", dpi=100)
print(
    ", ".join(f"{kbps / 1000:.1f}" for kbps in flows[flows["time_s"] > 7].groupby("flow")["goodput_kbps"].mean()),
    "Mb/s",
)
