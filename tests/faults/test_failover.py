"""Fault row 7: a replica takes over that lacks the newest commits. Whoever saw them is told; nothing else is harmed."""

from __future__ import annotations

import asyncio
import random
import time
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import hbus.aio
from hbus.errors import LogDiverged
from hbus.v1.common_pb2 import ConsistencyToken
from hbus.v1.group_pb2 import Delivery
from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.app.caller import OPEN_TENANT
from hindsight_bus.domain.names import Namespace
from tests.faults import checkers
from tests.faults.conftest import Serve
from tests.faults.follower import following
from tests.faults.forms import forms
from tests.faults.history import Call, History
from tests.faults.load import Writers, episode, place_of, replayed, supply_vectors, vector
from tests.faults.processes import ValkeyProcess, free_port, until
from tests.faults.proxy import FaultProxy

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACE = "user:zhangsan:events"
FOLLOWED = Namespace.parse(NAMESPACE, OPEN_TENANT)
WITHIN_S = 30.0
PROBES = 10
"""Writes that are looked for right after a failover, from each server."""


class Stores:
    """A primary and its replica behind one address that always leads to the primary."""

    def __init__(self, place: Path, proxy: FaultProxy) -> None:
        self._place = place
        self._proxy = proxy
        self._started: list[ValkeyProcess] = []
        self._primary_port = 0
        self._replica_port = 0

    @property
    def url(self) -> str:
        """Where the primary is found."""
        return f"unix://{self._proxy.target}"

    async def start(self) -> None:
        """Start both; return once the replica has everything."""
        self._primary_port = await self._add()
        self._proxy.upstream = self._started[-1].socket
        await self.attach()

    async def part(self) -> None:
        """Cut the replica off: from now on it misses what is committed."""
        async with self._started[-1].client() as replica:
            await replica.replicaof("NO", "ONE")

    async def fail_over(self) -> None:
        """Kill the primary and let the replica take its place."""
        await self._started[-2].kill()
        self._proxy.upstream = self._started[-1].socket
        self._primary_port = self._replica_port

    async def attach(self) -> None:
        """Give the primary a replica; return once that has everything."""
        self._replica_port = await self._add()
        async with self._started[-1].client() as replica:
            await replica.replicaof("127.0.0.1", str(self._primary_port))

            async def follows() -> bool:
                return bool((await replica.info("replication"))["master_link_status"] == "up")

            await until(follows, WITHIN_S, "the replica follows its primary")

    async def close(self) -> None:
        """End them."""
        for store in self._started:
            await store.close()

    async def _add(self) -> int:
        port = free_port()
        store = ValkeyProcess(
            self._place, f"store{len(self._started)}", port=str(port), repl_diskless_sync_delay="0"
        )
        self._started.append(store)
        await store.start()
        return port


@pytest.fixture
async def stores(place: Path) -> AsyncIterator[Stores]:
    async with FaultProxy(place, place / "stores.sock") as proxy:
        stores = Stores(place, proxy)
        await stores.start()
        yield stores
        await stores.close()


