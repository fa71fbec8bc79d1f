# SPDX-License-Identifier: Apache-2.0
"""Router with two ports, one with an XCP controller."""

from slotwise import wire
from support.base import SwitchTest
from support.xcp import XcpMixin, rate

IN_PORT, OUT_PORT = 1, 2
MAC, NEXT_HOP_MAC, BACK_MAC = 0x02FE00000000, 0x020000000002, 0x020000000003
THERE_NET, THERE, BACK_NET, BACK = 0x0A020000, 0x0A020001, 0x0A010000, 0x0A010001
CAPACITY = rate(10_000_000)


class RouterTest(SwitchTest):
    program = "router"

    def setUp(self):
        super().setUp()
        self.switch.set_default("router_params", "set_router_params", mac=MAC)
        self.route(THERE_NET, 16, OUT_PORT, NEXT_HOP_MAC)
        self.route(BACK_NET, 16, IN_PORT, BACK_MAC)

    def route(self, net, prefix_len, port, mac):
        self.switch.insert("ipv4_route", {"dst": (net, prefix_len)}, "to_port", port=port, mac=mac)


class RouterXcpTest(XcpMixin, RouterTest):
    in_port, out_port, queue = IN_PORT, OUT_PORT, OUT_PORT
    mac, xcp_dst = MAC, THERE
    shim_at = wire.Ethernet.SIZE + wire.Ipv4.SIZE

    def setUp(self):
        super().setUp()
        self.control_output(OUT_PORT, CAPACITY)

    def control_output(self, port, throughput, overhead=0):
        self.switch.insert("xcp_output", {"queue": port}, "fixed_capacity", throughput=throughput, overhead=overhead)
