"""``hbus why``: how a memory came to its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.conflicts import EVERY_STATE
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial

if TYPE_CHECKING:
    import hbus
    from hbus.v1.memory_pb2 import MemoryVersion, Transition


@dataclass(frozen=True, slots=True)
class Story:
    """A memory with everything that led to where it stands."""

    memory: hbus.Memory
    versions: list[MemoryVersion]
    """Oldest first."""
    conflicts: list[hbus.Conflict]
    """Those it was ever a side of, oldest first."""
    holding: list[hbus.Memory]
    """What holds on its subject instead of it or beside it."""


def why(
    memory: Annotated[str, typer.Argument(help="Name of the memory: namespaces/.../memories/...")],
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Tell how a memory came to its state.

    Who claims it, what happened to it, which conflicts it was in and who decided them.
    """
    with dial(target, agent, api_key) as bus:
        story = read_story(bus, memory)
    if as_json:
        output.emit(story_dict(story))
    else:
        typer.echo("\n".join(tell(story)))


def read_story(bus: hbus.Client, name: str) -> Story:
    """Read everything about one memory: four calls, more where listings are long."""
    memory = bus.get(name)
    versions = [*bus.versions(memory)][::-1]
    namespace = memory.name.split("/")[1]
    conflicts = [
        conflict
        for conflict in bus.conflicts(namespace, states=EVERY_STATE)
        if any(side.memory == memory.name for side in conflict.sides)
    ]
    return Story(memory, versions, conflicts[::-1], _holding(bus, namespace, memory))


def _holding(bus: hbus.Client, namespace: str, memory: hbus.Memory) -> list[hbus.Memory]:
    if not memory.subject:
        return []
    live = bus.list(namespace, filter={"subject": memory.subject, "types": [memory.type]})
    return [each for each in live if each.name != memory.name]


def story_dict(story: Story) -> dict[str, object]:
    """Return the story as one JSON object."""
    return {
        "memory": output.as_dict(story.memory),
        "versions": [output.as_dict(version) for version in story.versions],
        "conflicts": [output.as_dict(conflict) for conflict in story.conflicts],
        "holding": [output.as_dict(memory) for memory in story.holding],
    }


def tell(story: Story) -> list[str]:
    """Return the story as lines for a person."""
    return [
        *_standing(story.memory),
        *_section("Who says so", _claims(story.memory)),
        *_section("What holds on its subject", [_held(memory) for memory in story.holding]),
        *_section("What happened", _steps(story.versions)),
        *_section(
            "Conflicts", [line for conflict in story.conflicts for line in output.conflict_lines(conflict)]
        ),
    ]


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"  {output.printable(line)}" for line in lines)] if lines else []


def _standing(memory: hbus.Memory) -> list[str]:
    confidence = f"confidence {memory.effective_confidence:.2f}"
    subject = (
        f", on {memory.subject}{' (derived)' if memory.subject_derived else ''}" if memory.subject else ""
    )
    lines = [
        memory.text,
        f"  {output.state_of(memory)}, version {memory.version}, {confidence}{subject}",
        f"  {memory.name}",
    ]
    if memory.superseded_by:
        lines.append(f"  replaced by {memory.superseded_by}")
    if memory.vector_pending:
        lines.append("  its vector is pending: found by words and subject until it arrives")
    return [output.printable(line) for line in lines]


def _claims(memory: hbus.Memory) -> list[str]:
    import hbus

    return [
        f"{claim.speaker}  {claim.confidence:.2f}  {output.moment(claim.event_time)}  "
        f"through {hbus.label(hbus.Channel, claim.channel)}, written by {claim.agent}"
        + (f", from {claim.source}" if claim.source else "")
        for claim in memory.claims
    ]


def _held(memory: hbus.Memory) -> str:
    return f"{memory.effective_confidence:.2f}  {output.state_of(memory)}  {memory.text}  {memory.name}"


def _steps(versions: list[MemoryVersion]) -> list[str]:
    lines = []
    for version in versions:
        if len(versions) > 1:
            lines.append(f"version {version.memory.version} by {version.agent}: {version.memory.text}")
        lines.extend(_step(transition) for transition in version.transitions)
    return lines


def _step(step: Transition) -> str:
    import hbus

    before, after = (hbus.label(hbus.MemoryState, state) for state in (step.state_before, step.state_after))
    change = after if before == "unspecified" else before if before == after else f"{before} -> {after}"
    line = f"{output.moment(step.time)}  {step.kind:<12}  {change}  by {step.agent or 'the server'}"
    return f"{line}: {step.reason}" if step.reason else line
