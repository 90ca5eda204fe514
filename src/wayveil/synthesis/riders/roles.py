"""Behaviour of riders: roles, purposes, windows and limits, with the figures of the BC Transit study as defaults.

The study publishes role shares, active days, purposes and the hours of primary trips. It names, but does not give, its
limits of time, distance and taps; those here are ours, chosen so that a rider of its data set (312,659 taps of six
days) taps about 4.5 times a week, which the study aims at. Everything is public; what was tuned was
tuned on simulated taps.
"""

from typing import Final, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from wayveil.arrays import Floats, Ints, Mask
from wayveil.world.timebins import HOUR

PURPOSES: Final = ("work", "study", "business", "personal", "shopping", "social", "airport")
SCENARIOS: Final = ("transfer", "return", "new trip", "first of the day", "new rider")
MINUTE: Final = 60


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Role(_Frozen):
    """One kind of rider.

    share              of all riders
    active_days        least and most days a week on which such a rider travels, drawn once per rider
    working_days_only  whether active days lie between Monday and Friday
    purpose            what the role travels for, other than general purposes
    primary_hours      on working days, new trips that begin in these hours are mostly for the role's purpose
    transfer_minutes   least and most minutes between two taps of one journey
    stay_hours         least and most hours at the destination before the return
    new_trip_minutes   least minutes between a tap and one of an unrelated trip
    latest_hour        no tap from this hour on
    taps_a_day         most taps of such a rider on one day
    taps_for           most taps a day for one purpose; purposes not named have no limit of their own
    """

    name: str
    share: float = Field(gt=0, le=1)
    active_days: tuple[int, int]
    working_days_only: bool = False
    purpose: str
    primary_hours: tuple[int, int] | None = None
    transfer_minutes: tuple[int, int] = (3, 60)
    stay_hours: tuple[float, float] = (1.0, 6.0)
    new_trip_minutes: int = Field(90, ge=1)
    latest_hour: int = Field(24, ge=1, le=24)
    taps_a_day: int = Field(2, ge=1, le=100)
    taps_for: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _sensible(self) -> "Role":
        pairs = {
            "active_days": self.active_days,
            "transfer_minutes": self.transfer_minutes,
            "stay_hours": self.stay_hours,
        }
        for name, (low, high) in pairs.items():
            if not 0 < low <= high:
                raise ValueError(f"{name} must be a positive range, not {low}..{high}")
        if self.active_days[1] > (5 if self.working_days_only else 7):
            raise ValueError(f"a week does not have {self.active_days[1]} such days")
        unknown = ({self.purpose} | set(self.taps_for)) - set(PURPOSES)
        if unknown:
            raise ValueError(f"unknown purpose {min(unknown)!r}; choose one of {', '.join(PURPOSES)}")
        return self


STUDY_ROLES: Final = (
    Role(
        name="full-time",
        share=0.20,
        active_days=(5, 5),
        working_days_only=True,
        purpose="work",
        primary_hours=(6, 12),
        stay_hours=(6, 11),
        new_trip_minutes=120,
        taps_a_day=2,
        taps_for={"work": 2, "shopping": 1, "social": 1, "airport": 1},
    ),
    Role(
        name="part-time",
        share=0.08,
        active_days=(2, 4),
        purpose="work",
        primary_hours=(5, 18),
        stay_hours=(3, 7),
        taps_a_day=2,
        taps_for={"work": 2, "shopping": 1, "social": 1, "airport": 1},
    ),
    Role(
        name="student",
        share=0.06,
        active_days=(3, 5),
        purpose="study",
        primary_hours=(6, 16),
        stay_hours=(2, 9),
        taps_a_day=3,
        taps_for={"study": 3, "shopping": 1, "social": 2, "airport": 1},
    ),
    Role(
        name="self-employed",
        share=0.17,
        active_days=(4, 6),
        purpose="business",
        stay_hours=(1, 9),
        taps_a_day=2,
        taps_for={"business": 2, "shopping": 1, "social": 1, "airport": 1},
    ),
    Role(
        name="other",
        share=0.49,
        active_days=(2, 5),
        purpose="personal",
        stay_hours=(0.75, 5),
        taps_a_day=2,
        taps_for={"personal": 2, "shopping": 2, "social": 2, "airport": 1},
    ),
)


