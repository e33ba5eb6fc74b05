"""The Python of the README runs, and that of the page about Python in the book."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def blocks(page):
    found = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"{page} shows some Python"
    return found


@pytest.mark.parametrize("code", blocks("README.md"))
def test_the_readme_runs(code):
    exec(compile(code, "README.md", "exec"), {})


def test_the_page_of_the_book_runs():
    """One block after the other: they go on with what is there."""
    page = "docs/guide/python.md"
    names = {}
    for code in blocks(page):
        exec(compile(code, page, "exec"), names)
