"""Meaning of each key of a plan that is an option of the command line too: said once, for comments, docs and help."""

from typing import Final

MEANINGS: Final = {
    "name": "Name of the dataset in the ledger; default: that of the file.",
    "curator": "Who publishes; goes into the datasheet.",
    "purpose": "What the release is for; goes into the datasheet and the ledger.",
    "place": "GTFS zip or folder, saved network (.npz), csv or GeoJSON of places, text file with one location per "
    "line, or grid:south,west,north,east@250 (cells of 250 m; @0.02deg: of degrees).",
    "bbox": "Keep stops inside south,west,north,east (degrees).",
    "service_date": "Keep the service of one day, YYYY-MM-DD.",
    "walk_radius": "Add walks between stops at most this many metres apart.",
    "rows": "What a row is: `calls` (every stop passed), `legs` (where people board and alight), `pairs` (origin and "
    "destination in one row), `taps` (boardings only) or `points` (GPS). `wayveil check` says what it seems.",
    "ways": "Between the ends of legs and pairs: `routed` by the fastest path, or only the `ends`.",
    "days": "The days that the rows are of, 2026-01-05/2026-01-11; in a series the file's name says it.",
    "epsilon": "Privacy budget of one release: a number or fraction, 0.5 or 1/2, from 0.001 to 1000.",
    "delta": "For trained mechanisms and rho: the chance that epsilon does not cover. Default: 1e-6.",
    "currency": "`epsilon`: pure, Laplace noise. `rho`: the same epsilon at `delta`, Gaussian noise.",
    "unit": "Who is protected: rider, rider-day, trip, event, points (`consecutive` visits of a trip, one after the "
    "other) or window. Default: a rider where rows have riders.",
    "max_trips": "Trips (days or weeks of taps) of one rider that count, chosen at random; with weights, what all of "
    "them count as together. Without it all of them count, by weights (docs/weights.md).",
    "max_taps": "Taps of one rider, rider-day or window that count, where taps are counted.",
    "no_rider": "Rows without a rider: `refuse`, `drop`, or take each for a rider of its `own`.",
    "ledger": "Ledger file or postgresql:// address; `none` for none. Default: WAYVEIL_HOME, a folder .wayveil here or "
    "above, or ~/.wayveil.",
    "policy_epsilon": "For a dataset that the ledger does not know: what may be spent on it in all, for ever.",
    "new_people": "Nobody here is in another dataset of the ledger, although it looks so.",
    "tuned_on_data": "Parameters were chosen by looking at the raw rows.",
    "mechanism": "See `wayveil lab mechanisms`. Default: weave; for taps tap-counts.",
    "preset": "`published`: parameters as the mechanism's authors set them.",
    "way": "Taps: `cards` (chains of a card, protects riders), `counts` or `counts-first` (single taps), or `study` "
    "(protects nobody behind the taps).",
    "engine": "Where rows are counted: memory, stream (files of any size, piece by piece), spark, or auto; all give "
    "the same release (docs/scale.md).",
}
