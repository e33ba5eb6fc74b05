"""Schedulers of SimSo make the schedules here that they make there, processor by processor and to the nanosecond."""

import contextlib
import importlib
import io
import random
import warnings
from pathlib import Path

import layland
import pytest
from layland import simso

# Every scheduler of SimSo 0.8.5, but those that change the speed of processors (CC_EDF, Static_EDF) and those that fail
# there: Fixed_PEDF gives its schedulers no class, and BF wants whole milliseconds and fails on many of those.
SCHEDULERS = (
    "DP_WRAP EDCL EDF EDF2 EDF_US EDF_mono EDHS EDZL EKG EPDF ER_PD2 FP G_FL G_FL_ZL LB_P_EDF LLF LLREF LLREF2 LRE_TL "
    "MLLF NVNLF PD2 PriD P_EDF P_EDF2 P_EDF_WF P_RM RM RM_mono RUN SCHED_DEADLINE U_EDF WC_RUN WC_U_EDF"
).split()
UNTIL_MS = 120


def drawn(seed, is_mono):
    """Tasks with WCETs and periods in milliseconds, and how many CPUs there are."""
    draw = random.Random(seed)
    cpus = 1 if is_mono else draw.choice([2, 3])
    parts = [draw.random() for _ in range(draw.randint(cpus + 1, 2 * cpus + 2))]
    tasks = []
    for part in parts:
        period = draw.choice([4, 5, 8, 10, 20, 25, 40])
        cycles = round(min(0.9, part * 0.85 * cpus / sum(parts)) * period * 1e6)
        # SimSo cuts what a product of floats makes of it.
        while int(cycles / 1e6 * 1e6) != cycles:
            cycles += 1
        tasks.append((cycles / 1e6, period))
    return tasks, cpus


def data_of(index, wcet, period):
    """The data of a task that some schedulers read."""
    return {"priority": index, "cbs_period": period, "cbs_deadline": period, "cbs_maximum_runtime": wcet}


def modelled(tasks, cpus, name, until_ms):
    """A run of SimSo, and its configuration."""
    from simso.configuration import Configuration
    from simso.core import Model

    configuration = Configuration()
    configuration.duration = until_ms * configuration.cycles_per_ms
    for index, (wcet, period) in enumerate(tasks):
        configuration.add_task(
            name=f"t{index}",
            identifier=index + 1,
            period=period,
            activation_date=0,
            wcet=wcet,
            deadline=period,
            abort_on_miss=False,
            data=data_of(index, wcet, period),
        )
    for index in range(cpus):
        configuration.add_processor(name=f"CPU {index + 1}", identifier=index + 1)
    configuration.scheduler_info.clas = f"simso.schedulers.{name}"
    model = Model(configuration)
    model.run_model()
    return model, configuration


def in_simso(tasks, cpus, name, until_ms):
    """Which job held which processor from when to when, as SimSo says."""
    from simso.core.JobEvent import JobEvent

    model, configuration = modelled(tasks, cpus, name, until_ms)
    found = []
    for number, task in enumerate(model.task_list):
        began = {}
        for at, event in task.monitor:
            if event.event == JobEvent.EXECUTE:
                began[event.job] = (at, event.cpu.internal_id)
            elif event.event in (JobEvent.PREEMPTED, JobEvent.TERMINATED) and event.job in began:
                since, cpu = began.pop(event.job)
                found.append((number, int(event.job.name.rsplit("_", 1)[1]) - 1, cpu, since, at))
        found += [
            (number, int(job.name.rsplit("_", 1)[1]) - 1, cpu, since, configuration.duration)
            for job, (since, cpu) in began.items()
        ]
    return found


def ran_here(tasks, cpus, name, until_ms):
    """The same run under the adapter."""
    module = importlib.import_module(f"simso.schedulers.{name}")
    task_data = {f"t{index}": data_of(index, *task) for index, task in enumerate(tasks)}
    policy = simso.policy(getattr(module, name), task_data=task_data)
    of_set = [layland.Task(f"t{i}", wcet=f"{wcet}ms", period=f"{period}ms") for i, (wcet, period) in enumerate(tasks)]
    return layland.TaskSet(of_set, cpus=cpus).simulate(policy, until=f"{until_ms}ms")


def here(tasks, cpus, name, until_ms):
    """Which job held which processor, under the adapter."""
    rows = ran_here(tasks, cpus, name, until_ms).segments.to_dict()
    return list(zip(*(rows[key] for key in ("task", "seq", "cpu", "start_ns", "end_ns")), strict=True))


def merged(segments):
    """Segments of a job that follow each other on one CPU are one, and those of no length are none."""
    result = []
    for task, seq, cpu, start, end in sorted(segments, key=lambda segment: (segment[0], segment[1], segment[3])):
        if start == end:
            continue
        if result and result[-1][:3] == (task, seq, cpu) and result[-1][4] == start:
            result[-1] = (task, seq, cpu, result[-1][3], end)
        else:
            result.append((task, seq, cpu, start, end))
    return sorted(result, key=lambda segment: segment[3:])


