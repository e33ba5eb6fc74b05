"""Sets that are built in Python: their documents, and errors that name the task and the argument.

The reader of task-set files finds problems at positions of a string. No user has seen that string, because it is made here:
each position is translated to the part of the set that is written there.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, TypeAlias

from . import _layland
from ._errors import InputError, Problem

__all__ = ["line", "read"]

Path: TypeAlias = tuple[str | int, ...]


def line(document: dict[str, Any]) -> str:
    """A document in one line, with each character as it is."""
    return json.dumps(document, ensure_ascii=False)


def read(document: dict[str, Any], name: str) -> _layland.System:
    """The set of a document.

    Raises
    ------
    InputError
        If it is not valid. Its problems have a ``place``, and no line.
    """
    try:
        return _layland.System.read(name, line(document).encode(), "jsonl", None, None)
    except InputError as error:
        found = error
    places = _Places(document)
    problems = [_placed(problem, places) for problem in found.problems]
    more = f"and {found.unlisted} more problems\n" if found.unlisted else ""
    raise InputError("".join(_text(problem, name) for problem in problems) + more, problems, found.unlisted)


class _Places:
    """The position of each value in the line of a document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.length = 0
        self.spans: list[tuple[int, int, Path]] = []
        self._value(document, ())

    def _put(self, value: Any) -> None:
        self.length += len(json.dumps(value, ensure_ascii=False))

    def _value(self, value: Any, path: Path) -> None:
        start = self.length
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                # A brace or a comma and a blank.
                self.length += 1 if self.length == start else 2
                at = self.length
                self._put(key)
                self.spans.append((at, self.length, (*path, key)))
                self.length += 2
                self._value(inner, (*path, key))
            self.length += 1
        elif isinstance(value, list) and value:
            for index, inner in enumerate(value):
                self.length += 1 if self.length == start else 2
                self._value(inner, (*path, index))
            self.length += 1
        else:
            self._put(value)
        self.spans.append((start, self.length, path))

    def at(self, column: int | None) -> Path:
        """The innermost part at a column, from 1."""
        if column is None:
            return ()
        around = [span for span in self.spans if span[0] < column <= span[1]]
        return min(around, key=lambda span: span[1] - span[0])[2] if around else ()

    def words(self, path: Path) -> str | None:
        """A part in words: as the user wrote it, and not as the file has it."""
        match path:
            case (str(table), int(index), *rest) if table in _TABLES:
                entry = self.document[table][index]
                name = entry.get("name") if isinstance(entry, dict) else None
                names = [other.get("name") for other in self.document[table] if isinstance(other, dict)]
                is_clear = name and names.count(name) == 1
                which = f"`{name}`" if is_clear else f"{index + 1} (`{name}`)" if name else str(index + 1)
                return ", ".join([f"{table} {which}", *_keys(rest)])
            case ("platform", "cpus", *_):
                return "`cpus`"
            case ("criticality", "levels", *_):
                return "`levels`"
            case (str(table),) if table in _TABLES:
                return f"`{table}s`"
            case (str(top), *rest) if top != "layland":
                return ", ".join(_keys([top, *rest]))
            case _:
                return None


_TABLES = ("task", "resource", "group", "chain", "request")


def _keys(path: list[str | int]) -> list[str]:
    """The keys of a path, and a place in a list by its number from 1."""
    return [f"`{part}`" if isinstance(part, str) else f"number {part + 1}" for part in path]


def _placed(problem: Problem, places: _Places) -> Problem:
    place = places.words(places.at(problem.column))
    help = None if problem.help is None else _advice(problem.help)
    return replace(problem, line=None, column=None, place=place, help=help)


_ADVICE = (
    (re.compile(r"^list the levels first: \[criticality\] with levels = (.*)$"), r"give them to the set: levels=\1"),
    (re.compile(r"^say it under \[platform\]: (\w+) = (.*)$"), r"say it in `platform`: {\1 = \2}"),
    (re.compile(r"^list it: \[\[resource\]\] with name = (.*)$"), r"give it to the set: resources=[\1]"),
    (re.compile(r"\[\[(\w+)\]\]"), r"\1"),
    (re.compile(r"\[(platform|criticality|defaults)\]"), r"`\1`"),
)


def _advice(help: str) -> str:
    """Advice about a file as advice about arguments."""
    for pattern, into in _ADVICE:
        help = pattern.sub(into, help)
    # A table of a file is a dictionary.
    return re.sub(r"\{(.*)\}", lambda table: "{" + re.sub(r"\b(\w+) = ", r'"\1": ', table[1]).strip() + "}", help)


def _text(problem: Problem, name: str) -> str:
    place = f"{problem.place}: " if problem.place else ""
    help = f"  help: {problem.help}\n" if problem.help else ""
    return f"{name}: {place}{problem.severity}: {problem.message} [{problem.code}]\n{help}"
