"""Fault row 5: the reply to a commit is lost on the way from Valkey; one effect for each request_id."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

import hbus.aio
from hindsight_bus.adapters.valkey.scripts import Script
from tests.faults import checkers
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History
from tests.faults.load import client, episode, listed, place_of, replayed, supply_vectors
from tests.faults.processes import ValkeyProcess
from tests.faults.proxy import FaultProxy

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACE = "user:zhangsan:facts"
WRITERS = 8


@forms("calls", 500, 10_000)
async def test_a_lost_reply_leaves_one_effect(
    calls: int, serve: Serve, valkey: ValkeyProcess, place: Path, history: History, chance: random.Random
) -> None:
    """Each writer creates a memory or gives its own one a new version, again and again under one request_id until
    it is acknowledged: as many memories and versions as requests, though many replies were lost."""
    commit = Script("commit").sha
    async with FaultProxy(valkey.socket, place / "proxy.sock") as proxy:
        server = await serve(valkey_url=f"unix://{proxy.target}")
        await supply_vectors(server.target)
        proxy.delay_s = 0.001  # so that calls overlap
        proxy.loses_reply_to = lambda piece: commit in piece and chance.random() < 0.1
        versions = await asyncio.gather(
            *(_write(server.target, history, f"w{n}", calls // WRITERS) for n in range(WRITERS))
        )
        proxy.loses_reply_to = lambda piece: False
        log = await replayed(server.target, NAMESPACE)
        rows = {memory.text: memory for memory in await listed(server.target, NAMESPACE)}
    assert proxy.cuts >= calls // 50, "hardly a reply was lost: the test proves nothing"
    written = [event.memory.text for event in log if event.kind == hbus.EventKind.EVENT_KIND_WRITTEN]
    wanted = [call.key for call in history if call.kind == "write"]
    problems = (
        checkers.lost(wanted, written) + checkers.repeated(written) + checkers.invented(wanted, written)
    )
    problems += checkers.reordered(map(place_of, written))
    assert not problems, f"{problems[:10]}, see {history.path}"
    for writer, expected in enumerate(versions):
        assert rows[f"w{writer}-0"].version == expected


async def _write(target: str, history: History, name: str, calls: int) -> int:
    """Create memories, and give the first one new versions; return the version that it should have."""
    async with client(target, name) as bus:
        first = await _create(bus, history, name, 0)
        for count in range(1, calls):
            if count % 2:
                key = f"{name}-{count}"
                call = history.begin(name, "update", key)
                await history.insist(call, bus.update, first, tags=[key], request_id=key)
            else:
                await _create(bus, history, name, count)
    return 1 + calls // 2


async def _create(bus: hbus.aio.Client, history: History, name: str, count: int) -> str:
    text = f"{name}-{count}"
    call = history.begin(name, "write", text)
    return (
        await history.insist(call, lambda: bus.write(NAMESPACE, text, **episode(text, count)))
    ).memory.name
