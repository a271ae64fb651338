"""Consumer groups: how many events a member takes and acknowledges, beside Valkey's own groups from Python.

And how soon another member has what a dead one held, beside the lease.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from itertools import count
from time import perf_counter
from typing import Any

import grpc
import redis

from bench.data import Namespace
from bench.load import Sample, pooled
from bench.report import Goal, Result
from bench.rig import AGENT, Rig, connect
from bench.store import settle
from hbus.v1.bus_service_pb2 import (
    AddCredit,
    ConsumeRequest,
    GroupTerms,
    OpenGroup,
    Settle,
    Start,
    StartBeginning,
)
from hbus.v1.bus_service_pb2_grpc import BusServiceStub
from hbus.v1.group_pb2 import SETTLE_OUTCOME_DONE, Ack, Settlement
from hindsight_bus.adapters.valkey.keys import PartitionKeys
from hindsight_bus.adapters.valkey.log import DEFAULT_PARTITIONS
from hindsight_bus.domain import names

_GOAL = Goal(must=0.3, aim=0.6)
_BATCH = 200
_CREDIT = 1000
_GROUPS = 4
_RECENT = 1000
_BACKLOG = 100_000
_HELD = 100
_LEASE_S = 2.0
_LATE = Goal(must=1.5, aim=1.1, lower_is_better=True)  # a second after a lease of two
_NUMBERS = count()


class RawGroup:
    """Valkey's own groups over a copy of the entries that a namespace's partition holds."""

    def __init__(self, rig: Rig, space: Namespace) -> None:
        self._store: Any = redis.Redis(unix_socket_path=str(rig.socket))
        self._stream = f"bench:{next(_NUMBERS)}"
        namespace = names.Namespace.parse(space.name, "default")
        log = PartitionKeys(names.partition_of(namespace.owner_id, DEFAULT_PARTITIONS)).log
        entries: Any = self._store.xrange(log, count=space.size)
        for start in range(0, len(entries), _BATCH):
            pipeline = self._store.pipeline(transaction=False)
            for _, fields in entries[start : start + _BATCH]:
                pipeline.xadd(self._stream, fields)
            pipeline.execute()
        self._size = len(entries)

    def drain(self) -> Sample:
        """Take and acknowledge everything with a new group."""
        group = f"g{next(_NUMBERS)}"
        self._store.xgroup_create(self._stream, group, id="0")
        return _drained(self._size, lambda: self._step(group))

    def _step(self, group: str) -> int:
        [[_, entries]] = self._store.xreadgroup(group, "m", {self._stream: ">"}, count=_BATCH)
        acknowledged: int = self._store.xack(self._stream, group, *(entry_id for entry_id, _ in entries))
        return acknowledged

    def close(self) -> None:
        """Remove the copy."""
        self._store.delete(self._stream)


def _drained(size: int, step: Callable[[], int]) -> Sample:
    began = perf_counter()
    arrived: list[float] = []
    while len(arrived) < size:
        arrived += [perf_counter() - began] * step()
    return Sample(perf_counter() - began, arrived)


def _terms(space: str) -> GroupTerms:
    """Return a new group that starts with what the log holds of a namespace."""
    start = Start(beginning=StartBeginning())
    return GroupTerms(name=f"bench-{next(_NUMBERS)}", namespaces=[space], start=start)


class Member:
    """A member of a group, over a stream of its own."""

    def __init__(self, channel: grpc.aio.Channel, terms: GroupTerms, name: str = "m") -> None:
        bus: Any = BusServiceStub(channel)
        self._stream = bus.Consume(metadata=AGENT)
        self._terms = terms
        self._name = name

    async def join(self) -> None:
        """Introduce itself; return once the server follows the log for it."""
        await self._stream.write(ConsumeRequest(open=OpenGroup(group=self._terms, member=self._name)))
        await self._stream.read()

    async def hold(self, size: int, attempt: int) -> list[float]:
        """Take so many events that come for the nth time, and settle none; return when each came."""
        await self._stream.write(ConsumeRequest(credit=AddCredit(events=_CREDIT)))
        arrived: list[float] = []
        while len(arrived) < size:
            message = await self._stream.read()
            found = [each for each in message.events.deliveries if each.attempt == attempt]
            arrived += [perf_counter()] * len(found)
        return arrived

    def die(self) -> None:
        """Break off without a word."""
        self._stream.cancel()

    async def drain(self, size: int) -> Sample:
        """Take and acknowledge so many events, then leave."""
        began = perf_counter()
        await self._stream.write(ConsumeRequest(credit=AddCredit(events=_CREDIT)))
        arrived: list[float] = []
        while len(arrived) < size:
            message = await self._stream.read()
            if message.HasField("events"):
                await self._settle([delivery.ack_id for delivery in message.events.deliveries])
            elif message.HasField("settled"):
                done = sum(outcome == SETTLE_OUTCOME_DONE for outcome in message.settled.outcomes)
                arrived += [perf_counter() - began] * done
        await self._stream.done_writing()
        return Sample(arrived[-1], arrived)

    async def _settle(self, ids: list[str]) -> None:
        settlement = Settlement(ack_ids=ids, ack=Ack())
        await self._stream.write(ConsumeRequest(settle=Settle(settlements=[settlement])))
        await self._stream.write(ConsumeRequest(credit=AddCredit(events=len(ids))))


async def backlog(rig: Rig, space: Namespace, rounds: int) -> Result:
    """Measure events that the server must read and decode first, taken and acknowledged by batches of 200."""
    await settle(rig)
    raw = RawGroup(rig, space)
    ours, theirs = [], []
    async with connect(rig.address) as channel:
        for _ in range(rounds):
            theirs.append(raw.drain())
            member = Member(channel, _terms(space.name))
            await member.join()
            ours.append(await member.drain(space.size))
    raw.close()
    return Result.rate(f"consume.backlog.{space.size}", ours, theirs, "raw group/s")


async def recent(rig: Rig, rounds: int) -> Result:
    """Measure events that the server still has decoded: what members are given that follow the log."""
    ours, theirs = [], []
    async with connect(rig.address) as channel:
        for number in range(rounds):
            name = f"user:recent{number}:bench"
            members = [Member(channel, _terms(name)) for _ in range(_GROUPS)]
            for member in members:
                await member.join()
            space, _ = await rig.fill(name, _RECENT)
            await settle(rig)
            raw = RawGroup(rig, space)
            theirs.append(pooled(raw.drain() for _ in members))
            ours.append(pooled([await member.drain(_RECENT) for member in members]))
            raw.close()
    return Result.rate("consume.recent", ours, theirs, "raw group/s", _GOAL)


async def takeover(rig: Rig, rounds: int) -> Result:
    """Measure after what time another member has the events of one that died right after it was given them."""
    waits = []
    space, _ = await rig.fill("user:takeover:bench", _HELD)
    await settle(rig)
    async with connect(rig.address) as channel:
        for _ in range(rounds):
            terms = _terms(space.name)
            terms.lease.FromTimedelta(timedelta(seconds=_LEASE_S))
            dying, heir = Member(channel, terms, "dying"), Member(channel, terms, "heir")
            await dying.join()
            given = await dying.hold(_HELD, 1)
            await heir.join()
            dying.die()
            again = await heir.hold(_HELD, 2)
            waits.append(Sample(again[-1] - given[0], [again[-1] - given[0]]))
            heir.die()
    return Result.latency(
        "consume.takeover", waits, [Sample(_LEASE_S, [_LEASE_S])] * rounds, "lease ms", _LATE
    )


async def measure(rig: Rig, space: Namespace, rounds: int) -> AsyncIterator[Result]:
    """Measure what members are given that follow the log, that come late, and that follow a dead one."""
    yield await recent(rig, rounds)
    yield await backlog(rig, space, rounds)
    yield await takeover(rig, rounds)
    longest, _ = await rig.fill("user:backlog:bench", _BACKLOG, semantic=False)
    yield await backlog(rig, longest, rounds)
