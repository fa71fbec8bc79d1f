# SPDX-License-Identifier: Apache-2.0
"""Hosts of live networks: Mininet, the host agent, flows between hosts, tunnels."""
