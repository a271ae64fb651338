"""Fault row 15, and death between acknowledgement and vector.

A server is killed again and again while it indexes what it has acknowledged. Every vector arrives, made by another
process, and a view that followed the log all the time equals one that is built anew.
"""

from __future__ import annotations

import asyncio
import itertools
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

SERVERS = 3
"""While one is killed, those killed before it start again."""
KILLS_EACH = 10
"""A namespace; then comes a new one, so that a rebuild costs the same from the first kill to the last."""
WRITERS = 4
INDEXED_S = 180.0
"""A server that has just started loads its model first, and three do so at once."""
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
    starting = (serve(f"server{n}", valkey_url=valkey.url) for n in range(SERVERS))
    servers = await asyncio.gather(*starting)
    namespaces = [_namespace(n) for n in range(-(-kills // KILLS_EACH))]
    caught = 0
    async with asyncio.TaskGroup() as tasks, following(store) as follower:
        restarts: dict[ServerProcess, asyncio.Task[None]] = {}
        for count, server in enumerate(itertools.cycle(servers)):
            if caught == kills:
                break
            print(f"{count} kills, of which {caught} left vectors to be made", flush=True)
            if server in restarts:
                await restarts[server]
            namespace = namespaces[caught // KILLS_EACH]
            await _work_and_kill(server, namespace, chance)
            restarts[server] = tasks.create_task(server.restart())
            pending = await _check(follower, store, namespace)
            caught += pending > 0
            await _let_leases_run_out(valkey, store)
            if chance.random() < 0.5:  # else the next one is killed too, and finds more to do
                await _indexed(follower, namespace, chance.randrange(pending + 1))
        for namespace in namespaces:
            await _indexed(follower, namespace, 0)
            await _check(follower, store, namespace)


def _namespace(number: int) -> Namespace:
    return Namespace.parse(f"user:u{number}:facts", OPEN_TENANT)


async def _indexed(follower: Follower, namespace: Namespace, left: int) -> None:
    """Wait until a server that is alive has made all vectors but ``left``."""

    async def is_done() -> bool:
        return await follower.pending(namespace) <= left

    await until(is_done, INDEXED_S, f"all vectors of {namespace} but {left} arrive")


async def _work_and_kill(server: ServerProcess, namespace: Namespace, chance: random.Random) -> None:
    """Write, change and forget from several sides; kill the server at the moment of some acknowledgement."""
    names = (f"w{n}" for n in range(WRITERS))
    writers = [asyncio.create_task(_work(server.target, name, str(namespace), chance)) for name in names]
    await asyncio.wait(writers, return_when=asyncio.FIRST_COMPLETED)
    await server.kill()
    await asyncio.gather(*writers)


async def _work(target: str, name: str, namespace: str, chance: random.Random) -> None:
    """Do a random number of things, or as many as come before the server is gone."""
    async with client(target, name) as bus:
        names: list[str] = []
        for _ in range(chance.randrange(1, 30)):
            try:
                names.append(await _act(bus, namespace, names, chance))
            except TryAgain:
                return


async def _act(bus: hbus.aio.Client, namespace: str, names: list[str], chance: random.Random) -> str:
    text = " ".join(chance.choices(WORDS, k=6))
    if names and chance.random() < 0.3:
        try:
            if chance.random() < 0.5:
                return (await bus.forget(names[-1])).memory.name
            return (await bus.update(names[-1], text=text, channel="tool")).memory.name
        except Refused:
            pass  # it was forgotten, or replaced by another writer
    if chance.random() < 0.5:
        written = await bus.write(namespace, text, type="episodic", channel="ingest")
    else:
        subject = f"choice.{chance.randrange(10)}"
        written = await bus.write(
            namespace, text, subject=subject, channel="tool", confidence=chance.random()
        )
    return written.memory.name


async def _check(follower: Follower, store: ValkeyLog, namespace: Namespace) -> int:
    """Compare with a view built from scratch, at one place in the log; return how many vectors are pending."""
    partition = partition_of(namespace.owner_id, store.partitions)
    async with asyncio.timeout(60.0), following(store) as fresh:
        while True:
            before = (await store.ends(partition)).newest
            followed, built = await follower.digest(namespace), await fresh.digest(namespace)
            pending = await fresh.pending(namespace)
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
