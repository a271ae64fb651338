"""MCP hosts for tests: in memory, by a spawned process, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import Client

from services.mcp.identity import Identity
from services.mcp.launch import Launch
from services.mcp.server import build

Json = dict[str, Any]
ERAS = ["legacy", "2026-07-28"]
"""The handshake, in its newest revision, and the stateless revision."""
SHIM = ["-c", "from hindsight_bus.cli import main; main()", "mcp"]
_ANSWER_S = 60.0


class Refused(AssertionError):
    """A tool answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(str(error))
        self.reason = str(error["reason"])
        self.fields = dict(error.get("fields", {}))


@dataclass(frozen=True, slots=True)
class HostClient:
    """What a model can do with a shim."""

    session: Client

    async def call(self, tool: str, /, **arguments: Any) -> Json:
        """Call a tool; its answer, and its refusal too, is one object as text and in structured form."""
        answer = await self.session.call_tool(tool, arguments)
        [text] = answer.content
        assert text.type == "text"
        assert json.loads(text.text) == answer.structured_content
        content = dict(answer.structured_content or {})
        if answer.is_error:
            raise Refused(content["error"])
        return content


@asynccontextmanager
async def in_memory(
    target: str,
    user: str,
    agent: str = "support",
    *,
    era: str = "legacy",
    tools: str = "default",
    timeout_s: float = 20.0,
    **options: Any,
) -> AsyncIterator[HostClient]:
    """Yield a host whose shim runs in this process."""
    launch = Launch(target, Identity(user, agent), tools=tuple(tools.split(",")), timeout_s=timeout_s)
    server = build(launch)
    async with Client(server, mode=era, **options) as session:
        yield HostClient(session)


class Pipe:
    """A host that speaks raw JSON-RPC with a spawned shim and keeps every line of its stdout."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self._ids = 0

    @classmethod
    async def start(cls, target: str, user: str, agent: str, *options: str) -> Pipe:
        """Spawn ``hbus mcp`` and shake hands."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, *SHIM, "--target", target, "--user", user, "--agent", agent, *options,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            limit=1 << 22, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        pipe = cls(process)
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        await pipe.request("initialize", hello)
        pipe.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return pipe

    def send(self, message: Json) -> None:
        """Send one message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def ask(self, method: str, params: Json) -> int:
        """Send a request and return its id without waiting."""
        self._ids += 1
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self._ids

    async def request(self, method: str, params: Json) -> Json:
        """Send a request and return its result; no other may be unanswered."""
        number = self.ask(method, params)
        [answer] = await self.answers(1)
        assert answer["id"] == number
        return dict(answer["result"])

    async def answers(self, number: int) -> list[Json]:
        """Return the next messages."""
        return [await self._line() for _ in range(number)]

    async def _line(self) -> Json:
        assert self.process.stdout is not None
        async with asyncio.timeout(_ANSWER_S):
            line = await self.process.stdout.readline()
        self.lines.append(line)
        return dict(json.loads(line))

    async def close(self) -> tuple[int, bytes]:
        """Close stdin; return the exit code and what the shim said on stderr."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(_ANSWER_S):
            rest, problem = await self.process.communicate()
        self.lines += rest.splitlines()
        return self.process.returncode or 0, problem
