"""``hbus demo``: two agents of one user contradict each other, or learn from a failure, against a running server."""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated, Literal

import typer

from hindsight_bus.cli.link import DEFAULT_TARGET, ApiKey, Json, Target, reporting


def demo(
    story: Annotated[
        Literal["conflicts", "hindsight"], typer.Argument(help="Which play to give.")
    ] = "conflicts",
    owner: Annotated[
        str, typer.Option(help="Whose memories to play with; a fresh zhangsan-... unless given.")
    ] = "",
    target: Target = DEFAULT_TARGET,
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Play two agents against the server.

    A support and an after-sales agent of one user, in Chinese and English; it tells what happens and why.
    Each run plays with an owner of its own, so it can be repeated; what it writes stays for you to look at.
    """
    from hindsight_bus.cli import hindsight, play
    from hindsight_bus.cli.stage import Narrator

    user, tell = owner or f"zhangsan-{secrets.token_hex(3)}", Narrator(as_json=as_json)
    with reporting(target):
        if story == "hindsight":
            asyncio.run(hindsight.play(target, api_key, user, tell))
        else:
            asyncio.run(play.play(target, api_key, f"user:{user}:facts", tell))
