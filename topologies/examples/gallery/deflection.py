#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A mesh of optical packet switches without buffers: bursts that find their output busy are deflected to another path."""

from matplotlib import pyplot

from slotwise import OpsMesh

loads = (0.1, 0.3, 0.5)
figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
for deflections, colour in (("none", "#d9822b"), (3, "#1f5fa8")):
    lost = []
    for load in loads:
        mesh = OpsMesh(6, rate_bps=50_000_000, ram_bytes=0, max_deflections=deflections, seconds=1)
        for edge in range(6):
            mesh.udp(f"hosts{edge}", f"hosts{(edge + 3) % 6}", int(50e6 * load), process="poisson")
        switches = mesh.simulate(columns="mesh", quiet=True).columns("switches")
        lost.append(100 * switches["dropped"].sum() / switches[["forwarded", "deflected", "dropped"]].sum().sum())
    axes.plot(loads, lost, "o-", label=f"deflections: {deflections}", color=colour)
    print(f"{lost[0]:.2f} % lost at 10 % load, deflections: {deflections}")
axes.set(xlabel="load of each edge's wavelength", ylabel="bursts dropped, % per hop")
axes.legend()
figure.savefig("deflection.png", dpi=100)
