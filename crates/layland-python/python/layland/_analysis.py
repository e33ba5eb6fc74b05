"""Analyses, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from . import _layland
from ._arguments import known
from ._verdict import Verdict

__all__ = ["Analysis", "AnalysisInfo", "DoesNotApply", "analyses"]


@dataclass(frozen=True)
class AnalysisInfo:
    """The description of an analysis."""

    name: str
    """Its short name."""
    title: str
    """The property that it tests or bounds, in a sentence."""
    kind: str
    """The meaning of its answer: ``exact``, ``sufficient`` (a *yes* is true), ``necessary`` (a *no* is true); or
    ``bound``, of tardiness."""
    algorithms: tuple[str, ...]
    """The algorithms that it is about."""
    bibtex: tuple[str, ...]
    """The papers to cite, as BibTeX."""


def analyses() -> list[AnalysisInfo]:
    """Every schedulability test, and every bound of tardiness.

    Examples
    --------
    >>> [found.kind for found in analyses() if found.name == "QPA"]
    ['exact']
    """
    return [
        AnalysisInfo(name, title, kind, tuple(algorithms), tuple(bibtex))
        for name, title, kind, algorithms, bibtex in _layland.analyses()
    ]


@dataclass(frozen=True)
class DoesNotApply:
    """The assumption of an analysis that a set breaks."""

    assumption: str
    """Its code, for ``layland explain``."""
    reason: str
    """How the set breaks it."""
    help: str
    """Advice on how to fix it."""


@dataclass(frozen=True)
class Analysis:
    """The answer of an analysis about a set."""

    name: str
    """The analysis."""
    verdict: Verdict | None
    """The verdict; ``None`` for a bound, and where the analysis does not apply."""
    reasons: tuple[str, ...]
    """The numbers that explain it, in sentences."""
    responses_ns: dict[str, int | None] | None
    """A bound of the response time of each task in nanoseconds, if the analysis has bounds; ``None`` for a task that
    has none."""
    tardiness_ns: dict[str, Fraction] | None
    """A bound of the tardiness of each task, in exact nanoseconds."""
    does_not_apply: DoesNotApply | None
    """The reason why it does not apply, if it does not."""

    @classmethod
    def run(cls, system: _layland.System, name: str) -> Analysis:
        """Runs an analysis."""
        name = known(name, [found.name for found in analyses()], "analysis", "layland.analyses()")
        found = system.analyse(name)
        verdict, refused, tardiness = found["verdict"], found["refused"], found["tardiness"]
        return cls(
            name,
            None if verdict is None else Verdict(verdict),
            tuple(found["reasons"]),
            found["responses"],
            None if tardiness is None else {task: Fraction(bound) for task, bound in tardiness.items()},
            None if refused is None else DoesNotApply(*refused),
        )

    def __bool__(self) -> bool:
        if self.verdict is None:
            return bool(Verdict.UNKNOWN)
        return bool(self.verdict)
