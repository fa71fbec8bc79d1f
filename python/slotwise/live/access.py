# SPDX-License-Identifier: Apache-2.0
"""Settings common to all access interfaces."""

OFFLOADS_OFF = "rx off tx off sg off tso off gso off gro off"
"""Features for `ethtool -K`: edges expect packets of the link's MTU with computed checksums."""
