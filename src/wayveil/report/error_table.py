"""The error table: every figure between its reference lines, as numbers and as a strip that the eye can read."""

from dataclasses import dataclass
from math import isfinite

from wayveil.utility.scorecard import Figure, Scorecard, decimal, interval

_WIDTH, _HEIGHT, _EDGE = 180, 20, 7
_NIL = 0.0005  # what three decimals show as zero


@dataclass(frozen=True)
class AccuracyRow:
    """One figure as text, its strip as SVG, and a word of warning where a reference beats the release."""

    label: str
    value: str
    interval: str
    ceiling: str
    floor: str
    empty: str
    strip: str
    warning: str
    direction: str
    detail: bool


def accuracy_rows(card: Scorecard) -> dict[str, list[AccuracyRow]]:
    """The figures of a scorecard by question."""
    questions: dict[str, list[AccuracyRow]] = {}
    for figure in card:
        questions.setdefault(figure.question, []).append(_row(figure))
    return questions


def verdict(card: Scorecard) -> str:
    """The primary figure in a sentence."""
    main = card["count_query_error/non-empty"]
    return (
        f"Asked how many trips visit certain stops in a certain order, with questions drawn from real trips, the "
        f"release is off by {main.value:.0%} on average. A resample of the raw trips themselves is off by "
        f"{main.ceiling:.0%}, trips invented from public knowledge alone by {main.floor:.0%}, and an empty release "
        f"by {main.empty:.0%}."
    )


def _row(figure: Figure) -> AccuracyRow:
    return AccuracyRow(
        label=figure.label[:1].upper() + figure.label[1:],
        value=decimal(figure.value),
        interval=interval(figure),
        ceiling=decimal(figure.ceiling),
        floor=decimal(figure.floor),
        empty=decimal(figure.empty),
        strip=_strip(figure),
        warning=_warning(figure),
        direction="lower is better" if figure.better == "lower" else "higher is better",
        detail=figure.key.count("/") > 1,
    )


def _warning(figure: Figure) -> str:
    """Said of whole workloads only, and not of an error that is nil."""
    if figure.key.count("/") > 1 or (figure.better == "lower" and figure.value < _NIL):
        return ""

    def beats(reference: float) -> bool:
        if not (isfinite(reference) and isfinite(figure.value)):
            return False
        return reference <= figure.value if figure.better == "lower" else reference >= figure.value

    if beats(figure.empty):
        return "no better than an empty release"
    return "no better than public knowledge alone" if beats(figure.floor) else ""


def _strip(figure: Figure) -> str:
    """All values on one axis from 0 (from below it, if a rank agreement is negative) to the largest."""
    values = [figure.value, figure.ceiling, figure.floor, figure.empty]
    finite = [value for value in values if isfinite(value)]
    low, high = min([0.0, *finite]), max(finite, default=1.0)
    if figure.better == "higher":
        high = max(high, 1.0)
    span = (high - low) or 1.0

    def x(value: float) -> str:
        return f"{_EDGE + (value - low) / span * (_WIDTH - 2 * _EDGE):.1f}"

    middle = _HEIGHT // 2
    parts = [f'<path class="rail" d="M{_EDGE} {middle}H{_WIDTH - _EDGE}"/>']
    if isfinite(figure.ceiling):
        parts.append(f'<path class="ceiling" d="M{x(figure.ceiling)} 3v{_HEIGHT - 6}"/>')
    if isfinite(figure.floor):
        parts.append(f'<path class="floor" d="M{x(figure.floor)} 3v{_HEIGHT - 6}"/>')
    if isfinite(figure.empty):
        parts.append(f'<circle class="empty" cx="{x(figure.empty)}" cy="{middle}" r="4"/>')
    if figure.low is not None and figure.high is not None and isfinite(figure.low):
        parts.append(f'<path class="spread" d="M{x(figure.low)} {middle}H{x(figure.high)}"/>')
    if isfinite(figure.value):
        parts.append(f'<circle class="own" cx="{x(figure.value)}" cy="{middle}" r="5"/>')
    return f'<svg class="strip" viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden="true">{"".join(parts)}</svg>'
