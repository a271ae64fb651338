"""``hbus conflicts`` and ``hbus resolve``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial

if TYPE_CHECKING:
    from hbus.values import ConflictStateName

EVERY_STATE: tuple[ConflictStateName, ...] = ("open", "suspected", "resolved", "moot", "settled")


def conflicts(
    namespace: Annotated[str, typer.Argument(help="scope:owner:kind.")],
    all: Annotated[bool, typer.Option("--all", help="Those that are settled as well.")] = False,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """List contradictions, newest first."""
    states = EVERY_STATE if all else ()
    with dial(target, agent, api_key) as bus:
        found = [*bus.conflicts(namespace, states=states)]
    if as_json:
        for conflict in found:
            output.emit(conflict)
    elif found:
        for conflict in found:
            typer.echo("\n".join(output.conflict_lines(conflict)))
    else:
        output.note("no conflicts")


def resolve(
    conflict: Annotated[str, typer.Argument(help="Name of the conflict, as `hbus conflicts` prints it.")],
    choose: Annotated[str, typer.Option(metavar="MEMORY", help="This memory holds.")] = "",
    merge: Annotated[bool, typer.Option("--merge", help="All say the same in other words.")] = False,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="All hold.")] = False,
    because: Annotated[str, typer.Option(help="Why; kept with the decision.")] = "",
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Decide a contradiction.

    Give --choose with one side, --merge or --keep-all.
    """
    if [bool(choose), merge, keep_all].count(True) != 1:
        raise typer.BadParameter("give exactly one of --choose, --merge and --keep-all")
    with dial(target, agent, api_key) as bus:
        answer = bus.resolve(
            conflict,
            "choose" if choose else "merge" if merge else "keep_all",
            choose,
            rationale=because,
        )
    if as_json:
        output.emit(answer)
    else:
        output.memories(answer.memories)
