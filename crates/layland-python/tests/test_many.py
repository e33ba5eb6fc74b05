"""Many sets under many policies: the rows of single calls, whoever does the work."""

import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import layland
import layland.dask
import pytest


class Shortest(layland.Policy):
    like = "g-rm"

    def key(self, job, now):
        return job.task.period


class Shifted(layland.Policy):
    def __init__(self, shift):
        self.shift = shift

    def key(self, job, now):
        return job.deadline + self.shift * job.task.period


class Broken(layland.Policy):
    def key(self, job, now):
        raise ZeroDivisionError("wrong")


FIGURES = ("released", "missed", "max_tardiness_ns", "max_response_ns", "preemptions", "migrations")
OPTIONS = {"until": "150ms", "seed": 3, "effort": 1000}


def sets():
    drawn = layland.generate(6, "1.7", cpus=2, seed=4, sets=7, periods="log:10ms..50ms", arrivals="sporadic:1")
    return [*drawn, layland.TaskSet.load("demo:overload")]


def expected(policies):
    """The rows by single calls."""
    rows = []
    for number, tasks in enumerate(sets()):
        for policy in policies:
            [checked] = tasks.check(policy, effort=1000).policies
            row = [number, tasks.name, len(tasks), tasks.cpus, float(tasks.utilization)]
            row += [checked.policy, str(checked.verdict), checked.decided_by, checked.wcet_factor]
            try:
                run = tasks.simulate(policy, until="150ms", seed=3)
                row += [run.end_ns, *(run.total[name] for name in FIGURES), None]
            except layland.Refused as refused:
                row += [None] * (1 + len(FIGURES)) + [refused.reason]
            rows.append(tuple(row))
    return rows


def rows(table):
    return list(zip(*table.to_dict().values(), strict=True))


POLICIES = ["G-EDF", "p-edf:fit=ffd", Shortest, Shifted(2)]


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_rows_are_those_of_single_calls_in_order(workers):
    table = layland.compare_all(sets(), POLICIES, check=True, workers=workers, **OPTIONS)
    assert rows(table) == expected(POLICIES)
    assert any(table.to_dict()["refused"]) and any(table.to_dict()["missed"])
    only = layland.compare_all(sets(), POLICIES, check=True, simulate=False, effort=1000)
    assert only.column_names == [name for name in table.column_names if name not in ("end_ns", *FIGURES)]
    assert only.to_dict()["verdict"] == table.to_dict()["verdict"]
    assert "verdict" not in layland.compare_all(sets(), "g-edf", until="1ms").column_names


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_does_the_same(pool):
    with pool(2) as executor:
        table = layland.compare_all(sets(), POLICIES, check=True, client=executor, **OPTIONS)
    assert rows(table) == expected(POLICIES)


@pytest.mark.filterwarnings("ignore")
def test_a_dask_client_does_the_same():
    distributed = pytest.importorskip("distributed", reason="needs distributed (Dask)")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            # A class that no module has is taken along.
            local = type("Local", (layland.Policy,), {"key": lambda self, job, now: job.deadline, "like": "g-edf"})
            table = layland.compare_all(sets(), [*POLICIES, local], check=True, client=client, **OPTIONS)
            assert rows(table) == expected([*POLICIES, local])
            with pytest.raises(ZeroDivisionError):
                layland.compare_all(sets(), ["g-edf", Broken], client=client, until="20ms")
            experiment = layland.experiment("stevanato2021").with_policy(Shortest)
            with pytest.raises(layland.UsageError, match="compare_all"):
                layland.dask.sweep(client, experiment, "never")
    assert not Path("never").exists()


@pytest.mark.filterwarnings("ignore")
def test_an_experiment_goes_to_dask_as_an_object(tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs distributed (Dask)")
    from test_dask import EXPERIMENT

    file, one = tmp_path / "sweep.toml", tmp_path / "one"
    file.write_text(EXPERIMENT)
    experiment = layland.experiment(file)
    expected = experiment.run(folder=one).table
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            assert layland.dask.sweep(client, experiment, tmp_path / "many") == 18
            assert layland.dask.sweep(client, experiment, tmp_path / "many") == 0
    assert experiment.run(folder=tmp_path / "many").table == expected


def test_errors_say_which_set_and_policy():
    with pytest.raises(ZeroDivisionError) as raised:
        layland.compare_all(sets(), ["g-edf", Broken], until="20ms")
    assert any("under Broken" in note and "generated 4/" in note for note in raised.value.__notes__)
    with pytest.raises(layland.UsageError, match="no policy"):
        layland.compare_all(sets(), ["nothing"])
    with pytest.raises(TypeError, match="untl"):
        layland.compare_all(sets(), ["g-edf"], untl="1s")
    assert len(layland.compare_all([], ["g-edf"])) == len(layland.compare_all(sets(), [])) == 0
    # One set is not the list of its tasks.
    assert layland.compare_all(sets()[0], "g-edf", until="9ms").to_dict()["number"] == [0]
    # Sets may come one by one.
    assert len(layland.compare_all(iter(sets()), "g-edf", until="9ms", progress=True)) == len(sets())


def test_ctrl_c_stops_all_threads_at_once():
    script = textwrap.dedent(
        """
        import layland, os, signal, threading, time
        sets = layland.generate(8, "1.9", cpus=2, seed=1, sets=9)
        sent = []
        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(1.0, interrupt).start()
        try:
            layland.compare_all(sets, ["g-edf", "g-rm"], until="1000000s", workers=3)
        except KeyboardInterrupt:
            print(time.monotonic() - sent[0], threading.active_count(), flush=True)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    waited, threads = done.stdout.split()
    assert float(waited) < 2.0 and int(threads) == 1
