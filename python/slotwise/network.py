# SPDX-License-Identifier: Apache-2.0
"""A scenario under construction, with the source line of each part, and its runs."""

import copy
import json
import sys
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import ClassVar, Self

from slotwise import scenario
from slotwise.errors import SlotwiseError, UnknownArgument, UnknownName
from slotwise.results.report import Report
from slotwise.scenario import Problem, ScenarioError
from slotwise.tools import command
from slotwise.tools.command import Ended
from slotwise.tools.files import put
from slotwise.tools.home import CommandNotFound
from slotwise.tools.rundir import RunDirectory

HERE = str(Path(__file__).resolve().parent)


class RunFailed(SlotwiseError):
    """A run that violated an invariant, lost a file, or ended without a report. `report`: its report, if any; `status` and `said`: exit
    status of the command and last lines of its standard error."""

    def __init__(self, message: str, report: Report | None = None, ended: Ended | None = None):
        super().__init__(message)
        self.report = report
        self.status = ended.status if ended else None
        self.said = ended.said if ended else []


class Document:
    """A scenario under construction, of any network type. Methods that add something return the scenario, so that calls can be chained."""

    NEEDED: ClassVar[tuple[str, str]] = ("version", "missing; expected a scenario")
    """Key that `load` requires in a file, and the error for a file without it."""

    def __init__(self, base: dict, source: str | None = None, place: str | None = None):
        """`base`: a scenario from a builder or from `scenario.load`, which is copied. `source`: its name in errors. `place`: its place in
        errors. Default: the line of the caller."""
        self.scenario = copy.deepcopy(base)
        name = base.get("name")
        self.source = source or (f"scenario '{name}'" if isinstance(name, str) else "scenario")
        # Where files that the scenario names are looked for.
        self._directory = Path.cwd()
        # Where the caller added what is at a JSON pointer: what is wrong there is said with the place.
        self._places = {"": _caller() if place is None else place}

    @classmethod
    def of(cls, document: dict, source: str | None = None, place: str | None = None) -> Self:
        """Complete scenario, which is checked when it is saved or run; `source` and `place` as in `Document`."""
        made = cls.__new__(cls)
        Document.__init__(made, document, source, place)
        return made

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Scenario of a file. Raises ScenarioError with every problem, or OSError."""
        document = scenario.load(path)
        key, reason = cls.NEEDED
        if key not in document:
            raise ScenarioError(str(path), [Problem(f"/{key}", reason)])
        # The file is the place.
        made = cls.of(document, str(path), "")
        made._directory = Path(path).resolve().parent
        return made

    def save(self, path: str | Path) -> None:
        """Checks the scenario as a run does, and writes it. Without the engine's command, the check is incomplete (schema only). Raises
        ScenarioError, or OSError."""
        checked = self._checked(self.scenario)
        text = scenario.dump(checked if Path(path).resolve().parent == self._directory else self._placed(checked))
        with suppress(CommandNotFound):
            self._check_by_engine(scenario.dump(self._placed(checked)))
        put(path, text.encode())

    def check(self, target: str | None = None) -> None:
        """Checks the scenario against the schema and with the engine's command, for a run on `target` if given. Raises ScenarioError, RunFailed
        if the command fails for another reason, or CommandNotFound."""
        self._check_by_engine(scenario.dump(self._placed(self._checked(self.scenario))), target)

    def run(self, *, target: str | None = None, **options) -> Report:
        """Emulates the scenario with Mininet hosts (needs root). `target`: P4 target of the switches, engine or bmv2. Other options as in
        `simulate`, without `columns` and `sample_frames`."""
        return self._run(options, "emulate", {"--target": target})

    def simulate(self, *, columns: str | Path | None = None, **options) -> Report:
        """Simulates the scenario in virtual time. Options, as those of the command:

        `seed`; `duration_s`, to which the phases are scaled; `report`, a file for the report; `pcap`, a directory for captures, with
        `pcap_filter` and `snaplen`; `columns`, a directory for time series (`Report.columns`); `rest_port` and `p4runtime_port`.
        `quiet`: no output of command and controller to standard output and standard error. With a star also: `sample_frames`, the sampling
        period of the star in TDM frames (flows over the whole run use `sample_ms` of the scenario); `scheduler`, by name or as
        `{"name": ..., "settings": {...}}`, in place of the scenario's.

        Raises UnknownArgument, ScenarioError or CommandNotFound before the run, RunFailed after it.
        """
        directory = None if columns is None else Path(columns)
        return self._run(options, "simulate", {"--columns": directory}, directory)

    def _options_of_star(self, name: str) -> list[str]:
        """Options of `slotwise NAME` that only scenarios with a star have."""
        if "cores" not in self.scenario:
            return []
        return ["scheduler", "sample_frames"] if name == "simulate" else ["scheduler"]

    def _run(self, options: dict, name: str, extra: dict, columns: Path | None = None) -> Report:
        of_star = self._options_of_star(name)
        known = [
            *of_star,
            *(each.name for each in signature(self._start).parameters.values() if each.kind is each.KEYWORD_ONLY),
        ]
        for option in options:
            if option not in known:
                own = [flag.removeprefix("--") for flag in extra]
                raise UnknownArgument("option", option, [*known, *own], f"a run of {self.source}")
        document = self.scenario
        extra = extra | {"--sample-frames": options.pop("sample_frames", None)}
        if (scheduler := options.pop("scheduler", None)) is not None:
            document = {**document, "controller": {**document.get("controller", {}), "scheduler": scheduler}}
        return self._start(self._checked(document), name, extra, columns, **options)

    def _append(self, list_pointer: str, entry: dict) -> Self:
        place = self.scenario
        *parents, last = list_pointer.split("/")
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        entries = place.setdefault(last, [])
        self._places[f"/{list_pointer}/{len(entries)}"] = _caller()
        entries.append(entry)
        return self

    def _set(self, key: str, value: dict) -> Self:
        self._places[f"/{key}"] = _caller()
        self.scenario[key] = value
        return self

    def _known(self, what: str, name: str, known: list[str]) -> str:
        if name not in known:
            raise UnknownName(what, name, known, self.source)
        return name

    def _checked(self, document: dict) -> dict:
        """Returns the document if the schema accepts it. Raises ScenarioError."""
        try:
            return scenario.check(document, self.source)
        except ScenarioError as error:
            raise self._located(error.problems) from error

    def _located(self, problems: list[Problem]) -> ScenarioError:
        """Error with the caller's line for each problem."""
        return ScenarioError(
            self.source, [problem._replace(place=self._place_of(problem.pointer)) for problem in problems]
        )

    def _place_of(self, pointer: str) -> str:
        while pointer not in self._places:
            pointer = pointer.rpartition("/")[0]
        return self._places[pointer]

    def _start(
        self,
        document: dict,
        name: str,
        extra: dict,
        columns: Path | None = None,
        *,
        seed: int | None = None,
        duration_s: float | None = None,
        report: str | Path | None = None,
        pcap: str | Path | None = None,
        pcap_filter: str | None = None,
        snaplen: int | None = None,
        rest_port: int | None = None,
        p4runtime_port: int | None = None,
        quiet: bool = False,
    ) -> Report:
        with RunDirectory("experiment") as directory:
            file = Path(directory, "scenario.yaml")
            file.write_text(scenario.dump(self._placed(document)))
            report_file = Path(directory, "report.json") if report is None else Path(report)
            before = _stamp(report_file)
            options = {
                "--report": report_file,
                "--seed": seed,
                "--duration": duration_s,
                "--pcap": pcap,
                "--pcap-filter": pcap_filter,
                "--snaplen": snaplen,
                "--rest-port": rest_port,
                "--p4runtime-port": p4runtime_port,
                **extra,
            }
            given = (word for option, value in options.items() if value is not None for word in (option, str(value)))
            ended = command.run(name, str(file), *given, directory=directory, quiet=quiet)
            data = None if _stamp(report_file) == before else _read(report_file)
            ended = ended._replace(said=[line.replace(str(file), self.source) for line in ended.said])
        if data is None:
            self._raise_problems(ended.said)
            raise RunFailed(f"slotwise {name} {ended.how} without a report: {ended.reason}", None, ended)
        result = Report(data, columns)
        if ended.status != 0 or not result.ok:
            raise RunFailed("; ".join(result.failures) or f"slotwise {name} {ended.how}", result, ended)
        return result

    def _placed(self, document: dict) -> dict:
        """Document with absolute paths."""
        return scenario.placed(document, self._directory)

    def _check_by_engine(self, text: str, target: str | None = None) -> None:
        with RunDirectory("experiment") as directory:
            file = Path(directory, "scenario.yaml")
            file.write_text(text)
            ended = command.check(str(file), *([] if target is None else ["--target", target]))
            ended = ended._replace(said=[line.replace(str(file), self.source) for line in ended.said])
        self._raise_problems(ended.said)
        if ended.status != 0:
            raise RunFailed(f"slotwise check {ended.how}: {ended.reason}", None, ended)

    def _raise_problems(self, said: list[str]) -> None:
        """Raises ScenarioError if the engine rejected the scenario for a reason outside the schema."""
        with suppress(ValueError):
            after = said[said.index(f"slotwise: {self.source}:") + 1 :]
            found = filter(None, map(scenario.PROBLEM.fullmatch, after))
            problems = [Problem("" if match[2] == "/" else match[2], match[3]) for match in found]
            if problems:
                raise self._located(problems)


def _caller() -> str:
    """File and line of the first caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """Stamp of a file that changes with it, to recognize the report of an earlier run."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _read(file: Path) -> dict | None:
    """Content of a report; None if it is incomplete."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return None
