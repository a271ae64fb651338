"""Memory, bus and reflection as processes of their own behind one port, as the compose profile `split` runs them."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

import hbus
import hbus.aio
from hbus import steps
from hbus.v1 import bus_service_pb2, memory_service_pb2, namespace_service_pb2, reflection_service_pb2
from tests.e2e.split_rig import Split, cluster_of

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="there is no wheel of Envoy for it"),
]

USER = "zhangsan"
PATIENCE_S = 90.0
"""Each role loads its model at start, which a busy machine takes its time for."""
FACTS = f"user:{USER}:facts"
LESSONS = f"user:{USER}:lessons"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def split() -> AsyncIterator[Split]:
    with tempfile.TemporaryDirectory(prefix="hbus-") as place:
        split = Split(Path(place))
        try:
            await split.start()
            yield split
        finally:
            await split.close()


async def _round(bus: hbus.aio.Client, heard: asyncio.Queue[hbus.Event], number: int) -> None:
    """Write, hear of it, find it, fail at a task and hear of the lesson: each by another role."""
    text = f"Parcel {number} waits on shelf {number + 7}"
    written = await bus.write(FACTS, text, subject=f"parcel.{number}", confidence=0.9)
    found = await bus.search(FACTS, f"Where is parcel {number}?", after=written.token)
    assert found.hits[0].memory.name == written.memory.name
    task = (await bus.start_task(f"Fetch parcel {number}", kind="fetch", user=USER, after=written.token)).task
    [_] = await bus.record_steps(task, [steps.tool_call(1, f"open_shelf_{number}", error="423 Locked")])
    await bus.finish_task(task, "failure", judge="user")
    learnt = await bus.reflection(task, wait=PATIENCE_S)
    lessons = {lesson.memory for lesson in learnt.reflection.lessons}
    again = await bus.search(LESSONS, f"Fetch parcel {number}", after=learnt.token)
    assert lessons & {hit.memory.name for hit in again.hits}
    awaited = lessons | {written.memory.name}
    async with asyncio.timeout(PATIENCE_S):
        while awaited:
            awaited.discard((await heard.get()).memory.name)


async def test_each_role_may_die_and_come_back(split: Split) -> None:
    """The round goes over all roles, and again after each was killed; the listener misses and repeats nothing."""
    heard: asyncio.Queue[hbus.Event] = asyncio.Queue()
    kept: list[hbus.Event] = []

    async def listen(events: hbus.aio.Subscription) -> None:
        async for event in events:
            kept.append(event)
            heard.put_nowait(event)

    async with (
        hbus.aio.connect(split.target, agent="support", timeout=PATIENCE_S) as bus,
        bus.subscribe([FACTS, LESSONS]) as events,
    ):
        listener = asyncio.create_task(listen(events))
        await _round(bus, heard, 0)
        await asyncio.gather(*(role.kill() for role in split.roles.values()))
        await asyncio.gather(*(role.restart() for role in split.roles.values()))
        await _round(bus, heard, 1)
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
    revisions = [event.revision for event in kept]
    assert revisions == sorted(revisions)
    written = [event.memory.text for event in kept if event.memory.subject.startswith("parcel.")]
    assert written == [f"Parcel {number} waits on shelf {number + 7}" for number in range(2)]


async def test_the_others_go_on_without_one(split: Split) -> None:
    """A role that is down is unavailable, and by its name alone."""
    await split.roles["reflection"].kill()
    try:
        async with hbus.aio.connect(
            split.target, agent="support", timeout=PATIENCE_S, backoff=hbus.backoff.NO_RETRY
        ) as bus:
            written = await bus.write("user:lisi:facts", "Lisi drinks tea", subject="preference.drink")
            assert (await bus.search("user:lisi:facts", "tea", after=written.token)).hits
            with pytest.raises(hbus.errors.Unavailable):
                await bus.start_task("Make tea", user="lisi")
    finally:
        await split.roles["reflection"].restart()


async def test_every_service_is_routed_to_a_role_that_serves_it(split: Split) -> None:
    """Those of the contract, which each role tells in its health."""
    files = (bus_service_pb2, memory_service_pb2, namespace_service_pb2, reflection_service_pb2)
    services = [each.full_name for file in files for each in file.DESCRIPTOR.services_by_name.values()]
    for service in services:
        role = split.roles[cluster_of(f"/{service}/Any")]
        assert await role.wants_calls(PATIENCE_S, service), service


async def test_a_role_serves_nothing_else(split: Split) -> None:
    """Dialled by itself, the bus knows no memories."""
    async with hbus.aio.connect(split.roles["bus"].target, agent="support") as bus:
        with pytest.raises(hbus.HbusError) as refused:
            await bus.write(FACTS, "Lost")
    assert refused.value.code.name == "UNIMPLEMENTED"
