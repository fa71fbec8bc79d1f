# SPDX-License-Identifier: Apache-2.0
"""Hosts of live networks: Mininet, the host agent, flows between hosts, tunnels."""

OFFLOADS_OFF = "rx off tx off sg off tso off gso off gro off"
"""Features for `ethtool -K` of all access interfaces: edges expect packets of the link's MTU with computed checksums."""
