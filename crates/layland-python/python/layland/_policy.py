"""Policies in Python."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from ._layland import Job, PolicyTask, System

__all__ = ["Key", "Policy", "PolicyLike", "names_and_classes"]

Key: TypeAlias = int | Fraction | tuple[Any, ...]
"""The key that orders jobs: the smaller key goes first."""


class Policy:
    """A scheduling policy. Derive a class from it, and pass the class itself where a policy is expected.

    There are two ways to choose the jobs that run:

    - an order of jobs, ``key(job, now)``: whenever something happens, the jobs with the smallest keys run, one on each
      CPU. Equal keys go to the smaller rank, then to the task that comes first. Jobs stay where they run, go back to
      the CPU where their task ran last if that is idle, and take the lowest idle CPU otherwise.
    - ``decide(now)``, which returns the job of each CPU.

    With both, ``on_release``, ``on_completion`` and ``on_timer`` report the events before a decision. A method
    ``on_..`` of another name is a TypeError, since nothing would call it.

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
    """

    name: ClassVar[str] = ""
    like: ClassVar[str | None] = None
    fixed_key: ClassVar[bool] = False
    wake_at: int | None = None

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


PolicyLike: TypeAlias = str | type[Policy]
"""A name with its options, such as ``"p-edf:fit=wfd"``, or a class."""


_HOOKS = ("on_release", "on_completion", "on_timer")


def describe(policy: type[Policy]) -> tuple[str, str, bool, bool, bool, str | None]:
    """The description of a class for the registry: its name and title, whether it has an order of jobs, whether that is
    fixed, whether it receives events, and the policy that it is like."""
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise TypeError(f"a policy is a name or a class derived from layland.Policy, and not {policy!r}")
    has_key = policy.key is not Policy.key
    if has_key == (policy.decide is not Policy.decide):
        raise TypeError(f"{policy.__name__} has to define either key(job, now) or decide(now)")
    if policy.fixed_key and not has_key:
        raise TypeError(f"{policy.__name__} has a fixed_key, and no key(job, now)")
    for name in dir(policy):
        if name.startswith("on_") and name not in _HOOKS and callable(getattr(policy, name)):
            raise TypeError(f"{policy.__name__} defines {name}, which nothing calls: there are {', '.join(_HOOKS)}")
    listens = any(getattr(policy, name) is not getattr(Policy, name) for name in _HOOKS)
    title = (policy.__doc__ or policy.__name__).strip().splitlines()[0]
    return policy.name or policy.__name__, title, has_key, policy.fixed_key, listens, policy.like


def names_and_classes(
    policies: Sequence[PolicyLike], system: System | None = None
) -> tuple[list[str], list[type[Policy]]]:
    """The names of some policies, and the classes among them, as they are for a system."""
    names: list[str] = []
    classes: list[type[Policy]] = []
    for policy in policies:
        if isinstance(policy, str):
            names.append(policy)
            continue
        if system is not None and isinstance(policy, type) and issubclass(policy, Policy):
            policy = policy._for(system)
        names.append(describe(policy)[0])
        if policy not in classes:
            classes.append(policy)
    return names, classes
