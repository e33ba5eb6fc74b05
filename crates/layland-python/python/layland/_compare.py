"""Several policies side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from . import _layland
from ._errors import Refused
from ._policy import Policy, PolicyLike, name_among
from ._run import Run, page, write
from ._tasks import TaskSet
from ._times import TimeLike

__all__ = ["Comparison", "compare"]

FIGURES = (
    "released",
    "missed",
    "max_tardiness_ns",
    "max_response_ns",
    "preemptions",
    "migrations",
)


class Comparison:
    """A task set under several policies, in the order in which they were given."""

    __slots__ = ("_results",)

    def __init__(self, results: Sequence[Run | Refused]) -> None:
        self._results = list(results)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        return [*map(_compared, self._results)] == [*map(_compared, other._results)]

    def __hash__(self) -> int:
        return hash(tuple(result.policy for result in self._results))

    @property
    def runs(self) -> list[Run]:
        """The simulations that took place."""
        return [result for result in self._results if isinstance(result, Run)]

    @property
    def refused(self) -> list[Refused]:
        """The policies that refused the set, with their reasons."""
        return [result for result in self._results if isinstance(result, Refused)]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __getitem__(self, policy: PolicyLike) -> Run:
        """The run under a policy: by its name, in any notation, or by one's own class or object.

        Raises
        ------
        Refused
            If the policy refused the set.
        KeyError
            If it was not compared.
        """
        name = name_among(policy, [result.policy for result in self._results])
        found = next(result for result in self._results if result.policy == name)
        if isinstance(found, Refused):
            raise Refused(found.policy, found.reason, found.task)
        return found

    @property
    def table(self) -> _layland.Table:
        """A row for each policy: ``policy``, ``released``, ``missed``, ``max_tardiness_ns``, ``max_response_ns``,
        ``preemptions``, ``migrations``, ``refused``."""
        columns: dict[str, list[Any]] = {name: [] for name in ("policy", *FIGURES, "refused")}
        for result in self._results:
            figures = result.total if isinstance(result, Run) else {}
            columns["policy"].append(result.policy)
            columns["refused"].append(None if isinstance(result, Run) else result.reason)
            for name in FIGURES:
                columns[name].append(figures.get(name))
        return _layland.Table.from_lists(columns)

    def html(self) -> str:
        """A page for a browser with the policies that took the set, side by side; see :meth:`Run.html`."""
        return page(self.runs)

    def save(
        self, *paths: str | os.PathLike[str], start: TimeLike | None = None, end: TimeLike | None = None
    ) -> None:
        """Writes files as :meth:`Run.save` does: one page, and of everything else a file for each policy,
        ``FILE.POLICY.svg`` and so on."""
        write(self.runs, paths, start, end)

    def __repr__(self) -> str:
        told = [f"{run.policy}: {run.total['missed']} missed" for run in self.runs]
        told += [f"{refused.policy}: refused" for refused in self.refused]
        return f"Comparison({', '.join(told)})"

    def _repr_html_(self) -> str:
        columns = self.table.to_dict()
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        cells = [["" if value is None else escape(str(value)) for value in row] for row in zip(*columns.values())]
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<table><tr>{head}</tr>{rows}</table>"


def several(policies: PolicyLike | Iterable[PolicyLike]) -> list[PolicyLike]:
    """Policies: several, or a single one by itself.

    Raises
    ------
    TypeError
        If they are neither.
    """
    if isinstance(policies, (str, Policy, type)):
        return [policies]
    if not isinstance(policies, Iterable):
        kind = type(policies).__name__
        raise TypeError(f"`policies` cannot be the {kind} {policies!r}: it is a list of names and of one's own policies")
    return list(policies)


def _compared(result: Run | Refused) -> Any:
    return result if isinstance(result, Run) else (result.policy, result.reason, result.task)


def compare(tasks: TaskSet, policies: PolicyLike | Iterable[PolicyLike], **options: Any) -> Comparison:
    """Simulates a set under several policies.

    Parameters
    ----------
    tasks
        The set.
    policies
        Names of policies and policies of one's own, one or several.
    options
        As for :meth:`TaskSet.simulate`.

    Raises
    ------
    UsageError
        If there is no such policy. One that refuses the set is in the result.

    Examples
    --------
    >>> import layland
    >>> layland.compare(layland.TaskSet.load("demo:dhall"), ["g-edf", "p-edf"], until="44ms")
    Comparison(g-edf: 1 missed, p-edf: 0 missed)
    """
    results: list[Run | Refused] = []
    for policy in several(policies):
        try:
            results.append(tasks.simulate(policy, **options))
        except Refused as refused:
            results.append(refused)
    return Comparison(results)
