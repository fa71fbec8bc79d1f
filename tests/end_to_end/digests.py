# SPDX-License-Identifier: Apache-2.0
"""Digests of simulation results, which stay byte-identical from one version of the engine to the next.

`digests.json` stores them. `values.json` stores digests of the values alone, by column and pointer: they show which
values differ. The commit of a change that moves a digest explains the difference and stores the new digests:
`SLOTWISE_RENEW_DIGESTS=1 pytest end_to_end/test_digests.py end_to_end/test_faults.py`.
A rename adds entries to `renamed.json` (values.py) and leaves `values.json` unchanged.
"""

import hashlib
import json
import os
from pathlib import Path

from values import Names, differing, of_document, of_tables

STORED = Path(__file__).with_name("digests.json")
STORED_VALUES = Path(__file__).with_name("values.json")
RENAMED = Path(__file__).with_name("renamed.json")


def read_report(path: Path) -> dict | list:
    """Returns a report without its versions, or the facts of an experiment."""
    report = json.loads(path.read_text())
    if isinstance(report, dict):
        del report["versions"]
    return report


def of_report(path: Path) -> str:
    """Returns the digest of a report without its versions."""
    return hashlib.sha256(json.dumps(read_report(path), sort_keys=True).encode()).hexdigest()


def of_directory(directory: Path, pattern: str) -> str:
    """Returns the digest of names and contents of all matching files below a directory."""
    digest = hashlib.sha256()
    files = sorted(directory.rglob(pattern))
    assert files, f"no {pattern} in {directory}"
    for path in files:
        digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def judge(name: str, *, report: Path | None = None, columns: Path | None = None, pcap: Path | None = None):
    """Compares the files of a run with the stored digests, or stores theirs with SLOTWISE_RENEW_DIGESTS=1."""
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
    if os.environ.get("SLOTWISE_RENEW_DIGESTS") == "1":
        store(STORED, name, found)
        store(STORED_VALUES, name, values)
        return
    reason = difference(load(STORED).get(name, {}), found, load(STORED_VALUES).get(name, {}), values)
    assert not reason, f"{name}: results changed: {reason}\n(see the docstring of digests.py)"


def difference(stored: dict, found: dict, stored_values: dict, values: dict) -> str:
    """Returns the values that differ, or the files if only bytes differ; empty if nothing differs."""
    places = [
        f"{part} {path}"
        for part in sorted(stored_values.keys() | values.keys())
        for path in differing(stored_values.get(part, {}), values.get(part, {}))
    ]
    if places:
        return "\n  ".join(["values differ:", *places])
    files = [part for part in sorted(stored.keys() | found.keys()) if stored.get(part) != found.get(part)]
    return f"bytes of {' and '.join(files)} differ; all values are equal" if files else ""


def load(path: Path) -> dict[str, dict]:
    """Returns stored digests by run."""
    return json.loads(path.read_text()) if path.exists() else {}


def store(path: Path, name: str, digests: dict):
    """Stores the digests of a run."""
    path.write_text(json.dumps({**load(path), name: digests}, indent=1, sort_keys=True) + "\n")
