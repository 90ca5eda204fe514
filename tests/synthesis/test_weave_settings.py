"""Every constant of Weave stands in its settings, is described, and is used."""

import ast
from pathlib import Path

import pytest
from pydantic import BaseModel

import wayveil
from wayveil.errors import ParameterError
from wayveil.mechanisms.weave import Weave
from wayveil.mechanisms.weave.settings import Generation

ROOM = Path(wayveil.__file__).parent / "mechanisms" / "weave"
MODULES = [path for path in sorted(ROOM.glob("*.py")) if path.name != "settings.py"]
# Halves and doubles, and floors that keep a division or a logarithm finite.
ARITHMETIC = {0.0, 0.5, 1.0, 2.0}
TINY = 1e-6


def fields(model: type[BaseModel]):
    """All settings of Weave, with those that are settings themselves taken apart."""
    for name, field in model.model_fields.items():
        yield model, name, field
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from fields(kind)


def constants(source: str):
    """Floats anywhere that are not plain arithmetic, and names of numbers at the top of a module."""
    tree = ast.parse(source)
    in_fields = {
        id(part)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("Field", "_weight")
        for part in ast.walk(call)
    }
    for node in ast.walk(tree):
        number = (
            isinstance(node, ast.Constant) and isinstance(node.value, float) and id(node) not in in_fields
        )
        if number and node.value not in ARITHMETIC and node.value > TINY:
            yield node.value
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Tuple):
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(isinstance(part, ast.Constant) and isinstance(part.value, int | float) for part in parts):
                yield ast.unparse(node)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_constant_stands_outside_the_settings(path):
    # Numbers that no release depends on but by rounding, memory or units; the others stand in the settings.
    allowed = {
        "weight_fit": [0.3, "MOST_WORKERS = 8", "TOLERANCE = 0.3"],
        "weaving": ["HOURS_OF_A_DAY, HOURS_OF_A_WEEK = (24, 168)"],
        "moves": ["SMALL_TABLE = 100000"],
        "noisy_blocks": ["FEWEST_TRIPS = 10"],
        # What the field counts over: quarters of a day, and six by six parts of a city.
        "resolution": ["BANDS, TILES = (6, 6)"],
        "weave": ["MOST_MOVES, MANY_PLACES = (20000000, 500)"],
    }
    assert list(constants(path.read_text())) == allowed.get(path.stem, [])


def test_a_constant_outside_the_settings_would_be_seen():
    source = "DOUBT = 0.35\nMOST, FEW = 3, 4\ndef f(x):\n    return 0.02 * x + 0.5 * max(x, 1e-12)\n"
    assert list(constants(source)) == [0.35, 0.02, "DOUBT = 0.35", "MOST, FEW = (3, 4)"]


def test_every_setting_is_described_and_stands_on_the_datasheet():
    found = list(fields(Weave))
    leaves = [name for _, name, field in found if name not in ("shares", "generation")]
    assert len(leaves) <= 40
    assert [name for _, name, field in found if not field.description] == []
    sheet = Weave().describe()["parameters"]
    assert sheet["generation"]["doubtful"] == 0.35
    assert sheet["shares"]["on_list"]["move"] == "420"
    assert Weave(**sheet) == Weave()


def test_every_setting_is_used():
    text = "".join(path.read_text() for path in MODULES)
    names = {name for model, name, _ in fields(Weave) if model.__name__ != "Shares"}
    assert [name for name in sorted(names) if f".{name}" not in text] == []


def test_the_parameters_of_an_earlier_datasheet_are_still_understood():
    earlier = {
        "support": 3.0, "least": 60_000, "most": 400_000, "early": 80_000, "sweeps": 8, "rounds": 3,
        "feedback": 0.6, "feedback_weak": 0.35, "detours": 0.08, "least_share": 0.01, "rare": 0.15,
        "anywhere": 0.1, "least_kinds": 64, "graphs": 6, "trees": 2, "lines": 0.2, "edges": 0.15,
        "waits": 0.2, "ends_off": 0.5, "model_error": 0.2, "off": 1.0, "least_trust": 0.01, "iterations": 300,
    }  # fmt: skip
    assert Weave.of_record({"generation": earlier}) == Weave(generation=Generation(graphs=6))
    assert Generation.of_record(earlier) == Generation(graphs=6)
    with pytest.raises(ParameterError, match="detours"):
        Weave(generation={"detours": 0.08})  # whoever sets what is no more is told
