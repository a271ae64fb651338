"""``hbus watch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.event_options import Kind, MeaningText, MinConfidence, Tag, Threshold, event_fields
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial, usable

if TYPE_CHECKING:
    import hbus


def watch(
    pattern: Annotated[list[str], typer.Argument(help="Namespaces or patterns, for example 'user:*:facts'.")],
    start: Annotated[
        str,
        typer.Option("--start", metavar="now|beginning|snapshot|TOKEN", help="Where to start."),
    ] = "now",
    kind: Kind = None,
    tag: Tag = None,
    min_confidence: MinConfidence = None,
    meaning: MeaningText = "",
    threshold: Threshold = None,
    not_my_own: Annotated[bool, typer.Option("--not-my-own", help="Leave out what --agent caused.")] = False,
    count: Annotated[int, typer.Option(help="Stop after so many events; 0 means never.")] = 0,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Print what happens, as it happens.

    Interrupted, it prints the token to go on from. A server that goes away is waited for.
    """
    with dial(target, agent, api_key) as bus:
        subscription = usable(
            lambda: bus.subscribe(
                pattern,
                start=start,
                **event_fields(kind, tag, min_confidence, meaning, threshold, not_my_own=not_my_own),
            )
        )
        with subscription as live:
            output.note(f"watching {', '.join(pattern)}; stop with Ctrl-C")
            try:
                _follow(live, count, as_json)
            except KeyboardInterrupt:
                raise typer.Exit(130) from None
            finally:
                output.note(f"go on with: --start {live.token}")


def _follow(live: hbus.Subscription, count: int, as_json: bool) -> None:
    for memory in live.snapshot():
        output.emit({"snapshot": output.as_dict(memory)}) if as_json else typer.echo(
            output.memory_line(memory)
        )
    for number, event in enumerate(live, start=1):
        output.emit(event) if as_json else typer.echo(output.event_line(event))
        if number == count:
            return
