# SPDX-License-Identifier: Apache-2.0
"""What this package raises, and the names that were meant."""

import difflib
from collections.abc import Iterable


class SlotwiseError(Exception):
    """Something that this package was asked for cannot be done; the text says what, where, and what would be right."""


class UnknownName(SlotwiseError, LookupError):
    """A name of something that is not there."""

    def __init__(self, what: str, name: object, known: Iterable[object], where: str):
        self.name = name
        self.known = [str(each) for each in known]
        nearest = difflib.get_close_matches(str(name), self.known, n=1)
        hint = f"did you mean '{nearest[0]}'? " if nearest else ""
        super().__init__(f"{where} has no {what} '{name}'; {hint}it has {_listed(self.known)}")


class UnknownArgument(UnknownName, TypeError):
    """An argument that a builder does not take."""


class InvalidArgument(SlotwiseError, ValueError):
    """An argument of a builder that cannot be, or does not fit the others."""


class UnknownEndpoint(UnknownName):
    """An end of a flow that is neither 'all' nor an edge nor a host of the scenario."""


class UnknownFibre(UnknownName):
    """An edge has no fibre to that core."""


class UnknownPhase(UnknownName):
    """A report has no phase of that name."""


class UnknownTable(UnknownName):
    """A run wrote no such table of columns."""


class MissingPackage(SlotwiseError, ImportError):
    """A Python package that is needed for this only is not installed."""


MOST_LISTED = 24


def _listed(names: list[str]) -> str:
    if not names:
        return "none"
    shown = ", ".join(names[:MOST_LISTED])
    return f"{shown} ... ({len(names)} in all)" if len(names) > MOST_LISTED else shown
