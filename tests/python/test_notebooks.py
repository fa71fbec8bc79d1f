# SPDX-License-Identifier: Apache-2.0
"""The notebooks: Jupyter runs each from its first cell to its last, pictures come of it, and what it says at its end is so."""

import json
import re
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from slotwise.tools import home

pytestmark = pytest.mark.slow

NOTEBOOKS = home.root() / "topologies" / "examples" / "notebooks"
TIMEOUT_S = 300

# What the first numbers of the last line that each prints may be.
BANDS = {
    "ring_fairness": [(80, 100), (0.999, 1)],
    "schedulers": [(60, 100), (0.95, 1)],
    "xcp_cl": [(1, 35), (36, 100), (200, 600)],
}


def test_there_are_three():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(BANDS)


@pytest.fixture(name="kernel")
def this_python(tmp_path, monkeypatch):
    """The name of a Jupyter kernel that is this Python, with the package of this clone."""
    kernel = tmp_path / "jupyter" / "kernels" / "here"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "here", "language": "python"}))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", str(home.root() / "python"))
    return "here"


@pytest.mark.parametrize("name", BANDS)
def test_a_notebook_runs_and_shows_what_it_says(name, kernel, tmp_path):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are made, not kept"
    NotebookClient(
        notebook, timeout=TIMEOUT_S, kernel_name=kernel, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    printed = [output.text for output in outputs if output.output_type == "stream" and output.name == "stdout"]
    values = [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", printed[-1].splitlines()[-1])]
    assert len(values) >= len(BANDS[name])
    assert all(low <= value <= high for value, (low, high) in zip(values, BANDS[name], strict=False)), printed[-1]
