"""Writes the page about all studies from the records that their runs leave (`figures.json`).

python -m wayveil.studies.docs docs/studies.md docs/figures/study-*.json
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HEAD = """# Studies, repeated

Every published table and figure of the studies whose mechanisms are here: reached, not reached with a number and the
reason, or not reproducible. Made by `python -m wayveil.studies.docs docs/studies.md docs/figures/study-*.json` from
what `wayveil study NAME --out page/` leaves in `page/figures.json`; every sentence is computed from the figures of the
run that its section names.

```
wayveil study list
wayveil study mobitrie --quick --out page/                       # minutes, on data of our own
wayveil study mobitrie --full --data public-data/ --out page/    # as often as the study did: hours
wayveil study mobitrie --full --data public-data/ --minutes 10 --out page/    # a piece of that; run it again to go on
wayveil study mobitrie --world city.zip --out page/              # on your own city
```

`--data` is a folder with `msnbc/msnbc990928.zip` (UCI), `berlin/gtfs.zip` (VBB), `victoria/gtfs.zip` and the like; a
file that is missing is replaced by simulated data, and the page says so. Every section says on which data it was run,
and which parts were run less often than the study did. A value counts as reached if it is as good as the printed one,
up to chance (95 %) and to the tolerance of its table (5 %, facts about data 10 to 25 %); a figure without values is
judged by what the study says in words. `dp-loc` needs `wayveil[accounting,metrics]`, the others no extra.
"""


def studies_page(records: Iterable[dict[str, Any]]) -> str:
    """The page as Markdown."""
    parts, rows = [HEAD], []
    found = sorted(records, key=lambda record: record["study"])
    for record in found:
        states = [one["status"] for one in record["figures"]]
        counts = [states.count(state) for state in ("reached", "not reached", "not reproducible")]
        rows.append(
            f"| [{record['study']}](#{record['study']}) | {record['scale']} | {' | '.join(map(str, counts))} |"
        )
    head = "| study | scale of the run | reached | not reached | not reproducible |\n|---|---|---|---|---|"
    parts.append("\n".join([head, *rows]) + "\n")
    parts += [_section(record) for record in found]
    return "\n".join(parts)


def _section(record: dict[str, Any]) -> str:
    data = "; ".join(record["data"])
    lines = [f"## {record['study']}", "", f"{record['title']}. After {record['source']}."]
    words = [f"Run at the scale `{record['scale']}` on {data}.", record["extent"], record["stand_in"]]
    lines += [" ".join(filter(None, words)), ""]
    lines += ["| published | status | held | where ours differ, and why |", "|---|---|---|---|"]
    for one in record["figures"]:
        held = f"{one['reached']} of {one['judged']}" if one["judged"] else ""
        words = one["words"].replace("|", "\\|")
        lines.append(f"| {one['label']}: {one['title']} | {one['status']} | {held} | {words} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Write the page, and say what is in it."""
    page, *files = map(Path, arguments)
    records = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    page.write_text(studies_page(records), encoding="utf-8")
    print(f"{page}: {len(records)} studies, {sum(len(record['figures']) for record in records)} figures")


if __name__ == "__main__":
    main(sys.argv[1:])
