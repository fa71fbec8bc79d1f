# SPDX-License-Identifier: Apache-2.0
"""Digests of simulation results, which stay byte-identical from one version of the engine to the next.

`digests.json` has them. The commit of a change that moves one explains the difference, and stores the new ones: `SLOTWISE_RENEW_DIGESTS=1 pytest end_to_end/test_digests.py end_to_end/test_faults.py`.
"""

import hashlib
import json
import os
from pathlib import Path

KEPT = Path(__file__).with_name("digests.json")


def of_report(path: Path) -> str:
    """Digest of a report without its versions."""
    report = json.loads(path.read_text())
    del report["versions"]
    return hashlib.sha256(json.dumps(report, sort_keys=True).encode()).hexdigest()


def of_directory(directory: Path, pattern: str) -> str:
    """Digest of names and contents of all matching files below a directory."""
    digest = hashlib.sha256()
    files = sorted(directory.rglob(pattern))
    assert files, f"no {pattern} in {directory}"
    for path in files:
        digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def judge(name: str, **found: str):
    """Compares digests with the stored ones, or with SLOTWISE_RENEW_DIGESTS stores them."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if os.environ.get("SLOTWISE_RENEW_DIGESTS"):
        KEPT.write_text(json.dumps({**kept, name: found}, indent=1, sort_keys=True) + "\n")
    else:
        assert found == kept[name], "results changed: see the docstring of digests.py"
