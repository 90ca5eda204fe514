"""The audits at the front door: every mechanism with every unit, and the mistakes that can be made around them."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from wayveil.counting.spark_session import SparkError, check_address
from wayveil.lab.audits.door import Door
from wayveil.lab.audits.door_files import PairWriter, every_unit
from wayveil.lab.audits.door_reading import ROW_VARIANTS, SOUND_ON_SPARK, SOUND_ROWS, SPARK_VARIANTS
from wayveil.lab.audits.door_variants import EPSILON, SOUND, VARIANTS, DoorVariant
from wayveil.lab.audits.grey_box import Examination
from wayveil.lab.audits.plan_registry import AuditPlan
from wayveil.lab.audits.tiny_worlds import small_network
from wayveil.mechanisms.mechanism import Mechanism
from wayveil.privacy.bits import Bits

# Stands in the place of a mechanism: what is attacked is `release` itself.
RELEASE = "release"
CHANCES = 6


def plan_at_the_door(plan: AuditPlan, settings: tuple[Mechanism, ...], bits: Bits) -> tuple[Examination, str]:
    """Release files of every unit with a mechanism; what was found, and in how many pairs."""
    findings, held, refused = Examination(), 0, []
    with _folder() as folder:
        pairs = every_unit(PairWriter(folder, plan.worlds[-1](), plan.busy))
        for mechanism in settings:
            door = Door(mechanism, plan.epsilon, folder)
            for pair in pairs:
                found = door.examine(pair, seed=int(bits.words(1)[0] >> 1))
                findings.loss = max(findings.loss, found.loss)
                findings.questions = max(findings.questions, found.questions)
                findings.problems += [
                    f"{pair.name}, unit {pair.unit.name}: {each}" for each in found.problems
                ]
                held += found.questions > 0
                refused += [pair.unit.name] if found.questions == 0 else []
    if held == 0:
        findings.problems.append("every pair of files was refused, so nothing was tried")
    said = f"{held} pairs of files" + (f", refused for {', '.join(sorted(set(refused)))}" if refused else "")
    return findings, said


def variant_at_the_door(name: str, bits: Bits) -> tuple[Examination, Fraction, str]:
    """One of the mistakes around a release, or one of the things that must hold as built; with claim and pair."""
    variant = door_variant(name)
    with _folder() as folder:
        pair = variant.pair(PairWriter(folder, small_network()))
        door = Door(variant.mechanism, EPSILON, folder, variant.gate)
        found = Examination()
        with variant.broken():
            for _ in range(CHANCES):  # which trips of a rider are counted is left to chance
                found = door.examine(pair, seed=int(bits.words(1)[0] >> 1))
                if not found.ok:
                    break
        return found, EPSILON, pair.name


def sound_releases() -> tuple[DoorVariant, ...]:
    """What must hold as built, for every kind of row; on Spark where it is installed."""
    return (*SOUND, *SOUND_ROWS, *(SOUND_ON_SPARK if spark_is_there() else ()))


def broken_releases() -> tuple[DoorVariant, ...]:
    """The mistakes, each of which must be caught."""
    return (*VARIANTS, *ROW_VARIANTS, *(SPARK_VARIANTS if spark_is_there() else ()))


def spark_is_there() -> bool:
    """Whether files can be counted on Spark here."""
    try:
        check_address("local[2]")
    except SparkError:
        return False
    return True


def door_variant(name: str) -> DoorVariant:
    """A variant by its name."""
    return next(variant for variant in (*sound_releases(), *broken_releases()) if variant.name == name)


@contextmanager
def _folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="wayveil-audit-") as folder:
        yield Path(folder)
