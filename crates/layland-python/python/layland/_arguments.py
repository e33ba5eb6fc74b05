"""Arguments of functions: what they may be, and errors that name them as the user wrote them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any

from ._errors import UsageError
from ._times import as_int, time_of

__all__ = ["known", "rate", "sequence", "switch", "text", "texts", "time_ns", "whole"]


def whole(value: Any, what: str, least: int, most: int) -> int:
    """A whole number within bounds, which belong to it.

    Raises
    ------
    TypeError
        If it is not a whole number.
    UsageError
        If it is out of bounds.

    Examples
    --------
    >>> whole(0, "sets", 1, 100)
    Traceback (most recent call last):
    layland._errors.UsageError: `sets` cannot be 0: give a whole number from 1 to 100
    """
    number = as_int(value, what)
    if not least <= number <= most:
        raise UsageError(f"`{what}` cannot be {number}", f"give a whole number from {least}{_up_to(most)}")
    return number


def _up_to(most: int) -> str:
    """An upper bound; one of those that only machines know is not worth a word."""
    if most == 2**64 - 1:
        return " to 2^64 - 1"
    return " on" if most >= 2**31 - 1 else f" to {most}"


def switch(value: Any, what: str) -> bool:
    """True or false, which NumPy has as a type of its own.

    Raises
    ------
    TypeError
        For everything else.
    """
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"`{what}` cannot be the {type(value).__name__} {value!r}: it is True or False")


def text(value: Any, what: str) -> str:
    """A string.

    Raises
    ------
    TypeError
        For everything else.
    """
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"`{what}` cannot be the {type(value).__name__} {value!r}: it is a string")


def texts(value: Any, what: str) -> list[str]:
    """Names: several, or a single one by itself.

    Raises
    ------
    TypeError
        For everything else.

    Examples
    --------
    >>> texts("QPA", "tests"), texts(("QPA", "RTA"), "tests")
    (['QPA'], ['QPA', 'RTA'])
    """
    if isinstance(value, str):
        return [str.__str__(value)]
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [text(one, what) for one in value]
    raise TypeError(f"`{what}` cannot be the {type(value).__name__} {value!r}: it is a list of names")


def time_ns(value: Any, what: str) -> int:
    """A time in nanoseconds; see :func:`layland.as_ns`."""
    return time_of(value, f"`{what}`")


def rate(value: Any, what: str) -> str:
    """An exact number: a string, a whole number, or a fraction.

    Raises
    ------
    TypeError
        For a float.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if type(value) is Fraction:
        return str(value)
    try:
        return str(as_int(value, what))
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f'`{what}` cannot be the {kind} {value!r}: write an exact number, such as "{value}"') from None


def known(name: Any, names: Collection[str], what: str, listing: str, argument: str = "name") -> str:
    """The one of some names that is meant: upper and lower case are the same.

    Parameters
    ----------
    name
        The name.
    names
        The names that exist.
    what
        The kind of thing, for the error.
    listing
        How to list them.
    argument
        The argument that has the name.

    Raises
    ------
    TypeError
        If it is not a string.
    UsageError
        If there is none of this name.

    Examples
    --------
    >>> known("gfb", ["GFB", "BAK"], "analysis", "layland.analyses()")
    'GFB'
    >>> known("GFF", ["GFB", "BAK"], "analysis", "layland.analyses()")
    Traceback (most recent call last):
    layland._errors.UsageError: there is no analysis `GFF`: did you mean `GFB`? layland.analyses() lists them
    """
    wanted = text(name, argument)
    if wanted in names:
        return wanted
    folded = {one.casefold(): one for one in names}
    if wanted.casefold() in folded:
        return folded[wanted.casefold()]
    near = difflib.get_close_matches(wanted.casefold(), list(folded), n=1, cutoff=0.65)
    meant = f"did you mean `{folded[near[0]]}`? " if near else ""
    few = f"there are {', '.join(names)}" if not near and len(names) <= _FEW else f"{listing} lists them"
    raise UsageError(f"there is no {what} `{wanted}`", meant + few)


_FEW = 12


def sequence(value: Any, what: str, of: str) -> Sequence[Any]:
    """Several values in an order.

    Raises
    ------
    TypeError
        For a string, a mapping, and everything that cannot be iterated over.
    """
    is_other = isinstance(value, (str, bytes, bytearray)) or hasattr(value, "keys")
    if is_other or not isinstance(value, Iterable):
        raise TypeError(f"`{what}` cannot be the {type(value).__name__} {value!r}: it is a list of {of}")
    return value if isinstance(value, Sequence) else list(value)
