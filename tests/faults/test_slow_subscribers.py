"""Fault row 11: subscribers that stop reading, and thousands that come and go, leave nothing behind."""

from __future__ import annotations

import asyncio
import itertools
import urllib.request
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import grpc
import pytest

import hbus
from hbus.v1.bus_service_pb2 import SubscribeRequest
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.load import client, episode, supply_vectors
from tests.faults.processes import ControlServer, ServerProcess, free_port, until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACE = "user:zhangsan:events"
SLOW = 20
"""Subscribers that read one message and then no more."""
EVENTS = 1_000
TEXT_BYTES = 1_000
AT_ONCE = 10
NOISE_BYTES = 25 << 20
"""What allocators keep, more or less of it in each run."""
LEAK_BYTES = 1_310
"""A cycle; with the noise 50 MiB in 20,000."""
METADATA = (("hbus-agent", "reader"),)

Stream: TypeAlias = grpc.aio.UnaryStreamCall[bytes, bytes]
Open: TypeAlias = Callable[[grpc.aio.Channel], Stream]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a process holds."""

    rss_bytes: int
    sockets: int
    calls: int


@forms("cycles", 500, 20_000)
async def test_slow_and_short_lived_subscribers_leave_nothing_behind(
    cycles: int, serve: Serve, control: ControlServer
) -> None:
    """Memory grows no more than that of a bare gRPC server under the same load; sockets and calls are as before."""
    metrics_port = free_port()
    server = await serve(metrics_port=metrics_port)
    await supply_vectors(server.target)
    for _ in range(3):  # until rings are full, and allocators have seen the load
        await _publish(server.target, EVENTS)
    await _churn(server.target, [_new, _old], 10 * AT_ONCE)
    await _churn(control.target, [_small, _large], 10 * AT_ONCE)
    before, control_before = await _footprint(server, metrics_port), control.rss_bytes()

    async with _stuck(server.target, _old), _stuck(control.target, _large):
        await _publish(server.target, EVENTS)
        await _churn(server.target, [_new] * 9 + [_old], cycles)
        await _churn(control.target, [_small] * 9 + [_large], cycles)

    async def is_back() -> bool:
        after = await _footprint(server, metrics_port)
        return after.sockets <= before.sockets and after.calls <= before.calls

    await until(is_back, 20.0, f"sockets and calls back to {before}")
    grown, control_grown = server.rss_bytes() - before.rss_bytes, control.rss_bytes() - control_before
    print(f"grown by {grown >> 20} MiB, the bare server by {control_grown >> 20} MiB")
    assert grown - control_grown < NOISE_BYTES + LEAK_BYTES * cycles


def _new(channel: grpc.aio.Channel) -> Stream:
    """Subscribe to what happens from now on."""
    return _subscribe(channel, SubscribeRequest(namespaces=[NAMESPACE]))


def _old(channel: grpc.aio.Channel) -> Stream:
    """Subscribe to everything from the beginning."""
    return _subscribe(channel, SubscribeRequest(namespaces=[NAMESPACE], start={"beginning": {}}))


def _subscribe(channel: grpc.aio.Channel, request: SubscribeRequest) -> Stream:
    opens: grpc.aio.UnaryStreamMultiCallable[bytes, bytes]
    opens = channel.unary_stream("/hbus.v1.BusService/Subscribe")
    return opens(request.SerializeToString(), metadata=METADATA)


def _small(channel: grpc.aio.Channel) -> Stream:
    """Have the bare server send what ``_new`` gets."""
    return _control(channel, 100, 1)


def _large(channel: grpc.aio.Channel) -> Stream:
    """Have the bare server send what ``_old`` gets, in messages of the same size."""
    return _control(channel, 200 * TEXT_BYTES, EVENTS // 100)


def _control(channel: grpc.aio.Channel, message_bytes: int, messages: int) -> Stream:
    opens: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream("/Control/Subscribe")
    return opens(f"{message_bytes} {messages}".encode())


async def _churn(target: str, opens: Sequence[Open], cycles: int) -> None:
    """Open streams of each kind in turn, read one message and cancel: ``AT_ONCE`` side by side on one connection."""

    async def churn(channel: grpc.aio.Channel) -> None:
        for _, open_stream in zip(range(cycles // AT_ONCE), itertools.cycle(opens), strict=False):
            stream = open_stream(channel)
            await stream.read()
            stream.cancel()

    async with grpc.aio.insecure_channel(target) as channel:
        await asyncio.gather(*(churn(channel) for _ in range(AT_ONCE)))


@asynccontextmanager
async def _stuck(target: str, open_stream: Open) -> AsyncIterator[None]:
    """Hold streams, each over a connection of its own, that have read one message and read no more."""
    options = (("grpc.use_local_subchannel_pool", 1),)
    channels = [grpc.aio.insecure_channel(target, options) for _ in range(SLOW)]
    streams = [open_stream(channel) for channel in channels]
    await asyncio.gather(*(stream.read() for stream in streams))
    yield
    for stream in streams:
        stream.cancel()
    await asyncio.gather(*(channel.close() for channel in channels))


async def _publish(target: str, events: int) -> None:
    async with client(target, timeout=60.0) as bus:
        for start in range(0, events, 500):
            writes = [
                hbus.write_request(NAMESPACE, f"{n} ".ljust(TEXT_BYTES, "x"), **episode("", n))
                for n in range(start, start + 500)
            ]
            await bus.write_many(writes)


async def _footprint(server: ServerProcess, metrics_port: int) -> Footprint:
    def page() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=5) as answer:
            return str(answer.read().decode())

    lines = (await asyncio.to_thread(page)).splitlines()
    calls = sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("hbus_calls_open{"))
    return Footprint(server.rss_bytes(), server.sockets(), int(calls))
