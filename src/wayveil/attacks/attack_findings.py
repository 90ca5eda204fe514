"""Findings of attacks, as data, as a table, and as sentences for people."""

import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from wayveil.arrays import Floats
from wayveil.attacks.membership import Membership
from wayveil.attacks.rates import Gain, Rate
from wayveil.showing import without_nan
from wayveil.trips.history import RAW_NOTICE

NO_CONTROLS = (
    "There is no hold-out: the rates below are not risks, because nobody knows what the same attack reaches on people "
    "who are not in the data."
)
ASSUMPTIONS = (
    "The attacker has the release, the public world and the points named with each attack, and nothing else.",
    "Members and controls come from the same source and are alike; only the members are in the data.",
    "A rider stands for one of the rider's trips, drawn at random, because a released trip is one trip.",
    "Known points are correct. An attacker who errs reaches less.",
)
LIMITS = (
    "Attacks show what these attacks reach. A stronger attack may reach more; only the guarantee of the release bounds "
    "all of them.",
    "A rate holds for the whole group; single people can be far more exposed than the mean, see the worst-off.",
    "Intervals cover the draw of people, not the noise of the release: another release of the same data differs.",
)


@dataclass(frozen=True)
class AttackFinding:
    """One attack in one setting. `control` and `risk` are None without a hold-out."""

    attack: str
    label: str
    known: int | None
    rate: Rate
    control: Rate | None
    naive: Rate
    risk: Gain | None

    def describe(self) -> dict[str, Any]:
        return {
            "attack": self.attack,
            "label": self.label,
            "known": self.known,
            "rate": self.rate.describe(),
            "control": None if self.control is None else self.control.describe(),
            "naive": self.naive.describe(),
            "risk": None if self.risk is None else vars(self.risk),
        }


@dataclass(frozen=True)
class WorstOff:
    """Distance of the nearest released trip to the 5 and 10 % of people whom it is nearest to, in metres."""

    five: float
    ten: float
    control_five: float | None
    control_ten: float | None

    @classmethod
    def of(cls, members: Floats, controls: Floats | None) -> "WorstOff":
        def shares(metres: Floats) -> tuple[float, float]:
            return tuple(float(np.quantile(metres, part, method="lower")) for part in (0.05, 0.1))  # type: ignore[return-value]

        return cls(*shares(members), *((None, None) if controls is None else shares(controls)))


