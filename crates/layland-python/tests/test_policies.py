"""Policies in Python."""

import subprocess
import sys
import textwrap
from fractions import Fraction

import layland
import pytest


class Edf(layland.Policy):
    """Global EDF, by an order of jobs."""

    like = "g-edf"

    def key(self, job, now):
        return job.deadline


class FixedEdf(Edf):
    fixed_key = True


class FractionEdf(Edf):
    def key(self, job, now):
        return (Fraction(job.deadline, 3), 0)


class DecidingEdf(layland.Policy):
    """Global EDF, as one writes it by hand."""

    def setup(self, tasks, cpus):
        self.ready, self.on = [], [None] * cpus

    def on_release(self, job, now):
        self.ready.append(job)

    def on_completion(self, job, now):
        self.ready.remove(job)
        self.on = [None if on is job else on for on in self.on]

    def decide(self, now):
        first = sorted(self.ready, key=lambda job: (job.deadline, job.task.rank))[: len(self.on)]
        self.on = [job if job in first else None for job in self.on]
        for job in first:
            if job not in self.on:
                self.on[self.on.index(None)] = job
        return self.on


def sets():
    return [layland.TaskSet.load(f"demo:{name}") for name in ("dhall", "three-tasks", "overload")] + layland.generate(
        8, "2.6", cpus=3, seed=11, sets=6, periods="log:10ms..100ms", arrivals="sporadic:1"
    )


@pytest.mark.parametrize("policy", [Edf, FixedEdf, FractionEdf])
def test_an_order_of_jobs_makes_the_schedule_of_ours(policy):
    for tasks in sets():
        mine = tasks.simulate(policy, until="2s", seed=4)
        ours = tasks.simulate("g-edf", until="2s", seed=4)
        assert mine.trace.dumps() == ours.trace.dumps(), tasks
        assert mine.trace.check(tasks) == []


def test_decisions_make_the_same_figures_on_any_cpu():
    for tasks in [tasks for tasks in sets() if tasks.name != "demo:overload"]:
        mine = tasks.simulate(DecidingEdf, until="2s", seed=4)
        ours = tasks.simulate("g-edf", until="2s", seed=4)
        assert mine.total["missed"] == ours.total["missed"]
        assert mine.total["max_response_ns"] == ours.total["max_response_ns"]
        assert mine.trace.check(tasks, "g-edf") == []


def test_a_policy_is_compared_checked_and_known_to_the_command(capfd):
    tasks = layland.TaskSet.load("demo:dhall")
    assert layland.compare(tasks, ["g-edf", Edf], until="44ms").table.to_dict()["missed"] == [1, 1]
    checked = tasks.check("g-edf", Edf)
    assert checked["Edf"].verdict is layland.Verdict.NO
    alone = layland.TaskSet([layland.Task("a", wcet="1ms", period="2ms")], cpus=1)
    assert alone.check(Edf).verdict is layland.Verdict.YES
    assert alone.check(DecidingEdf, effort=100).verdict is layland.Verdict.UNKNOWN
    # No analysis is about it, but a run that misses is a no.
    assert tasks.check(DecidingEdf).verdict is layland.Verdict.NO
    assert layland.run_command(["sim", "demo:dhall", "-p", "Edf", "--check", "-q"], policies=[Edf]) == 1
    assert "Edf" in capfd.readouterr().out


def test_a_wrong_promise_is_found_out():
    class Latest(layland.Policy):
        like = "g-edf"

        def key(self, job, now):
            return -job.deadline

    tasks = layland.TaskSet.load("demo:dhall")
    assert tasks.simulate(Latest, until="44ms").trace.check(tasks)


def test_timers_and_tasks():
    heard = []

    class Late(layland.Policy):
        """Runs everything a millisecond late."""

        def setup(self, tasks, cpus):
            heard.append([(task.name, task.wcet, task.period, task.cpus) for task in tasks])
            self.job, self.may_run = None, False

        def on_release(self, job, now):
            self.job, self.may_run, self.wake_at = job, False, now + 1_000_000

        def on_timer(self, now):
            heard.append(now)
            self.may_run = True

        def on_completion(self, job, now):
            assert job is self.job
            self.job = None

        def decide(self, now):
            return [self.job if self.may_run else None]

    tasks = layland.TaskSet([layland.Task("a", wcet="1ms", period="10ms")], cpus=1)
    run = tasks.simulate(Late, until="20ms")
    assert heard == [[("a", 1_000_000, 10_000_000, [0])], 1_000_000, 11_000_000]
    assert run.segments.to_dict()["start_ns"] == [1_000_000, 11_000_000]


def made(body):
    methods = {"decide": lambda self, now: [None, None]}
    methods.update(body)
    return type("Broken", (layland.Policy,), methods)


def keep(self, job, now):
    self.job = job


