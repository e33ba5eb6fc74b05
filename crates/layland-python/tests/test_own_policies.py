"""Policies with arguments, and what a job knows about itself."""

import copy
import pickle
from fractions import Fraction

import layland
import pytest


class Heard(layland.Policy):
    """EDF that notes what its jobs say at each call."""

    def __init__(self, shift=0):
        self.shift, self.calls = shift, []
        everyone.append(self)

    def setup(self, tasks, cpus):
        # The object of the user is never the one that decides.
        self.calls = heard

    def note(self, what, job, now):
        self.calls.append((what, job.task.name, job.number, now, job.executed, job.remaining, job.exceeded_deadline))

    def on_release(self, job, now):
        self.note("release", job, now)

    def on_completion(self, job, now):
        self.note("completion", job, now)

    def key(self, job, now):
        self.note("key", job, now)
        return job.deadline + self.shift


everyone, heard = [], []


class Weighted(layland.Policy):
    like = "g-edf"

    def __init__(self, weight, *, unit=1):
        self.weight, self.unit = weight, unit

    def key(self, job, now):
        return job.deadline * self.weight


class Laxity(layland.Policy):
    """Least laxity first at each event, and at each quantum."""

    def __init__(self, quantum=1_000_000):
        self.quantum = quantum

    def key(self, job, now):
        if self.wake_at is None:
            self.wake_at = now + self.quantum
        return job.deadline - now - job.remaining


def ms(value):
    return int(value * 1_000_000)


def test_jobs_know_how_far_they_are():
    heard.clear()
    tasks = layland.TaskSet(
        [
            layland.Task("short", wcet="1ms", period="4ms", offset="1ms"),
            layland.Task("long", wcet="5ms", period="20ms", deadline="6ms"),
        ],
        cpus=1,
    )
    run = tasks.simulate(Heard, until="12ms")
    of_long = [call[3:] for call in heard if call[:2] == ("key", "long")]
    # It runs from 0; `short` with the earlier deadline takes the CPU at 1 ms.
    assert of_long[0] == (0, 0, ms(5), False)
    assert of_long[1] == (ms(1), ms(1), ms(4), False)
    assert of_long[2] == (ms(2), ms(1), ms(4), False)
    done = [call for call in heard if call[0] == "completion"]
    assert [(call[1], call[4], call[5]) for call in done[:2]] == [("short", ms(1), 0), ("long", ms(5), 0)]
    assert not run.total["missed"]


def test_progress_is_that_of_the_schedule():
    """At each release and end, of every job, by an independent count over the segments of the trace."""
    for tasks in layland.generate(6, "2.4", cpus=3, seed=5, sets=4, periods="log:10ms..40ms", arrivals="sporadic:1"):
        heard.clear()
        run = tasks.simulate(Heard(0), until="300ms", seed=2)
        segments = list(zip(*(run.segments.to_dict()[key] for key in ("name", "seq", "start_ns", "end_ns"))))
        assert len(heard) > 100
        for _, name, number, now, executed, remaining, late in heard:
            held = sum(
                max(0, min(end, now) - min(start, now)) for task, seq, start, end in segments if (task, seq) == (name, number)
            )
            assert executed == held
            assert remaining == max(0, tasks[name].wcet_ns - held)
        rows = run.jobs.to_dict()
        deadlines = dict(zip(zip(rows["name"], rows["seq"]), rows["deadline_ns"]))
        assert all(late == (now > deadlines[name, number]) for _, name, number, now, _, _, late in heard)


@pytest.mark.parametrize("speed", ["1/3", "0.446", "7/11", "2"])
def test_progress_counts_the_speed_of_the_cpu(speed):
    heard.clear()
    tasks = layland.TaskSet(
        [layland.Task("a", wcet="1ms", period="4ms", offset="1ms"), layland.Task("b", wcet="3ms", period="40ms")],
        cpus=1,
        platform={"speed": {"0": speed}},
    )
    run = tasks.simulate(Heard, until="36ms")
    done = [call for call in heard if call[0] == "completion"]
    assert done and all((call[4], call[5]) == (tasks[call[1]].wcet_ns, 0) for call in done)
    [second] = [call for call in heard if call[:2] == ("key", "b") and call[3] == ms(1)]
    assert second[4] == round(ms(1) * Fraction(speed))
    assert run.total["released"] > 3


def test_a_late_job_has_exceeded_its_deadline():
    heard.clear()
    tasks = layland.TaskSet([layland.Task("a", wcet="4ms", period="10ms", deadline="3ms")], cpus=1)
    assert tasks.simulate(Heard, until="10ms").total["missed"] == 1
    assert [call[6] for call in heard if call[0] == "completion"] == [True]


