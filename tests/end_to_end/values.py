# SPDX-License-Identifier: Apache-2.0
"""Digests of values: one per column of a table and one per pointer of a report, under the first names of both.

A rename changes the bytes of a report or table, but no value. `renamed.json` maps new names to those in `values.json`:

- `columns`: paths `/TABLE/COLUMN`; `/TABLE` alone renames a table
- `report`: JSON pointers, with `*` for the index of a list
- `values`: per pointer, new strings and the former ones (names of tables, kinds of faults)

An entry also applies to the paths below it, unless a longer one matches. `*` matches any one part of a path; a `*` in
the former path stands for the same part. With right entries, a rename leaves all digests of values unchanged; with wrong
ones, some differ.
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
"""Hexadecimal digits per digest: enough against accidental changes, not against forgery."""
SECTIONS = {"columns", "report", "values"}


def encode(value: object) -> bytes:
    """Returns the bytes of a value. Different sequences of values have different bytes."""
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
        raise ValueError(f"renamed.json: '{path}' is not a path; expected '/' before each part")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/"))


def join(parts: tuple[str, ...]) -> str:
    """Returns the JSON pointer of parts."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def matches(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Returns true if a path is at a pattern or below it."""
    return len(pattern) <= len(path) and all(each in (ANY, part) for each, part in zip(pattern, path, strict=False))


class Renames:
    """Map of new paths to former ones."""

    def __init__(self, table: dict[str, str]):
        self.entries = [(split(new), split(old)) for new, old in table.items()]
        for new, old in self.entries:
            if new == old or new.count(ANY) != old.count(ANY):
                raise ValueError(
                    f"renamed.json: {join(new)}: {join(old)}; expected a different path with as many '{ANY}'"
                )

    def former(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the first name of a path."""
        matching = [entry for entry in self.entries if matches(entry[0], path)]
        if not matching:
            for new, old in self.entries:
                assert not matches(old, path), f"{join(path)} has its former name; expected {join(new)} (renamed.json)"
            return path
        new, old = max(matching, key=lambda entry: (len(entry[0]), -entry[0].count(ANY)))
        parts = (part for each, part in zip(new, path, strict=False) if each == ANY)
        return tuple(next(parts) if part == ANY else part for part in old) + path[len(new) :]

    def unknown(self, known: set[tuple[str, ...]]) -> list[str]:
        """Returns the former names that match no known path."""
        return [join(old) for _, old in self.entries if not any(matches(old, path) for path in known)]


class Names:
    """Map of names: the content of `renamed.json`."""

    def __init__(self, document: dict[str, dict]):
        unknown = document.keys() - SECTIONS
        if unknown:
            raise ValueError(f"renamed.json: {', '.join(sorted(unknown))}; expected {', '.join(sorted(SECTIONS))}")
        self.columns = Renames(document.get("columns", {}))
        self.report = Renames(document.get("report", {}))
        self.strings = {split(pointer): strings for pointer, strings in document.get("values", {}).items()}
        for pointer, strings in self.strings.items():
            if len(set(strings.values())) < len(strings) or any(new == old for new, old in strings.items()):
                raise ValueError(f"renamed.json: {join(pointer)}; expected another former value for each new one")

    @classmethod
    def load(cls, path: Path) -> "Names":
        """Reads a map."""
        return cls(json.loads(path.read_text()))

    def former_value(self, pointer: tuple[str, ...], value: object) -> object:
        """Returns the first form of a value of a report."""
        strings = self.strings.get(pointer)
        if strings is None or not isinstance(value, str):
            return value
        if value not in strings:
            assert value not in strings.values(), f"{join(pointer)}: '{value}' is a former value (renamed.json)"
        return strings.get(value, value)

    def unknown(self, stored: dict[str, dict]) -> list[str]:
        """Returns the entries of the map that match nothing in the stored digests of all runs."""

        def paths(part: str) -> set[tuple[str, ...]]:
            return {split(path) for digests in stored.values() for path in digests.get(part, {})}

        columns, report = paths("columns"), paths("report")
        strings = [join(pointer) for pointer in self.strings if self.report.former(pointer) not in report]
        return self.columns.unknown(columns) + self.report.unknown(report) + strings


def leaves(
    value: object, path: tuple[str, ...] = (), indices: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[int, ...], object]]:
    """Yields the values of a document: pointer with `*` for indices, the indices, value."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from leaves(each, (*path, key), indices)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from leaves(each, (*path, ANY), (*indices, index))
    else:
        yield path, indices, value


class Digests:
    """Growing digests by path."""

    def __init__(self, renames: Renames):
        self.renames = renames
        self.hashes = defaultdict(hashlib.sha256)
        self.former: dict[tuple[str, ...], tuple[str, ...]] = {}

    def add(self, path: tuple[str, ...], content: bytes) -> None:
        """Adds content to the digest of a path."""
        old = self.former.get(path)
        if old is None:
            old = self.renames.former(path)
            other = next((join(each) for each, former in self.former.items() if former == old), None)
            assert other is None, f"{join(path)} and {other} both map to {join(old)}; expected one (renamed.json)"
            self.former[path] = old
        self.hashes[old].update(content)

    def by_path(self) -> dict[str, str]:
        """Returns all digests."""
        return {join(path): digest.hexdigest()[:LENGTH] for path, digest in self.hashes.items()}


def of_document(document: object, names: Names) -> dict[str, str]:
    """Returns the digests of a report by pointer."""
    digests = Digests(names.report)
    for pointer, indices, value in leaves(document):
        content = encode(names.former_value(pointer, value))
        digests.add(pointer, b"".join(map(encode, indices)) + content)
    return digests.by_path()


def of_tables(directory: Path, names: Names) -> dict[str, str]:
    """Returns the digests of all columns below a directory; tables of the same name in several runs share theirs."""
    digests = Digests(names.columns)
    # The order is that of directories alone, so that the name of a table does not matter.
    for path in sorted(directory.rglob("*.parquet"), key=lambda path: path.parent):
        table = parquet.ParquetFile(path).read()
        head = encode(str(path.parent.relative_to(directory))) + encode(table.num_rows)
        for column in table.column_names:
            values = table.column(column).to_pylist()
            digests.add((path.stem, column), head + b"".join(map(encode, values)))
    return digests.by_path()


def differing(stored: dict[str, str], found: dict[str, str]) -> list[str]:
    """Returns the paths whose digests differ."""
    return (
        [path for path in sorted(stored.keys() & found.keys()) if stored[path] != found[path]]
        + [f"{path} (missing)" for path in sorted(stored.keys() - found.keys())]
        + [f"{path} (new)" for path in sorted(found.keys() - stored.keys())]
    )
