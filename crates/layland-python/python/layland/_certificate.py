"""Certificates, which the verifier checks against their sets. It shares no code with the program that wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _verifier
from ._errors import UsageError
from ._tasks import TaskSet
from ._verdict import Verdict

__all__ = ["Proof", "verify"]


@dataclass(frozen=True)
class Proof:
    """The result of the verifier for the proof of an answer."""

    policy: str | None
    """The policy that the answer is about, with its options; ``None``: any policy."""
    verdict: Verdict
    """The claim about it."""
    test: str | None
    """The test that decided."""
    valid: bool | None
    """True if the proof holds; ``None``: there is none."""
    reason: str
    """The reason why it does not hold, or why there is none."""


def verify(tasks: TaskSet, certificate: str | bytes | dict[str, Any]) -> list[Proof]:
    """Holds a certificate against a set, as ``tools/verify_certificate.py`` does: every number is computed again, in
    integers and fractions, by a program that shares no code with the analyses (``docs/certificates.md``).

    Parameters
    ----------
    tasks
        The set.
    certificate
        The result of :meth:`Checked.certificate`, or the file that ``layland check --certificate`` writes.

    Raises
    ------
    UsageError
        If it is not a certificate.

    Examples
    --------
    >>> import layland
    >>> tasks = layland.TaskSet.load("demo:dhall")
    >>> proven = tasks.check("p-edf").certificate()
    >>> [(proof.test, proof.valid) for proof in layland.verify(tasks, proven) if proof.policy == "p-edf"]
    [('QPA', True)]
    >>> layland.verify(tasks, proven.replace('"verdict": "yes"', '"verdict": "no"'))[0].valid
    False
    """
    try:
        document = certificate if isinstance(certificate, dict) else _verifier.read_json(certificate)
        found = _verifier.check(tasks.dumps(), document)
    except (ValueError, TypeError, RecursionError, _verifier.Invalid) as error:
        raise UsageError(f"this is no certificate: {error}") from None
    return [
        Proof(None if who == "any policy" else who, Verdict(verdict), *rest) for who, verdict, *rest in found
    ]
