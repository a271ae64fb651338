"""Fault row 15, and death between acknowledgement and vector.

A server is killed again and again while it indexes what it has acknowledged. Every vector arrives, made by another
process, and a view that followed the log all the time equals one that is built anew.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import cast

import pytest
from redis.asyncio import Redis

import hbus.aio
from hbus.errors import Refused, TryAgain
from hindsight_bus.adapters.valkey.keys import PartitionKeys
from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.app.caller import OPEN_TENANT
from hindsight_bus.domain.names import Namespace, partition_of
from hindsight_bus.ports import Lane
from tests.faults.conftest import Serve
from tests.faults.follower import Follower, following
from tests.faults.forms import forms
from tests.faults.load import client
from tests.faults.processes import ServerProcess, ValkeyProcess, until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAME = "user:zhangsan:facts"
NAMESPACE = Namespace.parse(NAME, OPEN_TENANT)
WRITERS = 4
WORDS = (
    "tea train rain dog river table lamp bread north winter violin ticket garden coffee 茶 火车 雨 狗".split()
)


@pytest.fixture
async def store(valkey: ValkeyProcess) -> AsyncIterator[ValkeyLog]:
    """Return the test's own access to the store."""
    store = await ValkeyLog.open(valkey.url)
    yield store
    await store.close()


@forms("kills", 10, 200)
async def test_vectors_arrive_and_views_agree_whatever_is_killed(
    kills: int, serve: Serve, valkey: ValkeyProcess, store: ValkeyLog, chance: random.Random
) -> None:
    """So many kills leave vectors to be made; after each the followed view equals a rebuilt one, and in the end no
    vector is missing."""
    starting = (serve(name, valkey_url=valkey.url, embedder="use") for name in ("one", "two"))
    servers = await asyncio.gather(*starting)
    caught = 0
    async with following(store) as follower:
        while caught < kills:
            for server in servers:
                await _work_and_kill(server, chance)
                pending = await _check(follower, store)
                caught += pending > 0
                await _let_leases_run_out(valkey, store)
                if server is servers[0]:
                    await _indexed(follower, chance.randrange(pending + 1))
            await asyncio.gather(*(server.restart() for server in servers))
        await _indexed(follower, 0)
        await _check(follower, store)


async def _indexed(follower: Follower, left: int) -> None:
    """Wait until a server that is alive has made all vectors but ``left``."""

    async def is_done() -> bool:
        return await follower.pending(NAMESPACE) <= left

    await until(is_done, 60.0, f"all vectors but {left} arrive")


async def _work_and_kill(server: ServerProcess, chance: random.Random) -> None:
    """Write, change and forget from several sides; kill the server at the moment of some acknowledgement."""
    writers = [asyncio.create_task(_work(server.target, f"w{n}", chance)) for n in range(WRITERS)]
    await asyncio.wait(writers, return_when=asyncio.FIRST_COMPLETED)
    await server.kill()
    await asyncio.gather(*writers)


async def _work(target: str, name: str, chance: random.Random) -> None:
    """Do a random number of things, or as many as come before the server is gone."""
    async with client(target, name) as bus:
        names: list[str] = []
        for _ in range(chance.randrange(1, 30)):
            try:
                names.append(await _act(bus, names, chance))
            except TryAgain:
                return


async def _act(bus: hbus.aio.Client, names: list[str], chance: random.Random) -> str:
    text = " ".join(chance.choices(WORDS, k=6))
    if names and chance.random() < 0.3:
        try:
            if chance.random() < 0.5:
                return (await bus.forget(names[-1])).memory.name
            return (await bus.update(names[-1], text=text, channel="tool")).memory.name
        except Refused:
            pass  # it was forgotten, or replaced by another writer
    if chance.random() < 0.5:
        written = await bus.write(NAME, text, type="episodic", channel="ingest")
    else:
        subject = f"choice.{chance.randrange(10)}"
        written = await bus.write(NAME, text, subject=subject, channel="tool", confidence=chance.random())
    return written.memory.name


async def _check(follower: Follower, store: ValkeyLog) -> int:
    """Compare with a view built from scratch, at one place in the log; return how many vectors are pending."""
    partition = partition_of(NAMESPACE.owner_id, store.partitions)
    async with asyncio.timeout(60.0), following(store) as fresh:
        while True:
            before = (await store.ends(partition)).newest
            followed, built = await follower.digest(NAMESPACE), await fresh.digest(NAMESPACE)
            pending = await fresh.pending(NAMESPACE)
            if (await store.ends(partition)).newest == before:
                assert followed == built
                return pending


async def _let_leases_run_out(valkey: ValkeyProcess, store: ValkeyLog) -> None:
    """Make what the dead server had leased due now, as it will be when its leases have run out."""
    async with Redis(unix_socket_path=str(valkey.socket)) as redis:
        for partition in range(store.partitions):
            key, _ = PartitionKeys(partition).due(Lane.QUICK)
            for leased in cast("list[bytes]", await redis.zrange(key, 0, -1)):
                await redis.zadd(key, {leased: 0}, xx=True)
