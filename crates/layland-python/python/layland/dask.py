"""An experiment on a Dask cluster: ``python -m layland.dask EXPERIMENT --workers 4``.

The units of work of an experiment become tasks of Dask, each of which runs the command ``layland lab run`` on a worker.
Results go into one folder that the workers share, as they do with ``layland lab run --shard``; tables and figures are
made of it at the end, here. A unit is measured again if its worker dies, and twice does no harm: the files are the same
bytes as those of one process. Needs ``distributed`` (``pip install 'layland[dask]'``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import Error, UsageError
from ._experiment import Experiment

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["main", "sweep"]

# A number of units that fits into a command line with room to spare: the name of a unit has 32 characters.
_MOST = 1000


def sweep(
    client: Client,
    experiment: str | Path | Experiment,
    out: str | Path,
    *,
    options: Sequence[str] = (),
    batch: int | None = None,
    retries: int = 3,
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Measures the units of an experiment that a folder lacks, on the workers of a cluster.

    Parameters
    ----------
    client
        The cluster. Its workers need this version of the package and see the folder under the same path.
    experiment
        The name of a packaged experiment, a file that describes one, or an experiment. One with policies in Python
        cannot be measured in this way: run it here, or compare sets by ``layland.compare_all(.., client=client)``.
    out
        The folder.
    options
        Further options of ``layland lab run`` that say what is measured, as in ``["--sets", "100"]``.
    batch
        The number of units that one task measures. By default, each thread of the cluster has about 16 tasks.
    retries
        The number of times that a task is tried again after it failed. If its worker dies, Dask always tries it again.
    progress
        Called after each task with the number of units that are measured, and the number of all units.

    Returns
    -------
    int
        The number of units that were measured.

    Raises
    ------
    layland.Error
        If the experiment cannot be read, or a task failed for good: the text is what the command said.
    """
    folder = Path(out).resolve()
    if isinstance(experiment, Experiment):
        if experiment != Experiment.loads(experiment.toml, name=experiment.name):
            message = f"the experiment `{experiment.name}` has policies that its description does not have"
            help = "write them into the description; with those in Python, use experiment.run or layland.compare_all"
            raise UsageError(message, help)
        folder.mkdir(parents=True, exist_ok=True)
        copy = folder / "experiment.toml"
        copy.write_text(experiment.toml, encoding="utf-8", newline="\n")
        experiment = copy
    shared = str(experiment)
    if shared.endswith(".toml"):
        # Workers may not see the file of the user. The name of a unit does not depend on that of the file.
        folder.mkdir(parents=True, exist_ok=True)
        copy = folder / "experiment.toml"
        if copy.resolve() != Path(experiment).resolve():
            copy.write_bytes(Path(experiment).read_bytes())
        shared = str(copy)
    which = [shared, "--output", str(folder), *options]
    listed = json.loads(_layland(["lab", "units", *which, "--json"]))["units"]
    missing = [unit["name"] for unit in listed if not unit["is_done"]]
    if batch is None:
        threads = sum(client.nthreads().values()) or 1
        batch = max(1, len(missing) // (16 * threads))
    batch = min(batch, _MOST)
    batches = [missing[at : at + batch] for at in range(0, len(missing), batch)]
    tasks = {
        # The results are files, and so no task is like another one, even if its arguments are.
        client.submit(_measure, which, names, pure=False, retries=retries): len(names)
        for names in batches
    }
    there = len(listed) - len(missing)
    if progress is not None:
        progress(there, len(listed))
    try:
        from distributed import as_completed

        for task in as_completed(tasks):
            error = task.exception()
            if error is not None:
                raise error if isinstance(error, Error) else Error(str(error))
            there += tasks[task]
            if progress is not None:
                progress(there, len(listed))
    finally:
        client.cancel(list(tasks))
    return len(missing)


def _measure(which: list[str], names: list[str]) -> None:
    """Measures units, on a worker."""
    _layland(["lab", "run", *which, "--units", ",".join(names), "--workers", "1", "--quiet"])


def _layland(arguments: list[str]) -> str:
    """Runs the command of this package in a process of its own, which a worker that dies leaves to its end."""
    command = [sys.executable, "-m", "layland", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(done.stderr.strip().removeprefix("error: "))
    return done.stdout


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m layland.dask",
        description="Runs an experiment on a Dask cluster, and draws it. Interrupted, the same command goes on.",
    )
    parser.add_argument("experiment", help="a packaged experiment, or a file that describes one (*.toml)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="the number of processes on this machine; one per CPU")
    where.add_argument("--scheduler", metavar="ADDRESS", help="the scheduler of a cluster, as in tcp://host:8786")
    where.add_argument("--scheduler-file", metavar="FILE", help="the file that the scheduler of a cluster wrote")
    parser.add_argument("--output", metavar="FOLDER", help="a folder that all workers see; by default lab/NAME")
    parser.add_argument("--batch", type=int, metavar="N", help="the number of units that one task measures")
    parser.add_argument("--retries", type=int, default=3, metavar="N", help="the retries of a failed task (3)")
    for option, what in [
        ("--sets", "the number of task sets of each point"),
        ("--horizon", "the length of each simulation"),
        ("--seed", "the seed of every draw"),
        ("--only", "measure and draw only what these figures need"),
    ]:
        parser.add_argument(option, help=what)
    parser.add_argument("--no-timing", action="store_true", help="do not measure how long decisions take")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of ``python -m layland.dask``; what it returns is the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    for name in ("workers", "batch"):
        if getattr(given, name) is not None and getattr(given, name) < 1:
            parser.error(f"--{name}: write a number of at least 1")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("error: needs distributed: pip install 'layland[dask]'", file=sys.stderr)
        return 5
    name = Path(given.experiment).stem if given.experiment.endswith(".toml") else given.experiment
    out = Path(given.output or Path("lab") / name)
    options = []
    for option in ("sets", "horizon", "seed", "only"):
        if getattr(given, option) is not None:
            options += [f"--{option}", getattr(given, option)]
    cluster: Any = None
    if given.scheduler is None and given.scheduler_file is None:
        # One thread each: the command is a process of its own, and needs no other thread here.
        cluster = LocalCluster(n_workers=given.workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    where = cluster or given.scheduler
    try:
        with Client(where) if where else Client(scheduler_file=given.scheduler_file) as client:
            if cluster is None:
                print(f"the dashboard is at {client.dashboard_link}", file=sys.stderr)
            with _Shown() as shown:
                sweep(
                    client,
                    given.experiment,
                    out,
                    options=options,
                    batch=given.batch,
                    retries=given.retries,
                    progress=shown.tell,
                )
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("interrupted: the same command goes on", file=sys.stderr)
        return 130
    finally:
        if cluster is not None:
            cluster.close()
    last = ["--no-timing"] if given.no_timing else []
    draw = [sys.executable, "-m", "layland", "lab", "run", given.experiment, "--output", str(out), *options, *last]
    return subprocess.run(draw, check=False).returncode


class _Shown:
    """The progress on standard error: a bar if there is tqdm, otherwise a line for each twentieth."""

    def __enter__(self) -> _Shown:
        self.bar: Any = None
        self.twentieths = -1
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def tell(self, done: int, units: int) -> None:
        if self.twentieths < 0:
            try:
                from tqdm import tqdm

                self.bar = tqdm(total=units, initial=done, unit="unit", disable=None)
            except ImportError:
                pass
        if self.bar is not None and not self.bar.disable:
            self.bar.update(done - self.bar.n)
        elif units > 0 and 20 * done // units != self.twentieths:
            print(f"{done} of {units} units are measured", file=sys.stderr)
        self.twentieths = 20 * done // max(units, 1)


if __name__ == "__main__":
    sys.exit(main())
