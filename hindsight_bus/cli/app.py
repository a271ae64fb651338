"""Every command of ``hbus``."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_bus import __version__
from hindsight_bus.cli import (
    conflicts,
    context,
    demo,
    evaluate,
    groups,
    health,
    mcp,
    memories,
    reviews,
    serve,
    skills,
    tasks,
    watch,
    why,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hbus {__version__}")
        raise typer.Exit


@app.callback()
def hbus(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """The memory that several agents share: serve it, use it, see why it holds what it holds."""


app.command()(serve.serve)
app.command()(memories.write)
app.command()(memories.search)
app.command()(context.context)
app.add_typer(evaluate.app, name="eval")
app.command()(watch.watch)
app.command()(groups.consume)
app.command()(groups.groups)
app.command()(conflicts.conflicts)
app.command()(conflicts.resolve)
app.command()(why.why)
app.command()(tasks.tasks)
app.command()(tasks.reflection)
app.command()(tasks.lessons)
app.command()(reviews.reviews)
app.command()(reviews.review)
app.command()(skills.skills)
app.command()(skills.skill)
app.command()(skills.promote)
app.command()(health.health)
app.command()(health.doctor)
app.command()(demo.demo)
app.add_typer(mcp.app, name="mcp")
