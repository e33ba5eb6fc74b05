"""The policies that come with the package."""

from __future__ import annotations

from dataclasses import dataclass

from . import _layland

__all__ = ["PolicyInfo", "policies"]


@dataclass(frozen=True)
class PolicyInfo:
    """What is known of a policy."""

    name: str
    """Its name."""
    title: str
    """Its name in full."""
    summary: str
    """What it does, in a sentence."""
    refuses: tuple[str, ...]
    """What it refuses."""
    options: dict[str, str]
    """Its options, with their values and defaults: ``name:option=value``."""
    bibtex: tuple[str, ...]
    """Whom to cite."""


def policies() -> list[PolicyInfo]:
    """Every policy that comes with the package.

    Examples
    --------
    >>> [known.title for known in policies() if known.name == "g-edf"]
    ['global EDF']
    """
    return [
        PolicyInfo(name, title, summary, tuple(refuses), dict(options), tuple(bibtex))
        for name, title, summary, refuses, options, bibtex in _layland.policies()
    ]
