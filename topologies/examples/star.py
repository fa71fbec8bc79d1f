#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A star of any size: `sudo build/venv/bin/python topologies/examples/star.py [EDGES [HOSTS_PER_EDGE]]`."""

import sys

from slotwise import Star

star = Star(*map(int, sys.argv[1:3]), rate_bps=100_000_000)
star.phase("uniform", seconds=5).tcp("all", "all")
star.phase("hot-pair", seconds=5).tcp("all", "all", rate_bps=500_000).tcp("edge1", "edge0", streams=4)
report = star.run()
for (source, destination), goodput_bps in report.goodput_bps("hot-pair").items():
    print(f"{source} -> {destination}: {goodput_bps / 1e6:.1f} Mb/s")
report.plot("star.png")
