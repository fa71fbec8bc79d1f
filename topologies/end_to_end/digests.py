# SPDX-License-Identifier: Apache-2.0
"""Digests of what virtual time gives, which stay the same, to the byte, from one version of the engine to the next.

`digests.json` holds them. A change that moves one says in its commit what came in another order, or out differently, and
why; it then keeps the new ones: `SLOTWISE_RENEW_DIGESTS=1 pytest end_to_end/test_digests.py end_to_end/test_faults.py`.
"""

import hashlib
import json
import os
from pathlib import Path

KEPT = Path(__file__).with_name("digests.json")


def of_report(path: Path) -> str:
    """Of what a run did; not of the versions that did it."""
    report = json.loads(path.read_text())
    del report["versions"]
    return hashlib.sha256(json.dumps(report, sort_keys=True).encode()).hexdigest()


def of_directory(directory: Path, pattern: str) -> str:
    """Of all files below a directory that fit, by name and content."""
    digest = hashlib.sha256()
    files = sorted(directory.rglob(pattern))
    assert files, f"no {pattern} in {directory}"
    for path in files:
        digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def judge(name: str, **found: str):
    """Compares with what is kept, or keeps it if that was asked for."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if os.environ.get("SLOTWISE_RENEW_DIGESTS"):
        KEPT.write_text(json.dumps({**kept, name: found}, indent=1, sort_keys=True) + "\n")
    else:
        assert found == kept[name], "results are not what they were: see the head of digests.py"
