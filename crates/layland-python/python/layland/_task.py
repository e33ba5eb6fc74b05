"""Tasks."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Set
from datetime import timedelta
from fractions import Fraction
from html import escape
from typing import Any, TypeAlias

from ._arguments import text, time_ns
from ._errors import UsageError
from ._times import Duration, TimeLike, as_int, as_ns, as_text

__all__ = ["Cpus", "Task", "Wcet", "written"]

Wcet: TypeAlias = TimeLike | Mapping[str, TimeLike]
Cpus: TypeAlias = str | Collection[int | str]

# Lists without an order: sets of CPUs, and of the sets of a cache.
_UNORDERED = ("affinity", "cpus", "clusters", "topology", "ucb", "ecb")
_TIMES = ("deadline", "budget", "offset", "jitter", "blocking")


def written(value: Any, key: str, place: str = "") -> Any:
    """A value as a task-set file has it: times as strings with units, exact numbers.

    Raises
    ------
    TypeError
        For a float, and for every other type that a file has no form for.
    """
    place = place or key
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return _whole_text(value, place)
    if type(value) is Fraction and key == "of":
        return str(value)
    if isinstance(value, (Duration, timedelta, Fraction)) or type(value).__name__ == "timedelta64":
        return as_text(time_ns(value, place))
    if isinstance(value, Mapping):
        return {str(name): written(inner, str(name), f"{place}.{name}") for name, inner in value.items()}
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    try:
        return as_int(value, place)
    except TypeError:
        pass
    if isinstance(value, Set) and key in _UNORDERED:
        return [written(inner, key, place) for inner in sorted(value, key=str)]
    # Arrays of NumPy and columns of tables are collections, too.
    is_other = isinstance(value, (bytes, bytearray, Set)) or getattr(value, "ndim", 1) != 1
    if isinstance(value, Collection) and not is_other:
        return [written(inner, key, place) for inner in value]
    raise TypeError(f"`{place}` cannot be the {type(value).__name__} {value!r}: it has to be exact")


def _whole_text(value: Any, key: str) -> str:
    """A text that a file can have."""
    plain = text(value, key)
    for at, c in enumerate(plain, 1):
        if "\ud800" <= c <= "\udfff":
            message = f"`{key}` is {plain!r}, whose character {at} is half of a surrogate pair"
            raise UsageError(message, "write the character that is meant")
    return plain


def _time(value: Any, key: str) -> str:
    return as_text(time_ns(value, key))


class Task:
    """A recurrent task.

    Parameters
    ----------
    name
        Unique in its set.
    wcet
        The longest execution time; for mixed criticality one for each level, by its name. A task that has ``steps`` may
        leave it out: it is then the sum of its ``run`` steps.
    period
        The period, or the least time between two arrivals.
    deadline
        The relative deadline; the period, if it is left out.
    keys
        Everything else that a task of a task-set file can have: ``budget``, ``criticality``, ``affinity``, ``cluster``,
        ``offset``, ``jitter``, ``rank``, ``priority``, ``jobs``, ``on_miss``, ``reclaim``, ``nonpreemptive``,
        ``segments``, ``steps``, ``follows``, ``let_interval``, ``group``, ``release``, ``exec``, ``count``, ``thread``,
        ``ucb``, ``ecb`` (``layland schema`` describes them), and ``blocking``: for how long at most jobs of lower priority delay
        its jobs, for the analyses that know it. A key that is ``None`` is left out.

    Raises
    ------
    TypeError
        For a time without a unit, and for a float.
    UsageError
        For a string that is not a time.

    Examples
    --------
    >>> import layland
    >>> task = layland.Task("control", wcet="1ms", period="5ms", deadline=4 * layland.ms)
    >>> task.utilization, task.deadline_ns
    (Fraction(1, 5), 4000000)
    """

    __slots__ = ("_keys", "_origin")

    _keys: dict[str, Any]
    # The groups of keys of the set that it was taken from, which a new set has to be given.
    _origin: tuple[str, ...]

    def __init__(
        self,
        name: str,
        *,
        period: TimeLike,
        wcet: Wcet | None = None,
        deadline: TimeLike | None = None,
        **keys: Any,
    ) -> None:
        all_keys: dict[str, Any] = {"name": _whole_text(name, "name"), "period": _time(period, "period")}
        if deadline is not None:
            all_keys["deadline"] = _time(deadline, "deadline")
        if isinstance(wcet, Mapping):
            all_keys["wcet"] = {_whole_text(level, "wcet"): _time(time, "wcet") for level, time in wcet.items()}
        elif wcet is not None:
            all_keys["wcet"] = _time(wcet, "wcet")
        elif keys.get("steps") is None:
            raise TypeError("`wcet` cannot be the NoneType None: only a task with `steps` has another execution time")
        for key, value in keys.items():
            if value is not None:
                all_keys[key] = _time(value, key) if key in _TIMES else written(value, key)
        self._keys, self._origin = all_keys, ()

    @classmethod
    def _of(cls, keys: dict[str, Any], origin: tuple[str, ...] = ()) -> Task:
        made = cls.__new__(cls)
        made._keys, made._origin = keys, origin
        return made

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._keys["name"])

    @property
    def period_ns(self) -> int:
        """The period in nanoseconds."""
        return as_ns(self._keys["period"])

    @property
    def deadline_ns(self) -> int:
        """The relative deadline in nanoseconds."""
        return as_ns(self._keys.get("deadline", self._keys["period"]))

    @property
    def wcet_ns(self) -> int:
        """The WCET in nanoseconds; of several the longest, which is that of the task's own level."""
        wcet = self._keys.get("wcet")
        if wcet is None:
            runs = [step.split() for step in self._keys["steps"]]
            return sum(as_ns(length) for word, length, *_ in runs if word == "run")
        return max(map(as_ns, wcet.values())) if isinstance(wcet, dict) else as_ns(wcet)

    @property
    def offset_ns(self) -> int:
        """The first arrival in nanoseconds."""
        return self._time("offset")

    @property
    def jitter_ns(self) -> int:
        """The longest time from an arrival to its release in nanoseconds."""
        return self._time("jitter")

    @property
    def priority(self) -> int | None:
        """The fixed priority, of which the smaller comes first; ``None``, if it has none."""
        return self._keys.get("priority")

    @property
    def criticality(self) -> str | None:
        """The name of its criticality level; ``None`` for the lowest, if it is not named."""
        return self._keys.get("criticality")

    @property
    def utilization(self) -> Fraction:
        """WCET over period, exact."""
        return Fraction(self.wcet_ns, self.period_ns)

    @property
    def keys(self) -> dict[str, Any]:
        """All of it, with the keys of the task-set file."""
        return json.loads(json.dumps(self._keys))  # type: ignore[no-any-return]

    def _time(self, key: str) -> int:
        return as_ns(self._keys[key]) if key in self._keys else 0

    def replace(self, **keys: Any) -> Task:
        """The same task with other values of these keys; ``None`` leaves a key out.

        Examples
        --------
        >>> import layland
        >>> layland.Task("a", wcet="1ms", period="5ms").replace(jitter="1ms").jitter_ns
        1000000
        """
        made = Task(**{**self._keys, **keys})
        made._origin = self._origin
        return made

    __replace__ = replace

    def __reduce__(self) -> tuple[Any, ...]:
        return Task._of, (self._keys, self._origin)

    def __eq__(self, other: object) -> bool:
        return self._keys == other._keys if isinstance(other, Task) else NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._keys, sort_keys=True))

    def __repr__(self) -> str:
        rest = ", ".join(f"{key}={value!r}" for key, value in self._keys.items() if key != "name")
        return f"Task({self.name!r}, {rest})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(key)}</th><td>{escape(str(value))}</td></tr>" for key, value in self._keys.items()
        )
        return f"<table>{rows}</table>"
