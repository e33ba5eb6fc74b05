"""Simulations, and the traces that they leave."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _layland
from ._arguments import time_ns, whole
from ._asked import Asked
from ._errors import UsageError
from ._policy import PolicyLike, names_and_classes
from ._times import TimeLike, as_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._tasks import TaskSet

__all__ = ["Run", "Trace"]


class Trace:
    """A recorded schedule.

    Examples
    --------
    >>> import layland
    >>> trace = layland.TaskSet.load("demo:dhall").simulate("g-edf", until="40ms").trace
    >>> trace.jobs.column_names[:5]
    ['task', 'name', 'seq', 'arrival_ns', 'release_ns']
    >>> trace.svg(end="20ms").startswith("<svg")
    True
    """

    __slots__ = ("_asked", "_recording", "title")

    _recording: _layland.Recording
    title: str

    def __init__(self, recording: _layland.Recording, title: str, asked: tuple[Asked, str] | None = None) -> None:
        # The question and its policy, if they are known and the recording does not know the promise of that policy.
        self._recording, self.title, self._asked = recording, title, asked

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Reads a trace in JSON, as :meth:`save` and ``layland sim -o x.json`` write it.

        Raises
        ------
        UsageError
            If the file is not such a trace.
        OSError
            If it cannot be read.
        """
        return cls(_layland.Recording.read(Path(path).read_bytes()), os.fspath(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._recording.json(), self.title, self._asked)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return self is other or (self.title, self.dumps()) == (other.title, other.dumps())

    def __hash__(self) -> int:
        return hash((self.title, self.end_ns, self.cpus))

    def dumps(self) -> bytes:
        """The trace as JSON: the bytes that ``layland sim -o x.json`` writes."""
        return self._recording.json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as JSON."""
        Path(path).write_bytes(self.dumps())

    @property
    def jobs(self) -> _layland.Table:
        """A row for each job, in the order of their ends: ``task``, ``name``, ``seq``, ``arrival_ns``, ``release_ns``,
        ``deadline_ns``, ``end_ns``, ``how``, ``executed_ns``, ``response_ns``, ``tardiness_ns``, ``missed``."""
        return self._recording.jobs()

    @property
    def segments(self) -> _layland.Table:
        """A row for each interval in which a job held a CPU: ``task``, ``name``, ``seq``, ``cpu``, ``start_ns``,
        ``end_ns``, ``overhead_ns``."""
        return self._recording.segments()

    @property
    def marks(self) -> _layland.Table:
        """A row for each point worth showing, and for each answer to a request: ``at_ns``, ``kind`` and details."""
        return self._recording.marks()

    @property
    def end_ns(self) -> int:
        """The end of the run, in nanoseconds."""
        return self._recording.over_ns

    @property
    def task_names(self) -> list[str]:
        """The names of the tasks."""
        return self._recording.task_names

    @property
    def cpus(self) -> int:
        """The number of CPUs."""
        return self._recording.cpus

    def window(self, start: TimeLike | None = None, end: TimeLike | None = None) -> tuple[int, int]:
        """A part of the run in nanoseconds; by default the one that is worth a first look.

        Raises
        ------
        UsageError
            If it does not begin before it ends.
        """
        if start is None and end is None:
            return self._recording.interesting()
        first = 0 if start is None else time_ns(start, "start")
        last = self.end_ns if end is None else time_ns(end, "end")
        if first < 0 or first >= last:
            raise UsageError(f"a part from {as_text(first)} to {as_text(last)} is empty", "choose a later end")
        return first, last

    def svg(
        self,
        start: TimeLike | None = None,
        end: TimeLike | None = None,
        *,
        width: int = 1000,
        rows: str = "both",
    ) -> str:
        """A Gantt chart as SVG.

        Parameters
        ----------
        start, end
            The part that is drawn; by default the one around the first miss.
        width
            In pixels.
        rows
            ``cpus``, ``tasks`` or ``both``.
        """
        return self._recording.svg(*self.window(start, end), self.title, whole(width, "width", 1, 2**32 - 1), rows)

    def pdf(self, start: TimeLike | None = None, end: TimeLike | None = None, *, rows: str = "both") -> bytes:
        """A Gantt chart as PDF, 400 points wide; parameters as for :meth:`svg`."""
        return self._recording.chart(self.window(start, end), self.title, "pdf", rows)

    def tikz(self, start: TimeLike | None = None, end: TimeLike | None = None, *, rows: str = "both") -> str:
        """A Gantt chart for LaTeX with TikZ, 140 mm wide; parameters as for :meth:`svg`."""
        return self._recording.chart(self.window(start, end), self.title, "tikz", rows).decode()

    def text(self, start: TimeLike | None = None, end: TimeLike | None = None, *, rows: str = "both") -> str:
        """A Gantt chart in 100 columns of characters; parameters as for :meth:`svg`."""
        return self._recording.chart(self.window(start, end), self.title, "text", rows).decode()

    def gantt(self, ax: Axes | None = None, start: TimeLike | None = None, end: TimeLike | None = None) -> Axes:
        """Draws a Gantt chart with matplotlib; see :func:`layland.plot.gantt`."""
        from . import plot

        return plot.gantt(self, ax, start=start, end=end)

    def check(self, tasks: TaskSet, policy: PolicyLike | None = None) -> list[str]:
        """The violations in the trace, as one of these tasks. There are none if the list is empty.

        Parameters
        ----------
        tasks
            The set that was run.
        policy
            The policy to whose rule the trace is held; by default that of the simulation, or for a trace that was read
            only the rules of every schedule.
        """
        recording = self._recording
        if policy is not None:
            names, classes = names_and_classes([policy], tasks._system)
            recording = recording.under(tasks._system, names[0], list(classes))
        elif self._asked is not None and not recording.has_rule:
            asked, spec = self._asked
            recording = recording.under(asked.system, spec, asked.classes)
        return recording.check(tasks._system)

    def __repr__(self) -> str:
        return f"Trace({self.title!r}, {len(self.jobs)} jobs up to {as_text(self.end_ns)})"

    def _repr_html_(self) -> str:
        return self.svg()


def _unpickled(text: bytes, title: str, asked: tuple[Asked, str] | None) -> Trace:
    """A trace that was sent to another process."""
    return Trace(_layland.Recording.restored(text), title, asked)


@dataclass(frozen=True)
class _Simulated:
    """The results of a simulation, without the schedule."""

    policy: str
    end_ns: int
    events: int
    decisions: int
    first_missed_deadline_ns: int | None
    refusals: tuple[int, int]
    cycle_ns: tuple[int, int] | None
    summary: str
    because: str | None
    chains: str


_OF_CHAIN = ("chain", "communication", "reaction_ns", "reduced_reaction_ns", "age_ns", "reduced_age_ns")


class Run:
    """The results of a simulation. Figures are of the whole run."""

    __slots__ = ("_asked", "_simulated", "_summary", "_trace", "name")

    def __init__(self, simulated: _layland.Simulated, asked: Asked) -> None:
        self._asked, self.name = asked, asked.name
        self._simulated = _Simulated(
            simulated.policy,
            simulated.end_ns,
            simulated.events,
            simulated.decisions,
            simulated.first_missed_deadline_ns,
            simulated.refusals,
            simulated.cycle_ns,
            simulated.summary_json(),
            simulated.because,
            simulated.chains_json,
        )
        self._summary = json.loads(self._simulated.summary)
        recording = simulated.recording
        title = f"{self.name} under {simulated.policy}"
        self._trace = None if recording is None else Trace(recording, title, (asked, simulated.policy))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Run):
            return NotImplemented
        mine, others = ((run.name, run._simulated, run._trace) for run in (self, other))
        return self is other or mine == others

    def __hash__(self) -> int:
        return hash((self.name, self._simulated))

    @property
    def policy(self) -> str:
        """The policy with its options."""
        return self._simulated.policy

    @property
    def because(self) -> str | None:
        """The reason why this policy was chosen, as a clause after "because"; ``None`` if it was named."""
        return self._simulated.because

    @property
    def end_ns(self) -> int:
        """The end of the run, in nanoseconds."""
        return self._simulated.end_ns

    @property
    def events(self) -> int:
        """The number of events that the policy received."""
        return self._simulated.events

    @property
    def decisions(self) -> int:
        """The number of decisions that it made."""
        return self._simulated.decisions

    @property
    def first_missed_deadline_ns(self) -> int | None:
        """The first deadline that was missed, in nanoseconds."""
        return self._simulated.first_missed_deadline_ns

    @property
    def refused_requests(self) -> int:
        """The number of requests that the policy refused."""
        return self._simulated.refusals[0]

    @property
    def cycle_ns(self) -> tuple[int, int] | None:
        """The time from which the state recurs, and the length of the cycle, in nanoseconds; if requested and found."""
        return self._simulated.cycle_ns

    @property
    def summary(self) -> dict[str, Any]:
        """All figures, with the names of ``layland sim --json`` (``layland schema sim`` describes them). They are exact,
        but for the percentiles ``p50_ns`` and so on: these are at most 0.1 % too large, and never too small.
        """
        return json.loads(self._simulated.summary)  # type: ignore[no-any-return]

    @property
    def total(self) -> dict[str, Any]:
        """The figures of all tasks together: ``released``, ``missed``, ``max_tardiness_ns``, ``max_response_ns``,
        ``preemptions``, ``migrations`` and others."""
        return dict(self._summary["total"])

    @property
    def tasks(self) -> _layland.Table:
        """The same figures, a row for each task."""
        rows = self._summary["tasks"]
        names = [name for name in rows[0] if name != "response"] if rows else ["name"]
        return _layland.Table.from_lists({name: [row[name] for row in rows] for name in names})

    @property
    def chains(self) -> _layland.Table:
        """The measured latencies of cause-effect chains, a row for each: ``chain``, ``communication``, ``reaction_ns``,
        ``reduced_reaction_ns``, ``age_ns``, ``reduced_age_ns``, ``max_reaction_ns`` and ``max_age_ns`` (the constraints),
        ``exceeded`` (true if the run exceeded one) and ``late_jobs``, which had not ended when they had to write."""
        found = json.loads(self._simulated.chains)
        bounds = [[chain.get(key) for key in ("max_reaction", "max_age")] for chain in found]
        columns: dict[str, list[Any]] = {key: [chain[key] for chain in found] for key in _OF_CHAIN}
        for at, key in enumerate(("max_reaction_ns", "max_age_ns")):
            columns[key] = [None if of[at] is None else of[at]["ns"] for of in bounds]
        columns["exceeded"] = [any(of is not None and of["exceeded"] for of in both) for both in bounds]
        columns["late_jobs"] = [chain["late_jobs"] for chain in found]
        return _layland.Table.from_lists(columns)

    @property
    def met(self) -> bool:
        """True if every deadline was met."""
        return bool(self._summary["total"]["missed"] == 0)

    @property
    def trace(self) -> Trace:
        """The schedule.

        Raises
        ------
        UsageError
            If it was not recorded.
        """
        if self._trace is None:
            raise UsageError("the schedule was not recorded", "simulate with record=True")
        return self._trace

    @property
    def jobs(self) -> _layland.Table:
        """See :attr:`Trace.jobs`."""
        return self.trace.jobs

    @property
    def segments(self) -> _layland.Table:
        """See :attr:`Trace.segments`."""
        return self.trace.segments

    def svg(self, start: TimeLike | None = None, end: TimeLike | None = None, **options: Any) -> str:
        """See :meth:`Trace.svg`."""
        return self.trace.svg(start, end, **options)

    def gantt(self, ax: Axes | None = None, start: TimeLike | None = None, end: TimeLike | None = None) -> Axes:
        """See :func:`layland.plot.gantt`."""
        return self.trace.gantt(ax, start, end)

    def html(self) -> str:
        """A page for a browser, in one piece: the bytes that ``layland sim -o FILE.html`` writes. The simulation is run
        again for it.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C.
        """
        return page([self])

    def save(
        self, *paths: str | os.PathLike[str], start: TimeLike | None = None, end: TimeLike | None = None
    ) -> None:
        """Writes the files that ``layland sim -o FILE`` writes, by their endings: a page (``.html``), a chart (``.svg``,
        ``.pdf``, ``.tex``, ``.txt``), the trace (``.json``), or the trace for other tools (``.pftrace``, ``.parquet``,
        ``.bin``). The simulation is run again for them, so that nothing needs to be recorded.

        Parameters
        ----------
        paths
            The files.
        start, end
            The part that charts show; by default the one around the first miss.

        Raises
        ------
        UsageError
            If an ending is not known, or a file cannot be written.

        Examples
        --------
        >>> import layland, pathlib, tempfile
        >>> run = layland.TaskSet.load("demo:dhall").simulate("g-edf", until="44ms")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.save(f"{folder}/x.svg", f"{folder}/x.html")
        ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
        ['x.html', 'x.svg']
        """
        write([self], paths, start, end)

    def responses(self, ax: Axes | None = None, task: str | None = None) -> Axes:
        """See :func:`layland.plot.responses`."""
        from . import plot

        return plot.responses(self, ax, task=task)

    def __repr__(self) -> str:
        total = self._summary["total"]
        told = f"{total['missed']} of {total['released']} jobs missed up to {as_text(self.end_ns)}"
        return f"Run({self.name!r} under {self.policy!r}: {told})"

    def _repr_html_(self) -> str:
        chart = "" if self._trace is None else self._trace._repr_html_()
        return f"<p>{escape(repr(self))}</p>{chart}"


def _together(runs: Sequence[Run]) -> Asked:
    """The question to which these runs of one set are the answers."""
    classes = list({id(found): found for run in runs for found in run._asked.classes}.values())
    return replace(runs[0]._asked, policies=[run.policy for run in runs], classes=classes)


def page(runs: Sequence[Run]) -> str:
    """The page of some runs of one set."""
    asked = _together(runs)
    return asked.system.simulation_page(asked.name, asked, asked.classes)


def write(
    runs: Sequence[Run], paths: Sequence[str | os.PathLike[str]], start: TimeLike | None, end: TimeLike | None
) -> None:
    """Writes the files of some runs of one set."""
    asked = _together(runs)
    window = None
    if start is not None or end is not None:
        first = 0 if start is None else time_ns(start, "start")
        window = first, max(run.end_ns for run in runs) if end is None else time_ns(end, "end")
    files = [os.fspath(path) for path in paths]
    asked.system.write_simulation(asked.name, asked, asked.classes, files, window)


def simulated(asked: Asked, record: bool, progress: bool) -> Run:
    """Simulates, with a bar if there is to be one."""
    if not progress:
        return Run(asked.system.simulate(asked, asked.classes, record, None), asked)
    from tqdm.auto import tqdm

    total = None if asked.until_ns is None else asked.until_ns / 1e9
    with tqdm(unit="s", total=total, desc=" ".join(asked.policies) or asked.name) as bar:
        return Run(asked.system.simulate(asked, asked.classes, record, _teller(bar)), asked)


def _teller(bar: Any) -> Callable[[int], None]:
    def tell(now: int) -> None:
        bar.update(now / 1e9 - bar.n)

    return tell
