# SPDX-License-Identifier: Apache-2.0
"""Digests of values: one for each column of a table and each pointer of a report, by the first names of both.

A rename changes bytes, but no value. `renamed.json` has new names with those that `values.json` knows:

- `columns`: paths `/TABLE/COLUMN`; `/TABLE` alone renames a table;
- `report`: JSON pointers, `*` for the index of a list;
- `values`: by JSON pointer the new strings there, with those that they were (names of tables, kinds of faults).

A path stands for all below it, unless a longer one fits; `*` is any one part of a path, the same on both sides. So a
rename and its line in the map leave all digests of values as they were, and a line that is wrong moves some of them.
"""

import hashlib
import json
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from pyarrow import parquet

ANY = "*"
LENGTH = 8
"""Hexadecimal digits of a digest: enough against accidents, not against collisions by design."""


def encode(value: object) -> bytes:
    """Returns the bytes of a value; those of different sequences of values differ."""
    match value:
        case None:
            return b"n"
        case bool():
            return b"b%d" % value
        case int():
            return b"i%d;" % value
        case float():
            return b"f" + struct.pack(">d", value)
        case str():
            text = value.encode(errors="surrogatepass")
            return b"s%d:%b" % (len(text), text)
        case [] | {}:
            return b"e" + type(value).__name__.encode()
    raise TypeError(f"no digest of {type(value).__name__}; expected null, a boolean, a number or a string")


def split(path: str) -> tuple[str, ...]:
    """Returns the parts of a JSON pointer."""
    if not path.startswith("/"):
        raise ValueError(f"'{path}': no path; expected '/' before each part")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/"))


def join(parts: tuple[str, ...]) -> str:
    """Returns a JSON pointer."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def fits(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Returns true for a path at a pattern or below it."""
    return len(pattern) <= len(path) and all(each in (ANY, part) for each, part in zip(pattern, path, strict=False))


class Renames:
    """New paths and the old ones."""

    def __init__(self, table: dict[str, str]):
        self.entries = [(split(new), split(old)) for new, old in table.items()]
        for new, old in self.entries:
            if new == old or new.count(ANY) != old.count(ANY):
                raise ValueError(f"{join(new)}: {join(old)}; expected another name with as many '{ANY}'")

    def old(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the first name of a path."""
        fitting = [entry for entry in self.entries if fits(entry[0], path)]
        if not fitting:
            for new, old in self.entries:
                assert not fits(old, path), f"{join(path)} has its former name; expected {join(new)} by renamed.json"
            return path
        new, old = max(fitting, key=lambda entry: (len(entry[0]), -entry[0].count(ANY)))
        parts = (part for pattern, part in zip(new, path, strict=False) if pattern == ANY)
        return tuple(next(parts) if part == ANY else part for part in old) + path[len(new) :]

    def unknown(self, known: set[tuple[str, ...]]) -> list[str]:
        """Returns the former names that nothing had."""
        return [join(old) for _, old in self.entries if not any(fits(old, path) for path in known)]


class Names:
    """The map of names: `renamed.json`."""

    def __init__(self, document: dict[str, dict]):
        unknown = document.keys() - {"columns", "report", "values"}
        if unknown:
            raise ValueError(f"renamed.json: {', '.join(sorted(unknown))}; expected 'columns', 'report' and 'values'")
        self.columns = Renames(document.get("columns", {}))
        self.report = Renames(document.get("report", {}))
        self.strings = {split(pointer): strings for pointer, strings in document.get("values", {}).items()}

    @classmethod
    def load(cls, path: Path) -> "Names":
        """Reads a map."""
        return cls(json.loads(path.read_text()))

    def string(self, pointer: tuple[str, ...], value: object) -> object:
        """Returns what a value of a report first was."""
        strings = self.strings.get(pointer)
        if strings is None or not isinstance(value, str):
            return value
        if value not in strings:
            assert value not in strings.values(), f"{join(pointer)} is '{value}', a former name by renamed.json"
        return strings.get(value, value)

    def unknown(self, kept: dict[str, dict]) -> list[str]:
        """Returns the entries of the map that match nothing in any stored run."""

        def paths(part: str) -> set[tuple[str, ...]]:
            return {split(path) for values in kept.values() for path in values.get(part, {})}

        columns, report = paths("columns"), paths("report")
        strings = [join(pointer) for pointer in self.strings if self.report.old(pointer) not in report]
        return self.columns.unknown(columns) + self.report.unknown(report) + strings


def leaves(
    value: object, path: tuple[str, ...] = (), indices: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[int, ...], object]]:
    """Yields what a document holds: pointer with `*` for indices, these indices, value."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from leaves(each, (*path, key), indices)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from leaves(each, (*path, ANY), (*indices, index))
    else:
        yield path, indices, value


class Digests:
    """Digests by path that grow."""

    def __init__(self, renames: Renames):
        self.renames = renames
        self.hashes = defaultdict(hashlib.sha256)
        self.first: dict[tuple[str, ...], tuple[str, ...]] = {}

    def add(self, path: tuple[str, ...], content: bytes) -> None:
        """Adds to the digest of a path."""
        old = self.first.get(path)
        if old is None:
            old = self.renames.old(path)
            other = next((join(each) for each, first in self.first.items() if first == old), None)
            assert other is None, f"{join(path)} and {other} are both {join(old)} by renamed.json; expected one"
            self.first[path] = old
        self.hashes[old].update(content)

    def found(self) -> dict[str, str]:
        """Returns all digests."""
        return {join(path): digest.hexdigest()[:LENGTH] for path, digest in self.hashes.items()}


def of_document(document: object, names: Names) -> dict[str, str]:
    """Returns the digests of a report by pointer."""
    digests = Digests(names.report)
    for pointer, indices, value in leaves(document):
        content = encode(names.string(pointer, value))
        digests.add(pointer, b"".join(map(encode, indices)) + content)
    return digests.found()


def of_tables(directory: Path, names: Names) -> dict[str, str]:
    """Returns the digests of all columns below a directory, those of one table in several runs together."""
    digests = Digests(names.columns)
    # A directory has one table of a name, so that renaming a table does not change their order.
    for path in sorted(directory.rglob("*.parquet"), key=lambda path: path.parent):
        table = parquet.ParquetFile(path).read()
        head = encode(str(path.parent.relative_to(directory))) + encode(table.num_rows)
        for column in table.column_names:
            values = table.column(column).to_pylist()
            digests.add((path.stem, column), head + b"".join(map(encode, values)))
    return digests.found()


def moved(kept: dict[str, str], found: dict[str, str]) -> list[str]:
    """Returns the paths whose digests differ."""
    return (
        [path for path in sorted(kept.keys() & found.keys()) if kept[path] != found[path]]
        + [f"{path} (gone)" for path in sorted(kept.keys() - found.keys())]
        + [f"{path} (new)" for path in sorted(found.keys() - kept.keys())]
    )
