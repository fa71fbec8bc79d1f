# SPDX-License-Identifier: Apache-2.0
"""`scripts/p4 check`: which outputs an edit of a source makes stale, and where that is a failure."""

import json
import shutil
import sys

import pytest

from slotwise.tools import home

ROOT = home.root()
# Has a file of its own in tna/.
SHADOWED = "include/edge_ingress.p4"
# Tofino's ring takes it as it is, and no other program for Tofino reads it.
SHARED = "include/ring_rules.p4"


@pytest.fixture
def clone(tmp_path):
    """As much of a clone as the check looks at."""
    for name in ("scripts/p4", "docs/tofino.md"):
        (tmp_path / name).parent.mkdir()
        shutil.copyfile(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "p4src", tmp_path / "p4src", ignore=shutil.ignore_patterns(".p4c-*"))
    return tmp_path


@pytest.fixture
def p4(clone, load_script, monkeypatch):
    """The clone's script, on a machine without compilers for P4."""
    script = load_script(clone / "scripts" / "p4")
    monkeypatch.setattr(script.shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["p4", "check"])
    return script


def edit(p4, name: str) -> None:
    """Adds a line to a source, and says in v1model's manifest that it was compiled."""
    with open(p4.P4SRC / name, "a") as file:
        file.write("// another line\n")
    path = p4.V1MODEL.out / p4.MANIFEST
    manifest = json.loads(path.read_text())
    manifest["sources"][name] = p4.digest(p4.P4SRC / name)
    path.write_text(json.dumps(manifest))


def not_run(said: str) -> list[str]:
    """What the check says that it could not check, but for compiling again."""
    return [line for line in said.splitlines() if line.startswith("not run:") and "compiled again" not in line]


def test_a_source_that_no_tofino_program_reads_makes_none_stale(p4, capsys):
    edit(p4, SHADOWED)
    p4.main()
    assert not_run(capsys.readouterr().out) == []


def test_a_stale_tofino_output_is_reported_where_its_compiler_is_not(p4, capsys):
    edit(p4, SHARED)
    p4.main()
    assert not_run(capsys.readouterr().out) == [
        f"not run: p4src/tna-out/ring: stale, {SHARED} changed; update with: scripts/p4 tofino (p4c-barefoot and bfas not on the PATH)",
    ]


def test_a_stale_tofino_output_fails_where_its_compiler_is(p4, monkeypatch):
    edit(p4, SHARED)
    monkeypatch.setattr(p4.shutil, "which", lambda name: name if name in p4.TOFINO.tools else None)
    with pytest.raises(
        SystemExit, match=f"p4src/tna-out/ring: stale, {SHARED} changed\nupdate with: scripts/p4 tofino$"
    ):
        p4.main()


def test_a_stale_v1model_output_fails_everywhere(p4):
    with open(p4.P4SRC / SHADOWED, "a") as file:
        file.write("// another line\n")
    with pytest.raises(
        SystemExit, match=f"p4src/p4c-out/edge: stale, {SHADOWED} changed\nupdate with: scripts/p4 compile$"
    ):
        p4.main()


def test_an_output_that_is_not_the_manifests_fails_everywhere(p4):
    with open(p4.TOFINO.out / "ring.bfa", "a") as file:
        file.write("\n")
    with pytest.raises(SystemExit, match=r"output ring.bfa: differs from the manifest"):
        p4.main()


def test_what_could_not_be_compiled_again_is_listed(p4, capsys):
    p4.main()
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("not run:")] == [
        "not run: p4src/p4c-out compiled again: p4c-bm2-ss not on the PATH",
        "not run: p4src/tna-out compiled again: p4c-barefoot and bfas not on the PATH",
    ]


def test_a_program_of_includes_alone_is_among_its_sources(p4):
    read = p4.V1MODEL.digests()["router_scaled"]
    assert {"router_scaled.p4", "include/xcp_scaled.p4"} <= read.keys()
    # It has the guard of the other arithmetic, and comes first.
    assert "include/xcp.p4" not in read
