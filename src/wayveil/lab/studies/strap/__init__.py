"""The STRAP study: one scale for mechanisms whose guarantees cannot be compared (Singh et al. 2018)."""

from wayveil.lab.studies.lab import Lab
from wayveil.lab.studies.strap import strap_trials as trips_of
from wayveil.lab.studies.strap.strap_exhibits import exhibits
from wayveil.lab.studies.study import Setting, Study, StudyPart, crossed


def describe(lab: Lab) -> Study:
    """Plan the study for a lab."""
    trials = trips_of.StrapTrials(trips_of.cities(lab), looked_at=lab.pick(tiny=40, quick=300, full=2_000))
    repetitions = lab.pick(tiny=1, quick=4, full=25)
    both, shaped = (trips_of.DENSE, trips_of.SPARSE), tuple(trips_of.DAYS)
    return Study(
        name="strap",
        title="STRAP: privacy of trajectories on one scale",
        source="Singh and others, On Choosing Between Privacy Preservation Mechanisms for Mobile Trajectory Data, 2018",
        parts=(
            StudyPart(
                "lines",
                crossed(city=both, mechanism=trips_of.LINES),
                trials.line,
            ),
            StudyPart("releases", _released(both), trials.trial, repetitions),
            StudyPart("lines of days", crossed(city=shaped, mechanism=trips_of.LINES), trials.line),
            StudyPart("days", _released(shaped), trials.trial, lab.pick(tiny=1, quick=1, full=2)),
        ),
        exhibits=exhibits(),
        stand_in="The study's walkers around Lake Geneva (MDC) need a licence, and its taxis of San Francisco (EPFL) "
        "are not among our data: a dense and a sparse city of simulated riders with habits stand for them. STRAP has "
        "no unit that means something outside one dataset, and the study prints no value: what can be held against it "
        "is which way its curves go.",
    )


def _released(cities: tuple[str, ...]) -> list[Setting]:
    """Every mechanism at its settings, in these cities."""
    return [
        {"city": city, "mechanism": name, "parameter": f"{value:g}"}
        for city in cities
        for name, values in {
            **trips_of.EPSILONS[trips_of.DAYS.get(city, city)],
            **dict.fromkeys(trips_of.WITH_K, trips_of.CROWDS),
        }.items()
        for value in values
    ]
