"""Guarantees for task sets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from . import _layland
from ._analysis import analyses
from ._arguments import known, switch, texts, time_ns, whole
from ._errors import NoSuchName, UsageError
from ._policy import Own, PolicyLike, name_among
from ._times import Duration, TimeLike, as_ns, as_text
from ._verdict import Verdict

__all__ = ["Assigned", "Bound", "ChainBound", "Checked", "CpuLimit", "Guarantee", "Sensitivity", "TaskLimits"]


@dataclass(frozen=True)
class Bound:
    """A bound that is guaranteed for a task."""

    task: str
    """The task."""
    kind: str
    """``response``, from the arrival; ``tardiness``, from the deadline; ``unknown``."""
    ns: int | None
    """The bound in nanoseconds, rounded up."""
    exact_ns: Fraction | None
    """The bound in exact nanoseconds."""
    by: str | None
    """The analysis from which it comes."""
    from_activation_ns: int | None = None
    """For a bound on response times: one on the time from the activation (the arrival and its jitter) to the end, as pyCPA
    and others state it. Under fixed priorities it is the bound from the arrival less the jitter, if that is within the
    period; otherwise only the bound from the arrival is known to hold."""


@dataclass(frozen=True)
class Assigned:
    """The place of a task under a policy that assigns each task to one CPU."""

    task: str
    """The task."""
    cpu: int
    """Its CPU."""
    priority: int | None
    """Its place in the order of fixed priorities on that CPU, of which 1 comes first; ``None`` under EDF."""


@dataclass(frozen=True)
class Guarantee:
    """The answer under one policy."""

    policy: str
    """The policy with its options."""
    verdict: Verdict
    """The verdict: yes, if every deadline is guaranteed."""
    decided_by: str | None
    """The test that decided."""
    reasons: tuple[str, ...]
    """The reasons, in sentences."""
    refused: str | None
    """The reason why the policy refuses the set, if it does."""
    wcet_factor: float | None
    """The factor by which all WCETs could grow, with the decisions of the policy for the set as it is; for printing."""
    bounds: tuple[Bound, ...]
    """The guarantees for each task."""
    witness: dict[str, Any] | None
    """The job that misses in a run that the search found, if it found one."""
    larger: str | None = None
    """With a margin: the parameters that a run enlarges under this policy, ``budgets`` or ``wcets``, or ``None``."""
    verdict_without_margin: Verdict | None = None
    """With a margin: the verdict about the set as it is."""
    stopped_by: dict[str, Any] | None = None
    """The obstacle to a further growth: ``task``, ``cpus``, ``test`` and ``reason``, as far as they are known."""
    wcet_factor_anew: float | None = None
    """A larger factor, if the policy decided anew which task runs where; ``None`` if there is none."""
    tightest: str | None = None
    """The fullest CPU or the task with the least slack, if every deadline is guaranteed by a comparison of numbers."""
    assignment: tuple[Assigned, ...] | None = None
    """The CPU of each task, if the policy assigns each to one."""

    chains: tuple[ChainBound, ...] = ()
    """The guarantees for the cause-effect chains of the set."""
    numbers: list[dict[str, Any]] | None = None
    """With every test, under ``amc``, ``plrs`` and ``ocbp``: the numbers that papers print, by CPU, as in
    ``layland check --all --json``; those of analyses that are not safe decide nothing."""
    sensitivity: Sensitivity | None = None
    """The limits of each task and CPU, if they were asked for and the decisions of the policy can be kept."""

    def bound(self, task: str) -> Bound:
        """The bound of a task.

        Raises
        ------
        KeyError
            If there is no such task, or no bounds.
        """
        for bound in self.bounds:
            if bound.task == task:
                return bound
        names = ", ".join(bound.task for bound in self.bounds[:_FEW])
        raise NoSuchName(
            f"there is no bound for `{task}` under {self.policy}",
            f"there are bounds for {names}" if names else "this policy has no bounds for the set",
        )

    def __bool__(self) -> bool:
        return bool(self.verdict)

    def _repr_html_(self) -> str:
        why = escape(self.tightest or "; ".join(self.reasons[:2]))
        by = f" by {escape(self.decided_by)}" if self.decided_by else ""
        rows = "".join(
            f"<tr><td>{escape(bound.task)}</td><td>{bound.kind}</td>"
            f"<td>{'' if bound.ns is None else as_text(bound.ns)}</td><td>{escape(bound.by or '')}</td></tr>"
            for bound in self.bounds[:_MOST_ROWS]
        )
        head = "<tr><th>task</th><th>bound on</th><th>bound</th><th>by</th></tr>"
        return f"<p>{escape(self.policy)}: <b>{self.verdict}</b>{by}. {why}</p><table>{head}{rows}</table>"


_FEW = 20
_MOST_ROWS = 200


@dataclass(frozen=True)
class ChainBound:
    """The guarantee for a cause-effect chain."""

    chain: str
    """The chain."""
    communication: str
    """``implicit`` or ``let``: when its jobs read and write."""
    reaction_ns: int | None
    """A bound on its maximum reaction time in nanoseconds; ``None`` if there is none."""
    age_ns: int | None
    """A bound on its maximum data age in nanoseconds; ``None`` if there is none."""
    by: str | None
    """The analysis of the bounds."""
    kind: str | None
    """``exact`` or ``sufficient``: the meaning of the bounds."""
    unbounded: str | None
    """The reason why there is no bound."""
    keeps_reaction: Verdict | None
    """The verdict about its constraint on reaction times; ``None`` if it has none."""
    keeps_age: Verdict | None
    """The verdict about its constraint on data ages; ``None`` if it has none."""


@dataclass(frozen=True)
class TaskLimits:
    """How far each number of a task may go while all others stay, in nanoseconds; ``None`` where no value is accepted."""

    task: str
    """The task."""
    wcet_ns: int | None
    """The largest WCET, in time on its CPU."""
    wcet_work_ns: int | None
    """The largest WCET, in work: on a CPU of another speed than 1 it is another number."""
    deadline_ns: int | None
    """The least deadline."""
    period_ns: int | None
    """The least period; a deadline that would be longer goes along."""
    jitter_ns: int | None
    """The largest release jitter."""


@dataclass(frozen=True)
class CpuLimit:
    """How far the WCETs of the tasks of a CPU may grow together."""

    cpu: int
    """The CPU."""
    wcet_factor: float | None
    """The factor, for printing; ``None`` if none is accepted."""
    least_speed: Fraction | None
    """The least speed for the WCETs as they are."""


@dataclass(frozen=True)
class Sensitivity:
    """The limits under one policy, with its decisions for the set as it is: CPUs, priorities."""

    boundary: str
    """``exact`` if nothing beyond a limit is schedulable; ``first refused`` if a test refuses the next value and does not
    know."""
    tasks: tuple[TaskLimits, ...]
    """The limits of the tasks."""
    cpus: tuple[CpuLimit, ...]
    """The limits of the CPUs, where the policy assigns each task to one."""

    def of(self, task: str) -> TaskLimits:
        """The limits of a task.

        Raises
        ------
        KeyError
            If there is no such task.
        """
        for limits in self.tasks:
            if limits.task == task:
                return limits
        names = ", ".join(limits.task for limits in self.tasks[:_FEW])
        raise NoSuchName(f"there are no limits for `{task}`", f"there are limits for {names}")


def _sensitivity(found: dict[str, Any] | None) -> Sensitivity | None:
    if found is None:
        return None
    keys = ("task", "wcet_ns", "wcet_work_ns", "deadline_ns", "period_ns", "jitter_ns")
    cpus = (
        CpuLimit(of["cpu"], of["wcet_factor"], None if of["least_speed"] is None else Fraction(of["least_speed"]))
        for of in found["cpus"]
    )
    tasks = (TaskLimits(*(of[key] for key in keys)) for of in found["tasks"])
    return Sensitivity(found["boundary"], tuple(tasks), tuple(cpus))


# The bounds that are counted from the release, whatever the jitter, with the jitter added in the end.
_WITH_JITTER = ("RTA", "RTA-RM", "RTA-DM")


def _bound(found: dict[str, Any], tasks: dict[str, tuple[int, int]]) -> Bound:
    ns, by = found.get("ns"), found.get("by")
    exact = found.get("exact_ns", ns)
    activation = None
    if found["kind"] == "response" and ns is not None:
        jitter, period = tasks[found["task"]]
        activation = ns - jitter if by in _WITH_JITTER and ns <= period else ns
    return Bound(found["task"], found["kind"], ns, None if exact is None else Fraction(exact), by, activation)


def _chain(found: dict[str, Any]) -> ChainBound:
    kept = [found.get(key) for key in ("max_reaction", "max_age")]
    verdicts = [None if of is None else Verdict(of["verdict"]) for of in kept]
    keys = ("chain", "communication", "reaction_ns", "age_ns", "by", "kind", "unbounded")
    return ChainBound(*(found[key] for key in keys), *verdicts)


def _assigned(found: dict[str, Any]) -> Assigned:
    return Assigned(found["task"], found["cpu"], found["priority"])


def _guarantee(found: dict[str, Any], tasks: dict[str, tuple[int, int]]) -> Guarantee:
    margin = found["margin"]
    reserved = found.get("reserved") or {}
    return Guarantee(
        found["policy"],
        Verdict(found["verdict"]),
        found["decided_by"],
        tuple(found["reasons"]),
        found["refused"],
        None if margin is None else margin["wcet_factor"],
        tuple(_bound(bound, tasks) for bound in found["bounds"]),
        found["witness"],
        reserved.get("larger"),
        Verdict(reserved["verdict_without"]) if reserved else None,
        None if margin is None else margin["stopped_by"],
        None if margin is None or margin["decided_anew"] is None else margin["decided_anew"]["wcet_factor"],
        found["tightest"],
        None if found["assignment"] is None else tuple(map(_assigned, found["assignment"])),
        tuple(map(_chain, found.get("chains", ()))),
        found.get("numbers"),
        _sensitivity(found.get("sensitivity")),
    )


MarginLike: TypeAlias = str | Fraction | Duration | timedelta
"""The margin that a run reserves beyond what the set says: a share (``"0.05"``, a fraction), or a time (``"5ms"``)."""


def _margin(margin: MarginLike) -> str:
    if isinstance(margin, str):
        return str.__str__(margin)
    if type(margin) is Fraction:
        return str(margin)
    if isinstance(margin, (Duration, timedelta)):
        return as_text(time_ns(margin, "reserve"))
    kind = type(margin).__name__
    raise TypeError(f'`reserve` cannot be the {kind} {margin!r}: write a share or a time, such as "0.05" or "5ms"')


@dataclass(frozen=True)
class Question:
    """A question about a set: can it be guaranteed?"""

    system: _layland.System
    """The set."""
    name: str
    """Its name."""
    classes: list[Own]
    """The policies of one's own."""
    policies: list[str]
    tests: list[str]
    every_test: bool
    factor: bool
    sensitivity: bool
    margin: str | None
    effort: int | None
    tick_ns: int | None

    @classmethod
    def of(
        cls,
        system: _layland.System,
        name: str,
        policies: tuple[Sequence[str], list[Own]],
        tests: str | Sequence[str],
        every_test: bool,
        factor: bool,
        sensitivity: bool,
        margin: MarginLike | None,
        effort: int | None,
        tick: TimeLike | None,
    ) -> Question:
        """The question in the types of the answers."""
        names, classes = policies
        if effort is not None:
            effort = whole(effort, "effort", 0, 2**64 - 1)
        there = [found.name for found in analyses()]
        return cls(
            system,
            name,
            classes,
            list(names),
            [known(test, there, "test", "layland.analyses()", "tests") for test in texts(tests, "tests")],
            switch(every_test, "every_test"),
            switch(factor, "factor"),
            switch(sensitivity, "sensitivity"),
            None if margin is None else _margin(margin),
            effort,
            None if tick is None else time_ns(tick, "tick"),
        )


