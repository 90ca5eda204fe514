"""Everything a privacy officer has to know about a release, written as a datasheet."""

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from typing import Any

import wayveil
from wayveil.errors import ParameterError, decimal, plain
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.gate import Gate
from wayveil.privacy.noise import laplace_interval
from wayveil.released.reached import StatedNeed
from wayveil.released.released_trips import NOT_STATED, TUNING, Datasheet, say_factor, split_label
from wayveil.trips.legality import LegalityRule
from wayveil.trips.legs import VisitKind
from wayveil.world.world import World

UNPROTECTED = (
    "the public world: its locations, moves and travel times",
    "all parameters, thresholds and shares of the budget listed here",
    "that the data holder has trips of this kind, and the period that the release names",
)

LIMITATIONS = (
    "Differential privacy bounds what the release reveals about one unit; patterns of the whole crowd remain visible.",
    "Several releases of the same people add up; the ledger keeps the sum only for releases that are bound to it.",
    "Running time, memory and error messages of the run are not covered and must not be published.",
)


@dataclass(frozen=True)
class Statement:
    """Statement of the data holder on a release: who publishes it, what for, and whether parameters come from a look.

    curator_type  Government, Industry or Nonprofit
    region        what the data describes, and whose law applies
    contact       whom a reader may ask
    bad_rows      the rules for bad rows by name, never how many there were
    needs         the questions that it is for
    """

    curator: str = ""
    purpose: str = ""
    tuned_on_data: bool = False
    curator_type: str = ""
    region: str = ""
    contact: str = ""
    bad_rows: str = ""
    needs: tuple[StatedNeed, ...] = ()


@dataclass(frozen=True, eq=False)
class Measured:
    """Model that a mechanism measured, and the gate it was measured through.

    world          in which trips were counted; `released_over` is the world of the released trips
    rule, visits   what was done to each trip before, and what its visits are
    claim          the epsilon that a budget in rho was made from, at the budget's delta
    not_private    why something outside the mechanism keeps the release from being private
    """

    mechanism: Mechanism
    gate: Gate
    world: World
    released_over: World
    rule: LegalityRule
    visits: VisitKind = "calls"
    claim: Fraction | None = None
    not_private: str | None = None

    @property
    def loss(self) -> dict[str, str]:
        """Privacy loss, in the currency of the budget and as it is claimed."""
        spent = {self.gate.budget.currency: plain(self.gate.budget.spent)}
        # What was not spent of rho only makes the claim truer.
        return spent if self.claim is None else {"epsilon": plain(self.claim), **spent}


def make_datasheet(
    *, name: str, stated: Statement, measured: Measured, ledger: dict[str, Any] | None
) -> Datasheet:
    """Write down everything that a privacy officer has to know about the release, as plain data."""
    gate, mechanism = measured.gate, measured.mechanism
    reasons, unit = not_private_because(measured), gate.unit.describe()
    return Datasheet(
        {
            "wayveil": {"format": 2, "version": wayveil.__version__},
            "private": not reasons,
            "not_private_because": reasons,
            "guarantee": {
                "sentence": guarantee_sentence(gate, gate.budget.spent, reasons, measured.claim),
                "unit": unit["unit"],
                "neighbours": unit["neighbours"],
                "bounds": unit["bounds"],
                **measured.loss,
                "delta": plain(gate.budget.delta),
            },
            "contact": stated.contact or NOT_STATED,
            "deployment": _deployment(name, stated, measured, ledger),
            "mechanism": mechanism.describe(),
            "visits": measured.visits,
            **({} if gate.size is None else {"size": gate.size.describe()}),
            "spends": spends_with_error_bars(gate),
            "public_inputs": public_inputs(measured),
            "noise": {
                "source": "AES-256 in counter mode, keyed by the operating system"
                if gate.private
                else "seeded test noise",
                "arithmetic": "integers and exact rationals only",
            },
            "not_protected": list(UNPROTECTED),
            "limitations": list(LIMITATIONS),
            "ledger": ledger,
        }
    )


