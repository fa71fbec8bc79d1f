# SPDX-License-Identifier: Apache-2.0
"""Digests of simulation results, which stay byte-identical from one version of the engine to the next.

`digests.json` has them, and `values.json` has those of the values alone, by column and pointer, which a failure names.
The commit of a change that moves one explains the difference, and stores the new ones: `SLOTWISE_RENEW_DIGESTS=1 pytest
end_to_end/test_digests.py end_to_end/test_faults.py`. A rename has its lines in `renamed.json` (values.py) and leaves
`values.json` unchanged.
"""

import hashlib
import json
import os
from pathlib import Path

from values import Names, moved, of_document, of_tables

KEPT = Path(__file__).with_name("digests.json")
KEPT_VALUES = Path(__file__).with_name("values.json")
RENAMED = Path(__file__).with_name("renamed.json")


def read_report(path: Path) -> dict | list:
    """Reads what a run did, or the facts of an experiment; not the versions that did it."""
    report = json.loads(path.read_text())
    if isinstance(report, dict):
        del report["versions"]
    return report


def of_report(path: Path) -> str:
    """Digest of what a run did."""
    return hashlib.sha256(json.dumps(read_report(path), sort_keys=True).encode()).hexdigest()


def of_directory(directory: Path, pattern: str) -> str:
    """Digest of names and contents of all matching files below a directory."""
    digest = hashlib.sha256()
    files = sorted(directory.rglob(pattern))
    assert files, f"no {pattern} in {directory}"
    for path in files:
        digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def judge(name: str, *, report: Path | None = None, columns: Path | None = None, pcap: Path | None = None):
    """Compares the files of a run with the stored digests, or with SLOTWISE_RENEW_DIGESTS stores them."""
    found, values = {}, {}
    names = Names.load(RENAMED)
    if report:
        found["report"] = of_report(report)
        values["report"] = of_document(read_report(report), names)
    if columns:
        found["columns"] = of_directory(columns, "*.parquet")
        values["columns"] = of_tables(columns, names)
    if pcap:
        found["pcap"] = of_directory(pcap, "*.pcap")
    if os.environ.get("SLOTWISE_RENEW_DIGESTS"):
        keep(KEPT, name, found)
        keep(KEPT_VALUES, name, values)
        return
    kept = json.loads(KEPT.read_text())[name]
    kept_values = json.loads(KEPT_VALUES.read_text())[name]
    places = [
        f"{part} {path}"
        for part in sorted(values.keys() | kept_values.keys())
        for path in moved(kept_values.get(part, {}), values.get(part, {}))
    ]
    files = [part for part in sorted(found.keys() | kept.keys()) if found.get(part) != kept.get(part)]
    message = f"{name}: results changed: see the docstring of digests.py"
    assert not places, "\n  ".join([f"{message}; values that differ:", *places])
    assert not files, f"{message}; {' and '.join(files)} changed in bytes only, all values are equal"


def keep(path: Path, name: str, digests: dict):
    """Keeps the digests of a run."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**kept, name: digests}, indent=1, sort_keys=True) + "\n")
