"""The MemoryLogs under contract: the in-process fake, Valkey and Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.groups import FakeGroups
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.adapters.valkey.log import ValkeyLog
from tests.contract.groups_rig import DEAD_KEPT, GroupsRig
from tests.contract.memory_log_rig import PARTITIONS, Rig


@pytest.fixture(params=["fake", "valkey", "redis"])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """Return an empty log."""
    if request.param == "fake":
        yield _fake_rig()
        return
    url = request.getfixturevalue(f"{request.param}_url")
    async with Redis.from_url(url) as client:
        await client.flushall()
        log = await ValkeyLog.open(url, partitions=PARTITIONS)
        yield _store_rig(log, client)
        await log.close()


@pytest.fixture
def groups(rig: Rig) -> GroupsRig:
    """Return no groups yet, on an empty log."""
    if isinstance(rig.log, ValkeyLog):
        return GroupsRig(rig, rig.log.groups(DEAD_KEPT))
    assert isinstance(rig.log, FakeLog)
    return GroupsRig(rig, FakeGroups(rig.log, rig.log.now_ms, DEAD_KEPT))


def _fake_rig() -> Rig:
    clock = FakeClock()

    async def store_ms() -> int:
        return clock.now_ms()

    async def pass_moment() -> None:
        clock.advance(0.01)
        await asyncio.sleep(0)

    return Rig(FakeLog(clock.now_ms, PARTITIONS), store_ms, pass_moment)


def _store_rig(log: ValkeyLog, client: Redis) -> Rig:
    async def store_ms() -> int:
        seconds, microseconds = await client.time()
        return int(seconds) * 1000 + int(microseconds) // 1000

    async def pass_moment() -> None:
        await asyncio.sleep(0.005)

    return Rig(log, store_ms, pass_moment)
