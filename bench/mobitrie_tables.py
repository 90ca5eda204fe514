"""What the MobiTrie study printed, and our runs beside it."""

from collections import defaultdict

import numpy as np

# Tables 7.5 to 7.7: fitness, F1, precision, recall, false negative rate; tables 7.9 to 7.11: error at length 4 and 20.
FIGURES = ("fitness", "F1", "precision", "recall", "FNR", "error 4", "error 20")
PUBLISHED = {
    "msnbc": {
        "0.1": (0.903, 0.516, 0.97, 0.360, 0.609, 0.2642, 0.0594),
        "0.2": (0.939, 0.579, 0.98, 0.419, 0.561, 0.2474, 0.0572),
        "0.5": (0.950, 0.668, 0.97, 0.515, 0.454, 0.2407, 0.0560),
        "0.8": (0.976, 0.723, 0.99, 0.576, 0.413, None, None),
        "1": (0.969, 0.749, 0.98, 0.612, 0.367, 0.2331, 0.0543),
    },
    "berlin-10k": {
        "0.1": (0.319, 0.415, 0.89, 0.282, 0.697, 0.1347, 0.0267),
        "0.2": (0.378, 0.439, 0.91, 0.300, 0.689, 0.1289, 0.0260),
        "0.5": (0.508, 0.479, 0.88, 0.341, 0.608, 0.1072, 0.0215),
        "0.8": (0.607, 0.532, 0.88, 0.392, 0.557, None, None),
        "1": (0.663, 0.576, 0.88, 0.436, 0.513, 0.0850, 0.0169),
    },
    "berlin-1m": {
        "0.1": (0.803, 0.605, 0.96, 0.451, 0.5184, 0.0933, 0.0187),
        "0.2": (0.892, 0.708, 0.97, 0.565, 0.4150, 0.0849, 0.0170),
        "0.5": (0.968, 0.822, 0.99, 0.705, 0.2947, 0.0836, 0.0166),
        "0.8": (0.984, 0.865, 0.99, 0.767, 0.2324, None, None),
        "1": (0.987, 0.876, 0.99, 0.784, 0.2152, 0.0828, 0.0163),
    },
}
OURS = {
    "fitness": "fitness",
    "F1": "F1",
    "precision": "precision",
    "recall": "recall",
    "error 4": "subsequence_error/uniform/4",
    "error 20": "subsequence_error/uniform/20",
    "drawn 4": "subsequence_error/non-empty/4",
    "drawn 20": "subsequence_error/non-empty/20",
}


def accepted(data: str, epsilon: str) -> float:
    """The share of the study's runs that ended with a trie.

    Its means count the others as zeros: recall and false negative rate add up to this share instead of one.
    """
    figures = dict(zip(FIGURES, PUBLISHED[data][epsilon], strict=True))
    return figures["recall"] + figures["FNR"]


def published(data: str, epsilon: str) -> dict[str, float]:
    """The study's figures per trie that was found."""
    figures = dict(zip(FIGURES, PUBLISHED[data][epsilon], strict=True))
    share = accepted(data, epsilon)
    return {name: value / share for name, value in figures.items() if name in ("fitness", "F1", "precision")}


def table(rows: list[dict]) -> str:
    """Means with 95 % intervals over the runs that found something, as a Markdown table."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["data"], row["epsilon"], row["mechanism"]].append(row)
    lines = [f"| data | epsilon | | runs | found | {' | '.join(OURS)} | s |", "|---" * (len(OURS) + 6) + "|"]
    for data in PUBLISHED:
        for epsilon in ("-", *PUBLISHED[data]):
            if epsilon in PUBLISHED[data]:
                lines.append(_study_line(data, epsilon))
            for (_, _, name), runs in sorted(
                item for item in groups.items() if item[0][:2] == (data, epsilon)
            ):
                found = [run for run in runs if run["accepted"]]
                cells = [_mean([run[key] for run in found if key in run]) for key in OURS.values()]
                seconds = _mean([run["seconds"] for run in runs if "seconds" in run])
                share = f"{len(found) / len(runs):.0%}"
                lines.append(
                    f"| {data} | {epsilon} | {name} | {len(runs)} | {share} | {' | '.join(cells)} | {seconds} |"
                )
    return "\n".join(lines)


def _study_line(data: str, epsilon: str) -> str:
    figures = dict(zip(FIGURES, PUBLISHED[data][epsilon], strict=True))
    each = published(data, epsilon)
    cells = []
    for name in OURS:
        value = figures.get(name)
        cells.append(
            "" if value is None else f"{value:.3f}" + (f" ({each[name]:.3f})" if name in each else "")
        )
    share = f"{accepted(data, epsilon):.0%}"
    return f"| {data} | {epsilon} | study (per trie found) | 100 | {share} | {' | '.join(cells)} | |"


def _mean(values: list[float]) -> str:
    if not values:
        return ""
    spread = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.3f}" + ("" if np.isnan(spread) else f" ± {spread:.3f}")
