"""The machine that a scheduler of SimSo sees: clock, timers, processors, tasks, jobs, and the order within an instant.

The names of attributes and methods are those of SimSo.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from heapq import heappop, heappush
from types import SimpleNamespace
from typing import Any

from ._errors import UsageError
from ._layland import Job as OurJob
from ._layland import PolicyTask

__all__ = ["CYCLES_PER_MS", "Job", "Processor", "Sim", "Task"]

CYCLES_PER_MS = 1_000_000
"""A cycle of SimSo is a nanosecond here."""

_HOLD = object()
"""A process goes on in this instant, after those that already wait for that."""


class Sim:
    """The ``self.sim`` of a scheduler: the clock, and the order of things in an instant."""

    def __init__(self) -> None:
        self.time = 0
        self.cycles_per_ms = CYCLES_PER_MS
        self.task_list: list[Task] = []
        self.processors: list[Processor] = []
        self.scheduler: Any = None
        self.logger = SimpleNamespace(log=lambda *_, **__: None)
        # Monitors of SimSo enter themselves here.
        self.allMonitors: list[Any] = []
        self.allTallies: list[Any] = []
        self.agenda: deque[Callable[[], None]] = deque()
        # Processors that wait, with their conditions, in the order in which they began to.
        self.waiting: list[tuple[Processor, Callable[[], bool]]] = []
        # The times at which timers fire; the second number orders those of an instant.
        self.alarms: list[tuple[int, int, int, Callable[[], None]]] = []
        self.count = 0

    def now(self) -> int:
        return self.time

    def now_ms(self) -> float:
        return float(self.time) / CYCLES_PER_MS

    def next_number(self) -> int:
        self.count += 1
        return self.count

    def activate(self, process: Any, generator: Generator[Any], *_: Any) -> None:
        """Starts the process of a timer, of SimSo or ours."""
        del process
        self.agenda.append(lambda: self._resume(generator))

    def _resume(self, generator: Generator[Any]) -> None:
        request = next(generator, None)
        if request is not None:
            self.resume_after(int(request[2]), lambda: self._resume(generator))

    def resume_after(self, delay: int, act: Callable[[], None]) -> None:
        heappush(self.alarms, (self.time + delay, self.time, self.next_number(), act))

    def end(self, job: Job) -> None:
        """A job ends, as far as the scheduler is concerned."""
        job.end_date = self.time
        job.cpu.terminate(job)
        begin = job.task.next_begins
        if begin is not None:
            job.task.next_begins = None
            begin()

    def due(self) -> list[tuple[tuple[int, int], Callable[[], None]]]:
        """The timers that fire now, with what orders them."""
        found = []
        while self.alarms and self.alarms[0][0] <= self.time:
            _, asked, number, act = heappop(self.alarms)
            found.append(((asked, number), act))
        return found

    def settle(self) -> None:
        """Goes on until nothing more happens in this instant."""
        while self.agenda or (self.alarms and self.alarms[0][0] <= self.time):
            if not self.agenda:
                self.agenda.extend(act for _, act in self.due())
            self.agenda.popleft()()
            index = 0
            while index < len(self.waiting):
                processor, condition = self.waiting[index]
                if condition():
                    del self.waiting[index]
                    self.agenda.append(processor.step)
                else:
                    index += 1

    def wait(self, processor: Processor, condition: Callable[[], bool]) -> None:
        if condition():
            self.agenda.appendleft(processor.step)
        else:
            self.waiting.append((processor, condition))


class Task:
    def __init__(self, sim: Sim, task: PolicyTask, identifier: int, data: dict[str, Any]) -> None:
        self.sim, self.our, self.data = sim, task, data
        self.identifier, self.name = identifier, task.name
        self.period, self.deadline, self.wcet = (
            time / CYCLES_PER_MS for time in (task.period, task.deadline, task.wcet)
        )
        self.cpu: Any = None
        self.job: Any = None
        self.jobs: list[Job] = []
        # The time of the last arrival, which requested the next one; the second number orders those of an instant.
        self.asked = (-1, task.index)
        self.next_arrival: int | None = None
        self.waiting: deque[Job] = deque()
        # The function that begins the next job, if it waits until the one before goes on and ends.
        self.next_begins: Callable[[], None] | None = None

    def __lt__(self, other: Task) -> bool:
        return self.identifier < other.identifier

    def is_active(self) -> bool:
        return self.job is not None and bool(self.job.is_active())

    def arrives(self, now: int) -> Job:
        """A job arrives, and asks for the next one."""
        self.asked = (now, self.sim.next_number())
        self.next_arrival = now + self.our.period
        job = Job(self, now)
        self.jobs.append(job)
        return job

    def watch(self, job: Job) -> None:
        """Has a timer wait for the deadline of a job that has arrived: it begins to when it is its turn."""

        def begin() -> None:
            job.killed_at = (self.sim.now(), self.sim.next_number())

        self.sim.agenda.append(begin)

    def waits(self, now: int) -> None:
        """A job arrives, and waits for the one before."""
        job = self.arrives(now)
        self.waiting.append(job)
        self.watch(job)

    def is_due(self, now: int) -> bool:
        """Returns true if a job of a periodic task arrives now, and waits for the one before."""
        while self.next_arrival is not None and self.next_arrival < now:
            self.waits(self.next_arrival)
        return self.next_arrival == now

    def next_of(self, arrival: int) -> Job:
        """Returns the job that arrived at this time and has waited."""
        while self.waiting:
            job = self.waiting.popleft()
            if job.arrival == arrival:
                return job
        job = Job(self, arrival)
        self.jobs.append(job)
        return job


class Job:
    def __init__(self, task: Task, arrival: int) -> None:
        self.task, self.sim, self.data, self.arrival = task, task.sim, task.data, arrival
        # Our job that runs for it, from its release on.
        self.our: OurJob | None = None
        self.name = f"{task.name}_{len(task.jobs) + 1}"
        self.activation_date = arrival / CYCLES_PER_MS
        # Add them as SimSo does, so that equal deadlines are equal there and here.
        self.absolute_deadline = self.activation_date + task.deadline
        self.start_date: int | None = None
        self.end_date: int | None = None
        self.executed = 0
        self.since: int | None = None
        self.aborted = False
        # The time at which its processor let it go on, which orders its end among the steps of that instant; None while
        # it is interrupted.
        self.asked: tuple[int, int] | None = None
        # There is nothing left to do, which SimSo sees when it goes on.
        self.is_done = False
        # The time at which the timer began to wait for its deadline, which orders its end if it is aborted.
        self.killed_at: tuple[int, int] | None = None

    @property
    def period(self) -> float:
        return self.task.period

    @property
    def deadline(self) -> float:
        return self.task.deadline

    @property
    def wcet(self) -> float:
        return self.task.wcet

    @property
    def cpu(self) -> Any:
        return self.task.cpu

    @property
    def absolute_deadline_cycles(self) -> float:
        return self.absolute_deadline * CYCLES_PER_MS

    @property
    def computation_time(self) -> float:
        return self.computation_time_cycles / CYCLES_PER_MS

    @property
    def actual_computation_time(self) -> float:
        return self.computation_time

    @property
    def actual_computation_time_cycles(self) -> int:
        return self.computation_time_cycles

    @property
    def ret(self) -> float:
        return self.wcet - self.computation_time

    @property
    def computation_time_cycles(self) -> int:
        running = 0 if self.since is None else self.sim.now() - self.since
        return self.executed + running

    @property
    def exceeded_deadline(self) -> bool:
        """True if it has ended after its deadline, or was aborted."""
        return self.aborted or (self.end_date is not None and self.absolute_deadline_cycles < self.end_date)

    @property
    def response_time(self) -> float | None:
        return float(self.end_date) / CYCLES_PER_MS - self.activation_date if self.end_date else None

    @property
    def laxity(self) -> float:
        return float((self.absolute_deadline - self.ret) * CYCLES_PER_MS - self.sim.now())

    def is_active(self) -> bool:
        return self.end_date is None

    def is_running(self) -> bool:
        return bool(self.cpu.running is self)

    def abort(self) -> None:
        raise UsageError("a scheduler of SimSo cannot abort jobs here", "give the tasks `on_miss`")


_RESCHED, _ACTIVATE, _TERMINATE, _TIMER, _PREEMPT = range(5)


class Processor:
    def __init__(self, sim: Sim, index: int, identifier: int, name: str) -> None:
        self.sim = sim
        self.identifier, self.internal_id, self.name = identifier, index, name
        self.running: Job | None = None
        self.was_running: Job | None = None
        self.speed = 1.0
        # It runs no job, because it deals with a timer.
        self.is_busy = False
        # Its job was not interrupted since it was allowed to go on.
        self.goes_on = False
        self.events: deque[tuple[int, Any]] = deque()
        self.process = self._run()
        sim.agenda.append(self.step)

    def is_running(self) -> bool:
        return self.running is not None

    def resched(self) -> None:
        self.events.append((_RESCHED, None))

    def activate(self, job: Job) -> None:
        self.events.append((_ACTIVATE, job))

    def terminate(self, job: Job) -> None:
        self.events.append((_TERMINATE, job))
        self.running = None

    def preempt(self, job: Job | None = None) -> None:
        self.events = deque(event for event in self.events if event[0] != _PREEMPT)
        self.events.append((_PREEMPT, None))
        self.running = job

    def timer(self, timer: Any) -> None:
        self.events.append((_TIMER, timer))

    def set_speed(self, speed: float) -> None:
        raise UsageError(f"a scheduler of SimSo cannot change the speed of {self.name}, to {speed}")

    def step(self) -> None:
        request = next(self.process)
        if request is _HOLD:
            self.sim.agenda.append(self.step)
        elif isinstance(request, int):
            self.sim.resume_after(request, self.step)
        else:
            self.sim.wait(self, request)

    def _go_on(self, job: Job) -> None:
        if not self.goes_on:
            return
        self.was_running = job
        if job.is_done:
            self.sim.end(job)
        else:
            job.asked = (self.sim.time, self.sim.next_number())

    def _run(self) -> Generator[Any]:
        # The turns that overheads of no length take are those of SimSo: other processors come between.
        while True:
            if not self.events:
                job = self.running
                if job:
                    yield lambda: True
                    yield _HOLD
                    self.goes_on = True
                    self.sim.agenda.append(partial(self._go_on, job))
                yield lambda: bool(self.events)
                if job:
                    self.goes_on, job.asked = False, None
                    yield _HOLD
            kind, what = self.events.popleft()
            if kind == _RESCHED and any(other != _RESCHED for other, _ in self.events):
                self.events.append((kind, what))
            elif kind == _ACTIVATE:
                self.sim.scheduler.on_activate(what)
                yield _HOLD
            elif kind == _TERMINATE:
                self.sim.scheduler.on_terminated(what)
                yield _HOLD
            elif kind == _TIMER:
                if what.overhead > 0:
                    self.is_busy = True
                    yield what.overhead
                    self.is_busy = False
                what.call_handler()
            elif kind == _RESCHED:
                yield self.sim.scheduler.get_lock
                decided = self.sim.scheduler.schedule(self)
                yield _HOLD
                for decision in decided if isinstance(decided, list) else [decided]:
                    if decision is not None:
                        _give(*decision)
                self.sim.scheduler.release_lock()


def _give(job: Job | None, cpu: Processor) -> None:
    if cpu.running is job:
        return
    if job is not None and not job.is_active():
        warnings.warn(f"the scheduler gives {cpu.name} to {job.name}, which has ended", RuntimeWarning, stacklevel=2)
        return
    if job is not None and job.cpu.running is job:
        job.cpu.preempt()
    cpu.preempt(job)
    if job is not None:
        job.task.cpu = cpu
