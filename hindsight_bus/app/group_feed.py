"""What one node reads of the log for a group, shared by the members that it serves.

The group's cursor lies in the store and every node moves it by compare-and-set; a feed keeps what it last knew of it,
and how far it has seen that nothing more is wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from hindsight_bus.app.matching import Interest, Matcher
from hindsight_bus.app.pulse import Pulse
from hindsight_bus.app.selection import Selection, WatchEvent, watch_event
from hindsight_bus.app.tail import LogCommit, PartitionTail, Tails, hydrate, no_vectors, read_commits
from hindsight_bus.domain.groups import EventId, GroupRecord, Redelivery, Settlement
from hindsight_bus.domain.meaning import MeaningQuery
from hindsight_bus.domain.memory import Memory
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.values import Value
from hindsight_bus.ports import CursorMoved, GroupFull, Groups, LogChanged, MemoryLog, PartitionHeld, Span

MAX_EVENTS = 200
_MAX_BATCH_BYTES = 2 << 20
_LOOK_AGAIN_MS = 500
"""How soon to look for what other nodes' members have left or given back, while something is pending."""
_LOOK_IDLE_MS = 2_000
"""The same while nothing is pending; never longer than a lease."""


class Delivery(Value):
    """An event in the hands of a member."""

    watched: WatchEvent
    number: int
    """Number of the delivery in its partition."""
    attempt: int
    """How often the event has been given out by now, from 1."""

    @property
    def partition(self) -> int:
        """Partition of the event."""
        return self.watched.entry.partition

    @property
    def event_id(self) -> EventId:
        """Place of the event in its partition."""
        return EventId(self.watched.entry.revision, self.watched.index)


def heard(deliveries: Iterable[Delivery], agent: str) -> Iterator[Memory]:
    """Yield the memories of events that an agent did not cause itself."""
    watched = (delivery.watched for delivery in deliveries)
    return (each.memory for each in watched if each.event.agent != agent)


class PartitionFeed:
    """One partition of a group."""

    def __init__(
        self, group: GroupRecord, selection: Selection, store: MemoryLog, groups: Groups, tail: PartitionTail
    ) -> None:
        self.partition = tail.partition
        self._group = group
        self._selection = selection
        self._store = store
        self._groups = groups
        self._tail = tail
        self._cursor = self._seen = Position(tail.partition, 0, 0)
        self._epoch = tail.epoch
        self._look_ms = 0
        self._lock = asyncio.Lock()

    @property
    def look_ms(self) -> int:
        """When (store time) to look again for what is due."""
        return self._look_ms

    async def begin(self, start: Position) -> None:
        """Find the cursor, or start it."""
        await self._tail.follow()
        self._epoch = self._tail.epoch
        self._cursor = self._seen = await self._groups.begin(self._group, start)

    def look_soon(self) -> None:
        """Note that something may have become due."""
        self._look_ms = 0

    async def claim(self, member: str, limit: int) -> list[Delivery]:
        """Give a member what is due again, if it is time to look."""
        now_ms = self._store.now_ms()
        if now_ms < self._look_ms:
            return []
        self._look_ms = now_ms + min(_LOOK_IDLE_MS, self._group.lease_ms)
        async with self._lock:
            claim = await self._groups.claim(self._group, self.partition, member, limit)
            if claim.cursor != self._cursor:
                self._cursor = self._seen = claim.cursor
        if claim.due_ms >= 0:
            self._look_ms = min(self._look_ms, max(claim.due_ms, now_ms), now_ms + _LOOK_AGAIN_MS)
        return await self._delivered(claim.redeliveries)

    async def _delivered(self, found: Sequence[Redelivery]) -> list[Delivery]:
        entries = {each.entry.revision: LogCommit(each.entry, {}) for each in found}
        commits = await hydrate(self._store, self.partition, list(entries.values()), no_vectors)
        whole = {commit.revision: commit for commit in commits}
        return [
            Delivery(watch_event(whole[r.event.revision], r.event.index), r.delivery, r.attempt)
            for r in found
        ]

    async def take(self, member: str, limit: int) -> list[Delivery]:
        """Give a member events that nobody has had, at most ``limit`` unless one commit has more."""
        async with self._lock:
            if self._tail.epoch != self._epoch:
                await self.begin(next(p for p in self._group.start if p.partition == self.partition))
            while True:
                events, upto = await self._wanted(limit)
                if not events:
                    return []
                try:
                    given = await self._give(member, events, upto)
                except CursorMoved as moved:
                    self._cursor = self._seen = moved.position
                except GroupFull:
                    return []
                except LogChanged:
                    await self._tail.catch_up()
                    return []
                else:
                    if given:
                        return given

    async def _wanted(self, limit: int) -> tuple[list[WatchEvent], Position]:
        """Return what is wanted next, and where the cursor goes with it."""
        while self._seen.revision < self._tail.position.revision:
            commits = await self._read()
            events, taken = self._selection.first(commits, limit, _MAX_BATCH_BYTES)
            upto = commits[taken - 1].position if taken else self._seen
            if events or not commits:
                return events, upto
            self._seen = upto
        return [], self._seen

    async def _read(self) -> Sequence[LogCommit]:
        wanted = self._selection.vector_profiles
        commits = self._tail.since(self._seen.revision, MAX_EVENTS)
        if commits is None:
            return await read_commits(self._store, self._seen, MAX_EVENTS, wanted)
        return (
            await hydrate(self._store, self.partition, commits, wanted) if self._selection.query else commits
        )

    async def _give(self, member: str, events: Sequence[WatchEvent], upto: Position) -> list[Delivery]:
        owners = tuple(w.event.namespace.owner_id[:16] for w in events) if self._group.ordered else ()
        ids = tuple(EventId(w.entry.revision, w.index) for w in events)
        given = await self._groups.take(self._group, member, Span(self._cursor.revision, upto, ids, owners))
        self._cursor = self._seen = upto
        return [Delivery(events[place], number, 1) for place, number in given.items()]

    async def note_progress(self) -> None:
        """Move the cursor past what the filter excludes; somebody else may have done so, or more."""
        async with self._lock:
            if self._seen.revision == self._cursor.revision or self._tail.epoch != self._epoch:
                return
            try:
                await self._groups.take(self._group, "", Span(self._cursor.revision, self._seen, ()))
                self._cursor = self._seen
            except CursorMoved as moved:
                self._cursor = self._seen = moved.position
            except LogChanged:
                await self._tail.catch_up()

    async def settle(self, member: str, settlements: Sequence[Settlement]) -> list[bool]:
        """Settle deliveries of a member."""
        return await self._groups.settle(self._group, self.partition, member, settlements)


