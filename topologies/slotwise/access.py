# SPDX-License-Identifier: Apache-2.0
"""What all access interfaces have, whoever makes them."""

OFFLOADS_OFF = "rx off tx off sg off tso off gso off gro off"
"""For ethtool: what arrives at an edge are packets of the link's MTU with checksums that are already computed."""
