"""Consuming: each event of a group to one of its members, at least once.

A member may come over a stream or by single calls; both use the same feed and the same store, so what one was given may
be settled by the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.consume_session import ConsumeRequest, Message, Open, Session
from hindsight_bus.app.group_feed import Delivery, GroupFeed, heard
from hindsight_bus.app.group_member import GroupMember
from hindsight_bus.app.groups import GroupBook, GroupTerms
from hindsight_bus.app.matching import Matcher
from hindsight_bus.app.meanings import Meanings
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.tail import Tails
from hindsight_bus.domain.errors import HbusError, InvalidField, NotFound, within
from hindsight_bus.domain.groups import GroupRecord, Settlement
from hindsight_bus.domain.values import Value
from hindsight_bus.ports import GroupGone, Groups, MemoryLog

_MAX_FEEDS = 1_000


class Pull(Value):
    """One call for events."""

    terms: GroupTerms
    member: str
    limit: int
    wait_s: float
    """How long to wait for the first one."""


class Consumers:
    """Serves the members of groups."""

    def __init__(
        self,
        store: MemoryLog,
        groups: Groups,
        tails: Tails,
        matcher: Matcher,
        meanings: Meanings,
        book: GroupBook,
        served: ServedNotes,
    ) -> None:
        self._store = store
        self._groups = groups
        self._tails = tails
        self._matcher = matcher
        self._meanings = meanings
        self._book = book
        self._served = served
        self._feeds: dict[str, asyncio.Task[GroupFeed]] = {}

    async def consume(
        self, caller: Caller, requests: AsyncIterator[ConsumeRequest]
    ) -> AsyncGenerator[Message, None]:
        """Serve a member over a stream until it has nothing more to say.

        Raises ``NotFound`` once the group is removed, ``PositionLost`` where its cursor is not in the log any more.
        """
        first = await anext(requests, None)
        if not isinstance(first, Open):
            raise InvalidField("open", "must be sent first")
        with within("open.group"):
            group = await self._book.open(caller, first.terms)
            feed = await self._feed(group)
        with self._serving(group), self._member(feed, caller, first.member) as member:
            session = Session(member, requests, self._served, caller.agent)
            async with aclosing(session.run()) as messages:
                async for message in messages:
                    yield message

    async def pull(self, caller: Caller, wanted: Pull) -> tuple[GroupRecord, list[Delivery]]:
        """Give a member what there is, waiting for the first event if need be."""
        with within("group"):
            group = await self._book.open(caller, wanted.terms)
            feed = await self._feed(group)
        with self._serving(group), self._member(feed, caller, wanted.member) as member:
            deliveries = await member.take_within(wanted.limit, wanted.wait_s)
        self._served.note(caller.agent, heard(deliveries, caller.agent))
        return group, deliveries

    async def settle(
        self, caller: Caller, group_name: str, member: str, settlements: Sequence[tuple[int, Settlement]]
    ) -> list[bool]:
        """Settle deliveries, given with their partitions; tell of each whether the member still had it."""
        group = await self._book.open(caller, GroupTerms(group_name))
        feed = await self._feed(group)
        with self._serving(group), self._member(feed, caller, member) as settling:
            return await settling.settle(settlements)

    async def _feed(self, group: GroupRecord) -> GroupFeed:
        """Return the feed of a group; the same for all members, with its cursors found once."""
        opening = self._feeds.get(group.id)
        if opening is None:
            self._drop_unused()
            opening = self._feeds[group.id] = asyncio.create_task(self._begun(group))
        try:
            return await asyncio.shield(opening)
        except HbusError:
            self._feeds.pop(group.id, None)
            raise

    async def _begun(self, group: GroupRecord) -> GroupFeed:
        query = await self._meanings.query(group.filter.meaning, group.patterns)
        feed = GroupFeed(group, query, self._store, self._groups, self._tails, self._matcher)
        await feed.begin()
        return feed

    def _drop_unused(self) -> None:
        if len(self._feeds) >= _MAX_FEEDS:
            used = {i: f for i, f in self._feeds.items() if not f.done() or f.result().is_used}
            self._feeds = used

    @contextmanager
    def _member(self, feed: GroupFeed, caller: Caller, name: str) -> Iterator[GroupMember]:
        """Serve a member; its name counts within the caller's own ones."""
        member = GroupMember(f"{caller.principal}/{name}", feed, self._groups)
        with feed.telling(member.pulse):
            yield member

    @contextmanager
    def _serving(self, group: GroupRecord) -> Iterator[None]:
        """Say that a group which was removed meanwhile is not found."""
        try:
            yield
        except GroupGone:
            self._feeds.pop(group.id, None)
            raise NotFound(f"groups/{group.name}") from None
