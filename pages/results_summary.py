"""The summary at the head of docs/results.md, computed from the tables of the page itself.

    python -m pages.results_summary        writes it anew

A number in the summary that no table has is impossible this way, and a test holds the page to it.
"""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
BEGIN, END = "<!-- summary: made by `python -m pages.results_summary` -->", "<!-- end of summary -->"
EPSILONS = ("0.1", "0.5", "1", "2")
_BETWEEN = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
_LEADS = re.compile(r"(\d+) of (\d+) \(\+(\d+), -(\d+); (\d+)\)")
_MARKOV = re.compile(r"(\d+) of (\d+) \(-(\d+)\)")


def summarise(page: str) -> str:
    """The page with its summary computed from its tables."""
    leads, line = _rows(_section(page, "Where Weave leads")), _rows(_section(page, "The Markov line"))
    networks = [world for world in leads if world not in line]
    held_out = [world for world in line if "**Held out.**" in _section(page, world)]
    looked_at = [world for world in line if world not in held_out]
    text = "\n\n".join(
        [
            f"**In short.** {_networks(page, leads, networks)}",
            f"Without a network: {_leads(leads, looked_at)} {_markov_line(line, looked_at)}",
            "On the worlds that were held out "
            f"({', '.join(f'`{world}`' for world in held_out)}): {_leads(leads, held_out)} "
            f"{_markov_line(line, held_out)}",
        ]
    )
    return _BETWEEN.sub(lambda _: f"{BEGIN}\n{_wrapped(text)}\n{END}", page)


def _networks(page: str, leads: dict[str, list[str]], worlds: list[str]) -> str:
    easy = [
        f"{found[5]} of {found[2]} on `{world}` at epsilon {epsilon}"
        for world in worlds
        for epsilon, cell in zip(EPSILONS, leads[world], strict=True)
        if (found := _LEADS.search(cell)) and int(found[5]) > 1
    ]
    queries = "; ".join(f"`{world}` {_count_queries(page, world)}" for world in worlds)
    silence = f" Public knowledge or silence is as good on {', '.join(easy)}." if easy else ""
    return (
        f"On networks ({', '.join(f'`{world}`' for world in worlds)}) {_leads(leads, worlds)}{silence} Error of count "
        f"queries at epsilon 1, Weave against the best rival and the ceiling: {queries}."
    )


def _leads(leads: dict[str, list[str]], worlds: list[str]) -> str:
    """On how many figures Weave leads, by epsilon, and how many deficits are beyond the intervals."""
    parts, behind, all_figures = [], 0, 0
    for place, epsilon in enumerate(EPSILONS):
        found = [_LEADS.search(leads[world][place]) for world in worlds]
        led, of = (sum(int(each[at]) for each in found if each) for at in (1, 2))
        behind += sum(int(each[4]) for each in found if each)
        all_figures += of
        parts.append(f"{led} of {of} figures at epsilon {epsilon}")
    return (
        f"Weave leads every rival at the best of its settings on {', '.join(parts[:-1])} and {parts[-1]}; "
        f"{behind} of {all_figures} are behind by more than the intervals."
    )


def _markov_line(line: dict[str, list[str]], worlds: list[str]) -> str:
    found = [_MARKOV.search(cell) for world in worlds for cell in line[world]]
    good, of, behind = (sum(int(each[at]) for each in found if each) for at in (1, 2, 3))
    return f"{good} of {of} are as good as the Markov line or better, {behind} behind it by more than the intervals."


def _count_queries(page: str, world: str) -> str:
    """Weave, the best rival and the ceiling, in the first column of figures of the world's table."""
    values = {
        name: float(value.replace(",", ""))
        for name, value in re.findall(
            r"^\| \*?([\w-]+)\*?(?: \(\d+\))? \| \**([\d.,]+)", _section(page, world), re.MULTILINE
        )
    }
    rivals = [value for name, value in values.items() if name not in ("weave", "ceiling", "floor", "empty")]
    return f"{values['weave']:.2g} / {min(rivals):.2g} / {values['ceiling']:.2g}"


def _section(page: str, title: str) -> str:
    return page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def _rows(section: str) -> dict[str, list[str]]:
    """The cells of each world's row."""
    return {
        world: [cell.strip() for cell in cells.strip().strip("|").split("|")]
        for world, cells in re.findall(r"^\| \[([\w-]+)\]\([^)]*\) \|(.*)$", section, re.MULTILINE)
    }


def _wrapped(text: str) -> str:
    from textwrap import fill

    return "\n\n".join(fill(part, 118, break_on_hyphens=False) for part in text.split("\n\n"))


if __name__ == "__main__":
    PAGE.write_text(summarise(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
