"""A plan of a series to start from."""

from datetime import date

from wayveil.plan.plan import FOLLOWED, Plan

_FILES = {"day": "taps_%Y-%m-%d.csv", "week": "taps_%G-W%V.csv", "month": "taps_%Y-%m.csv"}


def series_plan(name: str, every: str, first: date, *, world: str = "feed.zip") -> Plan:
    """Make the plan of an agency's year of taps: riders protected, five days of each a release, 52 a year.

    >>> series_plan("taps", "week", date(2026, 1, 5)).cadence.every
    'week'
    """
    record = {
        "name": name,
        "curator": "",
        "source": {"files": _FILES[every], "rows": "taps", "outside": "refuse"},
        "worlds": [{"place": world, "first": first}],
        "protection": {
            "epsilon": 1,
            "unit": "rider",
            "max_trips": 5,
            "no_rider": "refuse",
            "currency": "epsilon",
            "allowance": {
                "epsilon": 52,
                "span": "year",
                "unit": "rider",
                "days_per_rider": 366,
                "daily_taps": 2,
            },
        },
        "method": {"way": "cards", "prior": FOLLOWED},
        "output": {"folder": "series", "exports": ["station-activities"], "report": True},
        "series": {"every": every, "first": first},
    }
    return Plan(**record)
