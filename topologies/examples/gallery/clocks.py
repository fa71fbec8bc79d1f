#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edges whose clocks are up to 50 ppm off join by invitation and follow the master's in P4: how far their slots are off."""

from matplotlib import pyplot

from slotwise import Star

star = Star(4, 1, rate_bps=100_000_000).clocks(max_drift_ppb=50_000)
star.phase("run", seconds=1.5).tcp("all", "all")
clocks = star.simulate(columns="clocks", quiet=True).columns("clocks")
figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
for edge, rows in clocks[clocks["slots"] > 0].groupby("edge"):
    axes.semilogy(rows["time_s"], rows["worst_error_ns"], label=edge)
axes.axhline(10_000, color="#888888", linestyle=":", label="guard")
axes.set(xlabel="time, s", ylabel="worst error of a slot, ns")
axes.legend()
figure.savefig("clocks.png", dpi=100)
print(f"{clocks['worst_error_ns'].max()} ns at most, of a guard of 10000")
