"""Random task sets."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from . import _layland
from ._arguments import rate, switch, texts, time_ns, whole
from ._tasks import TaskSet
from ._times import TimeLike, as_int, as_text

__all__ = ["generate"]

RateLike: TypeAlias = str | int | Fraction
RangeLike: TypeAlias = str | tuple[RateLike, RateLike]
CountsLike: TypeAlias = int | str | tuple[int, int]

_MOST_SETS = 1_000_000


def _range(value: RangeLike, what: str) -> str:
    if isinstance(value, str):
        return value
    if not (isinstance(value, tuple) and len(value) == 2):
        raise TypeError(f"`{what}` cannot be the {type(value).__name__} {value!r}: write a pair of exact numbers")
    return f"{rate(value[0], what)}..{rate(value[1], what)}"


def _counts(value: CountsLike, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return f"{as_int(value[0], what)}..{as_int(value[1], what)}"
    return str(as_int(value, what))


def generate(
    tasks: int | None = None,
    utilization: RateLike | None = None,
    *,
    cpus: int = 1,
    seed: int = 0,
    sets: int = 1,
    first: int = 0,
    generator: str | None = None,
    min: RateLike | None = None,
    max: RateLike | None = None,
    range: RangeLike | None = None,
    periods: str | None = None,
    period_granularity: TimeLike | None = None,
    granularity: TimeLike | None = None,
    min_wcet: TimeLike | None = None,
    deadlines: str | None = None,
    offsets: str | None = None,
    arrivals: str | None = None,
    bursts: CountsLike | None = None,
    burst_distance: RangeLike | None = None,
    criticality: Sequence[str] = (),
    probability: Sequence[RateLike] = (),
    factor: RangeLike | None = None,
    graphs: str | None = None,
    nodes: CountsLike | None = None,
    edge_probability: RateLike | None = None,
    fork_probability: RateLike | None = None,
    branches: CountsLike | None = None,
    depth: int | None = None,
    resources: int | None = None,
    access: RateLike | None = None,
    requests: CountsLike | None = None,
    section: str | None = None,
    suspensions: CountsLike | None = None,
    suspension: RangeLike | None = None,
    regions: str | None = None,
    cache_sets: int | None = None,
    cache_utilization: RateLike | None = None,
    reuse: RangeLike | None = None,
    block_reload: TimeLike | None = None,
    affinity: str | None = None,
    feasible: bool = False,
) -> list[TaskSet]:
    """The sets that ``layland gen`` makes: the same arguments and seed give the same sets on any machine.

    Parameters
    ----------
    tasks, utilization
        The number of tasks, and their total utilization: a string (``"7.6"``, ``"38/5"``), an integer or a fraction.
    cpus
        The number of CPUs.
    seed, sets, first
        The seed, the count of sets, and the number of the first one; each set depends on the seed and its number alone.
    generator
        ``randfixedsum`` (the default), ``convolutional``, ``uunifast`` or ``uunifast-discard``.
    min, max, range
        Bounds of the utilization of each task; or the range from which each is drawn.
    periods
        As in ``"log:10ms..1s"``, ``"uniform:10ms..100ms"``, ``"harmonic:5ms*2^4"``, ``"list:5ms,10ms"``.
    period_granularity, granularity, min_wcet
        Periods and all other times are multiples of these; no WCET is shorter.
    deadlines, offsets, arrivals
        As in ``"constrained:0.5..1"``, ``"uniform"``, ``"sporadic:1"``.
    bursts, burst_distance
        The number of jobs in a burst, as in ``(1, 3)``, and their distance, in periods. In the long run one job arrives
        per period.
    criticality, probability, factor
        Levels from low to high, the probability of each, and the growth of WCETs from level to level.
    graphs, nodes, edge_probability
        DAG tasks: ``"gnp"`` or ``"fork-join"``; the number of nodes of each, as in ``(5, 20)``; the probability of an
        edge. ``tasks`` counts graphs, and each utilization is that of a graph: it may exceed 1 if ``max`` does.
    fork_probability, branches, depth
        Of ``"fork-join"``: the probability that a branch forks again, the number of branches of a fork, and the largest
        depth of nested forks.
    resources, access, requests, section
        The number of resources, the probability that a task uses one, the number of requests of each job, and the time
        for which it is held, as in ``"short"``, ``"medium"`` or ``"10us..50us"``. Sections are a part of the WCET.
    suspensions, suspension
        The number of times that a job suspends itself, and the share of the period minus the WCET for which it does, as
        in ``"short"``.
    regions
        The points at which jobs are preempted: ``"segments:2..4"``, ``"floating:0.1..0.3"`` of the WCET, or none
        (``"whole"``).
    cache_sets, cache_utilization, reuse, block_reload
        The number of sets of a cache, the number of blocks that all tasks use together divided by it, the fraction of a
        task's sets that have useful blocks, and the time to reload a block.
    affinity, feasible
        As in ``"clustered:2"``; true to draw until the affinities can carry the set.

    Raises
    ------
    UsageError
        If there are no such sets.
    TypeError
        For a float, which is not exact.

    Examples
    --------
    >>> import layland
    >>> [drawn] = layland.generate(4, "1.5", cpus=2, seed=7)
    >>> len(drawn), drawn.cpus
    (4, 2)
    """
    seed, sets = whole(seed, "seed", 0, 2**64 - 1), whole(sets, "sets", 1, _MOST_SETS)
    first = whole(first, "first", 0, 2**64 - 1 - sets)
    rates = {
        "utilization": utilization,
        "min": min,
        "max": max,
        "edge_probability": edge_probability,
        "fork_probability": fork_probability,
        "access": access,
        "cache_utilization": cache_utilization,
    }
    ranges = {
        "range": range,
        "factor": factor,
        "burst_distance": burst_distance,
        "suspension": suspension,
        "reuse": reuse,
    }
    times = {
        "period_granularity": period_granularity,
        "granularity": granularity,
        "min_wcet": min_wcet,
        "block_reload": block_reload,
    }
    words = {
        "generator": generator,
        "periods": periods,
        "deadlines": deadlines,
        "offsets": offsets,
        "arrivals": arrivals,
        "graphs": graphs,
        "section": section,
        "regions": regions,
        "affinity": affinity,
        "criticality": ",".join(texts(criticality, "criticality")) or None,
        "probability": ",".join(rate(value, "probability") for value in probability) or None,
        "feasible": "true" if switch(feasible, "feasible") else None,
    }
    counts = {
        "cpus": cpus,
        "tasks": tasks,
        "nodes": nodes,
        "branches": branches,
        "depth": depth,
        "resources": resources,
        "requests": requests,
        "suspensions": suspensions,
        "bursts": bursts,
        "cache_sets": cache_sets,
    }
    parameters = {name: text for name, text in words.items() if text is not None}
    parameters |= {name: rate(value, name) for name, value in rates.items() if value is not None}
    parameters |= {name: _range(value, name) for name, value in ranges.items() if value is not None}
    parameters |= {name: as_text(time_ns(time, name)) for name, time in times.items() if time is not None}
    parameters |= {name: _counts(value, name) for name, value in counts.items() if value is not None}
    made = _layland.System.generate(parameters, seed, (first, first + sets))
    return [TaskSet._of(system, f"generated {seed}/{number}") for number, system in enumerate(made, first)]
