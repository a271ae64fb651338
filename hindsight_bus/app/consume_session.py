"""A member's stream: what it asks for comes in, what it is given goes out, and neither waits for the other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator

from hindsight_bus.app.group_feed import MAX_EVENTS, Delivery, heard
from hindsight_bus.app.group_member import GroupMember
from hindsight_bus.app.groups import GroupTerms
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.domain.errors import Draining, InvalidField
from hindsight_bus.domain.groups import GroupRecord, Settlement
from hindsight_bus.domain.values import Value

MAX_CREDIT = 10_000
_IDLE_SECONDS = 10.0
_MAX_UNSETTLED = 64
"""Settle requests that wait for the store; more are not read."""


class Open(Value):
    """The member introduces itself; sent first, and once."""

    terms: GroupTerms
    member: str


class Credit(Value):
    """So many more events may be sent."""

    events: int


class Settle(Value):
    """What to do with deliveries, each with its partition."""

    settlements: tuple[tuple[int, Settlement], ...]


ConsumeRequest = Open | Credit | Settle


class Opened(Value):
    """The member stands."""

    group: GroupRecord


class Deliveries(Value):
    """Events for the member."""

    deliveries: list[Delivery]


class Settled(Value):
    """The answer to one ``Settle``."""

    sequence: int
    """Which one, from 0."""
    outcomes: list[bool]


class DrainAnnounced(Value):
    """The server is stopping: no more events, but settlements are taken until it has stopped."""


class Idle(Value):
    """Nothing new."""


Message = Opened | Deliveries | Settled | DrainAnnounced | Idle


class Session:
    """One stream of a member."""

    def __init__(
        self,
        member: GroupMember,
        requests: AsyncIterator[ConsumeRequest],
        served: ServedNotes,
        agent: str,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._member = member
        self._requests = requests
        self._served = served
        self._agent = agent
        self._idle_seconds = idle_seconds
        self._credit = 0
        self._is_draining = False
        self._outbox: deque[Message] = deque([Opened(member.group)])
        self._unsettled: asyncio.Queue[Settle | None] = asyncio.Queue(_MAX_UNSETTLED)
        self._settled = 0

    async def run(self) -> AsyncGenerator[Message, None]:
        """Yield what is for the member, until its side of the stream ends; then give back what it has left."""
        await self._member.keep()
        tasks = [asyncio.create_task(work) for work in (self._take_in(), self._settle(), self._keep())]
        for task in tasks:
            task.add_done_callback(lambda _: self._member.pulse.fire())
        try:
            idle_s = self._idle_from_now()
            while not tasks[1].done() or self._outbox:
                seen = self._member.pulse.count
                while self._outbox:
                    yield self._outbox.popleft()
                    idle_s = self._idle_from_now()
                _raise_failed(tasks)
                if deliveries := await self._deliver():
                    yield Deliveries(deliveries)
                    idle_s = self._idle_from_now()
                elif not await self._news_after(seen, idle_s):
                    yield Idle()
                    idle_s = self._idle_from_now()
            _raise_failed(tasks)
            await self._member.leave()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _deliver(self) -> list[Delivery]:
        if not self._can_take:
            return []
        deliveries = await self._member.take(min(self._credit, MAX_EVENTS))
        self._credit -= len(deliveries)
        self._served.note(self._agent, heard(deliveries, self._agent))
        return deliveries

    @property
    def _can_take(self) -> bool:
        return self._credit > 0 and not self._is_draining

    def _idle_from_now(self) -> float:
        """Return the event-loop time at which the member, should it hear nothing else, is told so."""
        return asyncio.get_running_loop().time() + self._idle_seconds

    async def _news_after(self, seen: int, idle_s: float) -> bool:
        """Wait for news that this member can use; False when it is time to say that there is nothing."""
        while (left := idle_s - asyncio.get_running_loop().time()) > 0:
            if await self._member.news_after(seen, left, can_take=self._can_take):
                return True
        return False

    async def _take_in(self) -> None:
        while True:
            try:
                request = await anext(self._requests, None)
            except Draining:
                self._is_draining = True
                self._say(DrainAnnounced())
                continue
            if request is None:
                await self._unsettled.put(None)
                return
            await self._accept(request)

    async def _accept(self, request: ConsumeRequest) -> None:
        match request:
            case Credit(events):
                self._credit = min(self._credit + events, MAX_CREDIT)
                self._member.pulse.fire()
            case Settle():
                await self._unsettled.put(request)
            case Open():
                raise InvalidField("open", "may be sent once only")

    async def _settle(self) -> None:
        """Settle what has come in, as much at a time as has gathered meanwhile."""
        while True:
            waiting = [await self._unsettled.get()]
            while not self._unsettled.empty():
                waiting.append(self._unsettled.get_nowait())
            wanted = [request for request in waiting if request is not None]
            outcomes = iter(await self._member.settle([s for request in wanted for s in request.settlements]))
            for request in wanted:
                self._say(Settled(self._settled, [next(outcomes) for _ in request.settlements]))
                self._settled += 1
            if len(wanted) < len(waiting):
                return

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._member.keep_s)
            await self._member.keep()

    def _say(self, message: Message) -> None:
        self._outbox.append(message)
        self._member.pulse.fire()


def _raise_failed(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done():
            task.result()
