#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edges with clocks up to 50 ppm off join by discovery and ranging and track the master's clock in P4: slot timing errors."""

from matplotlib import pyplot

from slotwise import Star

star = Star(4, 1, rate_bps=100_000_000).clocks(max_drift_ppb=50_000)
star.phase("run", seconds=1.5).tcp("all", "all")
clocks = star.simulate(columns="clocks", quiet=True).columns("clocks")
figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
for edge, rows in clocks[clocks["slots"] > 0].groupby("edge"):
    axes.semilogy(rows["time_s"], rows["worst_error_ns"], label=edge)
axes.axhline(10_000, color="#888888", linestyle=":", label="guard time")
axes.set(xlabel="time, s", ylabel="max slot timing error, ns")
axes.legend()
figure.savefig("clocks.png", dpi=100)
print(f"max {clocks['worst_error_ns'].max()} ns, with a guard time of 10000 ns")
