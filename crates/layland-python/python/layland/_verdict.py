"""Yes, no and unknown."""

from __future__ import annotations

from enum import StrEnum

from ._errors import UnknownVerdict

__all__ = ["Verdict"]


class Verdict(StrEnum):
    """The answer to "is it guaranteed?". A verdict is equal to its text, which tables have.

    Examples
    --------
    >>> bool(Verdict.YES), bool(Verdict.NO), Verdict.YES == "yes"
    (True, False, True)
    >>> bool(Verdict.UNKNOWN)
    Traceback (most recent call last):
    layland._errors.UnknownVerdict: the verdict is unknown, which is neither yes nor no: compare it with Verdict.YES
    """

    YES = "yes"
    """Every deadline is guaranteed."""
    NO = "no"
    """The parameters of the tasks allow a run that misses."""
    UNKNOWN = "unknown"
    """No analysis decides."""

    def __bool__(self) -> bool:
        if self is Verdict.UNKNOWN:
            message = "the verdict is unknown, which is neither yes nor no: compare it with Verdict.YES"
            raise UnknownVerdict(message)
        return self is Verdict.YES

    def __str__(self) -> str:
        return str(self.value)
