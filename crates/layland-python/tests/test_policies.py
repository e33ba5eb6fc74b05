"""Policies in Python."""

import subprocess
import sys
import textwrap
from fractions import Fraction

import layland
import pytest
from layland._asked import Asked


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
        ({"decide": lambda self, now: [7, None]}, ValueError, "not a job"),
        (
            {"job": None, "on_release": keep, "decide": lambda self, now: [self.job, self.job]},
            ValueError,
            "to CPU 0 and to CPU 1",
        ),
        ({"wake_at": 0.5}, TypeError, "whole number"),
        ({"wake_at": -1}, ValueError, "already"),
        # Time would stand still.
        ({"wake_at": 0}, ValueError, "has to be later"),
        ({"wake_at": True}, TypeError, "whole number"),
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
    for wrong in (7, object, layland.Policy, layland.Policy()):
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
            # Work that goes on in the background must not keep the process.
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
    asked = Asked(tasks._system, "set", [], ["g-edf"], layland.as_ns("20000s"), None, None, 0, None)
    tasks._system.simulate(asked, [], False, told.append)
    assert told == sorted(told) and told
    assert tasks.simulate("g-edf", until="10s", record=False, progress=True).total["released"]

    def fail(now):
        raise LookupError("stop")

    with pytest.raises(LookupError):
        tasks._system.simulate(asked, [], False, fail)


def orders(is_fixed):
    """The fairest order of jobs, by a key that hooks keep, and the same by decisions."""

    class Kept(layland.Policy):
        fixed_key = is_fixed

        def setup(self, tasks, cpus):
            self.done, self.heard = [0] * len(tasks), []
            orders.heard.append(self.heard)

        def on_release(self, job, now):
            self.heard.append(("release", job.task.name, job.number, now))

        def on_completion(self, job, now):
            self.heard.append(("completion", job.task.name, job.number, now))
            self.done[job.task.index] += 1

        def key(self, job, now):
            return self.done[job.task.index], job.deadline

    class Decided(Kept):
        fixed_key = False
        key = layland.Policy.key

        def setup(self, tasks, cpus):
            super().setup(tasks, cpus)
            self.ready = []

        def on_release(self, job, now):
            super().on_release(job, now)
            self.ready.append(job)

        def on_completion(self, job, now):
            super().on_completion(job, now)
            self.ready.remove(job)

        def decide(self, now):
            order = sorted(self.ready, key=lambda job: (self.done[job.task.index], job.deadline, job.task.index))
            return (order + [None])[:1]

    return Kept, Decided


def test_hooks_are_called_with_an_order_of_jobs_too():
    of = [layland.Task(name, wcet=f"{c}ms", period=f"{t}ms") for name, c, t in (("a", 1, 3), ("b", 4, 8))]
    tasks = layland.TaskSet(of, cpus=1)
    orders.heard = []
    by_key, by_decisions = (tasks.simulate(policy, until="240ms") for policy in orders(False))
    assert by_key.segments.to_dict() == by_decisions.segments.to_dict()
    assert by_key.total["missed"] == by_decisions.total["missed"] > 0
    heard, too = orders.heard
    assert heard == too and len(heard) > 200
    # Of a key that never changes as well.
    tasks.simulate(orders(True)[0], until="24ms")
    assert {entry[0] for entry in orders.heard[-1]} == {"release", "completion"}


def test_an_order_of_jobs_can_ask_to_be_asked_again():
    class Swaps(layland.Policy):
        """The last task first from the first millisecond on."""

        turned = False

        def setup(self, tasks, cpus):
            self.wake_at = 1_000_000

        def on_timer(self, now):
            assert now == 1_000_000 and self.wake_at is None
            self.turned = True

        def key(self, job, now):
            return -job.task.index if self.turned else job.task.index

    class Silent(layland.Policy):
        """The same without a hook: it looks at the clock."""

        def setup(self, tasks, cpus):
            self.wake_at = 1_000_000

        def key(self, job, now):
            return job.task.index if now < 1_000_000 else -job.task.index

    of = [layland.Task(name, wcet="3ms", period="10ms") for name in ("a", "b")]
    for policy in (Swaps, Silent):
        segments = layland.TaskSet(of, cpus=1).simulate(policy, until="10ms").segments.to_dict()
        assert list(zip(segments["name"], segments["start_ns"], strict=True)) == [
            ("a", 0), ("b", 1_000_000), ("a", 4_000_000),
        ]  # fmt: skip


@pytest.mark.parametrize("method", ["key", "decide", "on_release", "on_timer"])
def test_time_does_not_stand_still(method):
    """A policy that asks to be woken now is refused, in whatever method it asks."""

    def ask(self, *arguments):
        self.wake_at = arguments[-1] if method != "on_timer" or arguments[-1] else None
        return {"key": 0, "decide": [None, None]}.get(method)

    body = {"decide": lambda self, now: [None, None]} if method != "key" else {}
    if method == "on_timer":
        body["wake_at"] = 5
    policy = type("Now", (layland.Policy,), {**body, method: ask})
    with pytest.raises(ValueError, match="it has to be later"):
        layland.TaskSet.load("demo:dhall").simulate(policy, until="1s")


