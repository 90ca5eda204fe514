"""`risk`: run every attack against a release and say what it reaches, for internal eyes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from wayveil.arrays import Floats
from wayveil.attacks.attack_findings import AttackFinding, RiskReport, WorstOff
from wayveil.attacks.knowledge import MOST_KNOWN, Known, copies_of_unique_trips, riders_pinned_down
from wayveil.attacks.known_points import guess_destination, guess_hour, single_out
from wayveil.attacks.membership import Membership, differences, moves_score, strongest, table_scores
from wayveil.attacks.metric_paths import LINKED_METRES, Nearness, coordinates, nearness
from wayveil.attacks.rates import Rate, gain
from wayveil.attacks.suppression import compare_suppression
from wayveil.attacks.targets import Targets, draw_targets
from wayveil.errors import ParameterError
from wayveil.progress import track
from wayveil.trips.trips import Trips

DEFAULT_TARGETS = 2_000
# By whether times count.
NEAREST = {False: "nearest trip in space", True: "nearest trip in space and time"}
Near = dict[bool, tuple[Nearness, Nearness | None]]
Found = TypeVar("Found")


class Released(Protocol):
    """Target of attacks: released trips, their datasheet, and the model behind them where it is at hand."""

    @property
    def trips(self) -> Trips: ...

    @property
    def datasheet(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class RiskSettings:
    """Settings of the attacks; all stand on the page.

    targets   people attacked on each side at most
    metres    a released trip closer than this on average is a link
    hours     whether the attacker knows hours; None = where raw and release carry times
    seed      of what the attacker happens to know; the same for every release that is compared

    >>> wv.RiskSettings(targets=100).targets
    100
    """

    targets: int = DEFAULT_TARGETS
    metres: float = LINKED_METRES
    hours: bool | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.targets < 20:
            raise ParameterError(
                f"fewer than 20 targets say nothing about rates, and {self.targets} were asked"
            )
        if not self.metres > 0:
            raise ParameterError(f"a link needs a distance above 0 metres, not {self.metres:g}")


def risk(
    release: Released | Trips,
    raw: Trips,
    holdout: Trips | None = None,
    *,
    model: pl.DataFrame | None = None,
    settings: RiskSettings | None = None,
) -> RiskReport:
    """Attack a release with the raw trips it was made from, and with people of the same source who are not in it.

    Without a hold-out there are rates and no risk: what an attacker would reach anyway is then unknown. `model` is the
    released table (`model.parquet`), where the release does not carry it. Not for publication.

    >>> found = wv.risk(made, trips, settings=wv.RiskSettings(targets=20))
    >>> "Singling out" in str(found)
    True
    """
    settings = RiskSettings() if settings is None else settings
    released = release if isinstance(release, Trips) else release.trips
    datasheet = {} if isinstance(release, Trips) else release.datasheet
    check_worlds(raw, released, holdout, datasheet)
    hours = _knows_hours(raw, released, holdout, settings.hours)
    members = draw_targets(raw, settings.targets, settings.seed, "the raw file")
    controls = None
    if holdout is not None:
        check_disjoint(raw, holdout)
        controls = draw_targets(holdout, settings.targets, settings.seed, "the hold-out")
    if model is None:
        fresh = getattr(release, "model", None)
        model = None if fresh is None or not hasattr(fresh, "table") else fresh.table()
    return _Attack(raw, released, members, controls, model, hours, settings).report(datasheet, holdout)


class _Attack:
    """One release under attack."""

    def __init__(
        self,
        raw: Trips,
        released: Trips,
        members: Targets,
        controls: Targets | None,
        model: pl.DataFrame | None,
        hours: bool,
        settings: RiskSettings,
    ) -> None:
        self.raw, self.released, self.model = raw, released, model
        self.members, self.controls = members, controls
        self.hours, self.settings = hours, settings
        self.known: tuple[Known, ...] = ("stop", "stop and hour") if hours else ("stop",)

    def report(self, datasheet: dict[str, Any], holdout: Trips | None) -> RiskReport:
        kinds = (False, True) if self.hours else (False,)
        near = {timed: self._both(partial(nearness, timed=timed)) for timed in kinds}
        mine, others = near[False]
        steps: list[Callable[[], list[AttackFinding]]] = [
            self._singling_out,
            lambda: self._linkage(near),
            self._inference,
        ]
        findings = [found for attack in track(steps, "attacks") for found in attack()]
        hashes = {"raw": self.raw.fingerprint(), "release": self.released.fingerprint()}
        if holdout is not None:
            hashes["hold-out"] = holdout.fingerprint()
        return RiskReport(
            findings=tuple(findings),
            membership=self._membership(near),
            uniqueness={
                known: tuple(riders_pinned_down(self.raw, known, seed=self.settings.seed))
                for known in self.known
            },
            copies=copies_of_unique_trips(self.raw, self.released),
            worst_off=WorstOff.of(mine.metres, None if others is None else others.metres),
            kind=self.members.kind,
            people=self.members.people,
            members=len(self.members),
            controls=None if self.controls is None else len(self.controls),
            guarantee=str(datasheet.get("guarantee", {}).get("sentence", "")),
            settings={
                "targets": self.settings.targets,
                "link_closer_than_metres": self.settings.metres,
                "attacker_knows_hours": self.hours,
                "seed": self.settings.seed,
            },
            notice=self.raw.history.notice,
            hashes=hashes,
            further=(compare_suppression(self.raw, datasheet),),
            unlike=() if self.controls is None else differences(self.members.trips, self.controls.trips),
        )

    def _both(self, attack: Callable[..., Found]) -> tuple[Found, Found | None]:
        """Attack the members, and the controls where there are any."""
        found = attack(self.members.trips, released=self.released, seed=self.settings.seed)
        if self.controls is None:
            return found, None
        return found, attack(self.controls.trips, released=self.released, seed=self.settings.seed)

    def _singling_out(self) -> list[AttackFinding]:
        findings = []
        for known in self.known:
            for worst in (False, True):
                mine, others = self._both(partial(single_out, known=known, worst=worst))
                findings += [
                    self._finding(
                        "singling out",
                        f"{known}, {'the worst' if worst else 'random'}",
                        Rate.of(mine.hits(m)),
                        None if others is None else Rate.of(others.hits(m)),
                        Rate.of(mine.hits(m, blind=True)),
                        m,
                    )
                    for m in range(1, MOST_KNOWN + 1)
                ]
        return findings

    def _linkage(self, near: Near) -> list[AttackFinding]:
        metres = self.settings.metres
        return [
            self._finding(
                "linkage",
                NEAREST[timed],
                mine.linked(metres),
                None if others is None else others.linked(metres),
                mine.naive(metres),
            )
            for timed, (mine, others) in near.items()
        ]

    def _inference(self) -> list[AttackFinding]:
        questions = {"destination": guess_destination}
        if self.hours:
            questions["hour of departure"] = guess_hour
        findings = []
        for label, guess in questions.items():
            mine, others = self._both(guess)
            right = None if others is None else Rate.of(others.right)
            findings.append(
                self._finding("inference", label, Rate.of(mine.right), right, Rate.of(mine.naive))
            )
        return findings

    def _membership(self, near: Near) -> Membership | None:
        if self.controls is None or len(self.released) == 0:
            return None
        mine, others = (
            self._scores(side.trips, at, near) for at, side in enumerate((self.members, self.controls))
        )
        return strongest(mine, others, self.settings.seed)

    def _scores(self, targets: Trips, side: int, near: Near) -> dict[str, Floats]:
        found = {NEAREST[timed]: both[side] for timed, both in near.items()}
        scores = {name: -seen.metres for name, seen in found.items() if seen is not None}
        scores["moves of the released trips"] = moves_score(targets, self.released)
        return scores | ({} if self.model is None else table_scores(targets, self.model))

    @staticmethod
    def _finding(
        attack: str, label: str, mine: Rate, others: Rate | None, naive: Rate, known: int | None = None
    ) -> AttackFinding:
        return AttackFinding(
            attack, label, known, mine, others, naive, None if others is None else gain(mine, others)
        )


def check_worlds(raw: Trips, released: Trips, holdout: Trips | None, datasheet: dict[str, Any]) -> None:
    """Refuse worlds without coordinates, and trips or releases of another world."""
    coordinates(raw.world)
    mine = raw.world.fingerprint()
    others = [released.world, *([] if holdout is None else [holdout.world])]
    stated = [part["sha256"] for part in datasheet.get("public_inputs", ()) if "sha256" in part]
    if any(world is not raw.world and world.fingerprint() != mine for world in others) or (
        stated and mine not in stated
    ):
        raise ParameterError(
            "the release was made for another world than the raw trips were read with; open the world that the "
            "datasheet names (same feed, same box, same date)"
        )


def check_disjoint(raw: Trips, holdout: Trips) -> None:
    """Refuse a hold-out with people who are in the raw trips."""
    if (raw.rider is None) != (holdout.rider is None):
        raise ParameterError("raw trips and hold-out must both have riders, or both have none")
    if raw.rider is None or holdout.rider is None:
        return
    shared = np.intersect1d(raw.rider[raw.rider >= 0], holdout.rider[holdout.rider >= 0])
    if len(shared):
        raise ParameterError(
            f"the hold-out shares {len(shared):,} riders with the raw trips; people outside the data must not be in "
            "it (riders of another file need numbers of their own: `holdout_numbers`)"
        )


def _knows_hours(raw: Trips, released: Trips, holdout: Trips | None, asked: bool | None) -> bool:
    sides = {"the raw trips": raw, "the release": released}
    if holdout is not None:
        sides["the hold-out"] = holdout
    without = [name for name, trips in sides.items() if trips.time is None]
    if asked and without:
        raise ParameterError(
            f"an attacker who knows hours needs times, and {' and '.join(without)} carry none"
        )
    return not without if asked is None else asked
