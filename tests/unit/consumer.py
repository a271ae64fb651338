"""A member of a group over a stream, whose every step a test takes itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.consume import Pull
from hindsight_bus.app.consume_session import (
    ConsumeRequest,
    Credit,
    Deliveries,
    Message,
    Open,
    Opened,
    Settle,
    Settled,
)
from hindsight_bus.app.group_feed import Delivery
from hindsight_bus.app.groups import GroupTerms
from hindsight_bus.app.watch import Beginning
from hindsight_bus.domain.groups import Action, Settlement
from hindsight_bus.domain.names import Pattern
from hindsight_bus.domain.values import replace
from tests.unit.app_rig import Node

M = TypeVar("M", bound=Message)
EVERYTHING = (Pattern("default", "*", "*", "*"),)
TERMS = GroupTerms("mailer", EVERYTHING, start=Beginning(), lease_ms=10_000, max_attempts=3)


class Requests(AsyncIterator[ConsumeRequest]):
    """What a client sends; an exception is raised where it stands, None ends the client's side."""

    def __init__(self) -> None:
        self._sent: asyncio.Queue[ConsumeRequest | Exception | None] = asyncio.Queue()

    def send(self, request: ConsumeRequest | Exception | None) -> None:
        self._sent.put_nowait(request)

    async def __anext__(self) -> ConsumeRequest:
        request = await self._sent.get()
        if request is None:
            raise StopAsyncIteration
        if isinstance(request, Exception):
            raise request
        return request


class Consumer:
    """The client's end of a stream."""

    def __init__(self, node: Node, member: str, terms: GroupTerms, agent: str) -> None:
        self.requests = Requests()
        self._stream = node.consumers.consume(Caller(agent=agent), self.requests)
        self.requests.send(Open(terms, member))

    async def next(self, kind: type[M]) -> M:
        """Return the next message, which must be of that kind."""
        async with asyncio.timeout(10):
            message = await anext(self._stream)
        assert isinstance(message, kind), message
        return message

    async def deliveries(self, credit: int = 100) -> list[Delivery]:
        """Grant credit and return the next events."""
        self.requests.send(Credit(credit))
        return (await self.next(Deliveries)).deliveries

    async def settle(self, *deliveries: Delivery, **action: Any) -> list[bool]:
        """Settle deliveries, by ack unless told otherwise."""
        self.requests.send(Settle(tuple(settlement(each, **action) for each in deliveries)))
        return (await self.next(Settled)).outcomes

    async def end(self) -> None:
        """Half-close and wait for the server to end."""
        self.requests.send(None)
        async with asyncio.timeout(10):
            async for _ in self._stream:
                raise AssertionError("more came after the end")

    async def cut(self) -> None:
        """Break the stream."""
        await self._stream.aclose()


@asynccontextmanager
async def consuming(
    node: Node, member: str = "m1", terms: GroupTerms = TERMS, agent: str = "ann"
) -> AsyncIterator[Consumer]:
    """Open a stream of a member."""
    consumer = Consumer(node, member, terms, agent)
    await consumer.next(Opened)
    try:
        yield consumer
    finally:
        await consumer.cut()


async def pull(node: Node, member: str = "m1", terms: GroupTerms = TERMS, **options: Any) -> list[Delivery]:
    """Pull by a single call."""
    wanted = replace(Pull(terms, member, 100, 0.0), **options)
    return (await node.consumers.pull(Caller(agent="ann"), wanted))[1]


async def ack(node: Node, *deliveries: Delivery, member: str = "m1", **action: Any) -> list[bool]:
    """Settle by a single call."""
    wanted = [settlement(each, **action) for each in deliveries]
    return await node.consumers.settle(Caller(agent="ann"), TERMS.name, member, wanted)


def settlement(delivery: Delivery, action: Action = Action.ACK, **fields: Any) -> tuple[int, Settlement]:
    """Return what to do with a delivery."""
    return delivery.partition, Settlement(delivery.event_id, delivery.number, action, **fields)


def texts(deliveries: list[Delivery]) -> list[str]:
    """Return the texts of the events' memories."""
    return [each.watched.memory.version.text for each in deliveries]
