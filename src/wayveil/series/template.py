"""A plan to start from: every key with what it means."""

from datetime import date

TEMPLATE = """\
# The plan of a series: one source of data, one budget, a release every {every}.
# Everything in it is public. `wayveil series init {file}` checks it; `wayveil series run {file} FILES...` runs it.

name = "{name}"          # the ledger knows the data by this name
curator = ""                    # who publishes; goes into datasheets
folder = "series"               # releases go to series/public, raw facts to series/internal
# ledger = "ledger"             # place of the ledger; without it the default one (see `wayveil ledger --help`)

every = "{every}"                  # one release per day, week (ISO weeks, from Monday) or month
first = {first}              # first day of data

[source]
# How the name of a file says its days: %Y-%m-%d (a day), %G-W%V (a week), %Y-%m (a month).
files = "{files}"
# columns = "wayveil"           # wayveil, bc-transit, tides, tides-draft, sube, or a TOML file; guessed if left out
# zone = "America/Vancouver"    # times that name a zone are put on this clock before they are given to a day
# opt_out = "no_study"          # the column with the wish not to be counted; such rows are dropped, each for itself
outside = "refuse"              # a row of other days than the name says: refuse the file, or drop each such row
days_per_rider = 366            # a person is in the data of a year on at most so many days
daily_taps = 2                  # taps of the daily rider whose year the page for the privacy officer states

[[worlds]]                      # public places; one entry per version of the feed, with its first (and last) day
place = "feed.zip"
first = {first}
# last = 2026-05-10

[publish]
way = "cards"                   # cards (protects riders), counts or counts-first (protect single taps)
unit = "rider"                  # rider or rider-day, for cards
max_trips = 5                   # days of one rider that are counted in a release (rider-day: 1)
no_rider = "refuse"             # taps without a card: refuse, drop, or own (each a rider of its own)
prior = 8                       # earlier releases that a release follows; they are public and cost nothing
exports = ["station-activities"]
report = true

[budget]
epsilon = 1                     # of one release
unit = "rider"                  # whose loss a year of data limits: rider, rider-day, trip or event
period = "year"                 # for weeks a year has 52 or 53 of them
period_epsilon = 52             # what one rider may lose from the data of one year; no lifetime total is needed
accounting = "epsilon"          # or "rho": the same guarantee at `delta` with far less noise (see `series status`)
delta = "1e-6"
carried_over = false            # whether what a year leaves unspent may be spent later
"""
_FILES = {"day": "taps_%Y-%m-%d.csv", "week": "taps_%G-W%V.csv", "month": "taps_%Y-%m.csv"}


def template(file: str, name: str, every: str, first: date) -> str:
    """The text of a new plan."""
    return TEMPLATE.format(file=file, name=name, every=every, first=first.isoformat(), files=_FILES[every])
