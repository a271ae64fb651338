"""A subscriber that attaches to another node with an old token, and one that is stuck."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import AsyncIterator, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
import structlog

import hbus.aio
from hbus.errors import Refused
from hbus.v1.bus_service_pb2 import SubscribeRequest
from hbus.v1.bus_service_pb2_grpc import BusServiceStub
from hbus.v1.event_pb2 import Event
from hindsight_bus.app.selection import WatchEvent
from hindsight_bus.app.tail import LogCommit
from hindsight_bus.domain.memory import Version
from hindsight_bus.server import Server
from hindsight_bus.settings import Settings
from hindsight_bus.wiring import build
from tests.faults import checkers
from tests.faults.conftest import Pair
from tests.faults.load import LAST, client, episode, vector
from tests.faults.processes import ValkeyProcess, until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACE = "user:lisi:facts"
CHANGES = 600
RING_KIB = 64
LARGE_TEXT = "x" * 8_000
STUCK_EVENTS = 1_200


async def test_an_old_token_brings_every_event_as_it_was_then(pair: Pair, chance: random.Random) -> None:
    """What one node sent live, another one sends after a token that its ring has long lost: same texts and states."""
    async with client(pair.one.target) as one, client(pair.two.target) as two:
        async with one.subscribe(NAMESPACE) as live:
            token = live.token
            await _change_much(one, chance)
            seen = await _up_to_the_last(live)
        async with two.subscribe(NAMESPACE, start=token) as replay:
            again = await _up_to_the_last(replay)
    assert len({event.memory.name for event in seen}) < len(seen), (
        "no memory changed: the test proves nothing"
    )
    assert not checkers.misdelivered(
        [each.SerializeToString(deterministic=True) for each in seen],
        [each.SerializeToString(deterministic=True) for each in again],
    )


async def _change_much(bus: hbus.aio.Client, chance: random.Random) -> None:
    """Write, contradict, change, forget and restore, then write the last memory."""
    names: list[str] = []
    for n in range(CHANGES):
        act, name = chance.random(), chance.choice(names or [""])
        try:
            if name and act < 0.2:
                await bus.update(name, tags=[f"t{n}"])
            elif name and act < 0.3:
                await bus.forget(name)
            elif name and act < 0.4:
                await bus.restore(name)
            else:
                names.append(await _say(bus, n, chance))
        except Refused:
            continue  # it does not fit the state that the memory is in by now
    await bus.write(NAMESPACE, LAST, **episode(LAST))


async def _say(bus: hbus.aio.Client, number: int, chance: random.Random) -> str:
    written = await bus.write(
        NAMESPACE,
        f"version {chance.randrange(5)} of it",
        subject=f"choice.{chance.randrange(20)}",
        confidence=chance.choice((0.5, 0.7, 0.9)),
        channel="tool",
        vector=vector(number),
    )
    return written.memory.name


async def _up_to_the_last(subscription: hbus.aio.Subscription) -> list[Event]:
    events = []
    async with asyncio.timeout(60.0):
        async for event in subscription:
            events.append(event)
            if event.memory.text == LAST:
                break
    return events


@dataclass(frozen=True, slots=True)
class InProcess:
    """A server within the test, so that its objects can be counted."""

    target: str
    log: list[MutableMapping[str, Any]]


@pytest.fixture
async def in_process(valkey: ValkeyProcess) -> AsyncIterator[InProcess]:
    config = Settings(valkey_url=valkey.url, listen="127.0.0.1:0", ring_kib=RING_KIB, embedder="use")
    capture = structlog.testing.LogCapture()
    app = await build(config)
    server = Server(
        app, config, structlog.wrap_logger(structlog.testing.ReturnLogger(), processors=[capture])
    )
    try:
        yield InProcess(await server.start(), capture.entries)
    finally:
        await server.stop()
        await app.close()


async def test_a_stuck_subscriber_holds_no_decoded_event_outside_the_ring(in_process: InProcess) -> None:
    """A subscriber that stops reading leaves as many decoded commits in memory as the ring may hold."""
    async with (
        client(in_process.target, timeout=60.0) as bus,
        grpc.aio.insecure_channel(in_process.target) as channel,
    ):
        await _publish_large(bus, STUCK_EVENTS)
        request = SubscribeRequest(namespaces=[NAMESPACE], start={"beginning": {}})
        stream = BusServiceStub(channel).Subscribe(request)
        await stream.read()
        await _publish_large(bus, 50)
        await until(_is_within_the_ring, 20.0, "decoded commits are within the ring")
        stream.cancel()
        await until(lambda: _has_ended(in_process), 10.0, "the stream has ended")
    [ended] = _ended(in_process)
    assert ended["code"] == "CANCELLED"
    assert ended["sent_bytes"] < STUCK_EVENTS * len(LARGE_TEXT) // 2, "it was not stuck"


async def _publish_large(bus: hbus.aio.Client, events: int) -> None:
    for start in range(0, events, 50):
        writes = [
            hbus.write_request(NAMESPACE, f"{n} {LARGE_TEXT}", type="episodic", channel="ingest")
            for n in range(start, start + 50)
        ]
        await bus.write_many(writes)


async def _is_within_the_ring() -> bool:
    gc.collect()
    held = gc.get_objects()  # of the whole process: what other tests hold has other texts
    commits = [each for each in held if isinstance(each, LogCommit) and _is_large(each.versions.values())]
    events = [each for each in held if isinstance(each, WatchEvent) and _is_large([each.memory.version])]
    decoded = sum(commit.size_bytes for commit in commits)
    return decoded <= RING_KIB << 10 and len(events) <= len(commits)


def _is_large(versions: Iterable[Version]) -> bool:
    return any(version.text.endswith(LARGE_TEXT) for version in versions)


def _ended(in_process: InProcess) -> list[MutableMapping[str, Any]]:
    return [e for e in in_process.log if e["event"] == "call" and e["method"] == "BusService/Subscribe"]


async def _has_ended(in_process: InProcess) -> bool:
    return bool(_ended(in_process))
