"""Experiments: policies and analyses over a grid of random sets."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _layland
from ._arguments import known, rate, switch, texts, time_ns, whole
from ._errors import UsageError
from ._policy import Own, PolicyLike, names_and_classes
from ._times import TimeLike, as_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Claim", "Experiment", "FigureInfo", "Grid", "Results", "experiment", "experiments"]

Value: TypeAlias = str | int | Fraction


@dataclass(frozen=True)
class Grid:
    """Points at which sets are drawn: every combination of the values of the axes."""

    name: str
    """Its name."""
    axes: dict[str, list[str]]
    """The parameters that vary (those of ``layland gen``), with their values."""
    series: tuple[str, ...]
    """The series that are measured for each set."""


@dataclass(frozen=True)
class FigureInfo:
    """The description of a figure."""

    name: str
    """Its name."""
    title: str
    """Its title."""
    kind: str
    """``lines``: a statistic along an axis; ``distribution``: the share of jobs that are no later than x periods;
    ``bars``: statistics side by side."""
    labels: tuple[str, str]
    """The labels of its axes."""
    bounds: tuple[tuple[float, float] | None, tuple[float, float] | None]
    """The bounds of its axes, if they do not follow from the data."""
    log_y: bool
    """True if the vertical axis is logarithmic."""
    bars: tuple[str, ...]
    """The label of each group of bars."""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and its judgement here."""

    name: str
    """Its name."""
    text: str
    """Its statement."""
    source: str
    """Its place in the paper."""
    here: str
    """``holds``, ``partly``, ``does not hold``, ``not shown`` (it could not have failed) or ``undecided`` (too little was
    measured: other task sets could give the opposite)."""
    agree: int
    """The number of points, or pairs of points, at which it agrees."""
    of: int
    """The number of them at which it could have failed."""
    even: int
    """The number of further ones at which it could not have failed."""
    interval: tuple[int, int] | None
    """The interval of ``agree`` with 99 % confidence, since other task sets could have been drawn; none without a point."""
    against: tuple[str, ...]
    """The points at which it does not agree, in words."""


def _figures(fields: Sequence[_layland._Figure]) -> list[FigureInfo]:
    return [
        FigureInfo(name, title, kind, labels, bounds, log_y, tuple(bars))
        for name, title, kind, labels, bounds, log_y, bars in fields
    ]


def experiments() -> list[str]:
    """The names of the packaged experiments.

    Examples
    --------
    >>> "stevanato2021" in experiments()
    True
    """
    return _layland.experiments()


def experiment(source: str | os.PathLike[str], policies: Sequence[Own] = ()) -> Experiment:
    """A packaged experiment, or a file that describes one (``layland lab show NAME`` prints one to begin with).

    Parameters
    ----------
    source
        The name of a packaged experiment, or the path of a file that ends in ``.toml``.
    policies
        Policies of one's own that the file names.

    Raises
    ------
    UsageError
        If there is no such experiment.
    InputError
        If the file is not valid: with the places, and advice.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import layland
    >>> layland.experiment("tang2021").grids[0].axes
    {'tasks': ['16', '40']}
    """
    path = os.fspath(source)
    if path.endswith(".toml"):
        return Experiment.loads(Path(path).read_bytes(), policies, name=Path(path).stem, place=path)
    found = _layland.Experiment.packaged(known(path, experiments(), "experiment", "layland.experiments()"))
    assert found is not None, "it is in the list"
    return Experiment(found, policies)


_Made: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]


def _packaged(name: str, policies: list[Own]) -> Experiment:
    return experiment(name, policies)


def _read(text: bytes, policies: list[Own], name: str, place: str) -> Experiment:
    return Experiment.loads(text, policies, name=name, place=place)


def _with_policy(of: Experiment, policy: PolicyLike, name: str, label: str) -> Experiment:
    return of.with_policy(policy, name=name, label=label)


