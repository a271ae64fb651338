"""Memories as resources, ``memory://{namespace}/{id}``, and prompts that make use of the tools."""

from __future__ import annotations

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from hbus import HbusError, errors
from services.mcp import quoting
from services.mcp.desk import Call, bus, desk
from services.mcp.identity import Foreign


async def memory(namespace: str, id: str, call: Call) -> str:
    """One memory, as quoted data."""
    try:
        name = desk(call).identity.resource_name(f"namespaces/{namespace}/memories/{id}")
        found = await (await bus(call)).get(name)
    except (Foreign, errors.NotFound):
        raise ResourceNotFoundError("there is no such memory of this user or agent") from None
    except HbusError as error:
        raise ResourceError(error.reason or error.code.name) from error
    return quoting.block([quoting.of_memory(found)])
