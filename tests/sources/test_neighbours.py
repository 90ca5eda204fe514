"""One row more, through the whole reader, changes nothing that is read of other people's rows."""

import json
import random
from collections import Counter

import polars as pl
import pytest

import wayveil.sources.moments as moments_module
from wayveil.errors import InputError
from wayveil.plan.plan import Plan
from wayveil.plan.reading import files_of, open_rows
from wayveil.sources.bad_rows import RULES
from wayveil.trips.trips import Trips
from wayveil.world.opening import open_world
from wayveil.world.world import World

WORLD, GRID = World.of_symbols("abcd"), open_world("grid:0,0,0.02,0.03@2x3")
TIMES = [
    "17.11.2026 08:05",
    "17.11.2026 08:06:30",
    "17.11.26 8:07 PM",
    "17.11.2026 9.15",
    "18. November 2026 10:00",
]
ODD_TIMES = [
    "",
    "n/a",
    "2026-11-17T08:05:00Z",
    "2026-11-17 08:05:09+02:00",
    "1795000000",
    "99:99",
    "17.11.1026 08:05",
]
ODD_TIMES += [
    "2026-11-17T08:05:00.5",
    "32.13.2026 08:05",
    "08:05",
    "é\u3000",
    "0",
    "17.11.2026 25:10",
    "46343.5",
]
PLACES, ODD_PLACES = ["a", "b", "c", "d"], ["", "z", "A", " a ", "1.0", "é", "NULL", "0"]
DEGREES = ["0.001", "0.011", "0.019", "0.0151"]
ODD_DEGREES = ["", "0", "91", "-0.5", "NaN", "1e400", "0,011", "n/a", "inf"]
DAYS, ODD_DAYS = ["17.11.2026", "1.2.26"], ["", "n/a", "17.11.2026 00:00", "2026-11-17"]
DROP_ALL = {kind: "drop" for kind, each in RULES.items() if "drop" in each.choices and kind != "duplicate"}
# What a row is made of: usual and odd values of each column, and what the plan says.
KINDS = {
    "pairs": (
        {"origin": (PLACES, ODD_PLACES), "destination": (PLACES, ODD_PLACES), "start": (TIMES, ODD_TIMES),
         "end": (TIMES, ODD_TIMES)},
        {"rows": "pairs", "times": "day.month.year", "zone": "Europe/Berlin", "bad_rows": DROP_ALL},
    ),
    "taps": (
        {"stop_id": (PLACES, ODD_PLACES), "event_time": (TIMES, ODD_TIMES)},
        {"rows": "taps", "way": "counts", "times": "day.month.year", "zone": "Europe/Berlin"},
    ),
    "apart": (
        {"stop_id": (PLACES, ODD_PLACES), "day": (DAYS, ODD_DAYS),
         "clock": (["8:05", "08.06", "25:10"], ["", "0805", "8 pm", "08:05Z", "n/a"])},
        {"rows": "taps", "way": "counts", "times": "day.month.year",
         "columns": {"stop_id": "stop_id", "rider_id": "rider_id", "event_time": "clock", "service_date": "day"}},
    ),
    "points": (
        {"lat": (DEGREES, ODD_DEGREES), "lon": (DEGREES, ODD_DEGREES), "event_time": (TIMES[:2], TIMES[:2])},
        {"rows": "points", "times": "day.month.year", "split_gap": 1200, "no_fix": "skip", "repeated": "first",
         "rules": {"faster": "skip", "outside": "skip", "fewest_visits": 1}},
    ),
}  # fmt: skip


def written(rows, folder, form):
    """Rows as a file: csv, csv whose rows have cells too many, or records of JSON."""
    path = folder / ("rows.jsonl" if form == "json" else "rows.csv")
    if form == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pl.DataFrame(rows).write_csv(path)
    if form == "ragged":
        header, *lines = path.read_text().splitlines()
        path.write_text("\n".join([header, *(line + "," * (len(line) % 3) for line in lines)]) + "\n")
    return path


def read(rows, folder, kind, form):
    """What is read of each rider's rows, and None where the file is refused in a sentence."""
    said = dict(KINDS[kind][1])
    if form == "json":
        said.setdefault("columns", {name: name for name in rows[0]})
    place = str(written(rows, folder, form))
    plan = Plan.of(files=place, epsilon=1, ragged=form == "ragged", **said)
    try:
        made = open_rows(plan, GRID if kind == "points" else WORLD, files_of(plan)).rows
    except InputError:
        return None
    if not isinstance(made, Trips):
        return Counter(
            zip(made.card_ids.gather(made.card), made.location.tolist(), made.time.tolist(), strict=True)
        )
    spans = list(zip(made.offsets, made.offsets[1:], strict=False))
    whose = [made.rider_ids[int(code)] for code in made.rider]
    return Counter(
        (who, tuple(made.location[a:b].tolist()), tuple(made.time[a:b].tolist()))
        for who, (a, b) in zip(whose, spans, strict=True)
    )


def moved(folder, kind, form, seeds):
    """How many files were compared, and what one row of somebody else changed in them."""
    compared, changed = 0, Counter()
    for seed in range(seeds):
        chance = random.Random(f"{kind} {form} {seed}")

        def row(who, odd, chance=chance):
            cells = {
                name: chance.choice(values[chance.random() < odd]) for name, values in KINDS[kind][0].items()
            }
            return {**cells, "rider_id": who}

        rows = [row(who, 0.1) for who in "pqrs" for _ in range(3)]
        chance.shuffle(rows)
        more = [*rows]
        more.insert(chance.choice([0, chance.randrange(13)]), row("new", 0.7))
        before, after = read(rows, folder, kind, form), read(more, folder, kind, form)
        if before is not None and after is not None:
            compared += 1
            changed += (before - after) + Counter(
                {k: n for k, n in (after - before).items() if k[0] != "new"}
            )
    return compared, changed


@pytest.mark.parametrize("form", ["csv", "ragged", "json"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_row_more_changes_nothing_that_is_read_of_others(kind, form, tmp_path):
    compared, changed = moved(tmp_path, kind, form, 40)
    assert compared > 10
    assert not changed


def test_a_reader_that_takes_the_form_of_the_first_row_for_all_is_caught(tmp_path, monkeypatch):
    """The broken variant: times are read by the order that the first text of the column has."""
    sound = moments_module.read_quickly

    def broken(*texts, order, zoned):
        quick, kind = sound(*texts, order=order, zoned=zoned)
        return quick, kind * (len(kind) > 0 and kind[0] > 0)

    monkeypatch.setattr(moments_module, "read_quickly", broken)
    none = pl.DataFrame(schema=dict.fromkeys(("day", "second", "offset"), pl.Int64))
    monkeypatch.setattr(moments_module, "parse_moments", lambda text, *_, **__: none.clear(len(text)))
    assert moved(tmp_path, "taps", "csv", 40)[1]
