"""Fault row 9: the log is trimmed under slow readers. Groups miss nothing; whoever is below the floor is told."""

from __future__ import annotations

import pytest

import hbus.aio
from hbus.v1.group_pb2 import Delivery
from tests.faults import checkers
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History
from tests.faults.load import Writers, place_of, supply_vectors
from tests.faults.processes import until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACE = "user:trim:events"
RETENTION_HOURS = 0.5 / 3600


@forms("events", 300, 10_000)
async def test_nothing_is_missed_in_silence(events: int, serve: Serve, history: History) -> None:
    """While the log is trimmed every half second, a slow group gets all, and an old token is refused as compacted."""
    server = await serve(retention_hours=RETENTION_HOURS)
    await supply_vectors(server.target)
    handled: list[str] = []

    async def handle(delivery: Delivery) -> None:
        handled.append(delivery.event.memory.text)

    async with hbus.aio.connect(server.target, agent="reader") as bus:
        async with bus.subscribe(NAMESPACE) as early:
            old = early.token
        async with bus.consume(handle, group="slow", namespaces=NAMESPACE, concurrency=1):
            async with Writers(server.target, history, [NAMESPACE], 4) as writers:
                await writers.more(events, within_s=60.0 + events / 20)

            async def is_done() -> bool:
                [group] = [group async for group in bus.groups()]
                return (group.pending, group.lag, group.lost) == (0, 0, 0)

            await until(is_done, 30.0 + events / 10, "the group has settled everything")

        async def is_compacted() -> bool:
            try:
                async with bus.subscribe(NAMESPACE, start=old):
                    return False
            except hbus.errors.RevisionCompacted:
                return True

        await until(is_compacted, 20.0, "the old position is refused")
        async with bus.subscribe(NAMESPACE, start="snapshot") as anew:
            kept = [memory.text for memory in await anew.snapshot()]
    written = [call.key for call in history.acknowledged()]
    assert not checkers.lost(written, handled) + checkers.lost(written, kept)
    assert not checkers.reordered(map(place_of, dict.fromkeys(handled)))