class Experiment:
    """A description of an experiment: a grid of parameters, series (policies and tests), figures and claims. It does not
    change. Only the command ``layland lab run`` measures what needs a clock (times of decisions, real threads).
    """

    __slots__ = ("_classes", "_experiment", "_made")

    def __init__(
        self, experiment: _layland.Experiment, classes: Sequence[Own] = (), made: _Made | None = None
    ) -> None:
        self._experiment, self._classes = experiment, list(classes)
        # The arguments to make it again in another process; a packaged one has its name.
        self._made: _Made = (_packaged, (experiment.name, self._classes)) if made is None else made

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made

    def _parts(self) -> tuple[Any, ...]:
        """Everything that results depend on; an object of a policy is the same as another one if its parts are."""
        classes = [one if isinstance(one, type) else (type(one), vars(one)) for one in self._classes]
        return self.name, self.toml, self.series, self.sets, self.seed, classes

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, Experiment) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.toml, tuple(self.series)))

    @classmethod
    def loads(
        cls,
        text: str | bytes,
        policies: Sequence[Own] = (),
        *,
        name: str = "experiment",
        place: str = "<text>",
    ) -> Experiment:
        """Reads a description; see :func:`experiment`.

        Parameters
        ----------
        text
            The description, as TOML.
        policies
            Policies of one's own that it names.
        name, place
            The name of the experiment in results, and of the description in errors.
        """
        data = text.encode() if isinstance(text, str) else text
        read = _layland.Experiment.read(name, place, data, list(policies))
        return cls(read, policies, (_read, (data, list(policies), name, place)))

    @property
    def name(self) -> str:
        """Its name."""
        return self._experiment.name

    @property
    def title(self) -> str:
        """Its title."""
        return self._experiment.title

    @property
    def source(self) -> str:
        """The paper that it repeats, if it repeats one."""
        return self._experiment.source

    @property
    def notes(self) -> str:
        """Notes on the experiment of the paper, and on the choices made here."""
        return self._experiment.notes

    @property
    def sets(self) -> int:
        """The number of sets of each point."""
        return self._experiment.sets

    @property
    def seed(self) -> int:
        """The seed of all draws."""
        return self._experiment.seed

    @property
    def toml(self) -> str:
        """The description as it was read."""
        return self._experiment.text

    @property
    def grids(self) -> list[Grid]:
        """The grids."""
        return [Grid(name, dict(axes), tuple(series)) for name, axes, series in self._experiment.grids()]

    @property
    def series(self) -> dict[str, str]:
        """The series: their names, with their labels in figures."""
        return dict(self._experiment.series())

    @property
    def figures(self) -> list[FigureInfo]:
        """The figures that can be drawn without a clock."""
        return _figures(self._experiment.figures())

    def with_policy(self, policy: PolicyLike, *, name: str | None = None, label: str | None = None) -> Experiment:
        """Adds a policy beside the series, in each grid that simulates policies, and in the figures; a new experiment.

        Parameters
        ----------
        policy
            A name with its options, or a policy of one's own.
        name, label
            Its name in results and figures; by default the name of the policy.

        Raises
        ------
        UsageError
            If there is no such policy, the name is taken, or the experiment simulates nothing.
        """
        [spec], classes = names_and_classes([policy])
        classes = list(dict.fromkeys([*self._classes, *classes]))
        called = spec if name is None else name
        shown = called if label is None else label
        made = (_with_policy, (self, policy, called, shown))
        return Experiment(self._experiment.with_policy(called, shown, spec, classes), classes, made)

    def run(
        self,
        *figures: str,
        sets: int | None = None,
        seed: int | None = None,
        horizon: TimeLike | None = None,
        at: Mapping[str, Value | Sequence[Value]] | None = None,
        series: str | Sequence[str] | None = None,
        folder: str | os.PathLike[str] | None = None,
        fresh: bool = False,
        threads: int | None = None,
        progress: bool = False,
    ) -> Results:
        """Measures it on all CPUs, or a part of it. A part has the rows that the whole has.

        Parameters
        ----------
        figures
            Measure only what these figures need.
        sets, seed, horizon
            The number of sets of each point, the seed of all draws, and the length of each simulation (a time, or
            ``"2 hyperperiods"``); by default as in the description.
        at
            Only the points with these values, as in ``at={"utilization": ["6.4", "7.2"], "tasks": 16}``.
        series
            Only these series.
        folder
            The folder for results, also partial ones, as with ``layland lab run --output``: the same call goes on after an
            interrupt, and more sets are added to those that are there. With policies in Python nothing is kept, since
            their code may have changed. By default nothing is written.
        fresh
            True to forget the contents of the folder.
        threads
            The number of threads that measure; by default one for each CPU. A policy in Python runs on one at a time.
        progress
            True to show the progress as a bar of tqdm.

        Raises
        ------
        UsageError
            If there is no such figure, axis, value or series, or a set cannot be drawn or simulated.
        KeyboardInterrupt
            After Ctrl-C, within some hundredths of a second.
        OSError
            If the folder cannot be written.

        Examples
        --------
        >>> import layland
        >>> measured = layland.experiment("stevanato2021").run("fig1a", sets=2, at={"utilization": "7.2"}, horizon="1s")
        >>> measured.curves("fig1a").to_dict()["series"]
        ['g-edf', 'apedf', 'a2pedf']
        """
        lists = {} if at is None else dict(at)
        sets = None if sets is None else whole(sets, "sets", 1, 2**63 - 1)
        seed = None if seed is None else whole(seed, "seed", 0, 2**63 - 1)
        threads = None if threads is None else whole(threads, "threads", 1, 2**31 - 1)
        fresh, progress = switch(fresh, "fresh"), switch(progress, "progress")
        changes = {
            "sets": sets,
            "seed": seed,
            "horizon": horizon if horizon is None or isinstance(horizon, str) else as_text(time_ns(horizon, "horizon")),
            "at": [(axis, _values(values, axis)) for axis, values in lists.items()],
            "series": None if series is None else texts(series, "series"),
        }
        changed = self._experiment.changed(changes)
        if folder is not None and fresh:
            shutil.rmtree(Path(folder) / "shards", ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="layland-", ignore_cleanup_errors=True) as temporary:
            kept = temporary if folder is None or self._classes else os.fspath(folder)
            measured = _measured(changed, kept, figures, self._classes, threads, progress)
        results = Results(measured, self.name, self.series)
        if folder is not None:
            results.save(folder)
        return results

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}: {self.title})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(grid.name)}</td>"
            f"<td>{escape('; '.join(axis + ': ' + ', '.join(values) for axis, values in grid.axes.items()))}</td>"
            f"<td>{escape(', '.join(grid.series))}</td></tr>"
            for grid in self.grids
        )
        head = "<tr><th>grid</th><th>axes</th><th>series</th></tr>"
        about = f"{self.sets} sets of each point, seed {self.seed}"
        source = f"<p>{escape(self.source)}</p>" if self.source else ""
        return f"<p><b>{escape(self.title)}</b></p>{source}<p>{about}</p><table>{head}{rows}</table>"