class Checked:
    """The answer to "can it be guaranteed?".

    Its truth value is that of the verdict; if that is unknown, there is none.

    Examples
    --------
    >>> import layland
    >>> checked = layland.TaskSet.load("demo:dhall").check("g-edf", "p-edf")
    >>> checked.verdict, checked["p-edf"].verdict
    (<Verdict.NO: 'no'>, <Verdict.YES: 'yes'>)
    >>> checked["p-edf"].bound("heavy").ns
    10000000
    """

    __slots__ = ("_document", "_json", "_question")

    def __init__(self, question: Question) -> None:
        self._question = question
        self._json = question.system.check(question.name, question, question.classes)
        self._document = json.loads(self._json)

    @property
    def verdict(self) -> Verdict:
        """Yes, if every named policy guarantees all deadlines and constraints on chains; without names, if one does."""
        return Verdict(self._document["exit"]["name"])

    @property
    def policies(self) -> list[Guarantee]:
        """The answers under the policies that are shown."""
        tasks = self._tasks()
        return [_guarantee(found, tasks) for found in self._document["policies"]]

    def _tasks(self) -> dict[str, tuple[int, int]]:
        """The jitter and the period of each task, in nanoseconds."""
        document = json.loads(self._question.system.write("jsonl")[0])
        return {task["name"]: (as_ns(task.get("jitter", "0ns")), as_ns(task["period"])) for task in document["task"]}

    def __getitem__(self, policy: PolicyLike) -> Guarantee:
        """The answer under a policy: by its name, in any notation, or by one's own class or object.

        Raises
        ------
        KeyError
            If the answer is not about this policy.
        """
        names = [found["policy"] for found in self._document["policies"]]
        at = names.index(name_among(policy, names))
        return _guarantee(self._document["policies"][at], self._tasks())

    def __iter__(self) -> Iterator[Guarantee]:
        return iter(self.policies)

    def __len__(self) -> int:
        return len(self._document["policies"])

    def __bool__(self) -> bool:
        return bool(self.verdict)

    def __eq__(self, other: object) -> bool:
        return self._json == other._json if isinstance(other, Checked) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._json)

    @property
    def json(self) -> str:
        """The output of ``layland check --json``, byte for byte (``layland schema check`` describes it)."""
        return self._json

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document as a dictionary."""
        return json.loads(self._json)  # type: ignore[no-any-return]

    @property
    def table(self) -> _layland.Table:
        """A row for each policy: ``policy``, ``verdict``, ``decided_by``, ``wcet_factor``, ``refused``."""
        all_of = self.policies
        return _layland.Table.from_lists(
            {
                "policy": [found.policy for found in all_of],
                "verdict": [str(found.verdict) for found in all_of],
                "decided_by": [found.decided_by for found in all_of],
                "wcet_factor": [found.wcet_factor for found in all_of],
                "refused": [found.refused for found in all_of],
            }
        )

    def certificate(self) -> str:
        """The proofs of the answers, as JSON: the bytes that ``layland check --certificate FILE`` writes.

        Raises
        ------
        UsageError
            If the question was about a margin, for which there are no proofs.

        Examples
        --------
        >>> import layland
        >>> tasks = layland.TaskSet.load("demo:robot")
        >>> proven = tasks.check("p-edf").certificate()
        >>> [(proof.policy, proof.test, proof.valid) for proof in layland.verify(tasks, proven) if proof.policy]
        [('p-edf', 'QPA', True)]
        """
        asked = self._question
        return asked.system.certificate(asked.name, asked, asked.classes)

    def html(self) -> str:
        """A page for a browser, in one piece, with the results of all tests: the bytes that ``layland check -o
        FILE.html`` writes."""
        asked = self._question
        return asked.system.check_page(asked.name, asked, asked.classes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page (``.html``) or the answer (``.json``).

        Raises
        ------
        UsageError
            For another ending.
        """
        ending = Path(path).suffix
        if ending not in (".html", ".htm", ".json"):
            raise UsageError(f"{os.fspath(path)} has no known extension", "write .html for a page, .json for the answer")
        Path(path).write_text(self._json if ending == ".json" else self.html(), encoding="utf-8", newline="\n")

    def __repr__(self) -> str:
        of = ", ".join(f"{found.policy}: {found.verdict}" for found in self.policies)
        return f"Checked({self.verdict}; {of})"

    def _repr_html_(self) -> str:
        head = "<tr><th>policy</th><th>verdict</th><th>decided by</th><th>why</th></tr>"
        rows = "".join(
            f"<tr><td>{escape(found.policy)}</td><td>{found.verdict}</td><td>{escape(found.decided_by or '')}</td>"
            f"<td>{escape(found.tightest or '; '.join(found.reasons[:2]))}</td></tr>"
            for found in self.policies
        )
        return f"<p>verdict: <b>{self.verdict}</b></p><table>{head}{rows}</table>"
