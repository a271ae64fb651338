"""``hbus consume`` and ``hbus groups``."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.event_options import Kind, MeaningText, MinConfidence, Tag, Threshold, event_fields
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial, usable

if TYPE_CHECKING:
    import hbus

_COLUMNS = ("group", "namespaces", "members", "pending", "lag", "oldest", "dead")


def consume(
    group: Annotated[str, typer.Argument(help="The group; made if there is none and patterns are given.")],
    pattern: Annotated[
        list[str] | None, typer.Argument(help="Namespaces or patterns, for example 'user:*:facts'.")
    ] = None,
    start: Annotated[
        str, typer.Option("--start", metavar="now|beginning|TOKEN", help="Where a new group starts.")
    ] = "now",
    kind: Kind = None,
    tag: Tag = None,
    min_confidence: MinConfidence = None,
    meaning: MeaningText = "",
    threshold: Threshold = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="One event of an owner at a time.")] = False,
    count: Annotated[int, typer.Option(help="Stop after so many events; 0 means never.")] = 0,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Print a group's events and acknowledge each.

    Every event goes to one member of the group: run it twice to share the work. Conditions are those of the group as it
    was made.
    """
    printed, enough = itertools.count(1), threading.Event()

    def show(delivery: hbus.Delivery) -> None:
        output.emit(delivery) if as_json else typer.echo(output.event_line(delivery.event))
        if next(printed) == count:
            enough.set()

    with dial(target, agent, api_key) as bus:
        member = usable(
            lambda: bus.consume(
                show,
                group=group,
                namespaces=pattern or (),
                start=start,
                ordered=ordered,
                concurrency=1,
                **event_fields(kind, tag, min_confidence, meaning, threshold),
            )
        )
        with member:
            output.note(f"a member of {group}; stop with Ctrl-C")
            _wait(member.wait, enough)


def _wait(ended: Callable[[float], None], enough: threading.Event) -> None:
    """Wait until there is enough, Ctrl-C, or the end of the member, whose failure is raised."""
    try:
        while not enough.wait(0.1):
            try:
                ended(0)
            except TimeoutError:
                continue
            return
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def groups(
    dead: Annotated[str, typer.Option(metavar="GROUP", help="List the dead letters of this group.")] = "",
    redrive: Annotated[
        str, typer.Option(metavar="GROUP", help="Give the dead letters of this group another run.")
    ] = "",
    delete: Annotated[str, typer.Option(metavar="GROUP", help="Remove this group with all it has.")] = "",
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """List consumer groups and where they stand, or look after one of them."""
    if [bool(dead), bool(redrive), bool(delete)].count(True) > 1:
        raise typer.BadParameter("give at most one of --dead, --redrive and --delete")
    with dial(target, agent, api_key) as bus:
        if delete:
            bus.delete_group(delete)
        elif redrive:
            output.note(f"{bus.redrive(redrive)} redriven")
        elif dead:
            _print_dead(bus.dead_letters(dead), as_json)
        else:
            _print_groups(list(bus.groups()), as_json)


def _print_dead(letters: Iterator[hbus.DeadLetter], as_json: bool) -> None:
    for letter in letters:
        if as_json:
            output.emit(letter)
        else:
            line = output.event_line(letter.event)
            typer.echo(
                f"{line}\n  {letter.id}: {letter.attempts} attempts, {output.printable(letter.reason)}"
            )


def _print_groups(found: list[hbus.Group], as_json: bool) -> None:
    if as_json:
        for group in found:
            output.emit(group)
    elif found:
        output.table(_COLUMNS, map(_row, found))
    else:
        output.note("no groups")


def _row(group: hbus.Group) -> tuple[str, ...]:
    return (
        group.terms.name,
        " ".join(group.terms.namespaces),
        str(len(group.members)),
        str(group.pending),
        str(group.lag),
        f"{group.oldest_age.ToTimedelta().total_seconds():.0f} s",
        f"{group.dead_letters}"
        + (f" +{group.dropped_dead_letters} dropped" * bool(group.dropped_dead_letters)),
    )
