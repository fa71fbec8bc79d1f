#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parking lot on a packet ring: four stations send to the fifth through one congested span and share it equally (iPT)."""

from matplotlib import pyplot

from slotwise import Ring

ring = Ring(6, rate_bps=100_000_000, open=True, seconds=1)
for station in range(4):
    ring.udp(f"hosts{station}", "hosts5", 60_000_000, name=f"station{station}", start_s=0.1 * station)
flows = ring.simulate(columns="ring", quiet=True).columns("flows")
figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
for name, flow in flows.groupby("flow"):
    axes.plot(flow["time_s"], flow["goodput_kbps"] / 1000, label=name)
axes.set(xlabel="time, s", ylabel="goodput, Mb/s")
axes.legend(ncols=4, fontsize="small")
figure.savefig("ring_fairness.png", dpi=100)
late = flows[flows["time_s"] > 0.7].groupby("flow")["goodput_kbps"].mean()
print(f"Jain's index {late.sum() ** 2 / (len(late) * (late**2).sum()):.4f}")
