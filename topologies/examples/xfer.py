#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transfer a file over XCP through two P4 routers in real time, between two network namespaces.

sudo unshare --net build/venv/bin/python topologies/examples/xfer.py FILE STORED [--mbps N] [--bmv2]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from chain import Chain, Link, ip
from slotwise import SlotwiseError

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("file", type=Path, help="file to send")
parser.add_argument("stored", type=Path, help="file to write, which must not exist")
parser.add_argument(
    "--mbps", type=int, default=20, help="XCP capacity of the first link in Mb/s, of a link rate of 100 Mb/s"
)
parser.add_argument("--bmv2", action="store_true", help="run the routers on simple_switch_grpc")
options = parser.parse_args()
if not options.file.is_file():
    parser.error(f"{options.file}: no such file")
if options.stored.exists():
    parser.error(f"{options.stored}: already exists")

try:
    ip("link", "set", "lo", "up")
    with Chain([Link(xcp_bps=options.mbps * 1_000_000), Link(xcp_bps=80_000_000)], bmv2=options.bmv2) as chain:
        sender, receiver = chain.transfer(options.file, options.stored)
except (SlotwiseError, OSError, subprocess.CalledProcessError) as problem:
    sys.exit(f"xfer: {problem}")
print(json.dumps({"sender": sender, "receiver": receiver}, indent=2))
