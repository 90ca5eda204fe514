"""Names for the places of an invented city."""

from numpy.random import Generator

CITY = "Veilhaven"

_LANDMARKS = (
    "Central Station", "Town Hall", "Harbour Front", "University", "Old Exchange", "Museum Quay", "Lock Gardens",
    "Assembly House", "Botanic Garden", "North Terminal", "Ferry Steps", "Grain Market", "Opera", "Stadium",
)  # fmt: skip
_FIRST = (
    "Alder", "Brack", "Carn", "Drift", "Elver", "Fen", "Gorse", "Hazel", "Iver", "Juniper", "Kelp", "Lark", "Mallow",
    "Nettle", "Oster", "Pell", "Quill", "Rowan", "Sallow", "Tarn", "Ulver", "Vesper", "Wether", "Yarrow",
)  # fmt: skip
_SECOND = (
    "bridge", "croft", "dale", "field", "gate", "holm", "hurst", "ley", "mead", "moor", "ness", "ridge", "stead",
    "strand", "ton", "wick", "worth",
)  # fmt: skip
_KINDS = ("Street", "Lane", "Square", "Road", "Mill", "School", "Green", "Row", "Corner", "Park")


def name_places(rng: Generator, stations: int, places: int) -> list[str]:
    """One name per place, no two alike; the stations, which come first, have the short ones."""
    bases = [first + second for first in _FIRST for second in _SECOND]
    shuffled = [bases[i] for i in rng.permutation(len(bases))]
    short = (list(_LANDMARKS) + shuffled)[:stations]
    streets = [f"{base} {kind}" for base in bases for kind in _KINDS]
    # A large city has the same street in several districts.
    districts = max(1, -(-(places - len(short)) // len(streets)))
    streets += [f"{street} {district}" for district in range(2, districts + 1) for street in streets]
    chosen = rng.permutation(len(streets))[: places - len(short)]
    return short + [streets[i] for i in chosen]
