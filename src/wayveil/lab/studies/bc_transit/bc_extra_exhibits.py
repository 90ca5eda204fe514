"""Tables that the study does not have: they stand beside its own, and say how much those mean."""

from wayveil.lab.studies.bc_transit.bc_questions import ARE, ARE_TAPS, PER_STOP_TAPS, PER_STOP_TRIPS, TOTAL
from wayveil.lab.studies.study import Exhibit

BESIDE = (
    Exhibit(
        label="Reconstruction",
        title="the links that riders are made of, held against the simulator's own riders",
        part="links",
        down="reconstruction",
        series="judged",
        columns=(
            "same-day links",
            "of the same rider",
            "right, %",
            "next taps that the rules allow",
            "right by chance, %",
        ),
        published=False,
        note="The study had no cards, so it could not ask this. Riders of a reconstruction are plausible, not "
        "real: nearly every link between two taps of a day joins two people.",
    ),
    Exhibit(
        label="Why trees find so little",
        title="riders who share a beginning, beside the noise of a level",
        part="thin",
        down="file",
        published=False,
    ),
    Exhibit(
        label="What a leak would explain",
        title="noise on the prefixes that occur and on no others, height 9: errors in %",
        part="leak",
        series="mechanism",
        columns=(ARE, ARE_TAPS, PER_STOP_TAPS, TOTAL),
        published=False,
        note="Which prefixes come back tells which ones somebody had, whatever epsilon is: nobody is protected. As "
        "written, with noise on empty candidates and its threshold of 2.83 scales, the study's tree cannot be run "
        "at this height: false children multiply (*Why trees find so little*). That it left empty candidates out "
        "is not said; these lines show what that would do.",
    ),
    Exhibit(
        label="What a leak would explain, patterns",
        title="frequent patterns found by k, height 9: share of the true ones, in %",
        part="leak",
        across="k",
        series="mechanism",
        where={"figure": "patterns, %"},
        published=False,
    ),
    Exhibit(
        label="References",
        title="what nothing at all scores, and plain Laplace answers per stop",
        part="references",
        down="mechanism",
        series="epsilon",
        columns=(
            "uniform, up to 3, %",
            "uniform, up to 9, %",
            ARE_TAPS,
            "non-empty, up to 9, %",
            PER_STOP_TRIPS,
            PER_STOP_TAPS,
            TOTAL,
        ),
        published=False,
    ),
    Exhibit(
        label="Crowded stops",
        title="the same with taps moved to the 50 stops with most departures, height 9",
        part="crowding",
        down="moved",
        series="crowd line",
        columns=(ARE, PER_STOP_TAPS, TOTAL),
        published=False,
    ),
    Exhibit(
        label="Crowded stops, patterns",
        title="frequent patterns found there by k, height 9: share of the true ones, in %",
        part="crowding",
        down="moved",
        across="k",
        series="crowd line",
        where={"figure": "patterns, %"},
        published=False,
        note="How crowded stops are decides how well rankings come out.",
    ),
    Exhibit(
        label="Ways",
        title="operational questions on daily trips, by way: errors in %",
        part="ways",
        down="way",
        series="epsilon",
        published=False,
    ),
)