def test_what_a_policy_raises_is_raised():
    def divide(self, job, now):
        return 1 // (0 if now > 10**7 else 1)

    tasks = layland.TaskSet.load("demo:dhall")
    broken = type("Broken", (layland.Policy,), {"key": divide})
    with pytest.raises(ZeroDivisionError) as raised:
        tasks.simulate(broken, until="1s")
    assert raised.traceback[-1].name == "divide"
    with pytest.raises(ZeroDivisionError):
        tasks.check(broken)
    with pytest.raises(RuntimeError, match="no start"):
        tasks.simulate(made({"setup": lambda *_: (_ for _ in ()).throw(RuntimeError("no start"))}))


@pytest.mark.parametrize(
    ("body", "error", "told"),
    [
        ({"decide": lambda self, now: None}, ValueError, "no list"),
        ({"decide": lambda self, now: [None]}, ValueError, "1 entries for 2 CPUs"),
        ({"decide": lambda self, now: [7, None]}, ValueError, "no job"),
        (
            {"job": None, "on_release": keep, "decide": lambda self, now: [self.job, self.job]},
            ValueError,
            "to CPU 0 and to CPU 1",
        ),
        ({"wake_at": 0.5}, TypeError, "whole number"),
        ({"wake_at": -1}, ValueError, "already"),
    ],
)
def test_decisions_that_break_the_contract_are_errors(body, error, told):
    with pytest.raises(error, match=told):
        layland.TaskSet.load("demo:dhall").simulate(made(body), until="1s")


def test_a_job_that_is_over_cannot_run():
    class Stubborn(layland.Policy):
        first = None

        def on_release(self, job, now):
            self.first = self.first or job

        def decide(self, now):
            return [self.first, None]

    with pytest.raises(ValueError, match="not ready"):
        layland.TaskSet.load("demo:dhall").simulate(Stubborn, until="1s")


@pytest.mark.parametrize("key", [0.5, float("nan"), (1, 0.5), "soon", None, object()])
def test_keys_are_exact_and_can_be_compared(key):
    count = iter(range(10**6))
    strange = type("Strange", (layland.Policy,), {"key": lambda self, job, now: key if next(count) % 2 else 1})
    with pytest.raises(TypeError):
        layland.TaskSet.load("demo:dhall").simulate(strange, until="1s")


def test_what_is_no_policy():
    tasks = layland.TaskSet.load("demo:dhall")
    for wrong in (7, object, layland.Policy, Edf()):
        with pytest.raises(TypeError):
            tasks.simulate(wrong)
    for name in ("g-edf", "a:b", "a,b"):
        with pytest.raises(layland.UsageError):
            tasks.simulate(type("Named", (Edf,), {"name": name}))
    with pytest.raises(layland.UsageError, match="no policy"):
        tasks.simulate(type("Like", (Edf,), {"like": "nothing"}))


def test_affinities_are_kept():
    tasks = layland.TaskSet([layland.Task("a", wcet="1ms", period="5ms", affinity=[1])], cpus=2)
    with pytest.raises(layland.Refused) as raised:
        tasks.simulate(type("Order", (layland.Policy,), {"key": lambda self, job, now: 0}))
    assert raised.value.task == "a"
    body = {"job": None, "on_release": keep, "decide": lambda self, now: [self.job, None]}
    with pytest.raises(ValueError, match="may not run there"):
        tasks.simulate(made(body))
    # A state of a policy in Python is never known to recur.
    plain = layland.TaskSet.load("demo:dhall")
    assert plain.simulate(Edf, cycle="1s").cycle_ns is None
    assert plain.simulate("g-edf", cycle="1s").cycle_ns is not None


def test_ctrl_c_ends_a_simulation_and_a_check_at_once():
    script = textwrap.dedent(
        """
        import layland, os, signal, sys, threading, time
        class Slow(layland.Policy):
            def key(self, job, now): return job.deadline
        tasks = layland.generate(8, "1.9", cpus=2, seed=1)[0]
        work = {
            "rust": lambda: tasks.simulate("g-edf", until="1000000s", record=False),
            "python": lambda: tasks.simulate(Slow, until="1000000s", record=False),
            "check": lambda: tasks.check(effort=10**9),
        }[sys.argv[1]]
        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        sent = []
        threading.Timer(0.5, interrupt).start()
        try:
            work()
        except KeyboardInterrupt:
            # What runs on in the background must not keep the process.
            print(time.monotonic() - sent[0], flush=True)
            os._exit(0)
        """
    )
    for kind in ("rust", "python", "check"):
        done = subprocess.run([sys.executable, "-c", script, kind], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) < 1.0, kind


def test_the_lock_is_released_and_progress_is_told():
    pytest.importorskip("tqdm")
    tasks = layland.generate(8, "1.9", cpus=2, seed=1)[0]
    told = []
    how_long = {"until": layland.as_ns("20000s"), "hyperperiods": None, "cycle": None}
    wishes = {"seed": 0, "explore": None, "record": False, "progress": told.append}
    tasks._system.simulate("g-edf", [], how_long, wishes)
    assert told == sorted(told) and told
    assert tasks.simulate("g-edf", until="10s", record=False, progress=True).total["released"]

    def fail(now):
        raise LookupError("stop")

    with pytest.raises(LookupError):
        tasks._system.simulate("g-edf", [], how_long, wishes | {"progress": fail})
