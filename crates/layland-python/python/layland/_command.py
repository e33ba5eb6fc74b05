"""The command ``layland``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from . import _layland
from ._policy import Own

__all__ = ["main", "run_command"]


def run_command(arguments: Sequence[str], policies: Sequence[Own] = ()) -> int:
    """Answers a command line as the program does: on standard output, and not as a result.

    Wrong arguments, and ``--help``, end the process.

    Parameters
    ----------
    arguments
        The arguments, without the name of the program.
    policies
        Policies of one's own, which the command knows by their names.

    Returns
    -------
    int
        The exit code: 0 yes, 1 no, 3 bad input, 4 unknown, 5 refused by the system.
    """
    return _layland.command(["layland", *arguments], list(policies))


def main() -> None:
    """The command line of this process."""
    # The program listens for Ctrl-C where it can keep what it has found, and otherwise ends at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_command(sys.argv[1:]))
