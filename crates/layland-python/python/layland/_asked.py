"""Questions whose answers are computed on demand."""

from __future__ import annotations

from dataclasses import dataclass

from . import _layland
from ._policy import Policy

__all__ = ["Asked"]


@dataclass(frozen=True)
class Asked:
    """A question of the command about a set in memory."""

    system: _layland.System
    """The set."""
    name: str
    """Its name."""
    arguments: list[str]
    """The arguments of the command."""
    classes: list[type[Policy]]
    """The classes among the policies."""
