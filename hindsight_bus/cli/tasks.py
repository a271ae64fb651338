"""``hbus tasks``, ``hbus reflection`` and ``hbus lessons``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial

if TYPE_CHECKING:
    import hbus

User = Annotated[str, typer.Option(help="Whose; without it those of the agent (--agent) alone.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")]


def tasks(
    user: User = "",
    limit: Limit = 20,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """List tasks, newest first."""
    with dial(target, agent, api_key) as bus:
        found = [*islice(bus.tasks(user=user, agent="" if user else agent), limit)]
    if as_json:
        for task in found:
            output.emit(task)
    elif found:
        output.table(("started", "outcome", "agent", "kind", "steps", "goal"), map(_row, found))
        for number, task in enumerate(found, start=1):
            typer.echo(f"#{number}  {task.name}")
    else:
        output.note("no tasks")


def reflection(
    task: Annotated[str, typer.Argument(help="Name of the task, as `hbus tasks` prints it.")],
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Show what was learnt from a task, with the steps that show it."""
    with dial(target, agent, api_key) as bus:
        found = bus.reflection(task).reflection
    if as_json:
        output.emit(found)
    else:
        typer.echo("\n".join(_reflection_lines(found)))


def lessons(
    user: User = "",
    limit: Limit = 20,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """List what was learnt from tasks, oldest first."""
    namespace = f"user:{user}:lessons" if user else f"agent:{agent}:lessons"
    with dial(target, agent, api_key) as bus:
        found = [*islice(bus.list(namespace, filter={"types": ["lesson"]}), limit)]
    if as_json:
        for memory in found:
            output.emit(memory)
    elif found:
        output.memories(found)
    else:
        output.note("no lessons")


def _row(task: hbus.Task) -> tuple[str, ...]:
    import hbus

    is_open = task.outcome == hbus.TaskOutcome.TASK_OUTCOME_UNSPECIFIED
    outcome = "open" if is_open else hbus.label(hbus.TaskOutcome, task.outcome)
    return (output.moment(task.start_time), outcome, task.agent, task.kind, str(task.steps), task.goal)


def _reflection_lines(found: hbus.Reflection) -> list[str]:
    import hbus

    state = hbus.label(hbus.ReflectionState, found.state)
    problem = f": {found.problem}" if found.problem else ""
    by = found.model or found.reflector
    lines = [f"{state} by {by}/{found.reflector_version}{problem}"]
    lines.append(f"  {found.tokens_before} tokens, {found.tokens_after} after trimming")
    if found.model_usage.calls:
        lines.append(f"  {_usage(found.model_usage)}, {found.dropped} unsupported dropped")
    lines += [f"  remark: {remark}" for remark in found.remarks]
    for insight in found.insights:
        lines.append(
            f"  {hbus.label(hbus.InsightKind, insight.kind):<11}  {insight.text}  {_cited(insight.steps)}"
        )
    for lesson in found.lessons:
        joined = ", joined" if lesson.joined else ""
        lines.append(f"  lesson{joined}  {lesson.confidence:.2f}  {lesson.lesson}  {_cited(lesson.steps)}")
        lines.append(f"         {lesson.memory}")
    return [output.printable(line) for line in lines]


def _usage(usage: hbus.ModelUsage) -> str:
    cost = f", cost {usage.cost:.4f}" if usage.cost else ""
    return f"{usage.calls} model calls, {usage.input_tokens} + {usage.output_tokens} tokens{cost}"


def _cited(steps: Iterable[int]) -> str:
    return f"({', '.join(f'#{step}' for step in steps)})" if steps else ""
