"""Tasks, and task sets."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from . import _layland
from ._analysis import Analysis
from ._asked import Asked
from ._check import Checked, MarginLike, Question
from ._errors import InputWarning, UsageError
from ._policy import PolicyLike, names_and_classes
from ._run import Run, simulated
from ._times import Duration, TimeLike, as_int, as_ns, as_text

__all__ = ["Task", "TaskSet"]

Wcet: TypeAlias = TimeLike | Mapping[str, TimeLike]
Cpus: TypeAlias = str | Sequence[int | str]

_ENDINGS = {"toml": "toml", "json": "rt-app", "csv": "csv", "xml": "simso", "jsonl": "jsonl", "ndjson": "jsonl"}


def _written(value: Any, key: str = "") -> Any:
    """A value as a task-set file has it: times as strings with units, exact numbers."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return _text(value, key)
    if type(value) is Fraction and key == "of":
        return str(value)
    if isinstance(value, (Duration, timedelta, Fraction)):
        return as_text(as_ns(value))
    if isinstance(value, Mapping):
        return {_text(str(name), key): _written(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_written(inner, key) for inner in value]
    try:
        return as_int(value, key)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"`{key}` cannot be the {kind} {value!r}: it has to be exact") from None


def _text(text: str, key: str) -> str:
    """A text that a file can have."""
    plain = str.__str__(text)
    for at, c in enumerate(plain, 1):
        if "\ud800" <= c <= "\udfff":
            message = f"`{key}` is {plain!r}, whose character {at} is half of a surrogate pair"
            raise UsageError(message, "write the character that is meant")
    return plain


def _line(document: dict[str, Any]) -> bytes:
    """A document in one line, with each character as it is."""
    return json.dumps(document, ensure_ascii=False).encode()


def _time(value: TimeLike) -> str:
    return as_text(as_ns(value))


class Task:
    """A recurrent task.

    Parameters
    ----------
    name
        Unique in its set.
    wcet
        The longest execution time; for mixed criticality one for each level, by its name.
    period
        The period, or the least time between two arrivals.
    deadline
        The relative deadline; the period, if it is left out.
    keys
        Everything else that a task of a task-set file can have: ``budget``, ``criticality``, ``affinity``, ``cluster``,
        ``offset``, ``jitter``, ``rank``, ``priority``, ``jobs``, ``on_miss``, ``reclaim``, ``nonpreemptive``, ``segments``,
        ``release``, ``exec``, ``count``, ``thread``, ``ucb``, ``ecb`` (``layland schema`` describes them), and ``blocking``:
        for how long at most jobs of lower priority delay its jobs, for the analyses that know it.

    Raises
    ------
    TypeError
        For a time without a unit, and for a float.
    UsageError
        For a string that is not a time.

    Examples
    --------
    >>> import layland
    >>> task = layland.Task("control", wcet="1ms", period="5ms", deadline=4 * layland.ms)
    >>> task.utilization, task.deadline_ns
    (Fraction(1, 5), 4000000)
    """

    __slots__ = ("_keys",)

    def __init__(
        self,
        name: str,
        *,
        wcet: Wcet,
        period: TimeLike,
        deadline: TimeLike | None = None,
        **keys: Any,
    ) -> None:
        all_keys: dict[str, Any] = {"name": _written(name, "name"), "period": _time(period)}
        if deadline is not None:
            all_keys["deadline"] = _time(deadline)
        if isinstance(wcet, Mapping):
            all_keys["wcet"] = {_text(level, "wcet"): _time(time) for level, time in wcet.items()}
        else:
            all_keys["wcet"] = _time(wcet)
        for key in ("budget", "offset", "jitter", "blocking"):
            if key in keys:
                all_keys[key] = _time(keys.pop(key))
        all_keys.update({key: _written(value, key) for key, value in keys.items()})
        self._keys = all_keys

    @classmethod
    def _of(cls, keys: dict[str, Any]) -> Task:
        made = cls.__new__(cls)
        made._keys = keys
        return made

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._keys["name"])

    @property
    def period_ns(self) -> int:
        """The period in nanoseconds."""
        return as_ns(self._keys["period"])

    @property
    def deadline_ns(self) -> int:
        """The relative deadline in nanoseconds."""
        return as_ns(self._keys.get("deadline", self._keys["period"]))

    @property
    def wcet_ns(self) -> int:
        """The WCET in nanoseconds; of several the longest, which is that of the task's own level."""
        wcet = self._keys["wcet"]
        return max(map(as_ns, wcet.values())) if isinstance(wcet, dict) else as_ns(wcet)

    @property
    def utilization(self) -> Fraction:
        """WCET over period, exact."""
        return Fraction(self.wcet_ns, self.period_ns)

    @property
    def keys(self) -> dict[str, Any]:
        """All of it, with the keys of the task-set file."""
        return json.loads(json.dumps(self._keys))  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        return Task._of, (self._keys,)

    def __eq__(self, other: object) -> bool:
        return self._keys == other._keys if isinstance(other, Task) else NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._keys, sort_keys=True))

    def __repr__(self) -> str:
        rest = ", ".join(f"{key}={value!r}" for key, value in self._keys.items() if key != "name")
        return f"Task({self.name!r}, {rest})"


