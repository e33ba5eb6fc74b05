"""Times as people write them, and whole nanoseconds, with which everything is decided.

A time is a string with a unit, a :class:`datetime.timedelta`, a :class:`Duration` (an integer with a unit:
``5 * layland.ms``), or a :class:`fractions.Fraction`, which counts milliseconds. A ``pandas.Timedelta`` counts with its
nanoseconds, and a ``numpy.timedelta64`` with its unit. A bare number is refused: its unit is not known, and a float is not exact. So is any other type that is
derived from one of these, because it may carry more than the part that is known here.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from fractions import Fraction
from functools import total_ordering
from operator import index
from typing import Any, TypeAlias, TypeGuard

from . import _layland
from ._errors import UsageError

__all__ = ["Duration", "TimeLike", "as_ns", "as_text", "ms", "ns", "s", "us"]


def as_int(value: Any, what: str) -> int:
    """A whole number: an ``int``, or an object with an exact value as one, such as an integer of NumPy.

    Raises
    ------
    TypeError
        For everything else: a float, a truth value, a string.

    Examples
    --------
    >>> as_int(5, "cpus")
    5
    >>> as_int(5.0, "cpus")
    Traceback (most recent call last):
    TypeError: `cpus` cannot be the float 5.0: it has to be a whole number
    """
    if not isinstance(value, bool):
        try:
            # `index` may return an object of a derived class, whose text is another one.
            return int(index(value))
        except TypeError:
            pass
    raise TypeError(f"`{what}` cannot be the {type(value).__name__} {value!r}: it has to be a whole number")


@total_ordering
class Duration:
    """An exact length of time.

    Multiply a unit by an integer or a fraction.

    Examples
    --------
    >>> import layland
    >>> from fractions import Fraction
    >>> 5 * layland.ms
    Duration('5ms')
    >>> Fraction(1, 2) * layland.ms + 3 * layland.us
    Duration('503us')
    >>> (5 * layland.ms).ns
    5000000

    Raises
    ------
    UsageError
        If the result is not a whole number of nanoseconds.
    TypeError
        If a unit is multiplied by a float.
    """

    __slots__ = ("_ns",)
    # A number of NumPy leaves the product to this class, which refuses floats.
    __array_ufunc__ = None

    def __init__(self, time: TimeLike) -> None:
        self._ns = as_ns(time)

    @classmethod
    def of_ns(cls, ns: int) -> Duration:
        """The length of this number of nanoseconds.

        Raises
        ------
        TypeError
            If it is not an integer.
        """
        made = cls.__new__(cls)
        made._ns = as_int(ns, "ns")
        return made

    @property
    def ns(self) -> int:
        """The length in nanoseconds."""
        return self._ns

    def __mul__(self, factor: int | Fraction) -> Duration:
        if type(factor) is not Fraction:
            try:
                factor = as_int(factor, "factor")
            except TypeError:
                return NotImplemented
        product = Fraction(self._ns) * factor
        if product.denominator != 1:
            raise UsageError(f"{product} ns is not a whole number of nanoseconds", "round the value")
        return Duration.of_ns(product.numerator)

    __rmul__ = __mul__

    def __add__(self, other: Duration) -> Duration:
        return Duration.of_ns(self._ns + other._ns) if isinstance(other, Duration) else NotImplemented

    def __sub__(self, other: Duration) -> Duration:
        return Duration.of_ns(self._ns - other._ns) if isinstance(other, Duration) else NotImplemented

    def __neg__(self) -> Duration:
        return Duration.of_ns(-self._ns)

    def __eq__(self, other: object) -> bool:
        return self._ns == other._ns if isinstance(other, Duration) else NotImplemented

    def __lt__(self, other: Duration) -> bool:
        return self._ns < other._ns if isinstance(other, Duration) else NotImplemented

    def __hash__(self) -> int:
        return hash((Duration, self._ns))

    def __str__(self) -> str:
        return as_text(self._ns)

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"


TimeLike: TypeAlias = str | timedelta | Fraction | Duration
"""The types that are accepted where a time is expected."""

_LIMIT = 1 << 60

ns = Duration.of_ns(1)
"""A nanosecond."""
us = Duration.of_ns(1_000)
"""A microsecond."""
ms = Duration.of_ns(1_000_000)
"""A millisecond."""
s = Duration.of_ns(1_000_000_000)
"""A second."""


def as_ns(time: TimeLike) -> int:
    """A time in whole nanoseconds.

    Parameters
    ----------
    time
        A text with a unit (``"5ms"``, ``"1.5us"``, ``"10/3s"``), a ``timedelta``, a :class:`Duration`, a
        ``Fraction`` of milliseconds, or a ``numpy.timedelta64``.

    Raises
    ------
    TypeError
        For a bare number: a float is not exact, and an integer has no unit. For a type that is derived from one of these
        and may carry more.
    UsageError
        If the text is not a time, or the time is not a whole number of nanoseconds.

    Examples
    --------
    >>> from fractions import Fraction
    >>> as_ns("5ms"), as_ns(timedelta(microseconds=3)), as_ns(Fraction(1, 2))
    (5000000, 3000, 500000)
    >>> as_ns(0.5)
    Traceback (most recent call last):
    TypeError: a time cannot be the float 0.5: write a string with a unit, such as "0.5ms"
    """
    return time_of(time, "a time")


def time_of(time: Any, what: str) -> int:
    """A time in whole nanoseconds; errors name it: an argument in backquotes, or a noun.

    Examples
    --------
    >>> time_of(5, "`until`")
    Traceback (most recent call last):
    TypeError: `until` cannot be the int 5: write a string with a unit, such as "5ms"
    """
    if isinstance(time, str):
        # Anything else that a derived class carries is not a part of the text.
        text = str.__str__(time)
        try:
            return _layland.parse_time(text)
        except UsageError as error:
            if what == "a time":
                raise
            raise UsageError(f"{what} is {text!r}: {error.message}", error.help) from None
    kind = type(time)
    if kind is Duration:
        return limited(time.ns)
    if kind is timedelta or _is_of_pandas(time):
        # A Timedelta of pandas has the nanoseconds below its microseconds beside them.
        rest = as_int(getattr(time, "nanoseconds", 0), "nanoseconds")
        return limited(((time.days * 86_400 + time.seconds) * 1_000_000 + time.microseconds) * 1_000 + rest)
    if kind is Fraction:
        return limited((ms * time).ns)
    if (kind.__module__, kind.__name__) == ("numpy", "timedelta64"):
        return _of_numpy(time, what)
    is_number = isinstance(time, (int, float)) and not isinstance(time, bool)
    write = f"{time}ms" if is_number else "5ms"
    raise TypeError(f'{what} cannot be the {kind.__name__} {time!r}: write a string with a unit, such as "{write}"')


_NUMPY_NS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6}
_NUMPY_NS |= {"us": 10**3, "ns": 1}


def _of_numpy(time: Any, what: str) -> int:
    """A ``timedelta64`` in nanoseconds, without the overflow of its own conversion."""
    unit, count = sys.modules["numpy"].datetime_data(time.dtype)
    if unit not in _NUMPY_NS or time != time:
        raise TypeError(f"{what} cannot be the timedelta64 {time!r}: it needs a unit from weeks to nanoseconds")
    return limited(int(time.astype("int64")) * count * _NUMPY_NS[unit])


def _is_of_pandas(time: object) -> TypeGuard[timedelta]:
    """Returns true for a ``pandas.Timedelta``, but not for a class that is derived from that."""
    kind = type(time)
    module = kind.__module__.partition(".")[0]
    return isinstance(time, timedelta) and (module, kind.__name__) == ("pandas", "Timedelta")


def limited(ns: int) -> int:
    """A number of nanoseconds that all parts can compute with."""
    if abs(ns) > _LIMIT:
        raise UsageError(f"{ns} ns is too long", "at most about 36 years fit")
    return ns


def as_text(ns: int) -> str:
    """Nanoseconds in the largest unit that keeps them exact.

    Examples
    --------
    >>> as_text(1_500)
    '1.5us'
    """
    return _layland.format_time(ns)
