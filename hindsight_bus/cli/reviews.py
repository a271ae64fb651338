"""``hbus reviews`` and ``hbus review``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial

if TYPE_CHECKING:
    import hbus
    from hbus.values import ReviewStateName

EVERY_STATE: tuple[ReviewStateName, ...] = ("pending", "approved", "amended", "rejected")


def reviews(
    user: Annotated[str, typer.Option(help="Whose; without it those of the agent (--agent) alone.")] = "",
    all: Annotated[bool, typer.Option("--all", help="Those that are decided as well.")] = False,
    lease: Annotated[float, typer.Option(help="Keep other reviewers away for so many seconds.")] = 0.0,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 20,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """List what reflections found ineffective, and skills that have started to fail, newest first."""
    with dial(target, agent, api_key) as bus:
        items = bus.review_items(
            user=user,
            agent="" if user else agent,
            states=EVERY_STATE if all else (),
            lease=lease,
            page_size=min(limit, 1000),
        )
        found = [*islice(items, limit)]
    if as_json:
        for item in found:
            output.emit(item)
    elif found:
        for item in found:
            typer.echo("\n".join(map(output.printable, _lines(item))))
    else:
        output.note("nothing to review")


def review(
    name: Annotated[str, typer.Argument(help="Name of the item, as `hbus reviews` prints it.")],
    approve: Annotated[bool, typer.Option("--approve", help="It is right: the lesson stays.")] = False,
    amend: Annotated[str, typer.Option(metavar="TEXT", help="The lesson says this instead.")] = "",
    reject: Annotated[bool, typer.Option("--reject", help="It is wrong: the lesson is forgotten.")] = False,
    because: Annotated[str, typer.Option(help="Why; kept with the decision.")] = "",
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Decide a review item.

    Give --approve, --amend with a text, or --reject.
    """
    if [approve, bool(amend), reject].count(True) != 1:
        raise typer.BadParameter("give exactly one of --approve, --amend and --reject")
    with dial(target, agent, api_key) as bus:
        decided = bus.decide_review_item(
            name, "approved" if approve else "amended" if amend else "rejected", text=amend, rationale=because
        )
    if as_json:
        output.emit(decided)
    else:
        typer.echo("\n".join(map(output.printable, _lines(decided))))


def _lines(item: hbus.ReviewItem) -> list[str]:
    import hbus

    cited = ", ".join(f"#{step}" for step in item.steps)
    shown = f"  ({cited})" if cited else ""
    lines = [f"{hbus.label(hbus.ReviewState, item.state)}  {item.text}{shown}", f"  {item.name}"]
    if item.memory:
        lines.append(f"  lesson  {item.memory}")
    if item.skill:
        lines.append(f"  skill  {item.skill}")
    if item.decided_by:
        because = f": {item.rationale}" if item.rationale else ""
        lines.append(f"  by {item.decided_by}, {output.moment(item.decide_time)}{because}")
    elif item.HasField("lease_expire_time"):
        lines.append(f"  with {item.reviewer} until {output.moment(item.lease_expire_time)}")
    return lines
