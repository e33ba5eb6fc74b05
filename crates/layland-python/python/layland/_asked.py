"""Questions about runs, whose pages and files are made on demand."""

from __future__ import annotations

from dataclasses import dataclass

from . import _layland
from ._policy import Own

__all__ = ["Asked"]


@dataclass(frozen=True)
class Asked:
    """A question about a set: what will happen?"""

    system: _layland.System
    """The set."""
    name: str
    """Its name."""
    classes: list[Own]
    """The policies of one's own."""
    policies: list[str]
    """The names of all; none for the one that fits the set."""
    until_ns: int | None
    hyperperiods: int | None
    cycle_ns: int | None
    seed: int
    explore: int | None
