"""The Python of the README runs, and that of the pages about Python in the book."""

import re
from pathlib import Path

import layland
import pytest

ROOT = Path(__file__).parents[3]


def blocks(page):
    found = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"{page} shows some Python"
    return found


@pytest.mark.parametrize("code", blocks("README.md"))
def test_the_readme_runs(code):
    exec(compile(code, "README.md", "exec"), {})


@pytest.mark.parametrize("page", ["docs/guide/python.md", "docs/from/simso.md", "docs/from/pycpa.md"])
def test_the_pages_of_the_book_run(page):
    """One block after the other: they go on with what is there."""
    names = {}
    for code in blocks(page):
        exec(compile(code, page, "exec"), names)


def test_the_page_has_the_columns_of_the_tables():
    text = (ROOT / "docs/guide/python.md").read_text(encoding="utf-8")
    tasks = layland.TaskSet.load("demo:dhall")
    run, checked = tasks.simulate(until="44ms"), tasks.check("p-edf")
    compared = layland.compare(tasks, "p-edf", until="44ms")
    tables = {
        "run.jobs": run.jobs,
        "run.segments": run.segments,
        "run.chains": run.chains,
        "checked.table": checked.table,
        "compared.table": compared.table,
    }
    for name, table in tables.items():
        [row] = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        assert re.findall("`([a-z_]+)`", row.split("|")[3]) == table.column_names, name
