"""An object of one process is equal in another one, and an error in a worker is raised in the process that waits."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import layland
import pytest
from layland import simso
from test_simso import Edf as OfSimSo

class Shortest(layland.Policy):
    like = "g-rm"

    def key(self, job, now):
        return job.task.period


def demo():
    return layland.TaskSet.load("demo:dhall")


def errors():
    refused = pytest.raises(layland.Refused, layland.TaskSet.load("demo:overload").simulate, "p-edf:fit=ffd").value
    inputs = pytest.raises(layland.InputError, layland.TaskSet.loads, "layland = 1\n[[task]]\n").value
    usage = pytest.raises(layland.UsageError, layland.as_ns, "5 parsecs").value
    made = layland.UsageError("no such thing", "take another one")
    unknown = layland.UnknownVerdict("neither yes nor no")
    noted = layland.Refused("mine", "it is full", "a")
    noted.add_note("of set 7")
    return [refused, inputs, usage, made, unknown, noted, layland.Error("wrong")]


def values():
    tasks, run = demo(), demo().simulate("g-edf", until="44ms")
    mine = tasks.simulate(Shortest, until="44ms")
    compared = layland.compare(layland.TaskSet.load("demo:overload"), ["g-edf", "p-edf:fit=ffd"], until="44ms")
    assert compared.refused and compared.runs
    nothing = layland.Table.restored([("a", "int", [None, 3]), ("b", "real", [None, None]), ("c", "bool", [True, None])])
    return {
        "Task": tasks.tasks[0],
        "TaskSet": tasks,
        "Run": run,
        "Run of a class": mine,
        "Run without a schedule": tasks.simulate("g-edf", until="44ms", record=False),
        "Run of SimSo": tasks.simulate(simso.policy(OfSimSo, data={"a": 1}), until="44ms"),
        "Trace": run.trace,
        "Table": run.jobs,
        "Table of nothing": nothing,
        "Checked": tasks.check("g-edf", "p-edf"),
        "Guarantee": tasks.check("p-edf")["p-edf"],
        "Comparison": compared,
        "Analysis": tasks.analyse("GFB"),
        "Proof": layland.verify(tasks, tasks.check("p-edf").certificate())[0],
        "Duration": 5 * layland.ms,
        "Verdict": layland.Verdict.UNKNOWN,
        "Claim": layland.experiment("tang2021").grids[0],
    }


def fields(error):
    return type(error), str(error), error.args, dict(vars(error))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_exceptions_have_all_of_their_fields_in_another_process(protocol):
    for error in errors():
        again = pickle.loads(pickle.dumps(error, protocol))
        assert fields(again) == fields(error)
        assert fields(copy.copy(error)) == fields(error)


def test_every_exception_of_the_package_is_tried():
    public = {value for value in vars(layland).values() if isinstance(value, type) and issubclass(value, layland.Error)}
    assert public == {type(error) for error in errors()} | {layland.DoesNotApply} & public


@pytest.mark.parametrize("name", list(values()))
def test_results_are_the_same_in_another_process(name):
    value = values()[name]
    again = pickle.loads(pickle.dumps(value))
    assert again == value and again is not value or isinstance(value, layland.Verdict)
    assert copy.copy(value) == value and copy.deepcopy(value) == value
    assert repr(again) == repr(value)


def test_what_a_result_answers_is_the_same_in_another_process(tmp_path):
    tasks = demo()
    for policy in ("g-edf", Shortest):
        run = tasks.simulate(policy, until="44ms")
        again = pickle.loads(pickle.dumps(run))
        assert again.trace.dumps() == run.trace.dumps()
        assert again.trace.check(tasks) == run.trace.check(tasks) == []
        assert again.jobs.to_csv() == run.jobs.to_csv() and again.total == run.total
        assert again.html() == run.html()
    # The rule is not lost either: a trace that breaks it is found out there, too.
    broken = type("Latest", (Shortest,), {"key": lambda self, job, now: -job.deadline, "__module__": __name__})
    globals()["Latest"] = broken
    run = tasks.simulate(broken, until="44ms")
    assert pickle.loads(pickle.dumps(run.trace)).check(tasks) == run.trace.check(tasks) != []
    checked = tasks.check("p-edf")
    assert pickle.loads(pickle.dumps(checked)).certificate() == checked.certificate()
    # The length of the run that a file requests is kept, and its warnings are not repeated.
    path = Path(__file__).parent / "identifiers.xml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = layland.TaskSet.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(loaded))
    assert again == loaded and again.policy == loaded.policy
    assert again._system.asked_until_ns == loaded._system.asked_until_ns == 30_000_000
    assert again._system.simso_identifiers == loaded._system.simso_identifiers


def test_experiments_are_the_same_in_another_process():
    packaged = layland.experiment("stevanato2021")
    of_text = layland.Experiment.loads(packaged.toml, name="stevanato2021")
    for experiment in (packaged, of_text, packaged.with_policy("g-rm"), packaged.with_policy(Shortest, label="mine")):
        again = pickle.loads(pickle.dumps(experiment))
        assert (again.name, again.toml, again.series) == (experiment.name, experiment.toml, experiment.series)
        part = {"sets": 1, "at": {"utilization": "7.2"}, "horizon": "200ms"}
        assert again.run("fig1a", **part).table == experiment.run("fig1a", **part).table


def refuse(number):
    if number % 2:
        return layland.TaskSet.load("demo:overload").simulate("p-edf:fit=ffd")
    return layland.TaskSet.loads("layland = 1\n[[task]]\n")


def simulate(number):
    return demo().simulate(Shortest, until=f"{number}ms")


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_worker_that_refuses_does_not_hang_its_parent(start, tmp_path):
    script = textwrap.dedent(
        f"""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        import layland
        from test_pickles import refuse, simulate
        if __name__ == "__main__":
            context = multiprocessing.get_context({start!r})
            with context.Pool(2) as pool:
                for number, kind in ((1, layland.Refused), (2, layland.InputError)):
                    try:
                        pool.map(refuse, [number])
                    except kind as error:
                        assert str(error), error
                    else:
                        raise AssertionError("nothing was raised")
                assert [run.end_ns for run in pool.map(simulate, [11, 22])] == [11_000_000, 22_000_000]
            with ProcessPoolExecutor(2, mp_context=context) as pool:
                for number, kind in ((1, layland.Refused), (2, layland.InputError)):
                    assert type(pool.submit(refuse, number).exception()) is kind
                assert pool.submit(simulate, 11).result().end_ns == 11_000_000
        """
    )
    program = tmp_path / "worker.py"
    program.write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr
