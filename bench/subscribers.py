"""What subscribers cost a server that have nothing to hear, or do not read; and whether others notice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from typing import Any

from bench.load import Sample, closed_loop, pooled
from bench.processes import Server, server
from bench.report import Goal, Result
from bench.rig import AGENT, BATCH, TIMEOUT_S, Rig, connect
from bench.store import settle
from bench.streams import NOW, Arrivals, subscribe
from hbus.v1.bus_service_pb2 import Start, StartBeginning
from hbus.v1.memory_service_pb2 import BatchWriteMemoriesRequest
from hbus.v1.memory_service_pb2_grpc import MemoryServiceStub

_IDLE = 1_000
_CONNECTIONS = 20
_STUCK = 100
_EVENTS = 2_000
_TEXT_CHARS = 1_000
_OTHERS = 20
_PAIRS = 4
"""Pairs of runs a round, one with a stuck subscriber and one without, the order changing: noise comes in stretches."""
_UNTIL_STUCK_S = 0.4
"""What has gone by when a new subscription has taken in all that fits between it and a reader that does not read."""
_BEGINNING = Start(beginning=StartBeginning())
_MIB = 1 << 20
_STUCK_MIB = Goal(must=50, aim=25, lower_is_better=True)
_MEDIAN = Goal(must=1.2, aim=1.05, lower_is_better=True)
_TAIL = Goal(must=2.0, aim=1.2, lower_is_better=True)


async def memory(rig: Rig) -> AsyncIterator[Result]:
    """Measure what a server of its own grows by: with idle subscribers, and with stuck ones while events flow."""
    async with server(rig.socket, "subscribers") as own:
        await _publish(rig, own, "user:large:bench")
        await settle(rig)
        start = own.rss_bytes()
        async with _idle(own):
            grown = own.rss_bytes() - start
        yield _grown(f"idle_subscribers.{_IDLE}", grown, "KiB each", grown / _IDLE / 1024)
        await settle(rig)
        start, without = own.rss_bytes(), await _highest(own, _publish(rig, own, "user:large:bench"))
        await settle(rig)
        start = own.rss_bytes()
        async with _stuck(own, _STUCK):
            highest = await _highest(own, _publish(rig, own, "user:large:bench"))
        flow = max(0, without - start)
        yield _grown(f"stuck_subscribers.{_STUCK}", highest - start, "without MiB", flow / _MIB, _STUCK_MIB)


def _grown(name: str, grown: int, limit: str, limit_value: float, goal: Goal | None = None) -> Result:
    """Return growth in MiB as a figure that is its own ratio."""
    return Result(name, grown / _MIB, "MiB", limit, limit_value, grown / _MIB, goal)


async def _highest(own: Server, work: Any) -> int:
    """Return the most that a server holds while something is done."""
    doing = asyncio.ensure_future(work)
    most = own.rss_bytes()
    while not doing.done():
        await asyncio.wait([doing], timeout=0.1)
        most = max(most, own.rss_bytes())
    await doing
    return most


async def _publish(rig: Rig, own: Server, name: str) -> None:
    """Write large memories."""
    writes = rig.source.writes(name, semantic=False)
    async with connect(own.address) as channel:
        stub: Any = MemoryServiceStub(channel)
        for _ in range(_EVENTS // BATCH):
            batch = list(islice(writes, BATCH))
            for write in batch:
                write.memory.text = (write.memory.text + " ").ljust(_TEXT_CHARS, "x")
            request = BatchWriteMemoriesRequest(writes=batch)
            await stub.BatchWriteMemories(request, metadata=AGENT, timeout=TIMEOUT_S)


@asynccontextmanager
async def _idle(own: Server) -> AsyncIterator[None]:
    """Hold subscriptions to owners about whom nobody says anything."""
    async with AsyncExitStack() as stack:
        channels = [await stack.enter_async_context(connect(own.address)) for _ in range(_CONNECTIONS)]
        streams = [subscribe(channels[n % _CONNECTIONS], f"user:idle{n}:bench", NOW) for n in range(_IDLE)]
        await asyncio.gather(*(stream.read() for stream in streams))
        yield
        for stream in streams:
            stream.cancel()


@asynccontextmanager
async def _stuck(own: Server, count: int, namespace: str = "user:large:bench") -> AsyncIterator[None]:
    """Hold subscriptions, each over a connection of its own, that have read one message and read no more."""
    async with AsyncExitStack() as stack:
        channels = [await stack.enter_async_context(connect(own.address)) for _ in range(count)]
        streams = [subscribe(channel, namespace, _BEGINNING) for channel in channels]
        await asyncio.gather(*(stream.read() for stream in streams))
        yield
        for stream in streams:
            stream.cancel()


async def isolation(rig: Rig, rounds: int, seconds: float) -> AsyncIterator[Result]:
    """Measure delivery to others while one subscriber is stuck, beside delivery while none is, in alternating runs."""
    name = "user:isolated:bench"
    async with server(rig.socket, "isolation") as own, AsyncExitStack() as stack:
        await _publish(rig, own, name)
        await settle(rig)
        arrivals = Arrivals()
        stack.callback(arrivals.stop)
        channels = [await stack.enter_async_context(connect(own.address)) for _ in range(4)]
        for n in range(_OTHERS):
            await arrivals.add(subscribe(channels[n % len(channels)], name, NOW))
        writer: Any = MemoryServiceStub(await stack.enter_async_context(connect(own.address)))
        write = rig.calling(writer.WriteMemory, rig.source.writes(name, semantic=False))

        def deliver() -> Awaitable[object]:
            return arrivals.after(write)

        runs: dict[int, list[Sample]] = {0: [], 1: []}
        for pair in range(rounds * _PAIRS):
            for stuck in (0, 1) if pair % 2 else (1, 0):
                async with _stuck(own, stuck, name):
                    await closed_loop(deliver, 1, _UNTIL_STUCK_S)
                    runs[stuck].append(await closed_loop(deliver, 1, seconds / _PAIRS))
        alone, beside = runs.values()
    yield Result.latency("isolation.p50", beside, alone, "none stuck ms p50", _MEDIAN)
    yield _tail(pooled(beside), pooled(alone))


def _tail(beside: Sample, alone: Sample) -> Result:
    value, limit = beside.p99_ms, alone.p99_ms
    return Result("isolation.p99", value, "ms p99", "none stuck ms p99", limit, value / limit, _TAIL)


async def measure(rig: Rig, rounds: int, seconds: float) -> AsyncIterator[Result]:
    """Measure memory, then isolation."""
    async for result in memory(rig):
        yield result
    async for result in isolation(rig, rounds, seconds):
        yield result
