"""What a report does not say, so that nobody reads silence as good news."""

from math import isfinite

from wayveil.trips.trips import Trips
from wayveil.utility.scorecard import Scorecard
from wayveil.world.network import Network

_CORE = {"Count queries", "Trip lengths", "Stops", "Edges"}
_RISK = (
    "Risk: whether single released trips resemble single real ones. The guarantee bounds it; no attack was tried here. "
    "`wayveil lab audit` attacks the mechanism itself."
)


def unmeasured(
    private: Trips,
    *,
    raw: Trips | None,
    scorecard: Scorecard | None,
    compared: bool,
    bars: bool,
    unanswered: list[str],
) -> list[str]:
    """One sentence for everything that is missing from the page, and why."""
    found = [f"{words[:1].upper()}{words[1:]}." for words in unanswered]
    if private.time is None:
        found.append("Times: this release has none, so that nothing is known about hours and speeds.")
    if len(private) and private.lengths.max() <= 1:
        found.append("Moves, journeys and patterns: the trips of this release are single visits.")
    if not isinstance(private.world, Network):
        found.append("Distances and maps: these locations have no coordinates.")
    if not bars:
        found.append(
            "Error bars: for no kind of question are intervals of this mechanism known to hold (docs/accuracy.md)."
        )
    else:
        found.append(
            "More than noise: error bars hold noise and thresholds. What was cut to bound each unit is not in them."
        )
    if raw is None:
        found.append(
            "Accuracy: a comparison with the data behind the release would have to be paid for or kept inside, so it "
            "is not in a page that may be published."
        )
    elif scorecard is None:
        found.append("Accuracy: no scorecard was given; `wayveil score` makes one.")
    else:
        if {figure.question for figure in scorecard} <= _CORE:
            found.append(
                "Most figures: this is the short list of four questions; `--full` also asks for patterns, n-grams, "
                "origins and destinations, operations, ranges, the GPS set and feasibility."
            )
        silent = dict.fromkeys(figure.question for figure in scorecard if not isfinite(figure.value))
        found += [
            f"{question}: some figures have no value for this release (a dash above)." for question in silent
        ]
        if scorecard.releases == 1:
            found.append(
                "The spread over repeated releases: one release has no interval; `wayveil lab compare` repeats it."
            )
    if raw is not None and not compared:
        found.append(
            "Other mechanisms: `wayveil lab compare` measures them; `wayveil lab report` with "
            "`--comparison` shows its results here."
        )
    return [*found, _RISK]
