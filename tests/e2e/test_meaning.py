"""Subscribing by meaning as its users meet it: the Python client and the command line, real vectors, two servers."""

from __future__ import annotations

import asyncio

import pytest
from typer.testing import CliRunner

import hbus
import hbus.aio
from hbus.v1.event_pb2 import Event
from hindsight_bus.cli.app import app
from tests.faults.conftest import Serve, place, seed, serve, valkey  # noqa: F401 - fixtures
from tests.faults.processes import ServerProcess, ValkeyProcess

pytestmark = pytest.mark.e2e

REFUNDS = "anything about refunds"
ENGLISH = "The customer asks for a refund of order 4711"
CHINESE = "用户要求退还订单的钱"
ANOTHER = "She was refunded the ticket"


@pytest.fixture
async def servers(serve: Serve, valkey: ValkeyProcess) -> tuple[ServerProcess, ServerProcess]:  # noqa: F811
    return await serve("one", valkey_url=valkey.url), await serve("two", valkey_url=valkey.url)


def connect(server: ServerProcess, agent: str = "cashier") -> hbus.aio.Client:
    """Connect, with time for a server that is still loading its model."""
    return hbus.aio.connect(server.target, agent=agent, timeout=60.0)


async def write(server: ServerProcess, *texts: str) -> None:
    async with connect(server, "orders") as bus:
        for text in texts:
            await bus.write("user:zhangsan:facts", text, channel="ingest", type="episodic")


async def heard(live: hbus.aio.Subscription, count: int) -> list[Event]:
    async with asyncio.timeout(60):
        return [await anext(live) for _ in range(count)]


async def test_whatever_is_about_it_is_heard(servers: tuple[ServerProcess, ServerProcess]) -> None:
    """On another server than it was written to, in another language, over a restart, and again from the log."""
    one, two = servers
    async with connect(two) as bus:
        async with bus.subscribe("user:*:facts", meaning=REFUNDS) as live:
            await write(one, "Her dog is called Bruno", ENGLISH, "用户喜欢柱状图", CHINESE)
            events = await heard(live, 2)
            await two.kill()
            await write(one, "The sky is blue", ANOTHER)
            await two.restart()
            events += await heard(live, 1)
        async with bus.subscribe("user:*:facts", start="beginning", meaning=REFUNDS) as again:
            replayed = await heard(again, 3)
        async with bus.subscribe("user:*:facts", start="snapshot", meaning=REFUNDS) as picture:
            held = await picture.snapshot()
    assert sorted(event.memory.text for event in events) == sorted([ENGLISH, CHINESE, ANOTHER])
    assert {event.kind for event in events} == {hbus.EventKind.EVENT_KIND_INDEXED}
    assert {event.agent for event in events} == {"orders"}
    assert replayed == events
    assert [memory.text for memory in held] == [
        ENGLISH,
        CHINESE,
        ANOTHER,
    ]  # in the order in which they were made


async def test_a_group_shares_it(servers: tuple[ServerProcess, ServerProcess]) -> None:
    """Members on two servers, each memory to one of them."""
    one, two = servers
    seen: list[str] = []
    enough = asyncio.Event()

    async def handle(delivery: hbus.Delivery) -> None:
        seen.append(delivery.event.memory.text)
        if len(seen) == 2:
            enough.set()

    async with (
        connect(one) as first,
        connect(two) as second,
        first.consume(handle, group="refunds", namespaces="user:*:facts", meaning=REFUNDS),
        second.consume(handle, group="refunds", namespaces="user:*:facts", meaning=REFUNDS),
    ):
        await write(one, "Her dog is called Bruno", ENGLISH, CHINESE)
        async with asyncio.timeout(60):
            await enough.wait()
        [group] = [group async for group in first.groups()]
    assert sorted(seen) == sorted([ENGLISH, CHINESE])
    assert group.terms.filter.meaning.text == REFUNDS


async def test_the_command_line_watches_by_meaning(servers: tuple[ServerProcess, ServerProcess]) -> None:
    """With the threshold that it is given."""
    one, _ = servers
    await write(one, "Her dog is called Bruno", ENGLISH, CHINESE)
    async with connect(one) as bus, bus.subscribe("user:*:facts", start="beginning", meaning=REFUNDS) as live:
        await heard(live, 2)
    arguments = [
        "watch",
        "user:*:facts",
        "--start",
        "beginning",
        "--meaning",
        REFUNDS,
        "--target",
        one.target,
    ]
    result = await asyncio.to_thread(
        CliRunner().invoke, app, [*arguments, "--count", "1", "--threshold", "0.4"]
    )
    assert CHINESE in result.stdout, "the other one is at 0.395"
    refused = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, "--threshold", "1.5"])
    assert refused.exit_code != 0
    assert "filter.meaning.threshold" in refused.stderr
