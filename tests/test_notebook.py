"""The notebook of the documentation runs, and its objects show themselves."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOK = Path(__file__).parents[1] / "docs" / "walkthrough.ipynb"


def test_the_walkthrough_runs_and_every_object_shows_itself(tmp_path):
    book = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "outputs are not kept in the project"
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output["data"]
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    assert len(shown) == 7
    pictures = [kinds.get("text/html", "") + kinds.get("image/svg+xml", "") for kinds in shown]
    assert all(pictures)
    assert not any("<script" in picture for picture in pictures)
    assert "<svg" in pictures[0], "the network"
    assert "differential privacy" in pictures[2], "the release"
    assert "simulated trips" in pictures[5], "the scorecard"
