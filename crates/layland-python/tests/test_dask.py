"""An experiment on a Dask cluster is the experiment of one process, to the last byte."""

import os
import signal
import subprocess
import sys

import pytest

import layland

pytest.importorskip("distributed", reason="needs distributed (Dask)")
import layland.dask

# Dask, and not Layland, on its way down.
pytestmark = pytest.mark.filterwarnings("ignore")

EXPERIMENT = """
lab = 1
title = "a sweep"
sets = 12
seed = 5
horizon = "200ms"
block = 2

[generator]
cpus = 2
tasks = 6
periods = "log:10ms..100ms"

[[series]]
name = "g-edf"
policy = "g-edf"

[[grid]]
name = "load"
utilization = ["1.0", "1.5", "1.9"]

[[figure]]
name = "accepted"
grid = "load"
x = "utilization"
y = "accepted"
statistic = "mean"
"""


@pytest.fixture
def sweep(tmp_path, command):
    """The file of an experiment, and the folder of one process."""
    file, one = tmp_path / "sweep.toml", tmp_path / "one"
    file.write_text(EXPERIMENT)
    command("lab", "run", str(file), "--output", str(one), "--quiet")
    return file, one


def files(folder):
    """The bytes of every file, but of those that a killed process was about to write."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".part"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def cluster(workers):
    """Processes on this machine."""
    from distributed import LocalCluster

    return LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)


def test_a_command_runs_it_on_workers(sweep, tmp_path):
    file, one = sweep
    many = tmp_path / "many"
    arguments = [sys.executable, "-m", "layland.dask", str(file), "--workers", "2", "--output", str(many), "--batch", "3"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "18 of 18 units are measured" in done.stderr
    assert files(many) == files(one)


def test_a_worker_is_killed_and_no_byte_changes(sweep, tmp_path, command):
    from distributed import Client

    file, one = sweep
    many = tmp_path / "many"
    told = []
    with cluster(2) as local, Client(local) as client:

        def kill_one(done, units):
            told.append(done)
            if len(told) == 3:
                pid = next(iter(client.run(os.getpid).values()))
                os.kill(pid, signal.SIGKILL)

        assert layland.dask.sweep(client, file, many, batch=1, progress=kill_one) == 18
        assert told[0] == 0 and told[-1] == 18
        assert layland.dask.sweep(client, file, many) == 0
    command("lab", "run", str(file), "--output", str(many), "--quiet")
    assert files(many) == files(one)


def test_what_is_wrong_is_said(tmp_path):
    from distributed import Client

    file = tmp_path / "sweep.toml"
    file.write_text(EXPERIMENT.replace('policy = "g-edf"', 'policy = "g-edff"'))
    with cluster(1) as local, Client(local) as client:
        with pytest.raises(layland.Error, match="g-edf"):
            layland.dask.sweep(client, file, tmp_path / "many")
        # A worker whose units have other names, as one of another build has.
        file.write_text(EXPERIMENT)
        which = [str(file), "--output", str(tmp_path / "many")]
        task = client.submit(layland.dask._measure, which, ["0" * 32])
        assert "the build" in str(task.exception())
