"""``hbus context``: what agents know, as a block for a prompt."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, Agent, ApiKey, Json, Target, dial


def context(
    query: Annotated[str, typer.Argument(help="What the prompt is about.")],
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="Where; may be repeated.")
    ] = None,
    for_user: Annotated[str, typer.Option(help="Adds what agents share about this user.")] = "",
    as_agent: Annotated[str, typer.Option(help="Adds what this agent keeps to itself.")] = "",
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many at most; 0 means 5.")] = 0,
    max_tokens: Annotated[int, typer.Option(help="How long the block may be; 0 means 1,000.")] = 0,
    language: Annotated[
        Literal["", "zh", "en"], typer.Option(help="Of the block's own words; default: the query's.")
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="See everything that was written before.")] = False,
    target: Target = DEFAULT_TARGET,
    agent: Agent = "cli",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Print what is relevant as a block for a prompt; where to place it goes to stderr."""
    if not (namespace or for_user or as_agent):
        raise typer.BadParameter("say where to look: --namespace, --for-user or --as-agent")
    with dial(target, agent, api_key) as bus:
        answer = bus.context(
            namespace or (),
            query,
            max_tokens=max_tokens,
            language=language,
            top_k=top_k,
            for_user=for_user,
            as_agent=as_agent,
            fully_consistent=fresh,
        )
    if as_json:
        output.emit(answer)
    elif answer.text:
        typer.echo(answer.text)
        output.note(answer.advice)
    else:
        output.note("nothing relevant found")
    if answer.left_out:
        output.note(f"{answer.left_out} did not fit")
