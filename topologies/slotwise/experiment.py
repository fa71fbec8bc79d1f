# SPDX-License-Identifier: Apache-2.0
"""The short API: describe a network and its traffic, run it, look at the report."""
import copy
import json
import subprocess
import tempfile
from pathlib import Path

import yaml

from slotwise import builders, home, scenario

DEFAULT_PHASE_S = 5


class Report:
    """What a run left behind; `data` is the content of report.json (schema/report.schema.json)."""

    def __init__(self, data: dict):
        self.data = data

    @property
    def ok(self) -> bool:
        """Whether everything that had to hold did."""
        return self.data["verdict"]["ok"]

    @property
    def failures(self) -> list[str]:
        """What did not hold, a sentence each."""
        return self.data["verdict"]["failures"]

    def goodput_bps(self, phase: str) -> dict[tuple[str, str], float]:
        """What the receivers of a phase got, summed by (source host, destination host)."""
        flows = next(entry["flows"] for entry in self.data["phases"] if entry["name"] == phase)
        goodput: dict[tuple[str, str], float] = {}
        for flow in flows:
            pair = flow["from"], flow["to"]
            goodput[pair] = goodput.get(pair, 0.0) + flow["goodput_bps"]
        return goodput

    def plot(self, file: str | Path) -> None:
        """Draws demand and slots granted per edge pair over time into a PNG."""
        from slotwise import plot  # Matplotlib takes a second to load

        plot.draw(self.data, Path(file))


class RunFailed(Exception):
    """A run broke an invariant, lost a file, or did not come to a report."""

    def __init__(self, message: str, report: Report | None = None):
        super().__init__(message)
        self.report = report


class Experiment:
    """A scenario in the making. Methods that add something return the experiment, so that they chain."""

    def __init__(self, base: dict):
        """`base` comes from a builder or from `scenario.load`; it is copied."""
        self.scenario = copy.deepcopy(base)

    def phase(self, name: str, seconds: float = DEFAULT_PHASE_S) -> "Experiment":
        """Starts a phase; the traffic added next belongs to it."""
        self.scenario["phases"].append({"name": name, "duration_ms": round(seconds * 1000), "traffic": []})
        return self

    def tcp(self, source: str = "all", destination: str = "all", **options) -> "Experiment":
        """Bulk TCP; options `rate_bps` of each stream, `streams` of each flow, and `transport`."""
        return self._traffic("tcp", source, destination, options)

    def udp(
        self, source: str, destination: str, rate_bps: int, payload_bytes: int, process: str = "constant", **options,
    ) -> "Experiment":
        """UDP datagrams, `process` constant, poisson, or (simulated) on-off-pareto with `mean_on_ns`, `mean_off_ns`, `shape`."""
        options = {"rate_bps": rate_bps, "payload_bytes": payload_bytes, "process": process, **options}
        return self._traffic("udp", source, destination, options)

    def web(self, source: str, destination: str, mean_think_ns: int, mean_bytes: int, **options) -> "Experiment":
        """Simulated users at `destination` who fetch pages; options `users`, `shape`, `max_bytes`, `transport`."""
        options = {"mean_think_ns": mean_think_ns, "mean_bytes": mean_bytes, **options}
        return self._traffic("web", source, destination, options)

    def file(self, source: str, destination: str, size_bytes: int) -> "Experiment":
        """One file over HTTP from host to host (`h0_0`), compared by SHA-256."""
        return self._traffic("file", source, destination, {"bytes": size_bytes})

    def link_change(self, at_s: float, edge: int, core: int = 0, **change) -> "Experiment":
        """Changes a fibre at a time from the start: `rate_bps`, `delay_ns`, `loss`, `attenuation_mdb`, `up`."""
        changes = self.scenario.setdefault("link_changes", [])
        changes.append({"at_ms": round(at_s * 1000), "core": core, "edge": edge, **change})
        return self

    def save(self, path: str | Path) -> None:
        """Checks the scenario and writes it. Raises scenario.ScenarioError."""
        checked = scenario.check(self.scenario, str(path))
        Path(path).write_text(yaml.safe_dump(checked, sort_keys=False))

    def run(self, **options) -> Report:
        """Emulates it with Mininet hosts (needs root); see `_start`."""
        return self._start("emulate", **options)

    def simulate(self, **options) -> Report:
        """Simulates it in virtual time; see `_start`."""
        return self._start("simulate", **options)

    def _traffic(self, kind: str, source: str, destination: str, options: dict) -> "Experiment":
        if not self.scenario["phases"]:
            self.phase("main")
        self.scenario["phases"][-1]["traffic"].append({"kind": kind, "from": source, "to": destination, **options})
        return self

    def _start(
        self, command: str, *, seed: int | None = None, duration_s: float | None = None, pcap: str | Path | None = None,
    ) -> Report:
        """Runs `slotwise COMMAND`. `duration_s` scales the phases, `pcap` is a directory for captures. Raises
        ScenarioError before and RunFailed after the run."""
        with tempfile.TemporaryDirectory(prefix="slotwise-experiment-") as directory:
            file, report_file = Path(directory, "scenario.yaml"), Path(directory, "report.json")
            self.save(file)
            arguments = [home.slotwise_command(), command, str(file), "--report", str(report_file)]
            for option, value in (("--seed", seed), ("--duration", duration_s), ("--pcap", pcap)):
                if value is not None:
                    arguments += [option, str(value)]
            status = subprocess.run(arguments, check=False).returncode
            if not report_file.exists():
                raise RunFailed(f"slotwise {command} ended with status {status} and without a report")
            report = Report(json.loads(report_file.read_text()))
        if status != 0 or not report.ok:
            raise RunFailed("; ".join(report.failures) or f"slotwise {command} ended with status {status}", report)
        return report


class Star(Experiment):
    """One core and its edges; arguments as in `builders.star`."""

    def __init__(self, edges: int = 4, hosts_per_edge: int = 2, **options):
        super().__init__(builders.star(edges, hosts_per_edge, **options))
