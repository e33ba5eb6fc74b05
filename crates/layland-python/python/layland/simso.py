"""Schedulers that were written for SimSo (Chéramy, Hladik and Déplanche 2014), as policies.

:func:`policy` makes a policy of a scheduler class, whether it is derived from ``simso.core.Scheduler`` or from the
:class:`Scheduler` here, which needs no SimSo. Objects of this module take the parts of those of SimSo (``self.sim``,
``self.processors``, ``self.task_list``, jobs, timers); the scheduler returns the jobs to run as in SimSo.

The order in which things happen in one instant is that of SimSo 0.8.5: the earlier request comes first, a
processor deals with activations, terminations and timers before it schedules, and its decisions count when all processors
have had their turn. A job that is interrupted in the instant in which it ends is there, with nothing left to do, until it is
scheduled once more.

Identifiers are those of SimSo: tasks are numbered from 1 in their order, and processors are ``1``, ``CPU 1`` and so on. Those
of a set that was read from a file of SimSo are the ones of the file.

Not supported: ``set_speed``, caches, execution time models, ``abort``, tasks that follow others. A scheduler that
uses one of them gets an ``AttributeError``, or an error that says so.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, TypeAlias

from ._layland import Job as OurJob
from ._layland import PolicyTask, System
from ._policy import Policy
from ._simso_machine import Job, Processor, Sim, Task

__all__ = ["Scheduler", "Timer", "policy", "scheduler"]

Happens: TypeAlias = tuple[tuple[int, int], Callable[[], None]]
"""A step of an instant, and its order: the time at which it was requested, and a number."""


class Scheduler:
    """The base class of schedulers that need no SimSo. It has the methods of ``simso.core.Scheduler``."""

    def __init__(self, sim: Any, scheduler_info: Any) -> None:
        self.sim = sim
        self.processors: list[Any] = []
        self.task_list: list[Any] = []
        self.data: dict[str, Any] = scheduler_info.data
        self._lock = False

    def init(self) -> None:
        """Is called once, before everything else."""

    def on_activate(self, job: Any) -> None:
        """A job is ready."""

    def on_terminated(self, job: Any) -> None:
        """A job has ended."""

    def schedule(self, cpu: Any) -> Any:
        """A pair of a job, or ``None``, and a processor, or a list of such pairs: what changes."""
        raise NotImplementedError("a scheduler has a method `schedule`")

    def add_task(self, task: Any) -> None:
        """Adds a task to those of this scheduler."""
        self.task_list.append(task)

    def add_processor(self, cpu: Any) -> None:
        """Adds a processor."""
        self.processors.append(cpu)

    def get_lock(self) -> bool:
        """Returns true if no other processor schedules; then no other one does until :meth:`release_lock`."""
        if self._lock:
            return False
        self._lock = True
        return True

    def release_lock(self) -> None:
        """Lets others schedule again."""
        self._lock = False


def scheduler(name: str, **fields: Any) -> Callable[[type], type]:
    """The decorator of SimSo, which changes nothing here."""
    del name, fields
    return lambda decorated: decorated


class Timer:
    """Calls a function after some time, as ``simso.core.Timer`` does.

    Parameters
    ----------
    sim
        ``self.sim`` of the scheduler.
    function, args
        The function to call.
    delay
        The delay in milliseconds, or in nanoseconds if ``in_ms`` is false.
    one_shot
        True to call it once, and not repeatedly.
    cpu
        The processor that calls it, if one does: its job is interrupted for that.
    overhead
        The length of the interruption, in the unit of the delay.
    """

    def __init__(
        self,
        sim: Any,
        function: Callable[..., Any],
        args: Sequence[Any],
        delay: float,
        one_shot: bool = True,
        prior: bool = False,
        cpu: Any = None,
        in_ms: bool = True,
        overhead: float = 0,
    ) -> None:
        del prior
        self.sim, self.function, self.args, self.one_shot, self.cpu = sim, function, args, one_shot, cpu
        scale = sim.cycles_per_ms if in_ms else 1
        self.delay, self.overhead = int(delay * scale), int(overhead * scale)
        if self.delay < 0:
            raise ValueError(f"a delay of {self.delay} ns is in the past")
        self.instance: Any = None

    def start(self) -> None:
        """Starts it; once more, if it was started before."""
        instance = SimpleNamespace(
            running=True,
            overhead=self.overhead,
            call_handler=lambda: self.function(*self.args),
        )
        self.instance = instance
        self.sim.activate(instance, self._run(instance))

    def stop(self) -> None:
        """It calls nothing any more."""
        if self.instance is not None:
            self.instance.running = False

    def _run(self, instance: Any) -> Generator[Any]:
        while instance.running:
            yield "hold", instance, self.delay
            if not instance.running:
                break
            if self.cpu:
                self.cpu.timer(instance)
            else:
                instance.call_handler()
            if self.one_shot:
                break


class _Made(type):
    """The type of the classes that :func:`policy` makes: they have no place where another process could look for them."""


def _again(members: dict[str, Any]) -> type[_SimSoPolicy]:
    scheduler = members["scheduler"]
    made: Any = _Made(scheduler.__name__, (_SimSoPolicy,), {**members, "__doc__": scheduler.__doc__})
    return made  # type: ignore[no-any-return]


def _parts(made: Any) -> Any:
    """The parts of a class; its name, if it has a place."""
    if "scheduler" not in vars(made):
        return made.__qualname__
    return _again, ({name: getattr(made, name) for name in _MEMBERS},)


_MEMBERS = ("name", "like", "scheduler", "data", "task_data", "identifiers")
copyreg.pickle(_Made, _parts)


class _SimSoPolicy(Policy, metaclass=_Made):
    """A scheduler of SimSo."""

    scheduler: ClassVar[type[Any]]
    data: ClassVar[Mapping[str, Any]]
    task_data: ClassVar[Mapping[str, Mapping[str, Any]]]
    # Those of tasks, and those of processors with their names, if the set is from a file that has some.
    identifiers: ClassVar[tuple[list[int], list[tuple[int, str]]] | None] = None

    @classmethod
    def _for(cls, system: System) -> type[Policy]:
        identifiers = system.simso_identifiers
        if identifiers is None or identifiers == cls.identifiers:
            return cls
        return _again({**{name: getattr(cls, name) for name in _MEMBERS}, "identifiers": identifiers})

    def setup(self, tasks: Sequence[PolicyTask], cpus: int) -> None:
        self.sim = sim = Sim()
        info = SimpleNamespace(
            name=self.scheduler.__name__,
            data=dict(self.data),
            overhead=0,
            overhead_activate=0,
            overhead_terminate=0,
        )
        sim.scheduler = self.scheduler(sim, info)
        numbers = range(1, max(len(tasks), cpus) + 1)
        ids, processors = self.identifiers or (numbers, [(number, f"CPU {number}") for number in numbers])
        sim.task_list = [
            Task(sim, task, ids[task.index], dict(self.task_data.get(task.name, {}))) for task in tasks
        ]
        self.jobs: dict[OurJob, Job] = {}
        self.on: list[Job | None] = [None] * cpus
        self.begun: list[Happens] = []
        self.arriving: set[Task] = set()
        # The scheduler is there before the processors do anything.
        agenda = sim.agenda
        sim.processors = [Processor(sim, index, *processors[index]) for index in range(cpus)]
        processes = list(agenda)
        agenda.clear()
        sim.scheduler.task_list, sim.scheduler.processors = sim.task_list, sim.processors
        sim.scheduler.init()
        agenda.extend(processes)
        for task in sim.task_list:
            task.cpu = task.cpu or sim.processors[0]

    def on_release(self, job: OurJob, now: int) -> None:
        task = self.sim.task_list[job.task.index]
        arrival = job.deadline - job.task.deadline
        if arrival == now:
            self.arriving.add(task)
            self.begun.append((task.asked, lambda: self._arrives(task, now, job)))
            return
        # It has waited for the one before, which ends in this instant or has ended.
        made = task.next_of(arrival)
        if task.is_active():
            self._begin(task, made, job)
        else:
            self.begun.append(((now, 0), lambda: self._begin(task, made, job)))

    def _arrives(self, task: Task, now: int, job: OurJob) -> None:
        made = task.arrives(now)
        self._begin(task, made, job)
        task.watch(made)

    def _begin(self, task: Task, made: Job, job: OurJob) -> None:
        """A job is there, or will be when the one before has ended."""
        made.our, self.jobs[job] = job, made

        def activate() -> None:
            made.start_date = self.sim.now()
            task.cpu.activate(made)

        def begin() -> None:
            # The job exists before the scheduler is notified of it.
            task.job = made
            self.sim.agenda.append(activate)

        if task.is_active():
            task.next_begins = begin
        else:
            begin()

    def on_completion(self, job: OurJob, now: int) -> None:
        self.sim.time = now
        ended = self.jobs.pop(job)
        ended.executed, ended.since = ended.computation_time_cycles, None
        is_on = ended in self.on
        if is_on:
            self.on[self.on.index(ended)] = None
        if not is_on or (now >= job.deadline and ended.executed < job.task.wcet):
            # It was aborted: SimSo has a timer for that, which has waited since the job arrived.
            self.begun.append((ended.killed_at or (now, 0), lambda: self._abort(ended)))
            return
        ended.is_done = True
        if ended.asked is not None:
            self.begun.append((ended.asked, lambda: self._end(ended)))

    def _abort(self, job: Job) -> None:
        if job.is_active():
            job.aborted, job.asked = True, None
            self.sim.end(job)

    def _end(self, job: Job) -> None:
        # An earlier step of this instant may have interrupted it: then it ends when it goes on.
        if job.asked is not None and job.is_active():
            self.sim.end(job)

    def decide(self, now: int) -> list[OurJob | None]:
        sim = self.sim
        sim.time = now
        # Jobs that wait for their predecessors arrive in their order, too.
        unseen = [task for task in sim.task_list if task not in self.arriving and task.is_due(now)]
        silent: list[Happens] = [(task.asked, partial(task.waits, now)) for task in unseen]
        happens = sorted([*self.begun, *silent, *sim.due()], key=lambda what: what[0])
        sim.agenda.extend(act for _, act in happens)
        self.begun = []
        self.arriving.clear()
        sim.settle()
        self.wake_at = sim.alarms[0][0] if sim.alarms else None
        wanted = [None if cpu.is_busy else cpu.running for cpu in sim.processors]
        for job in self.on:
            if job is not None and job not in wanted and job.since is not None:
                job.executed, job.since = job.computation_time_cycles, None
        for job in wanted:
            if job is not None and job.since is None:
                job.since = now
        self.on = wanted
        return [None if job is None else job.our for job in wanted]


def policy(
    scheduler: type[Any],
    *,
    name: str = "",
    like: str | None = None,
    data: Mapping[str, Any] | None = None,
    task_data: Mapping[str, Mapping[str, Any]] | None = None,
) -> type[Policy]:
    """A policy of a scheduler that was written for SimSo.

    Parameters
    ----------
    scheduler
        The class, derived from ``simso.core.Scheduler`` or from :class:`Scheduler`.
    name
        Its name in results; by default the name of the class.
    like
        A built-in policy that makes the same schedules, if there is one: see :class:`layland.Policy`.
    data
        The contents of ``self.data``: the fields that can be edited in SimSo.
    task_data
        The contents of ``task.data``, by the name of the task.

    Raises
    ------
    TypeError
        If it is not a class.

    Examples
    --------
    >>> import layland
    >>> from layland import simso
    >>> class Edf(simso.Scheduler):
    ...     def on_activate(self, job):
    ...         job.cpu.resched()
    ...     def on_terminated(self, job):
    ...         job.cpu.resched()
    ...     def schedule(self, cpu):
    ...         ready = [task.job for task in self.task_list if task.is_active()]
    ...         return min(ready, key=lambda job: job.absolute_deadline, default=None), cpu
    >>> tasks = layland.TaskSet([layland.Task("a", wcet="2ms", period="5ms")], cpus=1)
    >>> tasks.simulate(simso.policy(Edf), until="20ms").total["missed"]
    0
    """
    if not isinstance(scheduler, type):
        raise TypeError(f"a scheduler is a class, and not {scheduler!r}")
    members = {
        "name": name or scheduler.__name__,
        "like": like,
        "scheduler": scheduler,
        "data": dict(data or {}),
        "task_data": {task: dict(found) for task, found in (task_data or {}).items()},
        "identifiers": None,
    }
    return _again(members)
