"""The two tools that retrieval connectors of hosts look for, with the fields that they expect."""

from __future__ import annotations

from pydantic import BaseModel, Field

import hbus
from services.mcp import quoting
from services.mcp.arguments import MemoryName, Query
from services.mcp.desk import Call, bus, desk
from services.mcp.identity import uri

_TITLE_CHARS = 80


class Result(BaseModel):
    """A memory found."""

    id: str
    title: str
    url: str


class Results(BaseModel):
    """Memories found, best first."""

    results: list[Result]


class Document(Result):
    """A memory in full."""

    text: str = Field(description="The memory as quoted data.")
    metadata: dict[str, str]


async def search(call: Call, query: Query) -> Results:
    """Search the memory of the user's agents."""
    state = desk(call)
    answer = await (await bus(call)).search(
        [], query, as_agent=state.identity.agent, for_user=state.identity.user
    )
    return Results(results=[Result(**_heading(hit.memory)) for hit in answer.hits])


async def fetch(call: Call, id: MemoryName) -> Document:
    """Read one memory that search found."""
    memory = await (await bus(call)).get(desk(call).identity.resource_name(id))
    facts = {
        "type": hbus.label(hbus.MemoryType, memory.type),
        "state": hbus.label(hbus.MemoryState, memory.state),
        "subject": quoting.escape(memory.subject),
    }
    return Document(**_heading(memory), text=quoting.block([quoting.of_memory(memory)]), metadata=facts)


def _heading(memory: hbus.Memory) -> dict[str, str]:
    title = quoting.escape(memory.text[:_TITLE_CHARS])
    return {"id": memory.name, "title": title, "url": uri(memory.name)}