def _values(values: Value | Sequence[Value], axis: str) -> list[str]:
    if isinstance(values, Iterable) and not isinstance(values, str):
        return [rate(value, axis) for value in values]
    return [rate(values, axis)]


def _measured(
    experiment: _layland.Experiment,
    folder: str,
    figures: Sequence[str],
    classes: list[Own],
    threads: int | None,
    progress: bool,
) -> _layland.Results:
    """Measures, with a bar if there is to be one."""
    if not progress:
        return experiment.run(folder, list(figures), classes, threads, None)
    from tqdm.auto import tqdm

    with tqdm(unit="unit", desc=experiment.name) as bar:
        return experiment.run(folder, list(figures), classes, threads, _teller(bar))


def _teller(bar: Any) -> Callable[[int, int], None]:
    def tell(done: int, units: int) -> None:
        bar.total = units
        bar.update(done - bar.n)

    return tell


class Results:
    """The measurements of an experiment.

    Examples
    --------
    >>> import layland
    >>> results = layland.experiment("tang2021").run("pushes", sets=1, at={"tasks": 16}, horizon="1s")
    >>> len(results.table), results.table.column_names[:4]
    (2, ['grid', 'point', 'at_tasks', 'set'])
    >>> results.plot("pushes").get_ylabel()
    'Pushes per job'
    """

    __slots__ = ("_results", "labels", "name")

    labels: dict[str, str]
    """The labels of the series in figures, by their names."""

    def __init__(self, results: _layland.Results, name: str, labels: dict[str, str]) -> None:
        self._results, self.name, self.labels = results, name, labels

    @property
    def provenance(self) -> str:
        """Version, experiment, number of sets, horizon and seed."""
        return self._results.provenance

    @property
    def table(self) -> _layland.Table:
        """A row for each set and series: ``grid``, ``point``, a column ``at_AXIS`` for each axis, ``set``, ``seed``,
        ``series``, ``refused``, and every metric (``accepted``, ``miss_ratio``, ``preemptions_per_job``, ..)."""
        return self._results.table()

    @property
    def distribution(self) -> _layland.Table | None:
        """A row for each set, series and ``tardiness`` in periods, with the number of ``jobs`` that were as late; ``None``
        if nothing needs it."""
        return self._results.distribution()

    @property
    def figures(self) -> list[FigureInfo]:
        """The figures of the measurements."""
        return _figures(self._results.figures())

    def curves(self, figure: str) -> _layland.Table:
        """The points of a figure, a row for each series and point: ``series``, its ``number``, ``x``, ``y`` (null where
        nothing was measured), the ``count`` of values that ``y`` is of, and, for a share of sets, the ``low`` and ``high``
        ends of its 95 % confidence interval (Wilson).

        Raises
        ------
        UsageError
            If there is no such figure.
        """
        return self._results.curves(figure)

    def plot(self, figure: str, ax: Axes | None = None) -> Axes:
        """Draws a figure with matplotlib; see :func:`layland.plot.curves`."""
        from . import plot

        return plot.curves(self, figure, ax)

    def svg(self, figure: str) -> str:
        """The figure as ``layland lab run`` draws it, one column of a paper wide, as SVG."""
        return self._results.svg(figure)

    def pdf(self, figure: str) -> bytes:
        """The figure as PDF; see :meth:`svg`."""
        return self._results.pdf(figure)

    def png(self, figure: str, scale: int = 6) -> bytes:
        """The figure as PNG, with ``scale`` pixels for each point (1/72 inch); see :meth:`svg`.

        Raises
        ------
        UsageError
            If there is no such figure, or the picture is too large.
        """
        drawn = self._results.png(figure, scale) if 0 < scale < 1 << 16 else None
        if drawn is None:
            raise UsageError(f"no picture has {scale} pixels for each point", "take a scale from 1 to 20")
        return drawn

    @property
    def looks(self) -> list[tuple[str, int, list[float], bool]]:
        """The look of each series: its colour, the number of its marker (circle, square, triangle, diamond, triangle on
        its head), the dashes of its line, and whether its marker is an outline."""
        return self._results.looks()

    @property
    def claims(self) -> list[Claim]:
        """The claims, with their judgements at the points that were measured."""
        return [
            Claim(name, text, source, here, agree, of, even, interval, tuple(against))
            for name, text, source, here, agree, of, even, interval, against in self._results.claims()
        ]

    def claim(self, name: str) -> Claim:
        """A claim by its name.

        Raises
        ------
        KeyError
            If there is none.
        """
        for found in self.claims:
            if found.name == name:
                return found
        raise KeyError(name)

    @property
    def tables(self) -> dict[str, str]:
        """The tables of the description as text, by their names."""
        return dict(self._results.tables())

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes what ``layland lab run`` writes: results (CSV and Parquet), figures (SVG, PDF and CSV), claims and tables
        as text, and the description.

        Returns
        -------
        list of str
            The files, relative to the folder.

        Raises
        ------
        OSError
            If one cannot be written.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        return [os.fspath(path) for path in self._results.write(os.fspath(folder))]

    def __repr__(self) -> str:
        return f"Results({self.name!r}, {len(self.table)} rows)"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(claim.name)}</td><td>{claim.here}</td><td>{claim.agree}/{claim.of}</td>"
            f"<td>{escape(claim.text)}</td></tr>"
            for claim in self.claims
            if claim.here != "undecided"
        )
        head = "<tr><th>claim</th><th>here</th><th>agree</th><th>what is claimed</th></tr>"
        return f"<p>{escape(self.provenance)}</p><table>{head}{rows}</table>"
