# SPDX-License-Identifier: Apache-2.0
"""Exceptions of this package."""

import difflib
from collections.abc import Iterable


class SlotwiseError(Exception):
    """Base class of this package's exceptions; the text has the place, the problem and the expected value."""


class UnknownName(SlotwiseError, LookupError):
    """A name that does not exist; the text suggests the nearest one."""

    def __init__(self, what: str, name: object, known: Iterable[object], where: str):
        self.name = name
        self.known = [str(each) for each in known]
        nearest = difflib.get_close_matches(str(name), self.known, n=1)
        hint = f"did you mean '{nearest[0]}'? " if nearest else ""
        super().__init__(f"{where} has no {what} '{name}'; {hint}expected {_listed(self.known)}")


class UnknownArgument(UnknownName, TypeError):
    """An argument that a builder does not have."""


class InvalidArgument(SlotwiseError, ValueError):
    """An argument of a builder that is invalid, or inconsistent with the others."""


class UnknownEndpoint(UnknownName):
    """An endpoint of a flow that is not 'all', an edge or a host of the scenario."""


class UnknownFibre(UnknownName):
    """A fibre between a core and an edge that does not exist."""


class UnknownPhase(UnknownName):
    """A phase that the report does not have."""


class UnknownTable(UnknownName):
    """A time-series table that the run did not write."""


class MissingPackage(SlotwiseError, ImportError):
    """An optional Python package that is not installed."""


MAX_LISTED = 24


def _listed(names: list[str]) -> str:
    if not names:
        return "none"
    if len(names) == 1:
        return names[0]
    shown = f"one of {', '.join(names[:MAX_LISTED])}"
    return f"{shown} ... ({len(names)} in total)" if len(names) > MAX_LISTED else shown
