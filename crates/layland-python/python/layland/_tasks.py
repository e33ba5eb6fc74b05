"""Task sets."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any, overload

from . import _layland
from ._analysis import Analysis
from ._arguments import known, sequence, switch, text, texts, time_ns, whole
from ._asked import Asked
from ._check import Checked, MarginLike, Question
from ._design import Design
from ._errors import InputWarning, NoSuchName, UsageError
from ._frames import rows_of
from ._places import read
from ._policy import PolicyLike, names_and_classes
from ._run import Run, simulated
from ._task import Task, written
from ._times import TimeLike, as_int, as_text

__all__ = ["TaskSet"]

_ENDINGS = {
    "toml": "toml",
    "json": "rt-app",
    "csv": "csv",
    "xml": "simso",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
}
_ARGUMENTS = {
    "criticality": "levels",
    "defaults": "defaults",
    "resource": "resources",
    "group": "groups",
    "chain": "chains",
    "request": "requests",
}
Entries = Sequence[Mapping[str, Any]]


def _tables(value: Any, what: str) -> list[dict[str, Any]]:
    """Entries of a group, each with its keys."""
    found = []
    for entry in sequence(value, what, "dictionaries"):
        if not isinstance(entry, Mapping):
            raise TypeError(f"`{what}` has the {type(entry).__name__} {entry!r}: each is a dictionary of keys")
        found.append(written(entry, what))
    return found


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"`{what}` cannot be the {type(value).__name__} {value!r}: it is a dictionary of keys")
    return written(value, what)  # type: ignore[no-any-return]


def _tasks(tasks: Any) -> list[Task]:
    found = list(sequence(tasks, "tasks", "tasks"))
    for number, task in enumerate(found, 1):
        if not isinstance(task, Task):
            kind = type(task).__name__
            raise TypeError(f"`tasks` has the {kind} {task!r} in place {number}: each is a layland.Task")
    return found


def _resource(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _groups(document: dict[str, Any], groups: Mapping[str, Any]) -> None:
    """Puts the groups that are given into a document; an empty one leaves it out."""
    for what, value in groups.items():
        if value is None:
            continue
        entry: Any
        match what:
            case "cpus":
                cpus = as_int(value, "cpus")
                document["platform"] = {**document.get("platform", {}), "cpus": cpus}
                continue
            case "platform":
                cpus = document["platform"]["cpus"]
                entry = _table(value, what)
                if entry.get("cpus", cpus) != cpus:
                    message = f"`cpus` is {cpus}, and `platform` says {entry['cpus']}"
                    raise UsageError(message, "leave the one in `platform` out")
                document["platform"] = {"cpus": cpus, **{key: of for key, of in entry.items() if key != "cpus"}}
                continue
            case "levels":
                key, entry = "criticality", [written(level, what) for level in texts(value, what)]
                entry = {"levels": entry} if entry else {}
            case "defaults" | "provenance":
                key, entry = what, _table(value, what)
            case "resources":
                given = [value] if isinstance(value, str) else sequence(value, what, "names or dictionaries")
                key, entry = "resource", _tables([_resource(one) for one in given], what)
            case "tasks":
                key, entry = "task", [task._keys for task in _tasks(value)]
            case _:
                key, entry = what.removesuffix("s"), _tables(value, what)
        document.pop(key, None)
        if entry or key == "task":
            document[key] = entry


def _origin(document: dict[str, Any]) -> tuple[str, ...]:
    """The groups of a set that its tasks do not carry, by the arguments for them."""
    groups = [argument for key, argument in _ARGUMENTS.items() if document.get(key)]
    if set(document.get("platform", {})) - {"cpus"}:
        groups.append("platform")
    # Observations that a set does not explain forbid guarantees.
    if document.get("provenance", {}).get("unexplained"):
        groups.append("provenance")
    return tuple(groups)


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
    defaults
        Values of keys that tasks leave out, and ``tie``: what decides between equal priorities.
    resources
        The resources that jobs lock: their names, or dictionaries with ``name`` and ``home``.
    groups
        Groups of tasks with a budget: dictionaries with ``name``, ``budget``, ``period`` and ``inner``, and if need be
        ``deadline``, ``cpus``, ``quantum``, ``server``, ``priority`` and ``parent``. Tasks name theirs as ``group``.
    chains
        Cause-effect chains: dictionaries with ``name`` and ``tasks``, and if need be ``communication`` (``implicit`` or
        ``let``), ``max_reaction`` and ``max_age``.
    requests
        Requests to the running system, with the keys of the task-set file.
    provenance
        The origin of the set, with the keys of the task-set file.

    Raises
    ------
    InputError
        If the set is not valid: each problem names the task and the argument.
    UsageError
        If ``platform`` has another number of CPUs.
    TypeError
        If a value is of another type.

    Warns
    -----
    InputWarning
        If tasks are from a set that has more parts than this one is given (``chains`` and others): give them, or an
        empty list; :meth:`replace` keeps all.

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
        tasks: Iterable[Task],
        *,
        cpus: int,
        name: str = "set",
        platform: Mapping[str, Any] | None = None,
        levels: Sequence[str] | None = None,
        defaults: Mapping[str, Any] | None = None,
        resources: Sequence[str | Mapping[str, Any]] | None = None,
        groups: Entries | None = None,
        chains: Entries | None = None,
        requests: Entries | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        all_tasks = _tasks(tasks)
        parts = {
            "platform": platform,
            "levels": levels,
            "defaults": defaults,
            "resources": resources,
            "groups": groups,
            "chains": chains,
            "requests": requests,
            "provenance": provenance,
        }
        document: dict[str, Any] = {"layland": 1}
        _groups(document, {"cpus": as_int(cpus, "cpus"), **parts, "tasks": all_tasks})
        called = text(name, "name")
        lost = [part for part in dict.fromkeys(p for task in all_tasks for p in task._origin) if parts[part] is None]
        if lost:
            has = " and ".join(f"`{part}`" for part in lost)
            message = f"{called}: the set of these tasks has {has}, and this one is not given any"
            help = f"give {lost[0]}=old.{lost[0]}, or change the set by old.replace(..)"
            warnings.warn(f"{message}: {help}", InputWarning, stacklevel=2)
        self._become(read(document, called), called)

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
            demo = known(path.removeprefix("demo:"), _layland.demos(), "bundled set", "layland.demos()", "source")
            system = _layland.System.demo(demo)
            assert system is not None, "it is in the list"
            return cls._of(system, f"demo:{demo}")
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
        """Reads a string; see :meth:`load`.

        Examples
        --------
        >>> import layland
        >>> layland.TaskSet.loads("# C T\\n1 5\\n2 8\\n", unit="ms", cpus=1)
        TaskSet('<text>', 2 tasks, 1 CPU, utilization 9/20)
        """
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"`text` cannot be the {type(text).__name__} {text!r}: it is a string, or its bytes")
        data = text.encode(errors="surrogatepass") if isinstance(text, str) else bytes(text)
        if cpus is not None:
            cpus = as_int(cpus, "cpus")
            if cpus < 1:
                raise UsageError(f"`cpus` cannot be {cpus}", "give a number from 1 on")
        return cls._of(_layland.System.read(name, data, format, cpus, unit, columns), name)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        cpus: int,
        unit: str | None = None,
        columns: Mapping[str, str | None] | None = None,
        name: str = "frame",
        **groups: Any,
    ) -> TaskSet:
        """The set with a task for each row of a table.

        Parameters
        ----------
        frame
            A DataFrame of pandas or polars, a table of pyarrow, a :class:`Table`, or a dictionary of columns. A column
            has the name of a key of tasks (``name``, ``wcet``, ``period``, ``deadline``, ``priority``, ..); one of times
            may end in its unit (``wcet_ms``). An empty cell leaves the key out. Without names, tasks are ``t1``, ``t2``
            and so on.
        cpus
            The number of CPUs.
        unit
            The unit of numbers without one: ``ns``, ``us``, ``ms`` or ``s``. A floating-point number counts as the
            decimal number that it is printed as, as in a file: it has to be a whole number of nanoseconds.
        columns
            The keys of columns that have other names; ``None`` leaves a column out.
        name
            Its name in results.
        groups
            The other arguments of :class:`TaskSet`: ``platform``, ``levels``, ``chains`` and so on.

        Raises
        ------
        UsageError
            If a number needs a unit, or is not a whole number of nanoseconds: with its row and column.
        InputError
            If the set is not valid.
        TypeError
            If it is not a table.

        Examples
        --------
        >>> import layland
        >>> frame = {"name": ["a", "b"], "wcet": [1, 2.5], "period": [5, 10], "deadline": [4, None]}
        >>> tasks = layland.TaskSet.from_frame(frame, unit="ms", cpus=1)
        >>> [(task.name, task.wcet_ns, task.deadline_ns) for task in tasks]
        [('a', 1000000, 4000000), ('b', 2500000, 10000000)]
        """
        return cls(rows_of(frame, unit, columns), cpus=cpus, name=name, **groups)

    @classmethod
    def load_lines(cls, source: str | os.PathLike[str]) -> Iterator[TaskSet]:
        """Reads a file with one set in each line (``.jsonl``), one after the other."""
        path = os.fspath(source)
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield cls.loads(line, format="jsonl", name=f"{path}:{number}")

    def dumps(self, format: str = "toml") -> str:
        """The set as a string.

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
        """Writes a file, in this format or in the one that its name shows: ``.toml``, ``.json`` (rt-app), ``.csv``,
        ``.xml`` (SimSo) or ``.jsonl``; TOML, if it has no ending.

        Raises
        ------
        UsageError
            If the ending shows no format, or the format has no writer.
        """
        target = Path(path)
        ending = target.suffix.lower().lstrip(".")
        if format is None and ending and ending not in _ENDINGS and ending != "txt":
            known = ", ".join(f".{known}" for known in _ENDINGS)
            raise UsageError(f"`{ending}` shows no format that is written", f"name one with `format`, or use {known}")
        chosen = format or _ENDINGS.get(ending, "toml")
        target.write_text(self.dumps(chosen), encoding="utf-8", newline="\n")

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, as the set has them: with all defaults."""
        document = self._document()
        origin = _origin(document)
        return tuple(Task._of(keys, origin) for keys in document.get("task", []))

    def _document(self) -> dict[str, Any]:
        """The set with the keys of the task-set file."""
        return json.loads(self._system.write("jsonl")[0])  # type: ignore[no-any-return]

    @property
    def platform(self) -> dict[str, Any]:
        """The platform without its number of CPUs: ``clusters``, ``topology``, ``speed``, ``overhead``, as far as there
        are any."""
        return {key: value for key, value in self._document()["platform"].items() if key != "cpus"}

    @property
    def defaults(self) -> dict[str, Any]:
        """What holds for all tasks: ``tie``, if it is given. Other defaults are in the tasks."""
        return dict(self._document().get("defaults", {}))

    @property
    def resources(self) -> list[dict[str, Any]]:
        """The resources that jobs lock."""
        return list(self._document().get("resource", []))

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The groups of tasks with a budget."""
        return list(self._document().get("group", []))

    @property
    def chains(self) -> list[dict[str, Any]]:
        """The cause-effect chains."""
        return list(self._document().get("chain", []))

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests to the running system."""
        return list(self._document().get("request", []))

    @property
    def provenance(self) -> dict[str, Any]:
        """The origin of the set, if it is known."""
        return dict(self._document().get("provenance", {}))

    def replace(
        self,
        *,
        tasks: Iterable[Task] | None = None,
        cpus: int | None = None,
        name: str | None = None,
        platform: Mapping[str, Any] | None = None,
        levels: Sequence[str] | None = None,
        defaults: Mapping[str, Any] | None = None,
        resources: Sequence[str | Mapping[str, Any]] | None = None,
        groups: Entries | None = None,
        chains: Entries | None = None,
        requests: Entries | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> TaskSet:
        """The same set with other parts; a new set. Everything that is not named stays, and an empty list or dictionary
        removes a part. Parameters and errors are those of :class:`TaskSet`.

        Examples
        --------
        >>> import layland
        >>> layland.TaskSet.load("demo:dhall").replace(cpus=4)
        TaskSet('demo:dhall', 3 tasks, 4 CPUs, utilization 72/55)
        """
        document = self._document()
        changes = {
            "cpus": cpus,
            "platform": platform,
            "levels": levels,
            "defaults": defaults,
            "resources": resources,
            "groups": groups,
            "chains": chains,
            "requests": requests,
            "provenance": provenance,
            "tasks": tasks,
        }
        _groups(document, changes)
        called = self.name if name is None else text(name, "name")
        system, old = read(document, called), self._system
        if old.asked_until_ns is not None or old.policy is not None or old.simso_identifiers is not None:
            is_same = (len(system), system.cpus) == (len(old), old.cpus) and tasks is None
            identifiers = old.simso_identifiers if is_same else None
            line = system.write("jsonl")[0]
            system = _layland.System.restored(line, old.asked_until_ns, old.policy, system.warnings, identifiers)
        return TaskSet._of(system, called)

    __replace__ = replace

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
        tests: str | Sequence[str] = (),
        every_test: bool = False,
        factor: bool = True,
        sensitivity: bool = False,
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
            The tests to run (:func:`layland.analyses`), one or several; by default all.
        every_test
            True to run every test, and not only until one decides.
        factor
            True to search for the factor by which WCETs could grow.
        sensitivity
            True to search the limits of each task and CPU (:attr:`layland.Guarantee.sensitivity`).
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
        >>> a = layland.Task("a", wcet="1ms", period="4ms")
        >>> b = layland.Task("b", wcet="2ms", period="6ms")
        >>> tasks = layland.TaskSet([a, b], cpus=1)
        >>> limits = tasks.check("p-edf", sensitivity=True)["p-edf"].sensitivity
        >>> limits.of("a").wcet_ns, limits.boundary
        (2666666, 'exact')
        """
        found = names_and_classes(policies, self._system)
        asked = Question.of(self._system, self.name, found, tests, every_test, factor, sensitivity, reserve, effort, tick)
        return Checked(asked)

    def design(
        self,
        group: str,
        *,
        periods: TimeLike | Iterable[TimeLike] = (),
        cpus: int | Iterable[int] | None = None,
    ) -> Design:
        """The least budget of a group, and the least bandwidth over periods and numbers of CPUs, as
        ``layland check --design`` finds it.

        Parameters
        ----------
        group
            The name of the group.
        periods
            The periods to compare; by default that of the group.
        cpus
            The numbers of CPUs to compare, from the least to the largest of these; by default that of the group.

        Raises
        ------
        UsageError
            If there is no such group.

        Examples
        --------
        >>> import layland
        >>> tasks = layland.TaskSet(
        ...     [
        ...         layland.Task("loop", wcet="1ms", period="10ms", group="g"),
        ...         layland.Task("plan", wcet="3ms", period="20ms", group="g"),
        ...     ],
        ...     cpus=1,
        ...     groups=[{"name": "g", "budget": "design", "period": "5ms", "inner": "edf"}],
        ... )
        >>> found = tasks.design("g")
        >>> found.choice.budget_ns
        1666667
        >>> [proof.valid for proof in layland.verify(tasks, found.certificate)]
        [True]
        """
        return Design.of(self._system, self.name, group, periods, cpus)

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
        policy: PolicyLike | None = None,
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
            A name with its options, such as ``"p-edf:fit=wfd"``, or a policy of one's own: a class, or an object of it.
            By default the one that the file requests, or one that fits what the set has (priorities, affinities, levels,
            ..), and otherwise global EDF: :attr:`Run.policy` says which, and :attr:`Run.because` why.
        until
            The end of the simulation; by default that of the file, or else two hyperperiods, and at most 10 s.
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
        names, classes = names_and_classes([] if policy is None else [policy], self._system)
        until_ns = None if until is None else time_ns(until, "until")
        cycle_ns = None if cycle is None else time_ns(cycle, "cycle")
        for length, what in ((until_ns, "until"), (cycle_ns, "cycle")):
            if length is not None and length < 0:
                raise UsageError(f"`{what}` cannot be {as_text(length)}", "give a time from 0 on")
        if sum(length is not None for length in (until_ns, hyperperiods, cycle_ns)) > 1:
            raise UsageError("the length of the run is given twice", "give one of `until`, `hyperperiods` and `cycle`")
        seed = whole(seed, "seed", 0, _SEEDS)
        if explore is not None:
            explore = whole(explore, "explore", 0, _SEEDS)
        if hyperperiods is not None:
            hyperperiods = whole(hyperperiods, "hyperperiods", 1, 2**32 - 1)
        record, progress = switch(record, "record"), switch(progress, "progress")
        asked = Asked(self._system, self.name, classes, names, until_ns, hyperperiods, cycle_ns, seed, explore)
        return simulated(asked, record, progress)

    def __len__(self) -> int:
        return len(self._system)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    @overload
    def __getitem__(self, which: str | int) -> Task: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Task, ...]: ...

    def __getitem__(self, which: str | int | slice) -> Task | tuple[Task, ...]:
        """A task by its name or its place, and some tasks by a slice."""
        if not isinstance(which, str):
            return self.tasks[which]
        for task in self.tasks:
            if task.name == which:
                return task
        raise NoSuchName(f"there is no task `{which}`", "there are " + ", ".join(task.name for task in self.tasks[:20]))

    def __contains__(self, which: object) -> bool:
        """True for the name of one of its tasks, and for one of them."""
        return any(which in (task.name, task) for task in self.tasks)

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


_SEEDS = 2**64 - 1


def _unpickled(system: _layland.System, name: str) -> TaskSet:
    """A set that was sent to another process. Its warnings were given where it was read."""
    made = TaskSet.__new__(TaskSet)
    made._system, made.name = system, name
    return made