def outcome(simulate, tasks, cpus, name):
    """The schedule, or what went wrong."""
    # Some print their decisions, and some decide about jobs that have ended, of which SimSo warns.
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return merged(simulate(tasks, cpus, name, UNTIL_MS))
        except (AssertionError, KeyError) as error:
            return type(error), str(error)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedules_are_the_same_as_in_simso(name):
    with warnings.catch_warnings():
        # It uses a module that Python 3.12 has not any more.
        warnings.simplefilter("ignore")
        pytest.importorskip("simso", reason="needs SimSo 0.8.5, which runs on Python 3.11")
    for seed in range(6):
        tasks, cpus = drawn(seed, name.endswith("mono"))
        there = outcome(in_simso, tasks, cpus, name)
        assert there, "something runs"
        assert outcome(here, tasks, cpus, name) == there, f"seed {seed}: {tasks} on {cpus}"


class Edf(simso.Scheduler):
    """Global EDF as one writes it for SimSo, without SimSo."""

    def init(self):
        self.ready = []

    def on_activate(self, job):
        self.ready.append(job)
        job.cpu.resched()

    def on_terminated(self, job):
        self.ready.remove(job)
        job.cpu.resched()

    def schedule(self, cpu):
        by_deadline = sorted(self.ready, key=lambda job: (job.absolute_deadline, job.task.identifier))
        urgent = by_deadline[: len(self.processors)]
        free = [cpu for cpu in self.processors if cpu.running not in urgent]
        return [(job, free.pop()) for job in urgent if not job.is_running()]


def test_a_scheduler_needs_no_simso():
    tasks = layland.generate(6, "2.4", cpus=3, seed=5, sets=1, periods="log:5ms..40ms")[0]
    mine = tasks.simulate(simso.policy(Edf, like="g-edf"), until="1s")
    ours = tasks.simulate("g-edf", until="1s")
    ends = [{(row[0], row[1]): row[2] for row in zip(*(table[key] for key in ("task", "seq", "end_ns")), strict=True)}
            for table in (run.jobs.to_dict() for run in (mine, ours))]
    assert ends[0] == ends[1]
    assert mine.trace.check(tasks) == []


def test_timers_fire():
    fired = []

    class Beats(Edf):
        def init(self):
            super().init()
            again = simso.Timer(self.sim, lambda: fired.append(self.sim.now_ms()), (), 3, one_shot=False)
            again.start()
            simso.Timer(self.sim, again.stop, (), 10).start()

    task = layland.Task("a", wcet="1ms", period="100ms")
    layland.TaskSet([task], cpus=1).simulate(simso.policy(Beats), until="50ms")
    assert fired == [3.0, 6.0, 9.0]


def test_what_is_not_there_says_so():
    class Slow(Edf):
        def on_activate(self, job):
            job.cpu.set_speed(0.5)

    tasks = layland.TaskSet([layland.Task("a", wcet="1ms", period="5ms")], cpus=1)
    with pytest.raises(layland.UsageError, match="cannot change the speed of CPU 1"):
        tasks.simulate(simso.policy(Slow), until="10ms")
    with pytest.raises(TypeError, match="a scheduler is a class"):
        simso.policy("EDF")


class Notes(Edf):
    """Writes down whom it sees."""

    def init(self):
        super().init()
        self.data["tasks"] += [(task.identifier, task.name) for task in self.task_list]
        self.data["cpus"] += [(cpu.identifier, cpu.name, cpu.internal_id) for cpu in self.processors]


def seen(tasks):
    data = {"tasks": [], "cpus": []}
    tasks.simulate(simso.policy(Notes, data=data), until="10ms")
    return data


def test_identifiers_are_those_of_simso():
    of = [layland.Task(name, wcet="1ms", period="5ms") for name in ("a", "b", "c")]
    data = seen(layland.TaskSet(of, cpus=2))
    assert data["tasks"] == [(1, "a"), (2, "b"), (3, "c")]
    assert data["cpus"] == [(1, "CPU 1", 0), (2, "CPU 2", 1)]
    # Those of a file are the ones that it gives.
    loaded = layland.TaskSet.load(Path(__file__).parent / "identifiers.xml")
    data = seen(loaded)
    assert data["tasks"] == [(11, "control"), (7, "camera")]
    assert data["cpus"] == [(4, "left", 0), (2, "right", 1)]
    # Another set under the same class has its own.
    mine = simso.policy(Notes, data=data)
    loaded.simulate(mine, until="10ms")
    assert loaded.check(mine, effort=100).verdict is not layland.Verdict.NO
    layland.TaskSet(of, cpus=2).simulate(mine, until="10ms")
    assert data["tasks"][-3:] == [(1, "a"), (2, "b"), (3, "c")]


