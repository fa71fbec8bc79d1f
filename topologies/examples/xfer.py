#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file over XCP through two live P4 routers, between two network namespaces.

sudo unshare --net build/venv/bin/python topologies/examples/xfer.py FILE STORED [--mbps N] [--bmv2]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from slotwise import SlotwiseError
from slotwise.routers import Chain, Link, ip

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("file", type=Path)
parser.add_argument("stored", type=Path, help="must not exist yet")
parser.add_argument(
    "--mbps", type=int, default=20, help="what XCP reckons with at the first link, which carries 100 Mb/s"
)
parser.add_argument("--bmv2", action="store_true", help="routers are simple_switch_grpc")
options = parser.parse_args()
if not options.file.is_file():
    parser.error(f"{options.file}: no such file")
if options.stored.exists():
    parser.error(f"{options.stored}: is there already")

try:
    ip("link", "set", "lo", "up")
    with Chain([Link(xcp_bps=options.mbps * 1_000_000), Link(xcp_bps=80_000_000)], bmv2=options.bmv2) as chain:
        sender, receiver = chain.transfer(options.file, options.stored)
except (SlotwiseError, OSError, subprocess.CalledProcessError) as problem:
    sys.exit(f"xfer: {problem}")
print(json.dumps({"sender": sender, "receiver": receiver}, indent=2))