class Reader:
    """A subscriber that starts over from the beginning whenever it is told that it has lost its place."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.texts: list[str] = []
        self.times_told = 0

    async def run(self) -> None:
        """Read until cancelled."""
        async with hbus.aio.connect(self._target, agent="reader") as bus:
            while True:
                try:
                    async with bus.subscribe(NAMESPACE, start="beginning") as subscription:
                        self.texts.clear()
                        async for event in subscription:
                            self.texts.append(event.memory.text)
                except LogDiverged:
                    self.times_told += 1

    async def has_read(self, text: str) -> None:
        """Wait until it has read a text."""

        async def holds() -> bool:
            return text in self.texts

        await until(holds, WITHIN_S, f"a reader of {self._target} has read {text}")


@dataclass(slots=True)
class Round:
    """What happened around one failover."""

    attached_s: float
    killed_s: float
    lost: Call
    """Seen by every reader, and lost."""
    lost_token: ConsistencyToken
    kept: list[Call]
    kept_tokens: list[ConsistencyToken]

    def may_have_lost(self, call: Call) -> bool:
        """Tell whether a write was under way while the replica could miss it."""
        return call.start_s < self.killed_s and call.end_s > self.attached_s


@dataclass(slots=True)
class Run:
    """Two servers on the stores, with what reads and writes there."""

    stores: Stores
    targets: list[str]
    history: History
    chance: random.Random
    readers: list[Reader]
    rounds: list[Round] = field(default_factory=list)

    async def fail_over(self, writers: Writers) -> None:
        """Let the replica miss some commits and take over."""
        number = len(self.rounds)
        attached_s = time.monotonic()
        await writers.more(self.chance.randrange(20, 150))
        await self.stores.part()
        await writers.more(self.chance.randrange(1, 150))
        lost, lost_token = await self._write(f"lost-{number}", self.targets[number % 2])
        for reader in self.readers:
            await reader.has_read(lost.key)
        await self.stores.fail_over()
        killed_s = time.monotonic()
        written = await asyncio.gather(*(self._write_and_find(n, number) for n in range(len(self.targets))))
        calls, tokens = zip(*(pair for pairs in written for pair in pairs), strict=True)
        self.rounds.append(Round(attached_s, killed_s, lost, lost_token, list(calls), list(tokens)))
        await self.stores.attach()
        await writers.more(self.chance.randrange(1, 150))

    async def _write(self, text: str, target: str) -> tuple[Call, ConsistencyToken]:
        call = self.history.begin("probe", "write", text, namespace=NAMESPACE)
        async with hbus.aio.connect(target, agent="probe", timeout=WITHIN_S) as bus:
            answer = await self.history.record(
                call, bus.write(NAMESPACE, text, **episode(text, _number(text)))
            )
        assert answer is not None, call.problem
        return call, answer.token

    async def _write_and_find(self, place: int, number: int) -> list[tuple[Call, ConsistencyToken]]:
        """Write on one server; find each write at once on either by its token, which is never refused."""
        written = []
        for count in range(PROBES):
            text = f"kept{place}n{number}-{count}"
            call, token = await self._write(text, self.targets[place])
            written.append((call, token))
            async with hbus.aio.connect(
                self.targets[(place + count) % 2], agent="probe", timeout=WITHIN_S
            ) as bus:
                found = await bus.search(NAMESPACE, text, vector=vector(_number(text)), after=token)
            assert text in {hit.memory.text for hit in found.hits}, f"see {self.history.path}"
        return written


def _number(text: str) -> int:
    return zlib.crc32(text.encode())


@forms("failovers", 1, 20)
async def test_whoever_saw_what_a_failover_lost_is_told(
    failovers: int, serve: Serve, stores: Stores, history: History, chance: random.Random
) -> None:
    """Writers, readers and a group on two servers, while replicas that lack commits take over. Nothing is lost but what
    was acknowledged before; every reader is told and ends with the log as it is; tokens of what was lost are refused
    for ever, others never; views equal rebuilt ones."""
    servers = await asyncio.gather(*(serve(name, valkey_url=stores.url) for name in ("one", "two")))
    targets = [server.target for server in servers]
    await supply_vectors(*targets)
    run = Run(stores, targets, history, chance, [Reader(target) for target in targets])
    handled: set[str] = set()

    async def handle(delivery: Delivery) -> None:
        handled.add(delivery.event.memory.text)

    store = await ValkeyLog.open(stores.url)
    async with (
        asyncio.TaskGroup() as tasks,
        hbus.aio.connect(targets[0], agent="member") as bus,
        bus.consume(handle, group="all", namespaces=NAMESPACE, start="beginning"),
        following(store) as follower,
    ):
        reading = [tasks.create_task(reader.run()) for reader in run.readers]
        async with Writers(targets, history, [NAMESPACE]) as writers:
            await writers.more(20)
            await follower.digest(FOLLOWED)
            for _ in range(failovers):
                await run.fail_over(writers)
        log = [event.memory.text for event in await replayed(targets[0], NAMESPACE)]
        _check_log(run, log)
        for reader in run.readers:
            await reader.has_read(log[-1])
            problems = checkers.misdelivered(log, reader.texts[: len(log)])
            assert not problems, f"{problems[:10]}, see {history.path}"
        for target in targets:
            await _check_tokens(run, target, log)

        async def is_handled() -> bool:
            return handled.issuperset(log)

        await until(is_handled, WITHIN_S, "the group has handled every event")
        async with following(store) as fresh:
            assert await follower.digest(FOLLOWED) == await fresh.digest(FOLLOWED)
        for task in reading:
            task.cancel()
    await store.close()
    assert [reader.times_told for reader in run.readers] == [failovers] * len(run.readers)


def _check_log(run: Run, log: list[str]) -> None:
    """Nothing is lost but what a replica could have missed; nothing is there twice."""
    acknowledged = run.history.acknowledged()
    wanted = [call.key for call in acknowledged if not any(each.may_have_lost(call) for each in run.rounds)]
    problems = checkers.lost(wanted, log) + checkers.repeated(log)
    problems += checkers.invented([call.key for call in run.history], log) + checkers.reordered(
        map(place_of, log)
    )
    assert not problems, f"{problems[:10]}, see {run.history.path}"
    assert not {each.lost.key for each in run.rounds} & set(log), "nothing was lost: the test proves nothing"


async def _check_tokens(run: Run, target: str, log: list[str]) -> None:
    """Tokens of what was lost are refused, and it is not found; after the others comes what the log has."""
    async with hbus.aio.connect(target, agent="reader", timeout=WITHIN_S) as bus:
        for each in run.rounds:
            with pytest.raises(LogDiverged):
                await bus.search(NAMESPACE, each.lost.key, vector=vector(0), after=each.lost_token)
            with pytest.raises(LogDiverged):
                async with bus.subscribe(NAMESPACE, start=each.lost_token):
                    pass
            found = await bus.search(
                NAMESPACE, each.lost.key, vector=vector(_number(each.lost.key)), top_k=50
            )
            assert each.lost.key not in {hit.memory.text for hit in found.hits}
            call, token = run.chance.choice(list(zip(each.kept, each.kept_tokens, strict=True)))
            rest = log[log.index(call.key) + 1 :]
            async with bus.subscribe(NAMESPACE, start=token) as subscription:
                heard = [(await anext(subscription)).memory.text for _ in rest]
            assert not checkers.misdelivered(rest, heard)
