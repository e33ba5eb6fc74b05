"""The work before the interpreter ends.

A thread that waits for the interpreter's lock while the interpreter ends is ended where it waits. If it waits within a
policy, frames of the extension module are on its stack, which cannot be unwound like that: the process would crash. So
simulations that daemon threads have left running are stopped first.
"""

from __future__ import annotations

import atexit

from . import _layland

_PATIENCE_MS = 5000


def _end() -> None:
    threads = _layland.end_work()
    if not threads:
        return
    try:
        import ctypes

        # Also notify Python code that goes on for long.
        for thread in threads:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
    except ImportError:
        pass
    _layland.work_has_ended(_PATIENCE_MS)


atexit.register(_end)
