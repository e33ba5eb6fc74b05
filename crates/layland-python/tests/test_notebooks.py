"""The notebooks of the documentation: each runs from its first cell to its last, and what it says of its numbers holds."""

import shutil
from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[3] / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_the_index_has_every_notebook():
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) >= 10
    assert [path.name for path in NOTEBOOKS if f"]({path.name})" not in index] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any("assert " in cell.source for cell in code), "what it claims is asserted"
    assert not any(cell.outputs or cell.execution_count for cell in code), "outputs are made, and not kept"
    # Where nothing of the repository is: a notebook needs the package alone, and the data of its own name.
    for data in FOLDER.glob(f"{path.stem}.*"):
        if data != path:
            shutil.copy(data, tmp_path)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
