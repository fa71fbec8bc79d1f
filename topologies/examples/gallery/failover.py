#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two cores share the load of four edges; at 0.25 s a fibre pair of edge 1 goes down, and its traffic moves to the other core."""

from matplotlib import pyplot

from slotwise import Star

star = Star(4, 1, rate_bps=100_000_000, masters=[0, 1])
star.phase("run", seconds=0.5).tcp("edge1", "edge2", streams=4).tcp("edge3", "edge0", streams=4)
star.fibre_change(0.25, edge=1, core=0, up=False)
report = star.simulate(columns="failover", sample_frames=2, quiet=True)
ports = report.columns("ports")
figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
for name, colour in (("core0->edge2", "#1f5fa8"), ("core1->edge2", "#d9822b")):
    port = ports[ports["port"] == name]
    axes.plot(port["time_s"], port["utilization"], label=name, color=colour)
axes.axvline(0.25, color="#888888", linestyle=":")
axes.set(xlabel="time, s", ylabel="utilization", ylim=(0, 1))
axes.legend()
figure.savefig("failover.png", dpi=100)
print(f"{port[port['time_s'] > 0.3]['utilization'].mean():.2f} utilization of the remaining fibre")
