"""Tables of numbers that once were wrong without a word, from what `right_numbers` measured and kept with the docs."""

import json
from pathlib import Path

from bench.coverage_cells import FIGURES

KEPT = FIGURES / "right-numbers.json"


def keep(rows: list[dict], file: Path = KEPT) -> None:
    """Put these rows in the place of those of the same case."""
    cases = {row["case"] for row in rows}
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    kept = [row for row in kept if row["case"] not in cases] + rows
    kept.sort(key=lambda row: (row["table"], row["order"]))
    lines = ",\n".join(json.dumps(row) for row in kept)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def right_words(file: Path = KEPT) -> str:
    """Both tables for the page."""
    rows = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    walks = [row for row in rows if row["table"] == "walks"]
    silence = [row for row in rows if row["table"] == "silence"]
    lines = [
        "Made by `python -m bench.right_numbers`. *Straight back* is the share of moves that return to the stop "
        "before, of raw riders with habits on an invented network, of the release at epsilon 1, and of its replica, "
        "which shows what the noisy model supports. *Lengths off* is the share of trips that would need another "
        "number of stops: of the release against the raw riders, and of the replica against the release.\n",
        "| Walks | Straight back: raw | released | replica | Lengths off | replica | Stops: raw | released |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in walks:
        shares = " | ".join(f"{value:.1%}" for value in (*row["returns"], *row["lengths_off"]))
        lines.append(
            f"| {row['case']} | {shares} | {' | '.join(f'{mean:.1f}' for mean in row['mean_stops'])} |"
        )
    lines += [
        "\nReleases that once were worse than an empty one, at epsilon 1: the error of visits per stop and of "
        "non-empty count queries. SafePath has 10,000 riders with habits and a taxonomy of so many levels that "
        "halve.\n",
        "| Release | Figure | Its error | Of silence | |",
        "|---|---|--:|--:|---|",
    ]
    for row in silence:
        if "refused" in row:
            lines.append(f"| {row['case']} | all | – | – | refused: {row['refused']} |")
        else:
            figures = f"{row['release']:.3f} | {row['empty']:.3f}"
            lines.append(f"| {row['case']} | {row['figure']} | {figures} | {row['verdict']} |")
    return "\n".join([*lines, ""])
