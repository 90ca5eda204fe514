"""`wayveil mechanisms`, and how commands take a mechanism: a name and `--set name=value`."""

from textwrap import fill
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from wayveil.cli.options import AsJson, present, present_rows
from wayveil.errors import ParameterError

if TYPE_CHECKING:
    from wayveil.mechanisms.mechanism import Mechanism


def mechanisms(
    name: Annotated[str | None, typer.Argument(help="Show one mechanism with all its parameters.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the mechanisms, or explain one: its guarantee, and every parameter that --set takes."""
    from wayveil.mechanisms.manual import manual
    from wayveil.mechanisms.registry import mechanism
    from wayveil.mechanisms.registry import mechanisms as all_mechanisms

    if name is None:
        listed = [
            {"mechanism": key, "releases": kind.summary, "takes --prior": "yes" if kind.follows else ""}
            for key, kind in all_mechanisms().items()
        ]
        present_rows(listed, as_json=as_json)
        return
    about = manual(mechanism(name))
    if as_json:
        present(about.to_dict(), as_json=True)
        return
    typer.echo(f"{about.name}: {about.summary}\n")
    typer.echo(_wrapped(about.about) + "\n\n" + _wrapped(f"Guarantee: {about.guarantee}") + "\n\nParameters:")
    for each in about.parameters:
        default = "must be given" if each.default is None else f"default {each.default}"
        typer.echo(f"  --set {each.name}=...  ({each.values}; {default})".replace("`", ""))
        if each.description:
            typer.echo(_wrapped(each.description.replace("`", ""), indent=6))
    if about.published is not None:
        preset = " ".join(f"--set {key}={value}" for key, value in about.published.items())
        typer.echo("\n" + _wrapped(f"As published (--preset published): {preset}"))
    typer.echo(f"\nIn Python: wayveil.{about.class_name}. Page: {about.page}")


def _wrapped(text: str, indent: int = 0) -> str:
    paragraphs = text.split("\n\n")
    margin = " " * indent
    return "\n\n".join(
        fill(
            " ".join(each.split()),
            100,
            initial_indent=margin,
            subsequent_indent=margin,
            break_on_hyphens=False,
        )
        for each in paragraphs
    )


def make_mechanism(name: str, settings: list[str], preset: str | None = None) -> "Mechanism":
    """The mechanism of this name with parameters given as name=value; a dot leads into a part, as in `shares.trips`.

    What is said here goes before what the preset sets.
    """
    from wayveil.mechanisms.presets import made_by
    from wayveil.mechanisms.registry import mechanism

    kind = mechanism(name)
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set takes name=value, not {setting!r}")
        *parts, last = key.strip().replace("-", "_").split(".")
        within = parameters
        for part in parts:
            within = within.setdefault(part, {})
            if not isinstance(within, dict):
                raise ParameterError(f"--set names {part!r} both as a whole and in parts")
        within[last] = value.strip() if parts else _parsed(kind, last, value.strip())
    return made_by(kind, preset, parameters)


def _parsed(kind: "type[Mechanism]", name: str, text: str) -> str | list[str] | None:
    """What pydantic cannot read off a text: nothing at all, and several values with commas between."""
    field = kind.model_fields.get(name)
    annotation = None if field is None else field.annotation
    if text == "none" and NoneType in get_args(annotation):
        return None
    several = get_origin(annotation) is tuple
    return [each.strip() for each in text.split(",")] if several else text


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(mechanisms)