class TaskSet:
    """A platform and its tasks. It does not change.

    Parameters
    ----------
    tasks
        The tasks.
    cpus
        The number of CPUs.
    name
        Its name in results.
    platform
        More of the platform, with the keys of the task-set file: ``clusters``, ``topology``, ``speed``, ``overhead``.
    levels
        The names of the criticality levels, low to high.
    requests
        Requests to the running system, with the keys of the task-set file.

    Raises
    ------
    InputError
        If the set is not valid.

    Examples
    --------
    >>> import layland
    >>> a = layland.Task("a", wcet="2ms", period="10ms")
    >>> b = layland.Task("b", wcet="3ms", period="15ms")
    >>> tasks = layland.TaskSet([a, b], cpus=1)
    >>> tasks.utilization, tasks.hyperperiod_ns
    (Fraction(2, 5), 30000000)
    >>> tasks.check("p-edf").verdict
    <Verdict.YES: 'yes'>
    """

    __slots__ = ("_system", "name")

    _system: _layland.System
    name: str

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        cpus: int,
        name: str = "set",
        platform: Mapping[str, Any] | None = None,
        levels: Sequence[str] | None = None,
        requests: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        document: dict[str, Any] = {
            "layland": 1,
            "platform": {"cpus": as_int(cpus, "cpus"), **_written(platform or {}, "platform")},
        }
        if levels is not None:
            document["criticality"] = {"levels": _written(list(levels), "levels")}
        document["task"] = [task._keys for task in tasks]
        if requests:
            document["request"] = _written(requests, "requests")
        self._become(_layland.System.read(name, _line(document), "jsonl", None, None), name)

    def _become(self, system: _layland.System, name: str) -> None:
        self._system, self.name = system, name
        for warning in system.warnings:
            warnings.warn(f"{name}: {warning.message}", InputWarning, stacklevel=4)

    @classmethod
    def _of(cls, system: _layland.System, name: str) -> TaskSet:
        made = cls.__new__(cls)
        made._become(system, name)
        return made

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str],
        *,
        format: str | None = None,
        cpus: int | None = None,
        unit: str | None = None,
        columns: str | None = None,
    ) -> TaskSet:
        """Reads a file.

        Parameters
        ----------
        source
            A path, or ``demo:NAME`` for a bundled set (:func:`layland.demos` lists them).
        format
            ``toml``, ``rt-app``, ``csv``, ``table``, ``objects``, ``yaml``, ``plain``, ``simso``, ``schedcat``,
            ``sag``, ``dot`` or ``jsonl``; by default the one that the contents show.
        cpus
            The number of CPUs, for formats that do not say.
        unit
            The unit of numbers without one (``ns``, ``us``, ``ms``, ``s``), in tables and plain lines.
        columns
            The columns of a table without titles, as in ``O,C,D,T``.

        Raises
        ------
        InputError
            If the input is not a valid set: with the places, and advice.
        OSError
            If the file cannot be read.

        Warns
        -----
        InputWarning
            If a setting does not count as written.
        """
        path = os.fspath(source)
        if path.startswith("demo:"):
            system = _layland.System.demo(path.removeprefix("demo:"))
            if system is None:
                names = ", ".join(_layland.demos())
                raise UsageError(f"there is no bundled set `{path}`", f"there are {names}")
            return cls._of(system, path)
        data = Path(path).read_bytes()
        return cls.loads(data, format=format, cpus=cpus, unit=unit, columns=columns, name=path)

    @classmethod
    def loads(
        cls,
        text: str | bytes,
        *,
        format: str | None = None,
        cpus: int | None = None,
        unit: str | None = None,
        columns: str | None = None,
        name: str = "<text>",
    ) -> TaskSet:
        """Reads a text; see :meth:`load`.

        Examples
        --------
        >>> import layland
        >>> layland.TaskSet.loads("# C T\\n1 5\\n2 8\\n", unit="ms", cpus=1)
        TaskSet('<text>', 2 tasks, 1 CPU, utilization 9/20)
        """
        data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
        if cpus is not None and cpus < 1:
            raise UsageError(f"{cpus} CPUs run nothing", "give a number from 1 on")
        return cls._of(_layland.System.read(name, data, format, cpus, unit, columns), name)

    @classmethod
    def load_lines(cls, source: str | os.PathLike[str]) -> Iterator[TaskSet]:
        """Reads a file with one set in each line (``.jsonl``), one after the other."""
        path = os.fspath(source)
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield cls.loads(line, format="jsonl", name=f"{path}:{number}")

    def dumps(self, format: str = "toml") -> str:
        """The set as a text.

        Warns
        -----
        InputWarning
            For everything that the format cannot express.
        """
        text, lost = self._system.write(format)
        for problem in lost:
            warnings.warn(problem.message, InputWarning, stacklevel=2)
        return text

    def save(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Writes a file, in this format or in the one that its name shows."""
        target = Path(path)
        chosen = format or _ENDINGS.get(target.suffix.lstrip("."), "toml")
        target.write_text(self.dumps(chosen), encoding="utf-8", newline="\n")

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, as the set has them: with all defaults."""
        document = json.loads(self._system.write("jsonl")[0])
        return tuple(map(Task._of, document.get("task", [])))

    @property
    def cpus(self) -> int:
        """The number of CPUs."""
        return self._system.cpus

    @property
    def levels(self) -> list[str]:
        """The names of the criticality levels, low to high."""
        return self._system.levels

    @property
    def utilization(self) -> Fraction:
        """The sum of the utilizations, exact."""
        return Fraction(self._system.utilization())

    @property
    def hyperperiod_ns(self) -> int | None:
        """The least common multiple of the periods in nanoseconds; ``None`` if it is too long."""
        return self._system.hyperperiod_ns()

    @property
    def policy(self) -> str | None:
        """The policy that the file requests, if it requests one."""
        return self._system.policy

    def check(
        self,
        *policies: PolicyLike,
        tests: Sequence[str] = (),
        every_test: bool = False,
        factor: bool = True,
        reserve: MarginLike | None = None,
        effort: int | None = None,
        tick: TimeLike | None = None,
    ) -> Checked:
        """Can it be guaranteed? Answers as ``layland check`` does.

        Parameters
        ----------
        policies
            The policies; by default every policy to which a test applies.
        tests
            The tests to run (:func:`layland.analyses`); by default all.
        every_test
            True to run every test, and not only until one decides.
        factor
            True to search for the factor by which WCETs could grow.
        reserve
            Reserve this much more than the set says, to cover the costs of switches, as a real run does: larger budgets
            under policies of threads (``dl``), larger WCETs under policies that are optimal
            or for mixed criticality. A share of at least 100 us (``"0.05"``, a fraction) or a time (``"5ms"``).
        effort
            The number of jobs to simulate where no test decides, in search of one that is late; 0 does not search.
        tick
            Assume that jobs arrive only at multiples of this.

        Raises
        ------
        UsageError
            If there is no such policy or test.

        Examples
        --------
        >>> import layland
        >>> tasks = layland.TaskSet.load("demo:robot")
        >>> tasks.check("dl-sp", reserve="5ms")["dl-sp"].larger
        'budgets'
        """
        found = names_and_classes(policies, self._system)
        asked = Question.of(self._system, self.name, found, tests, every_test, factor, reserve, effort, tick)
        return Checked(asked)

    def analyse(self, name: str) -> Analysis:
        """Runs one analysis on the set as it is (:func:`layland.analyses` lists them).

        Raises
        ------
        UsageError
            If there is no such analysis.

        Examples
        --------
        >>> import layland
        >>> layland.TaskSet.load("demo:dhall").analyse("GFB").verdict
        <Verdict.UNKNOWN: 'unknown'>
        """
        return Analysis.run(self._system, name)

    def simulate(
        self,
        policy: PolicyLike = "g-edf",
        *,
        until: TimeLike | None = None,
        hyperperiods: int | None = None,
        cycle: TimeLike | None = None,
        seed: int = 0,
        explore: int | None = None,
        record: bool = True,
        progress: bool = False,
    ) -> Run:
        """What will happen? Answers as ``layland sim`` does.

        Parameters
        ----------
        policy
            A name with its options, such as ``"p-edf:fit=wfd"``, or a class.
        until
            The end of the simulation; by default two hyperperiods, and at most 10 s.
        hyperperiods
            The number of hyperperiods to simulate after the last offset.
        cycle
            Simulate until the state recurs, and at most up to this time.
        seed
            The seed of execution times, jitter and separations.
        explore
            Break ties and order simultaneous events at random, from this seed.
        record
            True to keep the schedule, and not only the figures.
        progress
            True to show the progress as a bar of tqdm.

        Raises
        ------
        Refused
            If the policy cannot schedule the set.
        UsageError
            If there is no such policy, or no such time.
        KeyboardInterrupt
            After Ctrl-C, within some hundredths of a second.
        """
        names, classes = names_and_classes([policy], self._system)
        until_ns, cycle_ns = (time if time is None else as_ns(time) for time in (until, cycle))
        if sum(length is not None for length in (until_ns, hyperperiods, cycle_ns)) > 1:
            raise UsageError("how long is said twice", "give one of until, hyperperiods and cycle")
        for number in (seed, explore):
            if number is not None and not 0 <= number < 2**64:
                raise UsageError(f"{number} is no seed", "a seed is a whole number from 0 to 2^64 - 1")
        if hyperperiods is not None and not 0 < hyperperiods < 2**32:
            raise UsageError(f"{hyperperiods} hyperperiods cannot be simulated", "give a number from 1 on")
        asked = Asked(self._system, self.name, classes, names, until_ns, hyperperiods, cycle_ns, seed, explore)
        return simulated(asked, record, progress)

    def __len__(self) -> int:
        return len(self._system)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __eq__(self, other: object) -> bool:
        return self._system == other._system if isinstance(other, TaskSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._system.write("jsonl")[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._system, self.name)

    def __repr__(self) -> str:
        tasks, cpus = len(self), self.cpus
        count = f"{tasks} task{'s' * (tasks != 1)}, {cpus} CPU{'s' * (cpus != 1)}"
        return f"TaskSet({self.name!r}, {count}, utilization {self.utilization})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(task.name)}</td><td>{as_text(task.wcet_ns)}</td><td>{as_text(task.period_ns)}</td>"
            f"<td>{as_text(task.deadline_ns)}</td><td>{float(task.utilization):.3f}</td></tr>"
            for task in self.tasks[:200]
        )
        head = "<tr><th>task</th><th>WCET</th><th>period</th><th>deadline</th><th>utilization</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{head}{rows}</table>"


def _unpickled(system: _layland.System, name: str) -> TaskSet:
    """A set that was sent to another process. Its warnings were given where it was read."""
    made = TaskSet.__new__(TaskSet)
    made._system, made.name = system, name
    return made
