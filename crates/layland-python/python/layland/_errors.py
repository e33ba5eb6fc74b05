"""Errors, with the fields that a program needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Error", "InputError", "InputWarning", "Problem", "Refused", "UnknownVerdict", "UsageError"]


@dataclass(frozen=True)
class Problem:
    """An error in an input, or a warning about it."""

    severity: str
    """``error`` or ``warning``."""
    code: str
    """The kind of problem, for ``layland explain``."""
    message: str
    """The message."""
    label: str
    """A short text beside the place."""
    line: int | None
    """The line, from 1; ``None`` if the text as a whole is meant."""
    column: int | None
    """The column in characters, from 1."""
    help: str | None
    """Advice on how to fix it."""
    place: str | None = None
    """The part of a set that was built in Python, in words: its task and the argument."""


class Error(ValueError):
    """The base class of the errors that this package raises about its arguments. Errors can be pickled: an error in a
    worker is raised in the process that waits for it."""

    def _fields(self) -> tuple[Any, ...]:
        """The arguments of its class."""
        return self.args

    def __reduce__(self) -> tuple[Any, ...]:
        # Without this the class would be called with the text alone. The rest are notes, and attributes set by users.
        return type(self), self._fields(), self.__dict__


class InputError(Error):
    """The input is not a valid task set.

    Attributes
    ----------
    problems : list of Problem
        Every problem, with its place.
    unlisted : int
        The number of further problems.
    """

    def __init__(self, text: str, problems: list[Problem], unlisted: int = 0) -> None:
        super().__init__(text)
        self.problems = problems
        self.unlisted = unlisted

    def _fields(self) -> tuple[Any, ...]:
        return str(self), self.problems, self.unlisted

    def _first(self) -> Problem | None:
        errors = [problem for problem in self.problems if problem.severity == "error"]
        return next(iter(errors), None)

    @property
    def line(self) -> int | None:
        """The line of the first error, from 1."""
        first = self._first()
        return first.line if first else None

    @property
    def column(self) -> int | None:
        """The column of the first error, from 1."""
        first = self._first()
        return first.column if first else None

    @property
    def help(self) -> str | None:
        """Advice on how to fix the first error."""
        first = self._first()
        return first.help if first else None


class UsageError(Error):
    """An argument is wrong.

    Attributes
    ----------
    message : str
        The message.
    help : str or None
        Advice on how to fix it.
    """

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(f"{message}: {help}" if help else message)
        self.message = message
        self.help = help

    def _fields(self) -> tuple[Any, ...]:
        return self.message, self.help


class NoSuchName(UsageError, KeyError):
    """A name by which a result has nothing: a ``KeyError`` that says which names there are."""

    def __str__(self) -> str:
        # A KeyError would write the text in quotes.
        return str(self.args[0])


class Refused(Error):
    """A policy cannot schedule a set.

    Attributes
    ----------
    policy, reason : str
        The policy and the reason.
    task : str or None
        The task that is the reason.
    """

    def __init__(self, policy: str, reason: str, task: str | None = None) -> None:
        super().__init__(reason)
        self.policy = policy
        self.reason = reason
        self.task = task

    def _fields(self) -> tuple[Any, ...]:
        return self.policy, self.reason, self.task


class UnknownVerdict(Error):
    """A verdict that is not known was used as a truth value."""


class InputWarning(UserWarning):
    """A setting in an input does not count as written."""
