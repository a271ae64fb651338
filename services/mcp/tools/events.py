"""Hearing what other agents learnt, by polling: a host has no ear of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC
from typing import Annotated, TypeAlias

from pydantic import Field

import hbus
from services.mcp import quoting
from services.mcp.answers import Events, Happening
from services.mcp.arguments import Limit
from services.mcp.desk import Call, bus, desk
from services.mcp.position import Place
from services.mcp.quoting import Quote

Heard: TypeAlias = tuple[hbus.Event, Place]
"""An event and the place after it."""

_FIRST_S = 0.5
"""How long what is there already may take to arrive."""
_QUIET_S = 0.1
"""A pause after which there is no more for now."""


async def read_events(
    call: Call,
    token: Annotated[
        str, Field(description="Token of the last poll or of a write; empty: from now on.")
    ] = "",
    wait_seconds: Annotated[float, Field(ge=0, le=25, description="How long to wait for the first.")] = 0,
    limit: Limit = 20,
    include_own: Annotated[bool, Field(description="What this agent did too.")] = False,
) -> Events:
    """Hear what happened in memory since the last poll: what others wrote, changed, contradicted or forgot.

    The first call, without a token, returns a token and no events.
    """
    state = desk(call)
    place = Place.parse(token)
    live = (await bus(call)).subscribe(
        state.identity.patterns,
        start=place.token or "now",
        max_outage=0.0,
        not_my_own=not include_own,
    )
    async with live:
        opened = Place(live.token, place.seen)
        if not token:
            return _answer([], opened, state.max_tokens, limit)
        heard, end = await _hear(live, opened, wait_seconds, limit)
    return _answer(heard, end, state.max_tokens, limit)


async def _hear(
    live: hbus.aio.Subscription, place: Place, wait_s: float, limit: int
) -> tuple[list[Heard], Place]:
    """Return at most ``limit`` events, each with the place after it, and the place where there was no more."""
    heard: list[Heard] = []
    within_s = max(wait_s, _FIRST_S)
    with suppress(TimeoutError):
        while len(heard) < limit:
            async with asyncio.timeout(within_s):
                event = await anext(live)
            is_news = not place.has_seen(event)
            place = place.after(event, live.token, is_whole=not live.buffered)
            if is_news:
                heard.append((event, place))
                within_s = _QUIET_S
    return heard, place


def _answer(heard: Sequence[Heard], end: Place, max_tokens: int, limit: int) -> Events:
    shown = quoting.fit((_quote(event) for event, _ in heard), max_tokens)
    is_cut = len(shown) < len(heard)
    return Events(
        block=quoting.block(shown),
        events=[_happening(line, event) for line, (event, _) in enumerate(heard[: len(shown)], start=1)],
        truncated=is_cut or len(heard) == limit,
        token=str(heard[len(shown) - 1][1] if is_cut else end),
    )


def _quote(event: hbus.Event) -> Quote:
    return quoting.of_memory(event.memory, origin=f"agent:{event.agent}" if event.agent else "")


def _happening(line: int, event: hbus.Event) -> Happening:
    return Happening(
        line=line,
        kind=hbus.label(hbus.EventKind, event.kind),
        memory=event.memory.name,
        state=hbus.label(hbus.MemoryState, event.state_after),
        agent=event.agent,
        time=event.time.ToDatetime(UTC).isoformat(timespec="seconds"),
        reason=quoting.escape(event.reason),
    )
