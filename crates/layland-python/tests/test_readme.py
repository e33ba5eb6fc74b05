"""The Python of the README runs."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[3] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
assert BLOCKS, "the README shows some Python"


@pytest.mark.parametrize("code", BLOCKS)
def test_the_readme_runs(code):
    exec(compile(code, README.name, "exec"), {})
