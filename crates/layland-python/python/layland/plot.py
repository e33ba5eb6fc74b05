"""Figures with matplotlib: ``Axes`` in and out. They draw; nothing here decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._errors import UsageError
from ._experiment import Results
from ._run import Run, Trace
from ._times import TimeLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "curves", "gantt", "responses"]

_MS = 1e6

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442", "#d55e00", "#b0b0b0")
"""The colours of Okabe and Ito, which colour-blind readers can distinguish: those of tasks in the charts of the command."""
_HATCHES = (None, "//", "..", "--", "\\\\", "++")
_MARKERS = "os^Dv"


def _axes(ax: Axes | None, size: tuple[float, float] = (10, 4)) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def gantt(
    run: Run | Trace,
    ax: Axes | None = None,
    *,
    start: TimeLike | None = None,
    end: TimeLike | None = None,
) -> Axes:
    """A Gantt chart with a row for each task in its colour, the same as in the charts of the command: execution with the
    number of the CPU, arrivals and deadlines as arrows up and down, missed deadlines as red crosses. The axis is in
    milliseconds.

    Parameters
    ----------
    run
        A run whose schedule was recorded, or a trace.
    ax
        The axes to draw on; by default a new figure.
    start, end
        The part that is drawn; by default the one around the first miss.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    UsageError
        If the schedule was not recorded, or there is no such part.
    """
    trace = run.trace if isinstance(run, Run) else run
    first, last = trace.window(start, end)
    axes = _axes(ax)
    names = trace.task_names
    segments = trace.segments.to_dict()
    of_task: dict[int, list[tuple[int, int, int]]] = {}
    for task, cpu, began, ended in zip(
        segments["task"], segments["cpu"], segments["start_ns"], segments["end_ns"], strict=True
    ):
        if began < last and ended > first:
            of_task.setdefault(task, []).append((cpu, max(began, first), min(ended, last)))
    several = len({cpu for rows in of_task.values() for cpu, _, _ in rows}) > 1
    for task in sorted(of_task):
        rows = of_task[task]
        bars = axes.barh(
            [task] * len(rows),
            [(ended - began) / _MS for _, began, ended in rows],
            left=[began / _MS for _, began, _ in rows],
            height=0.5,
            color=COLOURS[task % len(COLOURS)],
            hatch=_HATCHES[task // len(COLOURS) % len(_HATCHES)],
            edgecolor="black",
            linewidth=0.5,
        )
        # A bar of less than a fiftieth of the chart has no room for a number.
        numbers = [str(cpu) if 50 * (ended - began) >= last - first else "" for cpu, began, ended in rows]
        if several:
            axes.bar_label(bars, numbers, label_type="center", fontsize="x-small")
    jobs = trace.jobs.to_dict()
    points: dict[str, list[tuple[float, float]]] = {"arrival": [], "deadline": [], "miss": []}
    for task, arrival, deadline, missed in zip(
        jobs["task"], jobs["arrival_ns"], jobs["deadline_ns"], jobs["missed"], strict=True
    ):
        if first <= arrival <= last:
            points["arrival"].append((arrival / _MS, task + 0.35))
        if first <= deadline <= last:
            points["deadline"].append((deadline / _MS, task - 0.35))
            if missed:
                points["miss"].append((deadline / _MS, float(task)))
    for name, marker, colour, size in (
        ("arrival", "^", "black", 24),
        ("deadline", "v", "black", 24),
        # With an edge, so that it is seen on a bar of any colour.
        ("miss", "X", "red", 70),
    ):
        if points[name]:
            x, y = zip(*points[name], strict=True)
            edge = "white" if name == "miss" else colour
            axes.scatter(x, y, marker=marker, c=colour, edgecolors=edge, s=size, label=name, zorder=3, clip_on=False)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(first / _MS, last / _MS)
    axes.set_xlabel("time [ms]")
    axes.set_title(trace.title)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes


def responses(
    runs: Run | Trace | Sequence[Run | Trace],
    ax: Axes | None = None,
    *,
    task: str | None = None,
) -> Axes:
    """The distribution of response times, from the arrivals: for each run the share of completed jobs that take no
    longer. The axis is in milliseconds.

    Parameters
    ----------
    runs
        One or more runs whose schedules were recorded.
    ax
        The axes to draw on; by default a new figure.
    task
        Only the jobs of this task.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    UsageError
        If no job completed, or a schedule was not recorded.
    """
    axes = _axes(ax)
    for run in [runs] if isinstance(runs, (Run, Trace)) else runs:
        trace = run.trace if isinstance(run, Run) else run
        jobs = trace.jobs.to_dict()
        pairs = zip(jobs["name"], jobs["response_ns"], strict=True)
        times = sorted(ns / _MS for name, ns in pairs if ns is not None and task in (None, name))
        if not times:
            of = "" if task is None else f" of `{task}`"
            raise UsageError(f"no job{of} has completed in {trace.title}", "simulate for longer")
        shares = [(at + 1) / len(times) for at in range(len(times))]
        axes.step([times[0], *times], [0.0, *shares], where="post", label=trace.title)
    axes.set_xlabel("response time [ms]")
    axes.set_ylabel("share of jobs")
    axes.set_ylim(0, 1)
    axes.legend()
    return axes


def curves(results: Results, figure: str, ax: Axes | None = None) -> Axes:
    """A figure of an experiment, one column of a paper wide: each series in its colour, with its marker and its dashes,
    the same as in the figures of ``layland lab``, 95 % confidence intervals of shares, and a legend above the axes.

    Parameters
    ----------
    results
        The measurements.
    figure
        The name of the figure (:attr:`Results.figures`).
    ax
        The axes to draw on; by default a new figure of 3.5 by 2.8 inches.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    UsageError
        If there is no such figure, or nothing of it was measured.
    """
    rows = results.curves(figure).to_dict()
    found = [info for info in results.figures if info.name == figure]
    if not found or not rows["x"]:
        raise UsageError(f"nothing of figure `{figure}` was measured", "run the experiment with it")
    [info] = found
    axes = _axes(ax, (3.5, 2.8))
    labels = results.labels
    looks = results.looks
    by_series: dict[tuple[int, str], list[tuple[float, float | None]]] = {}
    intervals: dict[int, list[tuple[float, float, float]]] = {}
    for number, name, x, y, low, high in zip(
        rows["number"], rows["series"], rows["x"], rows["y"], rows["low"], rows["high"], strict=True
    ):
        by_series.setdefault((number, name), []).append((x, y))
        if low is not None and not (info.log_y and low <= 0):
            intervals.setdefault(number, []).append((x, low, high))
    # A series without a value is not in the legend.
    by_series = {key: points for key, points in by_series.items() if any(y is not None for _, y in points)}
    for place, ((number, name), points) in enumerate(by_series.items()):
        # On a logarithmic axis nothing is at 0, and a line stops where nothing was measured.
        heights = [float("nan") if y is None or (info.log_y and y <= 0) else y for _, y in points]
        colour, marker, dashes, hollow = looks[number]
        if info.kind == "bars":
            width = 0.8 / len(by_series)
            lefts = [x - 0.4 + width * place for x, _ in points]
            axes.bar(lefts, heights, width * 0.92, align="edge", color=colour, label=labels[name])
            continue
        if info.kind == "distribution":
            axes.step([x for x, _ in points], heights, where="post")
        else:
            axes.plot([x for x, _ in points], heights, marker=_MARKERS[marker], markersize=3.5)
        line = axes.lines[-1]
        if hollow:
            line.set_markerfacecolor("none")
        if number in intervals:
            at, lows, highs = zip(*intervals[number], strict=True)
            axes.vlines(at, lows, highs, colors=colour, linewidth=0.5)
        line.set(color=colour, linewidth=1.1, label=labels[name])
        # A marker on the border is whole, unless the figure cuts something off.
        line.set_clip_on(any(bounds is not None and not bounds[0] <= value <= bounds[1]
                             for point in points for value, bounds in zip(point, info.bounds, strict=True)
                             if value is not None))
        if dashes:
            line.set_dashes(dashes)
    if info.kind == "bars":
        axes.set_xticks(range(1, len(info.bars) + 1), info.bars)
    if info.log_y:
        axes.set_yscale("log")
    for limits, bounds in ((axes.set_xlim, info.bounds[0]), (axes.set_ylim, info.bounds[1])):
        if bounds is not None:
            limits(*bounds)
    axes.set_xlabel(info.labels[0])
    axes.set_ylabel(info.labels[1])
    axes.grid(color="#dedede", linewidth=0.5)
    axes.set_axisbelow(True)
    columns = 2 if len(by_series) == 4 else min(len(by_series), 3)
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, frameon=False, fontsize="small", title=info.title
    )
    return axes
