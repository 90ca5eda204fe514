"""The DP-Loc study: taxi trips from two trained networks (Lestyán, Ács, Biczók), on a taxi city of our own."""

from wayveil.lab.studies.dp_loc import dp_loc_trials as taxis
from wayveil.lab.studies.dp_loc.dp_loc_exhibits import exhibits
from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.study import Study, StudyPart, crossed
from wayveil.utility.figures import LINES

GRIDS = (taxis.FINE, taxis.COARSE)


def describe(lab: Lab) -> Study:
    """Plan the study for a lab."""
    trials = taxis.DpLocTrials(lab, taxis.taxi_trips(lab))
    unnoised = crossed(grid=GRIDS, mechanism=(taxis.UNNOISED,), epsilon=taxis.EPSILONS)
    without = taxis.NO_DESTINATION, taxis.NO_HOUR, taxis.RECURRENT
    unnoised += crossed(grid=GRIDS, mechanism=without, epsilon=("2",))
    counted = crossed(grid=GRIDS, mechanism=(taxis.HISTOGRAMS,), epsilon=taxis.EPSILONS)
    # Not of the study: quick runs tell.
    woven = (
        [] if lab.scale == "full" else crossed(grid=GRIDS, mechanism=(taxis.WEAVE,), epsilon=taxis.EPSILONS)
    )
    released = crossed(grid=GRIDS, mechanism=trials.subjects, epsilon=taxis.EPSILONS)
    return Study(
        name="dp-loc",
        title="DP-Loc: taxi trips from trained networks",
        source="Lestyán, Ács, Biczók, Privacy-preserving release of mobility data: a clean-slate approach",
        parts=(
            StudyPart("data", crossed(grid=GRIDS), trials.facts),
            StudyPart("lines", crossed(grid=GRIDS, mechanism=LINES), trials.line),
            StudyPart("releases", released, trials.trial, lab.pick(tiny=1, quick=3, full=3)),
            StudyPart("unnoised", unnoised, trials.unnoised),
            StudyPart("weave", woven, trials.weave, apart=True),
            StudyPart("histograms", counted, trials.histograms, lab.pick(tiny=1, quick=3, full=5)),
        ),
        exhibits=exhibits(),
        stand_in="San Francisco's taxis of 2009 are not among our data: simulated taxis drive in the same box, so no "
        f"value is that of the same trips. The published networks draw {taxis.FEW:,} trips in a full run. Training "
        "needs `wayveil[accounting]`, and the distance of ends by hour `wayveil[metrics]`.",
    )
