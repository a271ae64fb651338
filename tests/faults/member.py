"""A member of a group by the bare contract, that notes what it was given and what the server called done.

As a program it takes events and never settles one, until it is killed: ``python -m tests.faults.member TARGET GROUP N``
prints a line once it holds N.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import grpc

from hbus.endpoint import Endpoint
from hbus.v1.bus_service_pb2 import (
    AddCredit,
    ConsumeRequest,
    ConsumeResponse,
    GroupTerms,
    OpenGroup,
    Settle,
)
from hbus.v1.bus_service_pb2_grpc import BusServiceStub
from hbus.v1.group_pb2 import SETTLE_OUTCOME_DONE, Ack, Delivery, Settlement

_CREDIT = 100


@dataclass(slots=True)
class Member:
    """One member; ``texts`` maps ack ids to the texts of the events."""

    target: str
    terms: GroupTerms
    name: str
    given: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    """Texts of the events that were acknowledged and answered as done."""
    was_drained: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    _unanswered: list[list[str]] = field(default_factory=list)

    async def serve(self) -> None:
        """Acknowledge everything over one stream until it ends; half-close when the server announces its stop."""
        async with Endpoint.of(self.target, agent="member").aio_channel() as channel:
            stream = await self.open(channel)
            try:
                while isinstance(message := await stream.read(), ConsumeResponse):
                    await self._accept(stream, message)
            except (grpc.RpcError, asyncio.CancelledError):
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise
            finally:
                stream.cancel()

    async def open(self, channel: grpc.aio.Channel) -> Any:
        """Introduce itself on a new stream and grant credit."""
        bus: Any = BusServiceStub(channel)
        stream = bus.Consume(metadata=(("hbus-agent", "member"),))
        await stream.write(ConsumeRequest(open=OpenGroup(group=self.terms, member=self.name)))
        await stream.write(ConsumeRequest(credit=AddCredit(events=_CREDIT)))
        return stream

    async def _accept(self, stream: Any, message: ConsumeResponse) -> None:
        match message.WhichOneof("message"):
            case "events":
                ids = [self.note(delivery) for delivery in message.events.deliveries]
                self._unanswered.append(ids)
                settlement = Settlement(ack_ids=ids, ack=Ack())
                await stream.write(ConsumeRequest(settle=Settle(settlements=[settlement])))
                if not self.was_drained:
                    await stream.write(ConsumeRequest(credit=AddCredit(events=len(ids))))
            case "settled":
                answered = zip(self._unanswered.pop(0), message.settled.outcomes, strict=True)
                self.done += [self.texts[i] for i, outcome in answered if outcome == SETTLE_OUTCOME_DONE]
            case "drain":
                self.was_drained = True
        if self.was_drained and not self._unanswered:
            await stream.done_writing()

    def note(self, delivery: Delivery) -> str:
        """Note an event that was given; return its ack id."""
        self.texts[delivery.ack_id] = delivery.event.memory.text
        self.given.append(delivery.event.memory.text)
        return delivery.ack_id


async def _hold(target: str, group: str, count: int) -> None:
    member = Member(target, GroupTerms(name=group), "silent")
    async with Endpoint.of(target, agent="member").aio_channel() as channel:
        stream = await member.open(channel)
        with suppress(grpc.RpcError):  # its node may be killed first
            async for message in stream:
                for delivery in message.events.deliveries:
                    member.note(delivery)
                if len(member.given) == count:
                    print("holding", flush=True)


if __name__ == "__main__":
    asyncio.run(_hold(sys.argv[1], sys.argv[2], int(sys.argv[3])))
