"""Fault row 13: SIGTERM under load. What was acknowledged holds, streams end with a word, and the exit is in time."""

from __future__ import annotations

import asyncio
import time

import pytest

import hbus.aio
from hbus.v1.bus_service_pb2 import GroupTerms, Start, StartBeginning
from tests.faults import checkers
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History
from tests.faults.load import Writers, listed, supply_vectors
from tests.faults.member import Member
from tests.faults.processes import until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACE = "user:stop:events"
GRACE_S = 5.0
TERMS = GroupTerms(name="stop", namespaces=[NAMESPACE], start=Start(beginning=StartBeginning()))


@forms("streams", 200, 1000)
async def test_a_stop_under_load_loses_nothing(streams: int, serve: Serve, history: History) -> None:
    """Writers, subscribers and members at work: exit 0 within grace + 1 s; what was done is never given out again."""
    server = await serve(grace_seconds=GRACE_S)
    await supply_vectors(server.target)
    members = [Member(server.target, TERMS, f"m{n}") for n in range(streams // 10)]
    async with (
        hbus.aio.connect(server.target, agent="hearer") as bus,
        Writers(server.target, history, [NAMESPACE], 4) as writers,
    ):
        subscriptions = [bus.subscribe(NAMESPACE, max_outage=60.0) for _ in range(streams - len(members))]
        await asyncio.gather(*(each.__aenter__() for each in subscriptions))
        serving = [asyncio.create_task(member.serve()) for member in members]
        await writers.more(100)
        began = time.monotonic()
        assert await server.stop() == 0
        assert time.monotonic() - began < GRACE_S + 1.0
        await asyncio.wait_for(asyncio.gather(*serving), 5.0)
        assert all(member.was_drained for member in members)
        await server.restart()
        await writers.more(20)
        await asyncio.gather(*(each.close() for each in subscriptions))
    await _check(server.target, history, members)


async def _check(target: str, history: History, members: list[Member]) -> None:
    """Let one member take the rest: together they have done every acknowledged write, none of them twice."""
    last = Member(target, TERMS, "last")
    serving = asyncio.create_task(last.serve())
    written = {call.key for call in history.acknowledged()}

    def done() -> list[str]:
        return [text for member in (*members, last) for text in member.done]

    async def is_done() -> bool:
        return written.issubset(done())

    await until(is_done, 20.0, "every acknowledged write was given out and done")
    serving.cancel()
    assert not checkers.repeated(done())
    assert not checkers.lost(written, [memory.text for memory in await listed(target, NAMESPACE)])
