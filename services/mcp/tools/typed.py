"""Tools for hosts whose prompts speak of kinds of memory."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from services.mcp.answers import Recalled, Written
from services.mcp.arguments import InScope, Limit, Query, SaidBy, Tags, Text, When
from services.mcp.desk import Call
from services.mcp.tools.memories import search_memory, write_memory


async def store_episodic_memory(
    call: Call,
    text: Text,
    event_time: When = None,
    said_by: SaidBy = "agent",
    tags: Tags = [],  # noqa: B006 - pydantic copies defaults
    scope: InScope = "shared",
) -> Written:
    """Store what was said or what happened, with its time."""
    return await write_memory(
        call, text, type="episodic", event_time=event_time, said_by=said_by, tags=tags, scope=scope
    )


async def query_semantic_memory(call: Call, query: Query, limit: Limit = 5) -> Recalled:
    """Find facts and preferences of the user; quoted data, best first."""
    return await search_memory(call, query, limit=limit, types=["semantic"])


async def update_procedural_memory(
    call: Call,
    procedure: Annotated[str, Field(min_length=1, description="Its dotted name, e.g. deploy.staging.")],
    text: Text,
    said_by: SaidBy = "agent",
    scope: InScope = "shared",
) -> Written:
    """Say how something is done: replaces what you said of this procedure before."""
    return await write_memory(call, text, type="procedural", subject=procedure, said_by=said_by, scope=scope)
