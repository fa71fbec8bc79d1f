#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traffic starts in an idle star: granted slots follow demand within a few frames."""

from matplotlib import pyplot

from slotwise import Star

star = Star(4, 1, rate_bps=100_000_000)
star.phase("quiet", seconds=0.1).udp("edge1", "edge2", 500_000, 1000)
star.phase("burst", seconds=0.1).tcp("edge1", "edge2", streams=2)
series = star.simulate(quiet=True).series()
pair = series[(series["from"] == 1) & (series["to"] == 2) & series["frame_ms"].between(80, 150)]
figure, (demand, slots) = pyplot.subplots(2, sharex=True, figsize=(6, 4), layout="constrained")
demand.plot(pair["frame_ms"], pair["demand_bytes"] / 1000, color="#d9822b")
demand.set_ylabel("reported demand, kB")
slots.step(pair["frame_ms"], pair["granted_slots"], where="post", color="#1f5fa8")
slots.set(ylabel="slots granted per frame", xlabel="time, ms")
for axes in (demand, slots):
    axes.axvline(100, color="#888888", linestyle=":")
figure.savefig("grant_latency.png", dpi=100)
late_ms = pair[(pair["frame_ms"] > 100) & (pair["granted_slots"] >= 10)]["frame_ms"].iloc[0] - 100
print(f"{late_ms:.1f} ms to ten slots per frame")