class FurtherFigure(Protocol):
    """A figure that stands beside the attacks: plain data for machines, one line for people."""

    def describe(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class FurtherFigures:
    """Figures of another scale than rates, with what they say and what they do not."""

    name: str
    lead: str
    figures: tuple[FurtherFigure, ...]


@dataclass(frozen=True)
class RiskReport:
    """All attacks on one release: for the eyes of the data holder only."""

    findings: tuple[AttackFinding, ...]
    membership: Membership | None
    uniqueness: dict[str, tuple[Rate, ...]]
    copies: Rate
    worst_off: WorstOff
    kind: str
    people: int
    members: int
    controls: int | None
    guarantee: str
    settings: dict[str, Any]
    hashes: dict[str, str]
    further: tuple[FurtherFigures, ...] = ()
    unlike: tuple[str, ...] = ()
    notice: str = RAW_NOTICE
    assumptions: tuple[str, ...] = field(default=ASSUMPTIONS)
    limits: tuple[str, ...] = field(default=LIMITS)

    def __getitem__(self, place: tuple[str, str, int | None]) -> AttackFinding:
        """A finding by attack, label and number of known points."""
        for finding in self.findings:
            if (finding.attack, finding.label, finding.known) == place:
                return finding
        raise KeyError(place)

    def describe(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "notice": self.notice,
            "guarantee": self.guarantee,
            "sentences": self.sentences(),
            "findings": [finding.describe() for finding in self.findings],
            "membership": None if self.membership is None else self.membership.describe(),
            "uniqueness_of_raw": {
                known: [rate.describe() for rate in rates] for known, rates in self.uniqueness.items()
            },
            "copies_of_unique_trips": self.copies.describe(),
            "worst_off_metres": vars(self.worst_off),
            "hold_out_differs_in": list(self.unlike),
            **{part.name.lower(): [figure.describe() for figure in part.figures] for part in self.further},
            "people": {
                "kind": self.kind,
                "in_raw": self.people,
                "members": self.members,
                "controls": self.controls,
            },
            "assumptions": list(self.assumptions),
            "limits": list(self.limits),
            "settings": self.settings,
            "hashes": self.hashes,
        }

    def to_json(self) -> str:
        return json.dumps(without_nan(self.describe()), indent=2)

    def sentences(self) -> list[str]:
        """One sentence for each of the questions that a regulator asks."""
        who = "rider" if self.kind == "riders" else "trip"
        said = [] if self.controls is not None else [NO_CONTROLS]
        if self.unlike:
            said.append(
                f"The hold-out is not like the raw trips: their {' and '.join(self.unlike)} differ beyond chance. Part "
                "of what looks like risk below is that difference; bring people of the same source and the same days."
            )
        three = self["singling out", "stop, random", 3]
        said.append(
            f"Singling out: who knows 3 stops of a {who} finds the one released trip that has them, and in it at "
            f"least 90 % of the other stops, in {three.rate} of the cases{_others(three.control)}."
        )
        link = self["linkage", "nearest trip in space", None]
        said.append(
            f"Linkage: {link.rate} of the {self.kind} have a released trip that runs closer than "
            f"{self.settings['link_closer_than_metres']:g} m to their own{_others(link.control, '')}."
        )
        guess = self["inference", "destination", None]
        said.append(
            f"Inference: who knows where a {who} begins and one more stop names the last stop in {guess.rate} of the "
            f"cases{_others(guess.control)}; without the two stops in {guess.naive}."
        )
        if self.membership is None:
            said.append(
                "Membership: not measured; it needs people who are not in the data, and a released trip."
            )
        else:
            found = self.membership
            said.append(
                f"Membership: told apart by {found.score}, a {who} in the data looks more like the release than "
                f"somebody else in {100 * found.auc:.1f} % of the pairs ({100 * found.low:.1f} to "
                f"{100 * found.high:.1f}; a coin reaches 50); where 1 % of the others are taken for members, "
                f"{found.tpr} of the members are found. {found.refuted()}"
            )
        return [*said, self._about_the_worst_off()]

    def _about_the_worst_off(self) -> str:
        worst = self.worst_off
        if not np.isfinite(worst.five):
            return "The worst-off 5 %: no trip was released that could be near anybody's."
        beside = (
            ""
            if worst.control_five is None
            else f"; of people who are not in the data, {worst.control_five:,.0f} m"
        )
        return f"The worst-off 5 %: a released trip runs within {worst.five:,.0f} m of their own on average{beside}."

    def __str__(self) -> str:
        rows = [["attack", "known", "in the data", "not in the data", "naive", "risk"]]
        rows += [
            [
                f"{found.attack}: {found.label}",
                "" if found.known is None else str(found.known),
                str(found.rate),
                "–" if found.control is None else str(found.control),
                f"{100 * found.naive.value:.1f} %",
                "–" if found.risk is None else str(found.risk),
            ]
            for found in self.findings
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        unique = [
            f"Raw {self.kind} pinned down by 1 to {len(rates)} points ({known}): "
            + ", ".join(f"{100 * rate.value:.1f} %" for rate in rates)
            for known, rates in self.uniqueness.items()
        ]
        copied = f"Raw trips that nobody else made and that stand in the release: {self.copies}"
        further = [str(figure) for part in self.further for figure in part.figures]
        return "\n".join([self.notice, "", *self.sentences(), "", *table, "", *unique, copied, *further])


def _others(control: Rate | None, word: str = "in ") -> str:
    return "" if control is None else f"; of people who are not in the data, {word}{control}"
