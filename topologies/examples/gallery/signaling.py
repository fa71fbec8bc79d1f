#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In-band signaling takes one slot per edge in each frame; out-of-band signaling frees it, but needs a separate channel."""

from matplotlib import pyplot

from slotwise import Star

found = {}
for signaling in ("in-band", "out-of-band"):
    star = Star(4, 1, rate_bps=100_000_000, slots=16, signaling=signaling)
    star.phase("full", seconds=0.5).tcp("all", "all", streams=2)
    found[signaling] = sum(star.simulate(quiet=True).goodput_bps("full").values()) / 1e6
figure, axes = pyplot.subplots(figsize=(6, 2.5), layout="constrained")
axes.barh(list(found), list(found.values()), color=["#d9822b", "#1f5fa8"])
axes.set_xlabel("goodput of all pairs, Mb/s")
figure.savefig("signaling.png", dpi=100)
print(f"{found['out-of-band'] / found['in-band']:.2f} times as much goodput out of band")
