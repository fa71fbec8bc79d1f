# SPDX-License-Identifier: Apache-2.0
"""Changes of a scenario by JSON pointer, as in experiments (`set` in docs/experiments.md; the engine's `pointer.rs` does the same)."""

import copy


class Nowhere(LookupError):
    """A JSON pointer to a place that does not exist."""


def put(document: dict, pointer: str, new: object) -> None:
    """Sets the value at a JSON pointer whose parent exists: `/-` at its end appends, `*` matches all elements of a list, `NAME*` those whose
    `name` has this prefix, None deletes. Raises Nowhere."""
    first, *steps = pointer.split("/")
    if first or not steps:
        raise Nowhere(pointer)
    try:
        _put(document, steps, new)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise Nowhere(pointer) from error


def _put(place: object, steps: list[str], new: object) -> None:
    step, *rest = steps
    if isinstance(place, dict):
        if rest:
            _put(place[step], rest, new)
        elif new is None:
            del place[step]
        else:
            place[step] = copy.deepcopy(new)
    elif not isinstance(place, list):
        raise TypeError
    elif step == "-" and not rest:
        place.append(copy.deepcopy(new))
    elif step.endswith("*"):
        for number in _meant(place, step):
            _put_part(place, number, rest, new)
    else:
        if not step.isascii() or not step.isdecimal():
            raise ValueError
        _put_part(place, int(step), rest, new)


def _meant(place: list, step: str) -> list[int]:
    """Indices of the elements that a step with an asterisk matches; at least one."""
    beginning = step[:-1]
    if not beginning:
        meant = list(range(len(place)))
    else:
        names = [part.get("name") if isinstance(part, dict) else None for part in place]
        meant = [number for number, name in enumerate(names) if isinstance(name, str) and name.startswith(beginning)]
    if not meant:
        raise IndexError
    return meant


def _put_part(place: list, number: int, rest: list[str], new: object) -> None:
    if rest:
        _put(place[number], rest, new)
    else:
        place[number] = copy.deepcopy(new)
