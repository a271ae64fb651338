"""What ``hbus doctor --mcp`` checks: a host's way through a spawned shim to the bus and back."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from hindsight_bus.cli.checks import Check

_WITHIN_S = 60.0
_MAIN = ("-c", "from hindsight_bus.cli import main; main()")
_TEXT = "The doctor was here to see that a host reaches its memory."


async def examine(target: str, api_key: str) -> list[Check]:
    """Return findings, the last of which is the first failure."""
    checks: list[Check] = []
    user = f"doctor-{uuid.uuid4().hex[:8]}"
    arguments = (*_MAIN, "mcp", "--target", target, "--user", user, "--agent", "doctor")
    shim = StdioServerParameters(
        command=sys.executable, args=list(arguments), env={**os.environ, "HBUS_API_KEY": api_key}
    )
    try:
        async with asyncio.timeout(_WITHIN_S), Client(shim) as session:
            async for check in _round_trip(session):
                checks.append(check)
    except* (MCPError, OSError, TimeoutError) as failures:
        reason = " ".join(str(failures.exceptions[0]).split()) or type(failures.exceptions[0]).__name__
        checks.append(
            Check("mcp", "fail", reason, "start `hbus mcp` by hand and read what it says on stderr")
        )
    return checks


async def _round_trip(session: Client) -> AsyncIterator[Check]:
    start = time.perf_counter()
    tools = (await session.list_tools()).tools
    yield Check("mcp tools", "ok", f"{len(tools)} tools over stdio, revision {session.protocol_version}")
    written = await _call(session, "write_memory", text=_TEXT)
    found = await _call(session, "search_memory", query="who was the doctor", token=written.get("token", ""))
    asked = await _call(session, "forget_memory", memory=written.get("memory", "-"))
    gone = await _call(
        session, "forget_memory", memory=written.get("memory", "-"), confirm=asked.get("confirm")
    )
    took = f"{(time.perf_counter() - start) * 1e3:.0f} ms"
    problem = next((each["error"] for each in (written, found, asked, gone) if "error" in each), None)
    if problem:
        yield Check("mcp round", "fail", f"{problem['reason']}: {problem['message']}", "see the server's log")
    elif not (found["memories"] and gone["forgotten"]):
        yield Check(
            "mcp round", "fail", "what was written was not found or not forgotten", "see the server's log"
        )
    else:
        yield Check("mcp round", "ok", f"written, found and forgotten in {took}")


async def _call(session: Client, tool: str, **arguments: object) -> dict[str, Any]:
    return dict((await session.call_tool(tool, arguments)).structured_content or {})
