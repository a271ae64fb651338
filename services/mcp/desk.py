"""What a tool has at hand when it is called."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcp.server.mcpserver import Context

import hbus
from services.mcp.identity import Identity
from services.mcp.links import Links


@dataclass(frozen=True, slots=True)
class Desk:
    """State of a running shim."""

    identity: Identity
    links: Links
    max_tokens: int
    """Room for the memories of one answer."""
    numbering: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the steps of a task are numbered."""


Call: TypeAlias = Context[Desk, Any]
"""One call of a tool."""


def desk(call: Call) -> Desk:
    """Return what is at hand."""
    return call.request_context.lifespan_context


async def bus(call: Call) -> hbus.aio.Client:
    """Return the client of the bus for whoever calls."""
    return await desk(call).links.client(call.headers)
