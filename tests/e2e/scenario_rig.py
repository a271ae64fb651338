"""Plays the scenario of all clients against a server, through a network that does what the scenario asks for."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.faults.proxy import FaultProxy

SCENARIO = Path(__file__).parents[1] / "data" / "client_scenario.json"


class Faults:
    """Does the faults of a scenario, and knows whether they took place."""

    def __init__(self, proxy: FaultProxy) -> None:
        self._proxy = proxy
        self._awaited: list[bytes] = []

    def do(self, fault: dict[str, Any]) -> None:
        """Cut every connection, or lose the reply to the first request that holds a text."""
        if fault.get("cut"):
            before = self._proxy.cuts
            self._proxy.cut()
            assert self._proxy.cuts > before, "nothing was there to be cut"
        else:
            self._awaited.append(fault["lose_reply_to"].encode())
            self._proxy.loses_reply_to = self._is_awaited

    def check(self) -> None:
        """Raise ``AssertionError`` where a reply that was to be lost was not."""
        assert not self._awaited, f"never asked for: {self._awaited}"

    def _is_awaited(self, piece: bytes) -> bool:
        found = [text for text in self._awaited if text in piece]
        self._awaited = [text for text in self._awaited if text not in found]
        return bool(found)


async def play(command: Sequence[str | Path], target: str, user: str) -> list[Any]:
    """Play the scenario with one client, by ``command SCENARIO TARGET USER``; return what came of each step."""
    async with FaultProxy(target) as proxy:
        process = await asyncio.create_subprocess_exec(
            *command,
            SCENARIO,
            proxy.target,
            user,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            limit=1 << 20,
        )
        faults = Faults(proxy)
        try:
            outcome = await _serve(process, faults)
        finally:
            if process.returncode is None:
                process.kill()
            _, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    faults.check()
    return _without_what_differs(outcome, user)


async def _serve(process: asyncio.subprocess.Process, faults: Faults) -> list[Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    outcome: list[Any] = []
    async for line in process.stdout:
        said = json.loads(line)
        if "outcome" in said:
            outcome = said["outcome"]
            continue
        faults.do(said["fault"])
        process.stdin.write(b"done\n")
        await process.stdin.drain()
    await process.wait()
    return outcome


def _without_what_differs(outcome: list[Any], user: str) -> list[Any]:
    """Put names for the user, for ids and for the day."""
    text = json.dumps(outcome, ensure_ascii=False).replace(user, "{user}")
    text = re.sub(r"\b[0-9a-f]{32}\b", "{id}", text)
    return list(json.loads(re.sub(r"\b20\d\d-\d\d-\d\d\b", "{day}", text)))
