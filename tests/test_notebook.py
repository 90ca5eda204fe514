"""The notebooks of the documentation run, and the objects of the first show themselves."""

import contextlib
import io
from pathlib import Path

import matplotlib as mpl
import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))
FIRST = "first-release"


def read(path):
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "outputs are not kept in the project"
    return book


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize(
    "path", [each for each in NOTEBOOKS if each.stem != FIRST], ids=lambda path: path.stem
)
def test_every_cell_of_a_notebook_runs_and_its_release_beats_its_floor(path, monkeypatch, tmp_path):
    monkeypatch.setenv("WAYVEIL_HOME", str(tmp_path))
    mpl.use("Agg")
    code = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
    assert any("assert" in text and "floor" in text for text in code)
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for text in code:
            exec(compile(text, path.name, "exec"), names)


def test_the_first_release_runs_beats_its_floor_and_every_object_shows_itself(tmp_path):
    (path,) = (each for each in NOTEBOOKS if each.stem == FIRST)
    book = read(path)
    assert any("assert" in cell.source and "floor" in cell.source for cell in book.cells)
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
