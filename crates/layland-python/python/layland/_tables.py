"""Tables for pandas and for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._layland import Table

__all__ = ["html", "to_pandas"]

_MOST_ROWS = 60


def to_pandas(table: Table) -> Any:
    """A DataFrame whose types depend on the table alone, and not on its data."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("needs pandas: pip install pandas") from error
    lists = table.to_dict()
    arrays: dict[str, Any] = {}
    for name, kind in table.column_types:
        values = lists[name]
        if kind == "int":
            arrays[name] = pandas.array(values, dtype="Int64")
        elif kind == "bool":
            arrays[name] = pandas.array(values, dtype="boolean")
        elif kind == "real":
            arrays[name] = pandas.Series(values, dtype="float64")
        else:
            arrays[name] = pandas.Series(values, dtype="string")
    return pandas.DataFrame(arrays)


def html(table: Table) -> str:
    """The first rows of a table."""
    lists = table.to_dict()
    head = "".join(f"<th>{escape(name)}</th>" for name in lists)
    rows = []
    for cells in list(zip(*(values[:_MOST_ROWS] for values in lists.values()), strict=True)):
        shown = ("" if value is None else escape(str(value)) for value in cells)
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in shown) + "</tr>")
    more = len(table) - len(rows)
    rest = f"<p>and {more} more rows</p>" if more > 0 else ""
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>{rest}"
