"""Tasks from the rows of a table of any library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

from ._arguments import known
from ._errors import UsageError
from ._task import Task
from ._times import as_text, limited, ms, ns, s, time_of, us

__all__ = ["rows_of"]

_UNITS = {"ns": ns, "us": us, "ms": ms, "s": s}
_TIMES = ("wcet", "period", "deadline", "budget", "offset", "jitter", "blocking", "let_interval")
_WHOLE = ("priority", "rank", "jobs", "cluster", "count")


def rows_of(frame: Any, unit: str | None, columns: Mapping[str, str | None] | None) -> list[Task]:
    """A task for each row."""
    if unit is not None:
        unit = known(unit, _UNITS, "unit", "TaskSet.from_frame", "unit")
    lists = _columns(frame)
    renamed = dict(columns or {})
    for title in renamed:
        if title not in lists:
            raise UsageError(f"`columns` names the column `{title}`, which is not there", f"there are {', '.join(lists)}")
    named = {title: _key(renamed.get(title, title), unit) for title in lists if renamed.get(title, title) is not None}
    lengths = {title: len(lists[title]) for title in named}
    if len(set(lengths.values())) > 1:
        raise UsageError(f"the columns have different lengths: {lengths}", "give each a cell in every row")
    rows = max(lengths.values(), default=0)
    tasks = []
    for row in range(rows):
        cells: dict[str, Any] = {"name": f"t{row + 1}"}
        for title, (key, of) in named.items():
            value = _cell(lists[title][row], key, of, f"row {row + 1}, column `{title}`")
            if value is not None:
                cells[key] = value
        missing = [key for key in ("period", "wcet") if key not in cells and not (key == "wcet" and "steps" in cells)]
        if missing:
            raise UsageError(f"row {row + 1} has no `{missing[0]}`", "give each task one")
        tasks.append(Task(**cells))
    return tasks


def _columns(frame: Any) -> dict[str, list[Any]]:
    """The columns as lists, by their titles."""
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas" and hasattr(frame, "columns"):
        return {str(title): frame[title].tolist() for title in frame.columns}
    if library == "polars" and hasattr(frame, "columns"):
        return {str(title): list(values) for title, values in frame.to_dict(as_series=False).items()}
    if hasattr(frame, "to_pydict"):
        return dict(frame.to_pydict())
    if isinstance(frame, Mapping):
        return {str(title): list(values) for title, values in frame.items()}
    if library == "layland" and hasattr(frame, "to_dict"):
        return dict(frame.to_dict())
    raise TypeError(
        f"`frame` cannot be the {type(frame).__name__} {frame!r}: it is a table of pandas, polars or pyarrow, or a "
        f"dictionary of columns"
    )


def _key(title: str | None, unit: str | None) -> tuple[str, str | None]:
    """The key of a column, and the unit of its numbers."""
    written = str(title).strip()
    base, _, of = written.rpartition("_")
    if base in _TIMES and of in _UNITS:
        return base, of
    return written, unit


def _cell(value: Any, key: str, unit: str | None, place: str) -> Any:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return None
    is_number = isinstance(value, (Real, Decimal)) and not isinstance(value, (bool, Fraction))
    if key in _TIMES and not isinstance(value, Mapping):
        if not is_number:
            return as_text(time_of(value, place))
        if unit is None:
            raise UsageError(f"{place} is the number {value}, without a unit", 'give `unit`, as in unit="ms"')
        return as_text(_whole_ns(value, unit, place))
    if is_number and key in _WHOLE and value == int(value):
        # A column with an empty cell has floating-point numbers.
        return int(value)
    if is_number and key == "name":
        return str(value)
    if is_number and key == "affinity":
        return [int(value)]
    return value


def _whole_ns(value: Any, unit: str, place: str) -> int:
    """A number of a unit in nanoseconds, exact: a floating-point number is the decimal number that is printed."""
    if not math.isfinite(value):
        raise UsageError(f"{place} is {value}, which is not a time", "give a finite number")
    is_whole = not isinstance(value, (float, Decimal)) and not hasattr(value, "dtype")
    exact = Fraction(value) if is_whole else Fraction(str(value.item() if hasattr(value, "item") else value))
    count = exact * _UNITS[unit].ns
    if count.denominator != 1:
        raise UsageError(f"{place} is {value} {unit}, which is not a whole number of nanoseconds", "round it")
    try:
        return limited(count.numerator)
    except UsageError as error:
        raise UsageError(f"{place}: {error.message}", error.help) from None
