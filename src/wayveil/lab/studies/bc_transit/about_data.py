"""What the study says about its tap file and its riders, beside ours."""

from wayveil.lab.studies.bc_transit import bc_claims as claims
from wayveil.lab.studies.bc_transit.bc_printed import ROLE_SHARES, TAPS
from wayveil.lab.studies.bc_transit.bc_trials import STUDY_GAPS
from wayveil.lab.studies.study import Claim, Exhibit

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
                ("tap file", name): value for name, value in {"taps": float(TAPS), **STUDY_GAPS}.items()
            },
            ours="ours",
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
            printed={(role, SHARE): float(share) for role, share in ROLE_SHARES.items()},
            ours="ours",
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
        ),
    )
