"""``hbus skills``, ``hbus skill`` and ``hbus promote``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial

if TYPE_CHECKING:
    import hbus


def skills(
    query: Annotated[str, typer.Argument(help="What is to be reached; without it all of them.")] = "",
    user: Annotated[str, typer.Option(help="Also those that this user's agents share.")] = "",
    kind: Annotated[str, typer.Option(help="Only those for this kind of task.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many at most.")] = 20,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """List what has worked: an agent's own skills (--agent), and those that a user's agents share (--user)."""
    with dial(target, agent, api_key) as bus:
        hits = bus.search_skills(query, kind=kind, user=user, top_k=limit, include_in_review=True).hits
    found = [hit.skill for hit in hits]
    if as_json:
        for each in found:
            output.emit(each)
    elif found:
        output.table(("confidence", "state", "worked", "title", "steps", "when"), map(_row, found))
        for number, each in enumerate(found, start=1):
            typer.echo(f"#{number}  {each.name}")
    else:
        output.note("no skills")


def skill(
    name: Annotated[str, typer.Argument(help="Name of the skill, as `hbus skills` prints it.")],
    version: Annotated[int, typer.Option(min=0, help="An earlier version; 0 = the current one.")] = 0,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Show one skill: its steps, what they need, how it is known to fail, and how it has done."""
    with dial(target, agent, api_key) as bus:
        found = bus.skill(name, version=version)
    if as_json:
        output.emit(found)
    else:
        typer.echo("\n".join(map(output.printable, _lines(found))))


def promote(
    name: Annotated[str, typer.Argument(help="Name of a skill, or of the memory that holds a lesson.")],
    user: Annotated[str, typer.Option(help="Whose agents shall share it.")],
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Share a lesson or a skill of one agent with all agents of a user."""
    memory = name.replace("/skills/", "/memories/")
    with dial(target, agent, api_key) as bus:
        answer = bus.promote(memory, user)
    if as_json:
        output.emit(answer)
    else:
        typer.echo(output.memory_line(answer.memory))


def _row(skill: hbus.Skill) -> tuple[str, ...]:
    import hbus

    state = hbus.label(hbus.SkillState, skill.state)
    worked = f"{skill.successes} of {skill.successes + skill.failures}"
    path = " → ".join(step.tool for step in skill.steps)
    return (f"{skill.confidence:.2f}", state, worked, skill.title, path, skill.trigger)


def _lines(skill: hbus.Skill) -> list[str]:
    import hbus

    lines = [f"{skill.title}, version {skill.version} of {skill.current_version}, learnt by {skill.agent}"]
    lines.append(f"  when    {skill.trigger}")
    for number, step in enumerate(skill.steps, start=1):
        again = "  (several times)" if step.repeats else ""
        lines.append(f"  step {number}  {step.tool} {step.arguments}{again}")
    for each in skill.parameters:
        source = f" of step {each.step}" if each.step else ""
        origin = hbus.label(hbus.ParameterOrigin, each.origin)
        lines.append(f"  {{{{{each.name}}}}}  from {origin}{source}, for example {each.example}")
    lines += [f"  before  {each}" for each in skill.preconditions]
    lines += [f"  known to fail  {each.tool}: {each.failure}, {each.times}x" for each in skill.known_failures]
    state = hbus.label(hbus.SkillState, skill.state)
    problem = f": {skill.problem}" if skill.problem else ""
    used = f", last used {output.moment(skill.last_used_time)}" if skill.last_used_time.seconds else ""
    total = skill.successes + skill.failures
    lines.append(f"  {state}{problem}; worked {skill.successes} of {total} times{used}")
    lines.append(f"  confidence {skill.confidence:.2f}")
    return lines
