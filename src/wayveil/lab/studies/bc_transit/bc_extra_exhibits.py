"""Statements of the study about its data, and tables that it does not have."""

from wayveil.lab.studies.bc_transit import bc_claims as claims
from wayveil.lab.studies.bc_transit import bc_questions as bc
from wayveil.lab.studies.bc_transit.bc_trials import ODD, ONE_WAY, STUDY_GAPS
from wayveil.lab.studies.study import Claim, Exhibit
from wayveil.synthesis.riders.roles import STUDY_ROLES

SHARE = "share of riders, %"


def about_data() -> tuple[Exhibit, ...]:
    """The file and its gaps, the roles of riders, the lengths of trajectories."""
    return (
        Exhibit(
            label="Section 5.3",
            title="the tap file: its size and its gaps",
            part="data",
            down="file",
            columns=(
                "taps",
                *STUDY_GAPS,
                "taps per rider",
                "taps at the busiest stop, %",
                "taps at the second busiest, %",
            ),
            printed={
                ("tap file", name): value for name, value in {"taps": float(bc.TAPS), **STUDY_GAPS}.items()
            },
            ours="ours",
            exact=True,
            why=claims.taps_of_the_scale,
            note="1,833 of 312,659 rows had neither route nor stop, 1,010 of them no vehicle either; the campus is "
            "ours: the study says that the university is the largest driver, not how large.",
        ),
        Exhibit(
            label="Section 4.2",
            title="roles of the reconstructed riders",
            part="data",
            down="role",
            columns=(SHARE,),
            printed={(role, SHARE): float(share) for role, share in bc.ROLE_SHARES.items()},
            ours="ours",
            exact=True,
            claims=(Claim("full-time riders travel on working days", claims.days_are_kept),),
        ),
        Exhibit(
            label="Figure 5.2",
            title="how long trajectories are",
            part="data",
            shape="lines",
            down="length",
            columns=("trajectories, %",),
            claims=(Claim("trajectories have at most 15 tap-ins", claims.longest),),
            why=lambda results: "Riders of the reconstruction tap up to three times a day for six days.",
            note=f"{sum(role.share for role in STUDY_ROLES if role.taps_a_day == 2):.0%} of the riders have a role "
            "that taps at most twice a day by the study's rules, there and back: even lengths are common, odd ones "
            f"rare. A rule of ours, not the study's, lets {ONE_WAY:.0%} of a rider's days have a single tap "
            "(`one_way` of the rules).",
        ),
    )


BESIDE = (
    Exhibit(
        label="Odd lengths",
        title="how many trajectories have an odd number of taps",
        part="data",
        down="mechanism",
        series="file",
        columns=(ODD,),
        where={"file": "weeks"},
        published=False,
    ),
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
        "real: nearly every link between two taps of a day joins two people. The assignment is that of the first day.",
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
        columns=(bc.ARE, bc.ARE_TAPS, bc.PER_STOP_TAPS, bc.TOTAL),
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
            bc.ARE_TAPS,
            "non-empty, up to 9, %",
            bc.PER_STOP_TRIPS,
            bc.PER_STOP_TAPS,
            bc.TOTAL,
        ),
        published=False,
    ),
    Exhibit(
        label="Crowded stops",
        title="the same with taps moved to the 50 stops with most departures, height 9",
        part="crowding",
        down="moved",
        series="crowd line",
        columns=(bc.ARE, bc.PER_STOP_TAPS, bc.TOTAL),
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
