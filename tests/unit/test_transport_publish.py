"""Publishing: many writes on one stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from hbus.v1.bus_service_pb2 import PublishRequest
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.domain.errors import HbusError
from hindsight_bus.domain.memory import Decision
from hindsight_bus.domain.position import Positions
from tests.unit.transport_rig import AGENT, Services


def publication(text: str, subject: str = "", **fields: Any) -> PublishRequest:
    memory = {"type": 2, "text": text, "subject": subject, **fields}
    return PublishRequest(write={"namespace": "user:zhangsan:facts", "memory": memory})


class Gates:
    """A writer each of whose writes waits until the test lets it through."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.changed = asyncio.Condition()
        self.open: set[str] = set()

    async def write_many(self, _: Any, drafts: Any) -> list[Outcome | HbusError]:
        if not drafts:
            return []
        [draft] = drafts
        async with self.changed:
            self.begun.append(draft.text)
            self.changed.notify_all()
            await self.changed.wait_for(lambda: draft.text in self.open)
        return [Outcome(Decision.STORED, None, None, draft.text, Positions())]

    async def until_begun(self, *texts: str) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: set(texts) <= set(self.begun))

    async def let(self, *texts: str) -> None:
        async with self.changed:
            self.open.update(texts)
            self.changed.notify_all()


@pytest.fixture
async def gates() -> Gates:
    return Gates()


@pytest.fixture
async def services(gates: Gates) -> AsyncIterator[Services]:
    async with Services(publish_in_flight=3) as running:
        running.app.answers["write_many"] = gates.write_many
        yield running


async def test_answers_may_overtake(services: Services, gates: Gates) -> None:
    """A slow write does not hold up the answer to a later one; each answer names its request."""
    call = services.bus.Publish(metadata=AGENT)
    await call.write(publication("slow"))
    await call.write(publication("quick"))
    await gates.until_begun("slow", "quick")
    await gates.let("quick")
    first = await call.read()
    assert (first.sequence, first.result.response.reason) == (1, "quick")
    await gates.let("slow")
    assert (await call.read()).sequence == 0
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF


async def test_one_subject_keeps_its_order(services: Services, gates: Gates) -> None:
    """A write on a subject begins only when the one before it on that subject is through."""
    call = services.bus.Publish(metadata=AGENT)
    for text in ("first", "second"):
        await call.write(publication(text, subject="drink"))
    await call.write(publication("other", subject="food"))
    await gates.until_begun("first", "other")
    assert "second" not in gates.begun
    await gates.let("first", "second", "other")
    await gates.until_begun("second")
    await call.done_writing()
    assert sorted([message.sequence async for message in _read(call)]) == [0, 1, 2]


async def test_a_malformed_item_does_not_end_the_stream(services: Services, gates: Gates) -> None:
    """A malformed write is answered with its field, and the stream goes on."""
    await gates.let("fine")
    call = services.bus.Publish(metadata=AGENT)
    await call.write(publication("bad", confidence=2))
    assert (await call.read()).result.error.field == "memory.confidence"
    await call.write(publication("fine"))
    assert (await call.read()).result.response.reason == "fine"
    call.cancel()


async def test_writes_in_flight_are_bounded(services: Services, gates: Gates) -> None:
    """No more writes are taken in than the bound allows until answers have left."""
    call = services.bus.Publish(metadata=AGENT)
    texts = [f"w{i}" for i in range(5)]
    for text in texts:
        await call.write(publication(text))
    await gates.until_begun(*texts[:3])
    assert gates.begun == texts[:3]
    await gates.let(*texts)
    await call.done_writing()
    assert len([message async for message in _read(call)]) == 5


async def test_draining_answers_what_was_taken_in(services: Services, gates: Gates) -> None:
    """When the server stops, accepted writes are still answered; then the stream ends as DRAINING."""
    call = services.bus.Publish(metadata=AGENT)
    await call.write(publication("accepted"))
    await gates.until_begun("accepted")
    services.streams.drain()
    await gates.let("accepted")
    assert (await call.read()).result.response.reason == "accepted"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_publishing_needs_an_agent(services: Services, gates: Gates) -> None:
    """A stream without an agent's name is refused at once."""
    call = services.bus.Publish()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def _read(call: Any) -> AsyncIterator[Any]:
    while (message := await call.read()) is not grpc.aio.EOF:
        yield message
