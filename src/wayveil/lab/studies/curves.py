"""What can be said of curves: whether they fall or grow, and how far two of them are apart.

A curve is a mean by place, ascending (`Results.curve`). What tests a claim gives whether it holds, and words with a
number.
"""

from collections.abc import Collection, Mapping

Curve = Mapping[float, float]
Said = tuple[bool, str]
NOT_MEASURED: Said = (False, "not measured")


def falls(curve: Curve) -> Said:
    """Whether the last point is below the first.

    >>> falls({1.0: 0.5, 2.0: 0.25})
    (True, '0.5 at 1, 0.25 at 2')
    """
    if len(curve) < 2:
        return NOT_MEASURED
    (low, first), *_, (high, last) = curve.items()
    return last < first, f"{first:.3g} at {low:g}, {last:.3g} at {high:g}"


def grows(curve: Curve) -> Said:
    """Whether the last point is above the first."""
    if len(curve) < 2:
        return NOT_MEASURED
    first, *_, last = curve.values()
    return last > first, falls(curve)[1]


def pairs(one: Curve, other: Curve) -> list[tuple[float, float]]:
    """Both values wherever both curves have one."""
    return [(one[place], other[place]) for place in one if place in other]


def always_less(one: Curve, other: Curve) -> Said:
    """Whether the first is below the second wherever both were measured.

    >>> always_less({0.5: 4.0, 2.0: 3.0}, {0.5: 5.0, 2.0: 2.0})
    (False, '4 against 5 at 0.5; 3 against 2 at 2')
    """
    both = [(place, one[place], other[place]) for place in one if place in other]
    if not both:
        return NOT_MEASURED
    words = "; ".join(f"{mine:.3g} against {theirs:.3g} at {place:g}" for place, mine, theirs in both)
    return all(mine < theirs for _, mine, theirs in both), words


def span(values: Collection[float]) -> str:
    """From the least to the largest.

    >>> span([0.25, 0.5, 0.3])
    '0.25 to 0.5'
    """
    return f"{min(values):.3g} to {max(values):.3g}"
