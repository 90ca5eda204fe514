"""The ledger: who spent how much privacy budget on which dataset, durable and tamper-evident.

    ledger = open_ledger("trips.ledger")                    # or postgresql://...
    ledger.set_policy("taps 2026", Policy(4, unit="rider"), actor="officer")
    rows = ledger.take_in("taps 2026", trips, actor="analyst")   # refused if known under another name
    about = LineFacts(content=rows)
    reservation = ledger.reserve("taps 2026", 1, unit=Rider(2), actor="analyst", mechanism="a tree", facts=about)
    reservation.start()                                     # right before the first noise
    reservation.commit(release_hash)                        # after publishing

What the chain shows, and what it cannot. Every line holds the hash of the line before, and a head record
holds the number of lines and the last hash. So `verify` notices any line that was edited, removed, moved or
cut off by somebody who does not recompute all that follows. Somebody with write access who does recompute
everything, puts an old copy of the file back, or starts a new ledger, leaves a consistent ledger behind: only
a `head()` noted elsewhere gives that away. Datasheets hold one; give them to `verify(known_heads=...)`. Where
spenders must not be able to rewrite, keep the ledger in PostgreSQL and grant them no more than SELECT and
INSERT on the lines and SELECT and UPDATE on the facts.
"""

from wayveil.privacy.ledger.composition import Composition, Cost, compose
from wayveil.privacy.ledger.conversion import POLICY_UNITS
from wayveil.privacy.ledger.data_limit import DataLimit, SpanStatement
from wayveil.privacy.ledger.data_time import Days
from wayveil.privacy.ledger.ledger import Ledger, Reservation, open_ledger
from wayveil.privacy.ledger.lines import BrokenLedgerError, Head, KnownRowsError, LedgerError, Line, LineFacts
from wayveil.privacy.ledger.policy import Policy
from wayveil.privacy.ledger.statements import DatasetSummary, OpenReservation, Verification

__all__ = [
    "POLICY_UNITS",
    "BrokenLedgerError",
    "Composition",
    "Cost",
    "DataLimit",
    "DatasetSummary",
    "Days",
    "Head",
    "KnownRowsError",
    "Ledger",
    "LedgerError",
    "Line",
    "LineFacts",
    "OpenReservation",
    "Policy",
    "Reservation",
    "SpanStatement",
    "Verification",
    "compose",
    "open_ledger",
]
