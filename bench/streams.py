"""Events: how soon they arrive, at how many subscribers, and how fast the past is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any

import grpc

from bench.data import Namespace
from bench.framed import write_frames
from bench.load import Sample, closed_loop
from bench.processes import product
from bench.report import Goal, Result
from bench.rig import AGENT, Rig, connect, listen_to
from bench.store import settle
from hbus.v1.bus_service_pb2 import (
    Start,
    StartBeginning,
    StartNow,
    StartTokens,
    SubscribeRequest,
    SubscribeResponse,
)
from hbus.v1.bus_service_pb2_grpc import BusServiceStub

_DELIVERY = Goal(must=6, aim=2.5, lower_is_better=True)
_STREAM = Goal(must=0.3, aim=0.6)
_SUBSCRIBERS = 100
_CONNECTIONS = 4
_HELD_EVENTS = 2000
"""Newest events that fit into the ring of the default settings."""
_ARRIVAL_S = 10.0
_WARM_UP_S = 1.0


class Arrivals:
    """Notes when the next event has come to each of some streams."""

    def __init__(self) -> None:
        self._readers: list[asyncio.Task[None]] = []
        self._missing = 0
        self._all = asyncio.Event()

    async def add(self, stream: Any) -> None:
        """Follow a stream; return once its first message, the confirmation, is there."""
        await stream.read()
        self._readers.append(asyncio.create_task(self._follow(stream)))

    async def after(self, send: Callable[[], Awaitable[object]]) -> None:
        """Send, and return when every stream has brought one message since."""
        self._missing = len(self._readers)
        self._all.clear()
        async with asyncio.timeout(_ARRIVAL_S):
            sending = asyncio.ensure_future(send())
            await self._all.wait()
            await sending

    async def _follow(self, stream: Any) -> None:
        while (message := await stream.read()) is not grpc.aio.EOF:
            if message.HasField("checkpoint"):
                continue
            self._missing -= 1
            if not self._missing:
                self._all.set()

    def stop(self) -> None:
        """Stop following."""
        for reader in self._readers:
            reader.cancel()


def subscribe(channel: grpc.aio.Channel, namespace: str, start: Start) -> Any:
    """Open a subscription."""
    stub: Any = BusServiceStub(channel)
    return stub.Subscribe(SubscribeRequest(namespaces=[namespace], start=start), metadata=AGENT)


NOW = Start(now=StartNow())


async def delivery(
    rig: Rig, space: Namespace, address: str, name: str, goal: Goal | None, rounds: int
) -> Result:
    """Measure from the call of a write to its event on another connection, against an echo."""
    arrivals = Arrivals()
    async with connect(address) as channel:
        await arrivals.add(subscribe(channel, space.name, NOW))
        write = rig.calling(rig.memory.WriteMemory, rig.source.writes(space.name, semantic=True))
        echo = rig.calling(rig.bare.echo_write, rig.source.writes(space.name, semantic=True))
        echoes, deliveries = [], []
        await closed_loop(lambda: arrivals.after(write), 1, _WARM_UP_S)
        await settle(rig)  # a server that has just started loads what follow-up work asks for
        for _ in range(rounds):
            echoes.append(await closed_loop(echo, 1, 0.3))
            deliveries.append(await closed_loop(lambda: arrivals.after(write), 1, 0.3))
        arrivals.stop()
    return Result.latency(name, deliveries, echoes, "echo ms p50", goal)


async def own_delivery(rig: Rig, space: Namespace, rounds: int) -> Result:
    """Measure delivery within one server."""
    return await delivery(rig, space, rig.address, "publish_to_deliver", _DELIVERY, rounds)


async def fan_out(rig: Rig, space: Namespace, rounds: int) -> Result:
    """Measure from a write until the last of 100 subscribers has its event, against passing on the same bytes."""
    async with AsyncExitStack() as stack:
        ours, bare = Arrivals(), Arrivals()
        stack.callback(ours.stop)
        stack.callback(bare.stop)
        for _ in range(_CONNECTIONS):
            channel = await stack.enter_async_context(connect(rig.address))
            bare_channel = await stack.enter_async_context(connect(rig.bare_address))
            for _ in range(_SUBSCRIBERS // _CONNECTIONS):
                await ours.add(subscribe(channel, space.name, NOW))
                await bare.add(listen_to(bare_channel, "Listen")(b""))
        event = await _one_event(rig, space)
        write = rig.calling(rig.memory.WriteMemory, rig.source.writes(space.name, semantic=True))
        written, passed = [], []
        for _ in range(rounds):
            passed.append(await closed_loop(lambda: bare.after(lambda: rig.bare.send(event)), 1, 0.4))
            written.append(await closed_loop(lambda: ours.after(write), 1, 0.4))
    return Result.latency(f"fan_out.{_SUBSCRIBERS}", written, passed, "bare fan-out ms p50")


async def _one_event(rig: Rig, space: Namespace) -> SubscribeResponse:
    async with connect(rig.address) as channel:
        stream = subscribe(channel, space.name, NOW)
        await stream.read()
        await rig.calling(rig.memory.WriteMemory, rig.source.writes(space.name, semantic=True))()
        message: SubscribeResponse = await stream.read()
        return message


async def replay(rig: Rig, space: Namespace, rounds: int) -> AsyncIterator[Result]:
    """Measure reading a namespace's events, against a bare stream of the same messages.

    From the beginning, which the log serves, and the newest, which the node still holds decoded.
    """
    beginning = Start(beginning=StartBeginning())
    recorded = [message async for message in _events_of(rig.channel, space, beginning, space.size)]
    newest = recorded[-(_HELD_EVENTS // len(recorded[0].events.events)) :]
    after = Start(tokens=StartTokens(tokens=[recorded[-len(newest) - 1].events.token]))
    held = sum(len(message.events.events) for message in newest)
    for name, messages, start, count in (
        ("subscribe.from_log", recorded, beginning, space.size),
        ("subscribe.from_ring", newest, after, held),
    ):
        path = rig.socket.parent / f"{name}.frames"
        write_frames(path, [message.SerializeToString() for message in messages])
        ours, bare = [], []
        async with connect(rig.bare_address) as channel:
            stream = listen_to(channel, "Replay")
            for _ in range(rounds):
                bare.append(await _drain(stream(str(path).encode())))
                ours.append(await _drain(_events_of(rig.channel, space, start, count)))
        yield Result.rate(name, ours, bare, "bare stream/s", _STREAM)


async def _events_of(
    channel: grpc.aio.Channel, space: Namespace, start: Start, count: int
) -> AsyncIterator[SubscribeResponse]:
    """Yield batches until ``count`` events have come."""
    async for message in subscribe(channel, space.name, start):
        if message.HasField("events"):
            count -= len(message.events.events)
            yield message
        if count <= 0:
            return


async def _drain(stream: AsyncIterator[SubscribeResponse]) -> Sample:
    """Time the events of a stream that follow its first batch: what opening it costs is another matter."""
    began, arrived = 0.0, list[float]()
    async for message in stream:
        if began:
            arrived += [perf_counter() - began] * len(message.events.events)
        began = began or perf_counter()
    return Sample(arrived[-1], arrived)


async def measure(rig: Rig, read: Namespace, written: Namespace, rounds: int) -> AsyncIterator[Result]:
    """Measure delivery, on this server and on another one, fanning out, and reading the past."""
    yield await own_delivery(rig, written, rounds)
    async with product(rig.socket, "other") as other:
        yield await delivery(rig, written, other, "publish_to_deliver.other_server", None, rounds)
    yield await fan_out(rig, written, rounds)
    async for result in replay(rig, read, rounds):
        yield result
