"""Releases of taps as tests write them: the way by its place, and two days of a rider where nothing is said."""

from datetime import timedelta

from wayveil.privacy.ledger.data_time import Days
from wayveil.run import make_release


def release_taps(taps, way, *, mechanism=None, first_day=None, days=None, unit=None, **options):
    """A release of taps; `first_day` and `days` (a number) say the public period."""
    if first_day is not None and days is not None:
        options["days"] = Days(first_day, first_day + timedelta(days=days - 1))
    if unit in (None, "rider") and way in ("cards", "study"):
        options.setdefault("max_trips", 2)
    if "without_id" in options:
        options["no_rider"] = options.pop("without_id")
    if "period" in options:
        options["chain"] = options.pop("period")
    return make_release(taps, mechanism, way=way, unit=unit, **options)
