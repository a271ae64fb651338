"""Fault row 12: streams on which nothing happens live on, however often their clients ask whether anybody is there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from hbus.v1.bus_service_pb2 import AddCredit, ConsumeRequest, GroupTerms, OpenGroup, SubscribeRequest
from hbus.v1.bus_service_pb2_grpc import BusServiceStub
from tests.faults.conftest import Serve
from tests.faults.load import client, episode, supply_vectors
from tests.faults.processes import until
from tests.faults.proxy import FaultProxy

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

METADATA = (("hbus-agent", "reader"),)
PING = b"\x00\x00\x08\x06\x00"
"""How a PING frame of HTTP/2 begins that asks (RFC 9113, 6.7)."""

Stream: TypeAlias = Any


class Line:
    """A connection of its own with three idle streams, whose client pings at an interval."""

    def __init__(self, proxy: FaultProxy, keepalive_ms: int) -> None:
        self.pings = 0
        self.streams: dict[str, Stream] = {}
        self._name = f"every-{keepalive_ms}"
        self.namespace = f"user:{self._name}:events"
        self._channel = grpc.aio.insecure_channel(
            proxy.target,
            options=(
                ("grpc.keepalive_time_ms", keepalive_ms),
                ("grpc.keepalive_timeout_ms", 10_000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.max_pings_without_data", 0),
                ("grpc.use_local_subchannel_pool", 1),
            ),
        )
        proxy.loses_reply_to = self._count

    def _count(self, piece: bytes) -> bool:
        self.pings += piece.startswith(PING)
        return False

    async def open(self) -> None:
        """Subscribe, become a member of a group, and watch the server's health; return once all three stand."""
        bus: Any = BusServiceStub(self._channel)
        health: Any = health_pb2_grpc.HealthStub(self._channel)
        subscription = bus.Subscribe(SubscribeRequest(namespaces=[self.namespace]), metadata=METADATA)
        member = bus.Consume(metadata=METADATA)
        terms = GroupTerms(name=self._name, namespaces=[self.namespace])
        await member.write(ConsumeRequest(open=OpenGroup(group=terms, member="idle")))
        await member.write(ConsumeRequest(credit=AddCredit(events=10)))
        watch = health.Watch(health_pb2.HealthCheckRequest())
        self.streams = {"Subscribe": subscription, "Consume": member, "Watch": watch}
        for stream in self.streams.values():
            assert await stream.read() is not grpc.aio.EOF

    async def hears(self, text: str) -> None:
        """Return once the subscription and the member have been told of an event; skip what says that nothing came."""
        for name in ("Subscribe", "Consume"):
            while True:
                message = await self.streams[name].read()
                assert message is not grpc.aio.EOF, f"{self._name}: {name} has ended"
                events = message.events
                found = events.deliveries if name == "Consume" else events.events
                if text in [getattr(each, "event", each).memory.text for each in found]:
                    break

    async def close(self) -> None:
        """Close the connection."""
        for stream in self.streams.values():
            stream.cancel()
        await self._channel.close()


@asynccontextmanager
async def idle(target: str, keepalive_ms: int) -> AsyncIterator[Line]:
    """Yield a line whose streams stand."""
    async with FaultProxy(target) as proxy:
        line = Line(proxy, keepalive_ms)
        await line.open()
        yield line
        await line.close()


async def outlive(target: str, keepalive_ms: int, seconds: float) -> None:
    """Stay idle for some time, while the client pings; then the same three streams still work."""
    began = time.monotonic()
    async with idle(target, keepalive_ms) as line:

        async def is_over() -> bool:
            ended = [name for name, stream in line.streams.items() if stream.done()]
            assert not ended, f"{ended} ended after {line.pings} pings every {keepalive_ms} ms"
            return line.pings * keepalive_ms >= 800 * seconds and time.monotonic() - began >= seconds

        await until(is_over, 10.0 + 1.5 * seconds, f"{seconds} s with a ping every {keepalive_ms} ms")
        text = f"after {line.pings} pings"
        async with client(target) as bus:
            await bus.write(line.namespace, text, **episode(text))
        async with asyncio.timeout(10.0):
            await line.hears(text)
        assert not line.streams["Watch"].done()


@pytest.mark.parametrize(
    ("intervals_ms", "seconds"),
    [
        pytest.param([600], 4.0, id="short"),
        pytest.param([1_000, 10_000, 30_000], 600.0, id="10 min", marks=pytest.mark.long),
    ],
)
async def test_idle_streams_live_on(intervals_ms: list[int], seconds: float, serve: Serve) -> None:
    """A subscription, a member and a watch of health, whose clients ping every 1, 10 and 30 s for ten minutes."""
    server = await serve()
    await supply_vectors(server.target)
    await asyncio.gather(*(outlive(server.target, each, seconds) for each in intervals_ms))
