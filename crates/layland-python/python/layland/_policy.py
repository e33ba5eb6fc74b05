"""Policies in Python."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeAlias

from . import _layland
from ._errors import NoSuchName, UsageError
from ._layland import Job, PolicyTask, System

__all__ = ["Key", "Own", "Policy", "PolicyLike", "names_and_classes"]

Key: TypeAlias = int | Fraction | tuple[Any, ...]
"""The key that orders jobs: the smaller key goes first."""


class Policy:
    """A scheduling policy. Derive a class from it, and pass the class where a policy is expected; or, if its policies
    have parameters, an object: ``tasks.simulate(Aging(rate=3))``. Each simulation works on a copy of that object, made
    before ``setup``. Its name in results is that of the class with its arguments, ``Aging(rate 3)``, unless it has a
    ``name`` of its own.

    There are two ways to choose the jobs that run:

    - an order of jobs, ``key(job, now)``: whenever something happens, the jobs with the smallest keys run, one on each
      CPU. Equal keys go to the smaller rank, then to the task that comes first. Jobs stay where they run, go back to
      the CPU where their task ran last if that is idle, and take the lowest idle CPU otherwise.
    - ``decide(now)``, which returns the job of each CPU.

    With both, ``on_release``, ``on_completion`` and ``on_timer`` report the events before a decision. A method
    ``on_..`` of another name is a TypeError, since nothing would call it.

    A job knows its ``release``, its ``deadline``, how much it has ``executed`` and what ``remaining`` part of its WCET it
    may still need, as of the call. No policy knows when a job will really end.

    Times are whole nanoseconds. A policy has to be deterministic: the same calls give the same answers. An
    exception in a method ends the simulation, which raises it.

    Attributes
    ----------
    name : str
        Its name in results; the name of the class, if it is empty.
    like : str or None
        A built-in policy that makes the same schedules, such as ``"g-edf"``. The analyses of that policy then apply to
        this one, and the trace checker holds this one to its rule. A wrong claim makes wrong answers.
    fixed_key : bool
        True if the key of a job never changes: it is then computed once, which is faster.
    wake_at : int or None
        The time of the next decision if nothing else happens, in nanoseconds; set it in any method. It has to be later
        than now. At that time ``on_timer`` is called, and it is ``None`` again.

    Examples
    --------
    >>> import layland
    >>> class MostUrgent(layland.Policy):
    ...     def key(self, job, now):
    ...         return job.deadline - job.task.wcet
    >>> tasks = layland.TaskSet.load("demo:dhall")
    >>> tasks.simulate(MostUrgent, until="40ms").total["missed"]
    0

    A policy with a parameter:

    >>> class Weighted(layland.Policy):
    ...     def __init__(self, weight):
    ...         self.weight = weight
    ...     def key(self, job, now):
    ...         return job.deadline - self.weight * job.remaining
    >>> tasks.simulate(Weighted(2), until="40ms").policy
    'Weighted(weight 2)'
    """

    name: str = ""
    like: str | None = None
    fixed_key: bool = False
    wake_at: int | None = None
    _arguments: ClassVar[tuple[tuple[Any, ...], dict[str, Any]]] = ((), {})

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        made = super().__new__(cls)
        if arguments or named:
            # For its name in results.
            vars(made)["_arguments"] = (arguments, named)
        return made

    @classmethod
    def _for(cls, system: System) -> type[Policy]:
        """The class as it is for a system: another one where it has to know more than its tasks."""
        del system
        return cls

    def setup(self, tasks: Sequence[PolicyTask], cpus: int) -> None:
        """Is called once, before everything else, with the tasks of the set and the number of CPUs."""

    def key(self, job: Job, now: int) -> Key:
        """The key of a ready job at this time: the smaller, the sooner it runs. Not a float."""
        raise TypeError(f"{type(self).__name__} has no order of jobs")

    def on_release(self, job: Job, now: int) -> None:
        """A job is ready."""

    def on_completion(self, job: Job, now: int) -> None:
        """A job has ended: it has completed, was aborted, or its task has left. Its CPU is idle."""

    def on_timer(self, now: int) -> None:
        """The time that ``wake_at`` requested has come."""

    def decide(self, now: int) -> Sequence[Job | None]:
        """For each CPU the ready job that it runs from now on, or ``None``."""
        raise TypeError(f"{type(self).__name__} does not decide")


Own: TypeAlias = type[Policy] | Policy
"""A policy of one's own: a class derived from :class:`Policy`, or an object of it."""

