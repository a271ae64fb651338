"""What ``hbus doctor --mcp`` checks: a host's way through a spawned shim to the bus and back."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from hindsight_bus.cli.checks import Check

_WITHIN_S = 60.0
_MAIN = ("-c", "from hindsight_bus.cli import main; main()")
_TEXT = "The doctor was here to see that a host reaches its memory."


class RoundFailed(Exception):
    """A tool refused what should have worked."""


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
            checks.append(await _tools(session))
            checks.append(await _round_trip(session))
    except* (RoundFailed, MCPError, OSError, TimeoutError) as failures:
        first = _first(failures)
        reason = " ".join(str(first).split()) or type(first).__name__
        checks.append(
            Check("mcp", "fail", reason, "run `hbus doctor`, and `hbus mcp` by hand: it logs to stderr")
        )
    return checks


def _first(failures: BaseExceptionGroup[Exception]) -> Exception:
    """Return the first failure of nested groups."""
    failure: Exception | BaseExceptionGroup[Exception] = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure


async def _tools(session: Client) -> Check:
    tools = (await session.list_tools()).tools
    return Check("mcp tools", "ok", f"{len(tools)} tools over stdio, revision {session.protocol_version}")


async def _round_trip(session: Client) -> Check:
    start = time.perf_counter()
    written = await _call(session, "write_memory", text=_TEXT)
    found = await _call(session, "search_memory", query="who was the doctor", token=written["token"])
    asked = await _call(session, "forget_memory", memory=written["memory"])
    gone = await _call(session, "forget_memory", memory=written["memory"], confirm=asked["confirm"])
    if not (found["memories"] and gone["forgotten"]):
        raise RoundFailed("what was written was not found, or not forgotten")
    took = f"{(time.perf_counter() - start) * 1e3:.0f} ms"
    return Check("mcp round", "ok", f"written, found and forgotten in {took}")


async def _call(session: Client, tool: str, **arguments: object) -> dict[str, Any]:
    answer = (await session.call_tool(tool, arguments)).structured_content or {}
    if "error" in answer:
        raise RoundFailed(f"{tool}: {answer['error']['message']} ({answer['error']['reason']})")
    return dict(answer)
