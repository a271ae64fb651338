"""``hbus write`` and ``hbus search``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial

Type = Literal["episodic", "semantic", "procedural", "lesson"]
Channel = Literal["user", "agent", "tool", "ingest", "reflection"]


def write(
    namespace: Annotated[str, typer.Argument(help="scope:owner:kind, for example user:zhangsan:facts.")],
    text: Annotated[str, typer.Argument(help="What to remember.")],
    type: Annotated[Type, typer.Option(help="What kind of thing it is.")] = "semantic",
    subject: Annotated[str, typer.Option(help="What it is about, for example preference.language.")] = "",
    value: Annotated[str, typer.Option(help="The statement in normal form, for example go.")] = "",
    confidence: Annotated[float | None, typer.Option(help="How sure, 0 to 1.")] = None,
    importance: Annotated[float | None, typer.Option(help="How much it matters, 0 to 1.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label; may be repeated.")] = None,
    many: Annotated[bool, typer.Option("--many", help="Several statements on the subject may hold.")] = False,
    explicit: Annotated[bool, typer.Option("--explicit", help="The user asked to remember it.")] = False,
    channel: Annotated[Channel, typer.Option(help="Through what it reached the agent.")] = "agent",
    source: Annotated[str, typer.Option(help="Where it comes from.")] = "",
    request_id: Annotated[str, typer.Option(help="Give one to make the command safe to repeat.")] = "",
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Write a memory, and print what became of it."""
    with dial(target, agent, api_key) as bus:
        answer = bus.write(
            namespace,
            text,
            type=type,
            subject=subject,
            value=value,
            confidence=confidence,
            importance=importance,
            tags=tag or (),
            cardinality="many" if many else "one",
            explicit=explicit,
            channel=channel,
            source=source,
            request_id=request_id,
        )
    output.emit(answer) if as_json else output.written(answer)


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="Where; may be repeated.")
    ] = None,
    for_user: Annotated[str, typer.Option(help="Adds what agents share about this user.")] = "",
    as_agent: Annotated[str, typer.Option(help="Adds what this agent keeps to itself.")] = "",
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many at most; 0 means 5.")] = 0,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this label; may be repeated.")] = None,
    subject: Annotated[str, typer.Option(help="Only on exactly this subject.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="See everything that was written before.")] = False,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Find memories, best first.

    By meaning, words, subject and labels; contested memories come with their rivals.
    """
    if not (namespace or for_user or as_agent):
        raise typer.BadParameter("say where to look: --namespace, --for-user or --as-agent")
    with dial(target, agent, api_key) as bus:
        found = bus.search(
            namespace or (),
            query,
            top_k=top_k,
            for_user=for_user,
            as_agent=as_agent,
            filter={"tags": tag or (), "subject": subject},
            fully_consistent=fresh,
        )
    if found.dense_skipped:
        output.note("the embedder did not answer in time: matched by words only")
    if as_json:
        for hit in found.hits:
            output.emit(hit)
    elif found.hits:
        output.hits(found.hits)
    else:
        output.note("nothing relevant found")
