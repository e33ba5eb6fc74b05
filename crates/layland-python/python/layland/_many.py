"""Many sets under many policies, on all CPUs or on a cluster."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _layland
from ._arguments import sequence, switch, whole
from ._compare import FIGURES, several
from ._errors import Refused
from ._policy import PolicyLike, name_of
from ._tasks import TaskSet

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["compare_all"]

_CHECKED = ("verdict", "decided_by", "wcet_factor")
_OPTIONS_OF_CHECK = ("tests", "every_test", "factor", "reserve", "effort", "tick")
# More tasks than this for each thread of a cluster cost more than they balance.
_TASKS_PER_THREAD = 16

Row: TypeAlias = dict[str, Any]


def compare_all(
    sets: Iterable[TaskSet],
    policies: PolicyLike | Iterable[PolicyLike],
    *,
    check: bool = False,
    simulate: bool = True,
    workers: int | None = None,
    client: Client | Executor | None = None,
    progress: bool = False,
    **options: Any,
) -> _layland.Table:
    """Every set under every policy, in parallel: one table with a row for each set and policy, in their order.

    Parameters
    ----------
    sets
        The sets.
    policies
        Names of policies and policies of one's own, one or several.
    check
        True for the columns of :meth:`TaskSet.check`: ``verdict``, ``decided_by``, ``wcet_factor``.
    simulate
        True for the columns of :meth:`TaskSet.simulate`: ``end_ns`` and the figures ``released``, ``missed``,
        ``max_tardiness_ns``, ``max_response_ns``, ``preemptions``, ``migrations``.
    workers
        The number of threads; by default one for each CPU. Policies in Python run on one at a time: give a pool of
        processes as ``client``.
    client
        A Dask client, or an executor of ``concurrent.futures``, whose workers do the work. They need this version of the
        package; for a class of one's own, processes need to find its module, and Dask takes it along.
    progress
        True to show the progress as a bar of tqdm.
    options
        As for :meth:`TaskSet.simulate` (``until``, ``seed``, ..) and :meth:`TaskSet.check` (``tests``, ``effort``, ..).

    Returns
    -------
    Table
        With the columns ``number`` (of the set, from 0), ``set``, ``tasks``, ``cpus``, ``utilization``, ``policy``, those
        above, and ``refused``: the reason why the policy refused the set, if it did.

    Raises
    ------
    UsageError
        If there is no such policy, or an argument is wrong. A set that a policy refuses is in the table.
    TypeError
        If an argument is of another type.
    KeyboardInterrupt
        After Ctrl-C: what runs is stopped.

    Examples
    --------
    >>> import layland
    >>> sets = layland.generate(4, "1.5", cpus=2, seed=7, sets=3, periods="list:10ms,20ms")
    >>> table = layland.compare_all(sets, ["g-edf", "p-edf"], check=True, until="200ms").to_dict()
    >>> table["number"], table["policy"][:2]
    ([0, 0, 1, 1, 2, 2], ['g-edf', 'p-edf'])
    """
    all_sets = [sets] if isinstance(sets, TaskSet) else list(sequence(sets, "sets", "sets"))
    for number, one in enumerate(all_sets, 1):
        if not isinstance(one, TaskSet):
            kind = type(one).__name__
            raise TypeError(f"`sets` has the {kind} {one!r} in place {number}: each is a layland.TaskSet")
    every = several(policies)
    # An error in a policy is one of the question, and not of a worker.
    for policy in every:
        name_of(policy)
    to_check = {key: value for key, value in options.items() if key in _OPTIONS_OF_CHECK}
    to_simulate = {"record": False, **{key: value for key, value in options.items() if key not in _OPTIONS_OF_CHECK}}
    question = (every, to_check if switch(check, "check") else None, to_simulate if switch(simulate, "simulate") else None)
    numbered = list(enumerate(all_sets))
    threads = _threads(client, workers)
    size = max(1, -(-len(numbered) // (_TASKS_PER_THREAD * threads)))
    batches = [numbered[at : at + size] for at in range(0, len(numbered), size)]
    with _Shown(len(numbered) if switch(progress, "progress") else None) as shown:
        if client is None:
            rows = _in_threads(batches, question, threads, shown)
        else:
            rows = _by_client(client, batches, question, shown)
    names = ["number", "set", "tasks", "cpus", "utilization", "policy"]
    names += [*_CHECKED] if check else []
    names += ["end_ns", *FIGURES] if simulate else []
    return _layland.Table.from_lists({name: [row.get(name) for row in rows] for name in [*names, "refused"]})


def _threads(client: Any, workers: int | None) -> int:
    if workers is not None:
        return whole(workers, "workers", 1, 4096)
    if hasattr(client, "nthreads"):
        return sum(client.nthreads().values()) or 1
    return getattr(client, "_max_workers", None) or os.cpu_count() or 1


_Question: TypeAlias = tuple[Sequence[PolicyLike], dict[str, Any] | None, dict[str, Any] | None]
_Batch: TypeAlias = Sequence[tuple[int, TaskSet]]


def measure(batch: _Batch, question: _Question, stopped: Callable[[], bool] | None = None) -> list[Row]:
    """The rows of some sets: the work of one task of a cluster."""
    policies, to_check, to_simulate = question
    rows: list[Row] = []
    for number, tasks in batch:
        for policy in policies:
            if stopped is not None and stopped():
                return rows
            try:
                rows.append(_row(number, tasks, policy, to_check, to_simulate))
            except Exception as error:
                error.add_note(f"set {number} (`{tasks.name}`) under {name_of(policy)}")
                raise
    return rows


def _row(
    number: int, tasks: TaskSet, policy: PolicyLike, to_check: dict[str, Any] | None, to_simulate: dict[str, Any] | None
) -> Row:
    row: Row = {
        "number": number,
        "set": tasks.name,
        "tasks": len(tasks),
        "cpus": tasks.cpus,
        "utilization": float(tasks.utilization),
        "policy": name_of(policy),
    }
    if to_check is not None:
        [found] = tasks.check(policy, **to_check).policies
        row |= {"verdict": str(found.verdict), "decided_by": found.decided_by, "wcet_factor": found.wcet_factor}
        row["refused"] = found.refused
    if to_simulate is not None:
        try:
            run = tasks.simulate(policy, **to_simulate)
        except Refused as refused:
            row["refused"] = refused.reason
        else:
            row |= {"end_ns": run.end_ns, **{name: run.total[name] for name in FIGURES}}
    return row


def _in_threads(batches: Sequence[_Batch], question: _Question, threads: int, shown: _Shown) -> list[Row]:
    stop = threading.Event()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="layland")
    try:
        futures = [pool.submit(measure, batch, question, stop.is_set) for batch in batches]
        return _gathered(futures, batches, shown)
    finally:
        # After an error or Ctrl-C: nothing more begins, and simulations that run are stopped.
        stop.set()
        idents = [thread.ident for thread in pool._threads if thread.ident is not None]
        _layland.stop_work(idents)
        pool.shutdown(wait=True, cancel_futures=True)


def _by_client(client: Any, batches: Sequence[_Batch], question: _Question, shown: _Shown) -> list[Row]:
    # Dask would take equal batches for one.
    options = {"pure": False} if hasattr(client, "nthreads") else {}
    futures = [client.submit(measure, batch, question, **options) for batch in batches]
    try:
        return _gathered(futures, batches, shown)
    finally:
        for future in futures:
            future.cancel()


def _gathered(futures: Sequence[Future[list[Row]]], batches: Sequence[_Batch], shown: _Shown) -> list[Row]:
    rows: list[Row] = []
    for future, batch in zip(futures, batches, strict=True):
        rows += future.result()
        shown.tell(len(batch))
    return rows


class _Shown:
    """The progress, as a bar of tqdm if there is to be one."""

    def __init__(self, total: int | None) -> None:
        self.bar: Any = None
        if total is not None:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=total, unit="set")

    def __enter__(self) -> _Shown:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def tell(self, sets: int) -> None:
        """Some more sets are done."""
        if self.bar is not None:
            self.bar.update(sets)