PolicyLike: TypeAlias = str | Own
"""A name with its options, such as ``"p-edf:fit=wfd"``, or a policy of one's own."""


_HOOKS = ("on_release", "on_completion", "on_timer")


def describe(policy: Own) -> tuple[str, str, bool, bool, bool, str | None]:
    """The description of a policy for the registry: its name and title, whether it has an order of jobs, whether that is
    fixed, whether it receives events, and the policy that it is like."""
    kind = policy if isinstance(policy, type) else type(policy)
    if not issubclass(kind, Policy):
        raise TypeError(f"a policy is a name or a class derived from layland.Policy, and not {policy!r}{_hint(kind)}")
    has_key = kind.key is not Policy.key
    if has_key == (kind.decide is not Policy.decide):
        raise TypeError(f"{kind.__name__} has to define either key(job, now) or decide(now)")
    if policy.fixed_key and not has_key:
        raise TypeError(f"{kind.__name__} has a fixed_key, and no key(job, now)")
    for name in dir(kind):
        if name.startswith("on_") and name not in _HOOKS and callable(getattr(kind, name)):
            raise TypeError(f"{kind.__name__} defines {name}, which nothing calls: there are {', '.join(_HOOKS)}")
    listens = any(getattr(kind, name) is not getattr(Policy, name) for name in _HOOKS)
    title = (kind.__doc__ or kind.__name__).strip().splitlines()[0]
    return _name(policy, kind), title, has_key, policy.fixed_key, listens, policy.like


def _hint(kind: type) -> str:
    """Advice for classes that were written for something else."""
    if callable(getattr(kind, "schedule", None)):
        return f": layland.simso.policy({kind.__name__}) makes a policy of a scheduler for SimSo"
    if callable(getattr(kind, "key", None)) or callable(getattr(kind, "decide", None)):
        return f": derive it, class {kind.__name__}(layland.Policy)"
    return ""


_LONGEST = 60


def _name(policy: Own, kind: type[Policy]) -> str:
    """The name of a policy: that of its class, with the arguments of an object."""
    if policy.name or isinstance(policy, type):
        return policy.name or kind.__name__
    arguments, named = policy._arguments
    try:
        bound = inspect.signature(kind).bind(*arguments, **named).arguments
    except (TypeError, ValueError):
        bound = {}
    # A fraction is shorter as a string, and a string by itself.
    words = {name: str(value) if isinstance(value, (str, Fraction)) else repr(value) for name, value in bound.items()}
    told = "; ".join(f"{name} {word}" for name, word in words.items())
    # These separate names and options.
    told = told.translate({ord(":"): "-", ord(","): " ", ord("="): " "})
    told = told if len(told) <= _LONGEST else told[:_LONGEST] + ".."
    return f"{kind.__name__}({told})" if told else kind.__name__


def begin(policy: Own) -> Policy:
    """The object that decides in one simulation."""
    return policy() if isinstance(policy, type) else copy.deepcopy(policy)


def names_and_classes(policies: Sequence[PolicyLike], system: System | None = None) -> tuple[list[str], list[Own]]:
    """The names of some policies, and those of one's own among them, as they are for a system."""
    names: list[str] = []
    classes: list[Own] = []
    for policy in policies:
        if isinstance(policy, str):
            names.append(policy)
            continue
        if system is not None and isinstance(policy, type) and issubclass(policy, Policy):
            policy = policy._for(system)
        names.append(describe(policy)[0])
        if not any(policy is other for other in classes):
            classes.append(policy)
    return names, classes


def name_of(policy: PolicyLike) -> str:
    """The name of a policy in results.

    Raises
    ------
    UsageError
        If there is no such policy.
    TypeError
        If it is neither a name nor a policy.
    """
    return _layland.canonical(policy) if isinstance(policy, str) else describe(policy)[0]


def name_among(policy: PolicyLike, names: Sequence[str]) -> str:
    """The one of some names in results that a policy has.

    Raises
    ------
    KeyError
        If it has none of them.
    """
    name = policy if isinstance(policy, str) else describe(policy)[0]
    if name in names:
        return name
    try:
        canonical = _layland.canonical(name)
    except UsageError:
        canonical = name
    if canonical in names:
        return canonical
    raise NoSuchName(f"there is no result of `{name}`", f"there are {', '.join(f'`{one}`' for one in names)}")