def test_a_method_that_nothing_calls_is_refused():
    for name in ("on_complete", "on_activate", "on_tick"):
        for base in (Edf, DecidingEdf):
            with pytest.raises(TypeError, match=f"defines {name}, which nothing calls"):
                layland.TaskSet.load("demo:dhall").simulate(type("Odd", (base,), {name: lambda self, *_: None}))
    with pytest.raises(TypeError, match="fixed_key"):
        layland.TaskSet.load("demo:dhall").simulate(type("Odd", (DecidingEdf,), {"fixed_key": True}))
    with pytest.raises(TypeError, match="either"):
        layland.TaskSet.load("demo:dhall").simulate(type("Odd", (Edf,), {"decide": DecidingEdf.decide}))


def ends(script, *arguments):
    """The exit code of a program, and what it prints."""
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("way", ["simulate", "check", "check-rule", "compare", "setup", "thread", "command"])
def test_a_policy_that_simulates_with_itself_for_ever_is_a_recursion(way):
    code, said = ends(
        """
        import sys, threading, layland
        sys.setrecursionlimit(10**6)
        way = sys.argv[1]
        def tasks():
            return layland.TaskSet([layland.Task("a", wcet="1ms", period="10ms")], cpus=1)
        def again():
            if way == "check":
                tasks().check(P, effort=100)
            elif way == "check-rule":
                tasks().simulate("g-edf", until="20ms").trace.check(tasks(), P)
            elif way == "compare":
                layland.compare(tasks(), [P], until="20ms")
            elif way == "command":
                layland.run_command(["sim", "demo:dhall", "-p", "P", "-q"], policies=[P])
            else:
                tasks().simulate(P, until="20ms")
        class P(layland.Policy):
            def setup(self, tasks, cpus):
                if way in ("setup", "check-rule"):
                    again()
            def key(self, job, now):
                again()
                return 0
        def run():
            try:
                again()
            except RecursionError as error:
                print("recursion:", error)
        if way == "thread":
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        else:
            run()
        """,
        way,
    )
    assert code == 0 and "recursion:" in said, said


def test_a_long_run_asks_a_policy_as_often_as_it_has_jobs():
    # The state of an object is unknown, so that no turn of the schedule stands for the others, and none is simulated
    # in search of one.
    counts = []
    for loop in ("fitting", "general"):

        class Counts(layland.Policy):
            calls = 0

            def key(self, job, now):
                Counts.calls += 1
                return job.deadline

        arguments = ["sim", "-t", "a=1ms/10ms", "--cpus", "1", "-p", "Counts", "-q"]
        assert layland.run_command([*arguments, "--until", "2s", "--engine-loop", loop], policies=[Counts]) == 0
        counts.append(Counts.calls)
    assert counts[0] == counts[1] >= 200, counts


def test_a_policy_may_simulate_within_a_simulation():
    class Looks(Edf):
        def key(self, job, now):
            if now == 0:
                alone = layland.TaskSet([layland.Task("a", wcet="1ms", period="10ms")], cpus=1)
                assert alone.simulate(Edf, until="20ms").met
            return job.deadline

    tasks = layland.TaskSet.load("demo:dhall")
    assert tasks.simulate(Looks, until="40ms").trace.dumps() == tasks.simulate(Edf, until="40ms").trace.dumps()


@pytest.mark.parametrize("way", ["python", "busy", "sleeps", "rust", "check", "check-python", "many"])
def test_a_daemon_thread_does_not_crash_the_end_of_the_interpreter(way):
    script = """
        import sys, threading, time, layland
        way = sys.argv[1]
        class Slow(layland.Policy):
            def key(self, job, now):
                begun.set()
                while way == "busy":
                    pass
                if way == "sleeps":
                    time.sleep(0.3)
                return job.deadline
        tasks = layland.generate(8, "1.9", cpus=2, seed=1)[0]
        begun = threading.Event()
        def work():
            if way == "rust":
                begun.set()
                tasks.simulate("g-edf", until="1000000s", record=False)
            elif way == "check":
                begun.set()
                tasks.check(effort=10**9)
            elif way == "check-python":
                tasks.check(Slow, effort=10**9)
            else:
                while True:
                    until = "10ms" if way == "many" else "1000000s"
                    tasks.simulate(Slow, until=until, record=False)
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        begun.wait()
        time.sleep(0.2)
        print("over")
        sys.exit(7)
        """
    for _ in range(3):
        code, said = ends(script, way)
        assert code == 7 and "over" in said, (code, said)