class RiderRules(_Frozen):
    """The whole configuration of the reconstruction.

    general_share  how often a new trip has a general purpose; `general` weighs them
    primary_share  how often a trip in a role's primary hours is for the role's purpose
    *_km           how far a tap may be from the rider's last tap (first tap of a day: from the first tap ever, "home")
    hour_weight, km_weight   score of a candidate per hour since, and per km from, the last tap; the lowest score wins
    primary_bonus  taken off the score if the tap is within `primary_km` of the rider's primary place
    regularity     share of a rider's active days on which the rider really travels
    one_way        share of a rider's days with a single tap: on the way back somebody else drives. The study has no
                   such days, so that most of its riders have an even number of taps
    first_hours    what the first tap of a day counts as, in hours since the last tap
    walking        metres per second on foot: a rider may always walk, and otherwise needs the network's travel time
    patience       riders at one stop, of one role, that are looked at for one tap and scenario
    """

    roles: tuple[Role, ...] = STUDY_ROLES
    general_share: float = Field(0.45, ge=0, le=1)
    general: dict[str, float] = Field(
        default_factory=lambda: {"shopping": 17.0, "social": 16.0, "airport": 12.0}
    )
    primary_share: float = Field(0.9, ge=0, le=1)
    transfer_km: float = Field(5.0, ge=0)
    return_km: float = Field(12.0, ge=0)
    new_trip_km: float = Field(5.0, ge=0)
    first_km: float = Field(0.4, ge=0)
    hour_weight: float = Field(1.0, ge=0)
    km_weight: float = Field(0.5, ge=0)
    primary_bonus: float = Field(0.25, ge=0)
    primary_km: float = Field(0.5, ge=0)
    first_hours: float = Field(2.0, ge=0)
    regularity: float = Field(0.65, gt=0, le=1)
    one_way: float = Field(0.0, ge=0, le=1)
    walking: float = Field(1.4, gt=0)
    patience: int = Field(16, ge=1)

    @model_validator(mode="after")
    def _whole(self) -> "RiderRules":
        total = sum(role.share for role in self.roles)
        if abs(total - 1) > 1e-9:
            raise ValueError(f"the shares of the roles add up to {total:g}, not to 1")
        if not self.general or min(self.general.values()) <= 0 or set(self.general) - set(PURPOSES):
            raise ValueError(
                f"general purposes are some of {', '.join(PURPOSES)}, each with a positive weight"
            )
        return self

    @property
    def shares(self) -> Floats:
        """Role shares, in the order of the roles."""
        return np.array([role.share for role in self.roles])

    @property
    def reach_km(self) -> float:
        """The farthest that any scenario looks."""
        return max(self.transfer_km, self.return_km, self.new_trip_km, self.first_km)

    def compiled(self) -> "RuleArrays":
        """The rules as arrays, for the compiled loop."""
        roles, purposes = self.roles, len(PURPOSES)
        low, high = np.empty((len(roles), 3), np.int64), np.empty((len(roles), 3), np.int64)
        most = np.full((len(roles), purposes), 127, np.int64)
        hours = np.full((len(roles), 2), -1, np.int64)
        for at, role in enumerate(roles):
            low[at] = (
                role.transfer_minutes[0] * MINUTE,
                int(role.stay_hours[0] * HOUR),
                role.new_trip_minutes * MINUTE,
            )
            high[at] = role.transfer_minutes[1] * MINUTE, int(role.stay_hours[1] * HOUR), 24 * HOUR
            for name, taps in role.taps_for.items():
                most[at, PURPOSES.index(name)] = taps
            if role.primary_hours is not None:
                hours[at] = role.primary_hours
        general = np.zeros(purposes)
        for name, weight in self.general.items():
            general[PURPOSES.index(name)] = weight
        return RuleArrays(
            low,
            high,
            most,
            np.array([role.taps_a_day for role in roles], np.int64),
            np.array([role.latest_hour * HOUR for role in roles], np.int64),
            hours,
            np.array([PURPOSES.index(role.purpose) for role in roles], np.int64),
            np.cumsum(general / general.sum()),
            np.array([self.transfer_km, self.return_km, self.new_trip_km, self.first_km]) * 1000,
            np.array(
                [self.hour_weight / HOUR, self.km_weight / 1000, self.primary_bonus, self.primary_km * 1000]
            ),
            np.array(
                [
                    self.first_hours * self.hour_weight,
                    self.general_share,
                    self.primary_share,
                    self.regularity,
                    self.one_way,
                ]
            ),
            self.patience,
            self.shares / self.shares.sum(),
            np.array([role.working_days_only for role in roles]),
        )


class RuleArrays(NamedTuple):
    """Arrays of the loop. Rows are roles; the columns of `low` and `high` (seconds) are transfer, return, new trip."""

    low: Ints
    high: Ints
    most: Ints  # taps a day by purpose
    taps_a_day: Ints
    latest: Ints  # second of the day
    primary_hours: Ints
    purpose: Ints
    general: Floats  # cumulated
    metres: Floats  # transfer, return, new trip, first
    score: Floats  # per second, per metre, bonus, metres for the bonus
    shares: Floats  # score of a first tap, share of general purposes, of primary ones, regularity, one way
    patience: int
    role_shares: Floats
    rests: Mask  # at weekends