def _deployment(
    name: str, stated: Statement, measured: Measured, ledger: dict[str, Any] | None
) -> dict[str, Any]:
    """The release in the field names of the registry."""
    gate, mechanism = measured.gate, measured.mechanism
    unit, delta = gate.unit.describe(), gate.budget.delta
    return {
        "basic": {
            "name": name,
            "data_curators": [
                {
                    "data_curator_name": stated.curator or NOT_STATED,
                    "data_curator_type": stated.curator_type or NOT_STATED,
                }
            ],
            "intended_use": stated.purpose or NOT_STATED,
            "data_product_type": "Synthetic data",
            "data_product_region": stated.region or NOT_STATED,
            "description": f"Trips generated from {mechanism.summary}.",
            "publication_date": datetime.now(UTC).date().isoformat(),
        },
        "dp_variant": {
            "variant_name": _variant(gate),
            "data_domain": f"multisets of trips over {measured.world.size} public locations",
            "unprotected_quantities": "; ".join(UNPROTECTED),
        },
        "privacy_loss": {
            "privacy_unit": unit["unit"],
            "privacy_unit_details": unit["neighbours"],
            "privacy_parameters": {key: float(Fraction(value)) for key, value in measured.loss.items()}
            | {"delta": float(delta)},
            "privacy_parameters_details": "; ".join(
                f"{split_label(spend.label)[0]}: {plain(spend.price)}" for spend in gate.budget.spends
            ),
        },
        "deployment_model": {
            "model_name": "Central",
            "model_name_details": "a trusted data holder adds the noise",
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "accounting": {
            "post_processing": "consistency of noisy counts, rounding to whole trips, writing trips",
            "composition": "sequential, with exact rationals; parallel inside named groups of disjoint parts",
        },
        "implementation": {
            TUNING: " ".join(_sentences(measured, stated, ledger)),
            "mechanisms": _noises(gate),
            "justification": (mechanism.__doc__ or mechanism.summary).strip().splitlines()[0],
        },
    }


def _sentences(measured: Measured, stated: Statement, ledger: dict[str, Any] | None) -> list[str]:
    """Say what was done to trips, which rules bad rows had, and where parameters come from."""
    rules = [f"Rules for bad rows: {stated.bad_rows}."] if stated.bad_rows else []
    return [measured.rule.sentence(), *rules, tuning(stated.tuned_on_data, ledger)]


def restate(datasheet: Datasheet, **said: str) -> Datasheet:
    """Return the datasheet with a new curator, curator_type, purpose, region or contact, as `said`."""
    basic = datasheet["deployment"]["basic"]
    curator = dict(basic["data_curators"][0])
    places = {
        "curator": (curator, "data_curator_name"),
        "curator_type": (curator, "data_curator_type"),
        "purpose": (basic := dict(basic), "intended_use"),
        "region": (basic, "data_product_region"),
        "contact": (made := Datasheet(datasheet), "contact"),
        "risk": (made, "risk"),  # a file for an impact assessment
    }
    for key, value in said.items():
        if key not in places:
            raise ParameterError(f"unknown key {key!r}; choose one of {', '.join(places)}")
        place, name = places[key]
        place[name] = value
    basic["data_curators"] = [curator, *basic["data_curators"][1:]]
    made["deployment"] = {**datasheet["deployment"], "basic": basic}
    return made


def tuning(declared: bool, ledger: dict[str, Any] | None) -> str:
    """Say whether parameters may come from a look at the raw trips: what was declared, and what is booked."""
    if declared:
        said = "Parameters were chosen by looking at the raw trips; that look is NOT covered by the stated guarantee."
    else:
        said = "No tuning on the raw trips was declared; parameters are public constants or bought from the budget."
    looks = None if ledger is None else ledger.get("looks_before")
    if looks is None:
        return f"{said} No ledger was asked whether somebody looked at the raw data before."
    times = "1 look at the raw data was" if looks == 1 else f"{looks or 'no'} looks at the raw data were"
    covered = " The guarantee does not cover what was chosen by them." if looks else ""
    return f"{said} {times[0].upper()}{times[1:]} booked before this release.{covered}"


def not_private_because(measured: Measured) -> list[str]:
    """List reasons why the stated guarantee does not hold for this run; none for a real release."""
    reasons = []
    if not measured.gate.private:
        reasons.append("not private: seeded noise, anybody who knows the seed can take it off again")
    if not measured.world.public:
        reasons.append("not private: the universe of locations was read off the sensitive trips")
    return reasons if measured.not_private is None else [*reasons, measured.not_private]


def _variant(gate: Gate) -> str:
    if gate.budget.currency == "rho":
        return "Zero-concentrated DP"
    return "Approximate DP" if gate.budget.delta else "Pure DP"


def _noises(gate: Gate) -> str:
    if gate.budget.currency == "rho":
        return "discrete Gaussian"
    trained = any(spend.kind == "training" for spend in gate.budget.spends)
    return "discrete Laplace; rounded Gaussian on clipped gradients" if trained else "discrete Laplace"


def guarantee_sentence(gate: Gate, spent: Fraction, reasons: list[str], claim: Fraction | None = None) -> str:
    """The claim, in one sentence."""
    if reasons:
        return "This output carries no privacy guarantee (" + "; ".join(reasons) + ")."
    delta = gate.budget.delta
    chance = f"(delta = {plain(delta)})"
    but = f", but for events with a chance of at most {float(delta):g}" if delta else ""
    if claim is not None:
        chance = f"(so (epsilon, delta)-differential privacy with epsilon = {decimal(claim)}, delta = {plain(delta)})"
    flavour = (
        "differential privacy"
        if gate.budget.currency == "epsilon"
        else "zero-concentrated differential privacy"
    )
    return (
        f"This release satisfies {flavour} with {gate.budget.currency} = {decimal(spent)} {chance} for the unit "
        f"`{gate.unit.name}`: comparing {gate.unit.neighbours}, {_limit(gate, spent, claim)}{but}."
    )


def public_inputs(measured: Measured) -> list[dict[str, object]]:
    """List the worlds in which trips are released and were counted, and files that parameters name, with hashes."""
    worlds = {"world": measured.released_over}
    if measured.world is not measured.released_over:
        worlds["counted in"] = measured.world
    inputs: list[dict[str, object]] = []
    for name, world in worlds.items():
        said = world.describe()
        about = {"name": name, "sha256": world.fingerprint(), "title": said.get("name", "")}
        inputs.append({**said, **about})
    for name, path in measured.mechanism.public_files().items():
        inputs.append({"name": name, "title": path.name, "sha256": sha256(path.read_bytes()).hexdigest()})
    return inputs


def _limit(gate: Gate, spent: Fraction, claim: Fraction | None) -> str:
    """Return what the number means for any one output."""
    epsilon = spent if gate.budget.currency == "epsilon" else claim
    if epsilon is None:
        return "the probability of every output changes no more than this rho allows"
    said = f"e^{decimal(epsilon)} = {say_factor(float(epsilon))}"
    return f"no output is more than {said} times as likely with one as with the other"


def spends_with_error_bars(gate: Gate) -> list[dict[str, Any]]:
    """List the spends in whole trips, exact rationals as text; each says how far 95 % of its noise stays from zero."""
    rows = []
    for spend in gate.budget.spends:
        label, parts = split_label(spend.label)
        whole = parts**2 if gate.budget.currency == "rho" else parts
        row = {
            "label": label,
            "price": spend.price,
            "sensitivity": spend.sensitivity if whole == 1 else Fraction(spend.sensitivity) / whole,
            "scale": spend.scale / whole,
            "group": spend.group,
        }
        if gate.budget.currency == "epsilon" and spend.kind == "counts":
            far = laplace_interval(spend.scale, 0.95)
            row["error_95"] = far if parts == 1 else round(far / parts, 3)
        rows.append(
            {key: plain(value) if isinstance(value, Fraction) else value for key, value in row.items()}
        )
    return rows
