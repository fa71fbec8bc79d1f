#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hotspot pair among lightly loaded pairs under five schedulers: its goodput from the remaining capacity."""

from matplotlib import pyplot

from slotwise import Star

found = {}
for scheduler in ("fair", "maximum-weight", "solstice", "islip", "pim"):
    star = Star(4, 1, rate_bps=100_000_000, scheduler=scheduler)
    star.phase("hot", seconds=0.5).tcp("all", "all", rate_bps=1_000_000).tcp("edge1", "edge2", streams=4)
    goodput_bps = star.simulate(quiet=True).goodput_bps("hot")
    found[scheduler] = goodput_bps["h1_0", "h2_0"] / 1e6
figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
axes.barh(list(found), list(found.values()), color="#1f5fa8")
axes.invert_yaxis()
axes.set_xlabel("goodput of the hotspot pair on a 100 Mb/s fibre, Mb/s")
figure.savefig("schedulers.png", dpi=100)
print(f"{found['fair']:.1f} Mb/s with fair")
