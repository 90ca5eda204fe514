"""How `compare` and `recommend` take their candidates: names, values of parameters, budgets, units, crowds."""

from typing import TYPE_CHECKING

from wayveil.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from wayveil.lab.syntactic.method import SyntacticMethod
    from wayveil.mechanisms.mechanism import Mechanism
    from wayveil.privacy.units import Unit
    from wayveil.trips.trips import Trips


def parse_candidates(
    names: str, grids: list[str], varied: list[str] | None = None, preset: str | None = None
) -> "list[Mechanism]":
    """Mechanisms by name, each with every combination of the values given for its parameters.

    grids    mechanism.parameter=a,b,c: values for one mechanism
    varied   parameter=a,b,c: values for all; a mechanism that is named and does not have the parameter is refused
    preset   parameters as published; `all` are then those that have it
    """
    from wayveil.lab.comparison.comparison_cells import grid
    from wayveil.mechanisms.presets import has_preset, require_preset
    from wayveil.mechanisms.registry import mechanism, ready_mechanisms

    require_preset(preset)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    common = dict(_values(text, "--vary takes parameter=a,b,c") for text in varied or [])
    if names == "all":
        ready = ready_mechanisms().items()
        fit = [name for name, kind in ready if common.keys() <= kind.model_fields.keys()]
        wanted = [name for name in fit if preset is None or has_preset(mechanism(name))]
        if not wanted:
            raise ParameterError(f"no mechanism has all of {', '.join(common)}; see `wayveil lab mechanisms`")
    choices: dict[str, dict[str, list[str]]] = {name: dict(common) for name in wanted}
    for name in wanted:
        if lacking := sorted(common.keys() - mechanism(name).model_fields.keys()):
            raise ParameterError(
                f"--vary {lacking[0]}: {name} has no such parameter; `wayveil lab mechanisms {name}` shows those it has"
            )
    for setting in grids:
        target, values = _values(setting, "--grid takes mechanism.parameter=a,b,c")
        name, dot, parameter = target.partition(".")
        if not dot:
            raise ParameterError(f"--grid takes mechanism.parameter=a,b,c, not {setting!r}")
        if name not in choices:
            raise ParameterError(
                f"--grid names {name!r}, which is not among the mechanisms of this comparison"
            )
        if parameter in common:
            raise ParameterError(f"{parameter} is named by --vary and by --grid; name it once")
        choices[name][parameter] = values
    return [candidate for name, values in choices.items() for candidate in grid(name, values, preset)]


def _values(setting: str, form: str) -> tuple[str, list[str]]:
    """The target and the values of `target=a,b,c`."""
    target, equals, values = setting.partition("=")
    if not (equals and target.strip() and values.strip()):
        raise ParameterError(f"{form}, not {setting!r}")
    head, dot, parameter = target.strip().rpartition(".")
    return f"{head}{dot}{parameter.replace('-', '_')}", [value.strip() for value in values.split(",")]


def chosen_unit(trips: "Trips", unit: str | None, max_trips: int | None) -> "Unit | None":
    """The unit that was asked for; None where nothing was said."""
    from wayveil.releases.order import UnitChoice, choose_unit

    if max_trips is not None and unit in ("trip", "event"):
        raise ParameterError(
            f"--max-trips bounds the trips of a rider; it has no meaning for the unit `{unit}`"
        )
    if max_trips is not None and unit is None and trips.rider is None:
        raise ParameterError("--max-trips bounds the trips of a rider, and these trips have no riders")
    return None if unit is None and max_trips is None else choose_unit(UnitChoice(unit, max_trips), trips)


def parse_prices(epsilons: str) -> "list[Fraction]":
    """Epsilons with commas between, each in the range of releases."""
    from wayveil.privacy.budget import release_epsilon

    return [release_epsilon(part.strip()) for part in epsilons.split(",") if part.strip()]


def parse_crowds(texts: list[str]) -> "list[SyntacticMethod]":
    """Methods without epsilon, each with the values of its k."""
    from wayveil.lab.syntactic.method import methods

    known, made = methods(), []
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or name not in known:
            raise ParameterError(
                f"--crowd takes a method and its k, such as glove=2,5,10 ({', '.join(known)}), not {text!r}"
            )
        key = "K" if "K" in known[name].model_fields else "k"
        made += [known[name](**{key: value.strip()}) for value in values.split(",")]
    return made