class GroupFeed:
    """Every partition of a group, and whom to tell of news."""

    def __init__(
        self,
        group: GroupRecord,
        query: MeaningQuery | None,
        store: MemoryLog,
        groups: Groups,
        tails: Tails,
        matcher: Matcher,
    ) -> None:
        self.group = group
        self._store = store
        self._matcher = matcher
        self._pulses: set[Pulse] = set()
        self._listening = ExitStack()
        selection = Selection(group.patterns, group.filter, query=query)
        self._interest = Interest(selection, group.partitions, self._on_news)
        self.partitions = {
            p: PartitionFeed(group, selection, store, groups, tails[p]) for p in group.partitions
        }

    @property
    def is_used(self) -> bool:
        """Tell whether a member listens."""
        return bool(self._pulses)

    async def begin(self) -> None:
        """Find the cursors."""
        await asyncio.gather(*(self.partitions[start.partition].begin(start) for start in self.group.start))

    @contextmanager
    def telling(self, pulse: Pulse) -> Iterator[None]:
        """Fire a pulse on whatever may concern a member."""
        if not self._pulses:
            self._interest.news.clear()
            self._listening.enter_context(self._matcher.registered(self._interest))
        self._pulses.add(pulse)
        try:
            yield
        finally:
            self._pulses.remove(pulse)
            if not self._pulses:
                self._listening.close()

    def tell(self) -> None:
        """Wake every member."""
        for pulse in tuple(self._pulses):
            pulse.fire()

    def seconds_to_look(self, partitions: Iterable[int]) -> float:
        """Return in how many seconds something may be due in one of the partitions."""
        look_ms = min((self.partitions[p].look_ms for p in partitions), default=0)
        return max(0.0, (look_ms - self._store.now_ms()) / 1000)

    async def take(self, member: str, partition: int, limit: int) -> list[Delivery]:
        """Give a member what is due again, else what is new; nothing where another member holds the partition."""
        feed = self.partitions[partition]
        try:
            return await feed.claim(member, limit) or await feed.take(member, limit)
        except PartitionHeld:
            return []

    def _on_news(self) -> None:
        self._interest.news.clear()  # every member looks at every partition, and wants to be told of what comes next
        self.tell()
