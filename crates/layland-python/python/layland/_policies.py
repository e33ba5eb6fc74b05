"""The policies that come with the package."""

from __future__ import annotations

from dataclasses import dataclass

from . import _layland

__all__ = ["PolicyInfo", "policies"]


@dataclass(frozen=True)
class PolicyInfo:
    """The description of a policy."""

    name: str
    """Its name."""
    title: str
    """Its full name."""
    summary: str
    """Its behaviour, in a sentence."""
    refuses: tuple[str, ...]
    """The sets that it refuses."""
    options: dict[str, str]
    """Its options, with their values and defaults: ``name:option=value``."""
    bibtex: tuple[str, ...]
    """The papers to cite, as BibTeX."""


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
