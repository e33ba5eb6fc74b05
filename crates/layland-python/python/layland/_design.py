"""The least budget of a group."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from . import _layland
from ._arguments import text, time_ns, whole
from ._times import TimeLike

__all__ = ["Budget", "Design"]

_MOST_CPUS = 4096


@dataclass(frozen=True)
class Budget:
    """The least budget for a period and a number of CPUs."""

    cpus: int
    """The number of CPUs, each with a server."""
    period_ns: int
    """The period."""
    deadline_ns: int
    """The deadline of the budget."""
    budget_ns: int | None
    """The least budget on each CPU; ``None`` if none is enough."""
    bandwidth: Fraction | None
    """The bandwidth of all servers, with the cost of switches."""
    why: str | None
    """The reason why no budget can be judged, if so."""

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Budget:
        bandwidth = row["bandwidth"]
        return cls(**{**row, "bandwidth": None if bandwidth is None else Fraction(bandwidth)})


@dataclass(frozen=True)
class Design:
    """The budgets that were found for a group."""

    group: str
    """The group."""
    choice: Budget | None
    """The least bandwidth, with fewer CPUs and then the longer period among equal ones; ``None`` if no budget is enough."""
    table: tuple[Budget, ...]
    """The budgets that were found, by number of CPUs and period."""
    certificate: str
    """The proof that the choice is enough, and that 1 ns less is not enough for the tests, for :func:`layland.verify`: the
    bytes of ``layland check --design --json``."""

    @classmethod
    def of(
        cls, system: _layland.System, name: str, group: str, periods: TimeLike | Iterable[TimeLike], cpus: Any
    ) -> Design:
        """Asks for the budgets."""
        several = [periods] if isinstance(periods, str) or not isinstance(periods, Iterable) else periods
        lengths = [time_ns(period, "periods") for period in several]
        between = None
        if cpus is not None:
            ends = (cpus, cpus) if isinstance(cpus, int) else tuple(cpus)
            first, last = (whole(end, "cpus", 1, _MOST_CPUS) for end in (min(ends), max(ends)))
            between = (first, last)
        found = system.design(name, text(group, "group"), lengths, between)
        document = json.loads(found)
        choice = document["choice"]
        table = tuple(Budget._of(row) for row in document["table"])
        return cls(document["group"], None if choice is None else Budget._of(choice), table, found)
