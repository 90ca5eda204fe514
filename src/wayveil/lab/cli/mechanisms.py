"""`wayveil lab mechanisms`: which mechanisms there are, and what each of them takes."""

from textwrap import fill
from typing import Annotated

import typer

from wayveil.cli.options import AsJson, present, present_rows


def mechanisms(
    name: Annotated[str | None, typer.Argument(help="Show one mechanism with all its parameters.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the mechanisms, or explain one: its guarantee, and every parameter that --set takes.

    wayveil lab mechanisms weave
    """
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