class ByDeadline(simso.Scheduler):
    """EDF by the deadline alone: of equal ones the job comes first that was activated first."""

    def init(self):
        self.ready = []

    def on_activate(self, job):
        self.ready.append(job)
        job.cpu.resched()

    def on_terminated(self, job):
        if job in self.ready:
            self.ready.remove(job)
        job.cpu.resched()

    def schedule(self, cpu):
        active = [job for job in self.ready if job.is_active()]
        urgent = sorted(active, key=lambda job: job.absolute_deadline)[: len(self.processors)]
        free = [cpu for cpu in self.processors if cpu.running not in urgent]
        decided = [(job, free.pop()) for job in urgent if not job.is_running()]
        return decided + [(None, cpu) for cpu in free if cpu.running]


def tiny(seed):
    """A set full of ties, most of which miss."""
    draw = random.Random(seed)
    cpus = draw.choice([1, 1, 2])
    tasks = []
    for _ in range(draw.randint(2, 2 + 2 * cpus)):
        period = draw.choice([2, 3, 4, 6])
        wcet = draw.randint(1, period)
        tasks.append((wcet, period, draw.randint(wcet, period) if draw.random() < 0.3 else period))
    return tasks, cpus


def aborted_in_simso(scheduler, tasks, cpus, until_ms):
    from simso.configuration import Configuration
    from simso.core import Model
    from simso.core.Scheduler import Scheduler

    configuration = Configuration()
    configuration.duration = until_ms * configuration.cycles_per_ms
    for number, (wcet, period, deadline) in enumerate(tasks, 1):
        configuration.add_task(
            name=f"T{number}", identifier=number, period=period, activation_date=0, wcet=wcet, deadline=deadline,
            abort_on_miss=True, data={"priority": number},
        )  # fmt: skip
    for number in range(1, cpus + 1):
        configuration.add_processor(name=f"CPU {number}", identifier=number)
    if isinstance(scheduler, str):
        configuration.scheduler_info.clas = f"simso.schedulers.{scheduler}"
    else:
        methods = ("init", "on_activate", "on_terminated", "schedule")
        configuration.scheduler_info.clas = type("There", (Scheduler,), {name: vars(scheduler)[name] for name in methods})
    model = Model(configuration)
    with contextlib.redirect_stdout(io.StringIO()):
        model.run_model()
    return {
        (task.name, number): (job.end_date, job.aborted)
        for task in model.task_list
        for number, job in enumerate(task.jobs)
        if job.end_date is not None
    }


def aborted_here(scheduler, tasks, cpus, until_ms):
    if isinstance(scheduler, str):
        scheduler = getattr(importlib.import_module(f"simso.schedulers.{scheduler}"), scheduler)
    of_set = [
        layland.Task(f"T{number}", wcet=f"{wcet}ms", period=f"{period}ms", deadline=f"{deadline}ms", on_miss="abort")
        for number, (wcet, period, deadline) in enumerate(tasks, 1)
    ]
    task_data = {f"T{number}": {"priority": number} for number in range(1, len(tasks) + 1)}
    policy = simso.policy(scheduler, task_data=task_data)
    jobs = layland.TaskSet(of_set, cpus=cpus).simulate(policy, until=f"{until_ms}ms").jobs.to_dict()
    rows = zip(*(jobs[key] for key in ("name", "seq", "end_ns", "how")), strict=True)
    return {(name, seq): (end, how == "aborted") for name, seq, end, how in rows if end is not None}


@pytest.mark.parametrize("scheduler", [ByDeadline, *"EDF RM FP EDZL P_RM G_FL LLF".split()])
def test_jobs_are_aborted_as_in_simso_whatever_ties(scheduler):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("simso", reason="needs SimSo 0.8.5, which runs on Python 3.11")
    compared = 0
    for seed in range(50):
        tasks, cpus = tiny(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                there = aborted_in_simso(scheduler, tasks, cpus, 24)
            except AssertionError:
                # P_RM does not take what it cannot pack.
                continue
            assert aborted_here(scheduler, tasks, cpus, 24) == there, f"seed {seed}: {tasks} on {cpus}"
        compared += any(aborted for _, aborted in there.values())
    assert compared > 15, "some are aborted"


@pytest.mark.parametrize("name", ["EDF", "RM", "EDZL", "LLF", "P_RM"])
def test_figures_are_those_that_the_page_names(name):
    """The table of names in docs/from/simso.md."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("simso", reason="needs SimSo 0.8.5, which runs on Python 3.11")
    migrated = 0
    for seed in range(12):
        tasks, cpus = drawn(seed, False)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                results = modelled(tasks, cpus, name, UNTIL_MS)[0].results
            except AssertionError:
                # P_RM does not take what it cannot pack.
                continue
            run = ran_here(tasks, cpus, name, UNTIL_MS)
        assert run.total["migrations_within_jobs"] == results.total_migrations
        # SimSo does not look at jobs that have not ended.
        pending = sum(end is None for end in run.jobs.to_dict()["end_ns"])
        assert results.total_exceeded_count <= run.total["missed"] <= results.total_exceeded_count + pending
        migrated += results.total_migrations
    assert name == "P_RM" or migrated > 0
