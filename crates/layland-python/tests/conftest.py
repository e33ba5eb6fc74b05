"""Fixtures of several tests."""

import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture
def command():
    """Runs the command `layland` that was installed with the package, and returns its standard output."""
    program = shutil.which("layland", path=str(Path(sys.executable).parent))
    assert program, "the command is installed beside the interpreter"

    def run(*arguments, codes=(0,)):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode in codes, done.stderr
        return done.stdout

    return run


def pytest_terminal_summary(terminalreporter):
    """Says what was skipped as all tests here do: `.ci/run` counts these lines."""
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"skipped: {reason.removeprefix('Skipped: ')}")