def test_remaining_times_make_least_laxity_first():
    """The schedule of our own policy, from five lines."""
    for tasks in layland.generate(5, "0.9", cpus=1, seed=3, sets=5, periods="list:10ms,20ms,40ms", granularity="1ms"):
        mine, ours = (tasks.simulate(policy, until="400ms") for policy in (Laxity(), "llf:quantum=1ms:tie=rank"))
        assert mine.total["missed"] == ours.total["missed"] == 0
    tasks = layland.TaskSet([layland.Task(name, wcet="3ms", period="5ms") for name in "abc"], cpus=2)
    assert tasks.simulate(Laxity(quantum=500_000), until="50ms").met
    assert not tasks.simulate("g-edf", until="50ms").met


def test_objects_are_policies_and_stay_as_they_are():
    tasks = layland.TaskSet.load("demo:dhall")
    policy = Weighted(3)
    before = copy.deepcopy(vars(policy))
    first, second = tasks.simulate(policy, until="44ms"), tasks.simulate(policy, until="44ms")
    assert first == second and vars(policy) == before
    assert first.trace.dumps() == tasks.simulate("g-edf", until="44ms").trace.dumps()
    assert first.trace.check(tasks) == []
    # A wrong promise is found out for objects as for classes.
    assert tasks.simulate(Weighted(-1), until="44ms").trace.check(tasks) != []
    with pytest.raises(TypeError, match="weight"):
        tasks.simulate(Weighted, until="44ms")
    listener = Heard(1)
    heard.clear()
    tasks.simulate(listener, until="10ms")
    assert heard and listener.calls == []


def test_names_have_the_arguments():
    tasks = layland.TaskSet.load("demo:dhall")

    def name(policy):
        return tasks.simulate(policy, until="1ms").policy

    assert name(Weighted(3)) == "Weighted(weight 3)"
    assert name(Weighted(weight=3, unit=Fraction(1, 3))) == "Weighted(weight 3; unit 1/3)"
    assert name(Heard()) == "Heard"
    # A policy may be written with a colon, a comma or an equals sign; a name may not.
    assert name(Weighted(1, unit={"a": [1, 2]})) == "Weighted(weight 1; unit {'a'- [1  2]})"
    named = Weighted(4)
    named.name = "mine"
    assert name(named) == "mine"
    compared = layland.compare(tasks, [Weighted(2), Weighted(-2), "g-edf"], until="44ms")
    assert compared.table.to_dict()["policy"] == ["Weighted(weight 2)", "Weighted(weight -2)", "g-edf"]
    assert compared[Weighted(2)].total != compared[Weighted(-2)].total
    assert "<html" in compared.html()
    assert tasks.check(Weighted(2))[Weighted(2)].verdict == "no"


def test_objects_go_to_other_processes():
    tasks = layland.TaskSet.load("demo:dhall")
    again = pickle.loads(pickle.dumps(Weighted(3, unit=2)))
    assert vars(again) == vars(Weighted(3, unit=2))
    run = tasks.simulate(again, until="44ms")
    assert run.policy == "Weighted(weight 3; unit 2)"
    back = pickle.loads(pickle.dumps(run))
    assert back == run and back.html() == run.html()
    experiment = layland.experiment("stevanato2021").with_policy(Weighted(2))
    assert pickle.loads(pickle.dumps(experiment)) == experiment
    assert experiment != layland.experiment("stevanato2021").with_policy(Weighted(3))
    part = {"sets": 1, "at": {"utilization": "7.2"}, "horizon": "100ms"}
    rows = experiment.run("fig1a", **part).table.to_dict()
    assert "Weighted(weight 2)" in rows["series"]


def test_a_class_for_something_else_says_what_to_do():
    tasks = layland.TaskSet.load("demo:dhall")

    class OfSimSo:
        def schedule(self, cpu):
            return None, cpu

    class Underived:
        def key(self, job, now):
            return 0

    with pytest.raises(TypeError, match=r"layland.simso.policy\(OfSimSo\)"):
        tasks.simulate(OfSimSo)
    for wrong in (Underived, Underived()):
        with pytest.raises(TypeError, match=r"class Underived\(layland.Policy\)"):
            tasks.simulate(wrong)


def test_the_policy_that_fits_is_that_of_the_command(command):
    """Without a policy every door takes the same one, and says why."""
    for name in layland.demos():
        tasks = layland.TaskSet.load(f"demo:{name}")
        run = tasks.simulate(until="1ms")
        assert run.because
        told = command("sim", f"demo:{name}", "--until", "1ms", "--json", "--quiet", codes=(0, 1))
        assert f'"policy": "{run.policy}"' in told
    assert layland.TaskSet.load("demo:mixed").simulate(until="1ms").policy == "amc"
    one = layland.TaskSet([layland.Task("a", wcet="1ms", period="4ms", priority=1)], cpus=1).simulate(until="8ms")
    assert (one.policy, one.because) == ("g-fp", "every task has a priority")
    assert layland.TaskSet.load("demo:dhall").simulate("g-edf", until="1ms").because is None
