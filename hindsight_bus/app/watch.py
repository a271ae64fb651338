"""Subscribing: every matching event in order, from any place in the log that is retained.

A subscription pulls: it holds a cursor a partition and nothing else, reads the tail's ring where that reaches back to
the cursor and the log itself where it does not. A slow subscriber therefore costs no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.matching import Interest, Matcher
from hindsight_bus.app.meanings import Meanings
from hindsight_bus.app.pulse import Pulse
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.selection import Selection, WatchEvent
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.tail import LogCommit, PartitionTail, Tails, hydrate, no_vectors, read_commits
from hindsight_bus.domain.errors import LogDiverged
from hindsight_bus.domain.memory import Memory
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.position import Position, Positions
from hindsight_bus.domain.query import EventFilter, Filter
from hindsight_bus.domain.records import NamespaceRecord
from hindsight_bus.domain.values import Value

MAX_EVENTS = 200
_MAX_BATCH_BYTES = 192 << 10
"""A stuck stream holds about two such messages, and there may be hundreds. Short texts reach 200 events first."""
_CHECKPOINT_SECONDS = 10.0
_SNAPSHOT_PAGE = 200


class Now(Value):
    """Start at what happens from now on."""


class Beginning(Value):
    """Start at the oldest event retained."""


class AfterTokens(Value):
    """Start after what the tokens have seen; partitions that they do not name start now."""

    positions: Positions


class Snapshot(Value):
    """Start with the memories that match now, then what follows."""


WatchStart = Now | Beginning | AfterTokens | Snapshot


class WatchRequest(Value):
    """One subscription."""

    patterns: tuple[Pattern, ...]
    filter: EventFilter
    start: WatchStart


class Confirmed(Value):
    """The subscription stands; everything after ``positions`` will follow."""

    positions: Positions
    oldest_revision: int


class Batch(Value):
    """Events in order, and the resume point after them."""

    events: list[WatchEvent]
    positions: Positions


class SnapshotPart(Value):
    """Memories that match now."""

    memories: list[Memory]


class Progress(Value):
    """Nothing new up to ``positions``."""

    positions: Positions


Message = Confirmed | Batch | SnapshotPart | Progress


class Watcher:
    """Serves subscriptions."""

    def __init__(
        self,
        reader: RecordReader,
        tails: Tails,
        matcher: Matcher,
        meanings: Meanings,
        served: ServedNotes,
        checkpoint_seconds: float = _CHECKPOINT_SECONDS,
    ) -> None:
        self._reader = reader
        self._tails = tails
        self._matcher = matcher
        self._meanings = meanings
        self._served = served
        self._checkpoint_seconds = checkpoint_seconds

    async def subscribe(self, caller: Caller, request: WatchRequest) -> AsyncGenerator[Message, None]:
        """Yield the confirmation, then what was asked for, until the caller closes the generator.

        Raises:
            RevisionCompacted, LogDiverged: the start, or later the cursor, is not in the log (any more).
            InvalidField, ProfileMismatch, EmbedderUnavailable: as of ``Meanings.query``.
        """
        query = await self._meanings.query(request.filter.meaning, request.patterns)
        selection = Selection(request.patterns, request.filter, caller.agent, query)
        subscription = _Subscription(self._reader, self._tails, self._matcher, selection, request.start)
        with ExitStack() as stack:
            yield await subscription.open(stack)
            if isinstance(request.start, Snapshot):
                async for part in subscription.snapshot():
                    self._served.note(caller.agent, part.memories)
                    yield part
                yield Progress(subscription.positions())
            while True:
                async for _ in subscription.fresh():
                    yield self._noted(caller.agent, subscription.take_batch())
                if not await subscription.news_within(self._checkpoint_seconds):
                    yield Progress(subscription.positions())

    def _noted(self, agent: str, batch: Batch) -> Batch:
        """Remember that an agent hears what others said."""
        self._served.note(agent, (heard.memory for heard in batch.events if heard.event.agent != agent))
        return batch


class _Subscription:
    """The cursors of one subscription and what is read at them."""

    def __init__(
        self, reader: RecordReader, tails: Tails, matcher: Matcher, selection: Selection, start: WatchStart
    ) -> None:
        self._reader = reader
        self._tails = tails
        self._matcher = matcher
        self._selection = selection
        self._start = start
        self._partitions = selection.partitions(reader.store.partitions)
        self._cursors: dict[int, Position] = {}
        self._epochs: dict[int, int] = {}
        self._pulse = Pulse()
        self._seen = 0
        self._interest = Interest(selection, self._partitions, self._pulse.fire)
        self._commits_a_read = MAX_EVENTS
        self._batch: list[WatchEvent] = []

    # -- starting

    async def open(self, stack: ExitStack) -> Confirmed:
        """Fix the cursors and begin to listen."""
        stack.enter_context(self._matcher.registered(self._interest))
        for partition in self._partitions:
            tail = self._tails[partition]
            await tail.follow()
            self._epochs[partition] = tail.epoch
        ends = await asyncio.gather(*(self._reader.store.ends(p) for p in self._partitions))
        for partition, (newest, trimmed) in zip(
            self._partitions, ((e.newest, e.trimmed) for e in ends), strict=True
        ):
            self._cursors[partition] = self._start_in(partition, newest, trimmed)
        if isinstance(self._start, AfterTokens):
            await asyncio.gather(*(self._confirm(position) for position in self._cursors.values()))
        return Confirmed(self.positions(), max(end.trimmed.revision + 1 for end in ends))

    def _start_in(self, partition: int, newest: Position, trimmed: Position) -> Position:
        match self._start:
            case Beginning():
                return trimmed
            case AfterTokens(positions) if partition in positions:
                return positions[partition]
            case _:
                return newest

    async def _confirm(self, position: Position) -> None:
        await read_commits(self._reader.store, position, 1, no_vectors)

    # -- the snapshot

    async def snapshot(self) -> AsyncIterator[SnapshotPart]:
        """Yield every live memory that matches now. One made after the start comes as an event: writers never end."""
        for partition in self._partitions:
            upto = self._cursors[partition].revision
            for namespace, profile in await self._namespaces(partition):
                after = 0
                while after < upto and (ids := await self._ids_after(namespace, after)):
                    after = ids[-1][1]
                    memories = await self._reader.memories(partition, [i for i, _ in ids], profile)
                    part = [m.memory for m in memories if m is not None and self._in_snapshot(m)]
                    if part:
                        yield SnapshotPart(part)

    async def _ids_after(self, namespace: Namespace, after: int) -> list[tuple[str, int]]:
        return await self._reader.store.memory_ids(namespace, after, _SNAPSHOT_PAGE)

    async def _namespaces(self, partition: int) -> list[tuple[Namespace, str]]:
        ids = await self._reader.store.namespaces(partition)
        stored = await self._reader.many(
            partition, NamespaceRecord, [(namespace_id,) for namespace_id in ids]
        )
        records = [s.record for s in stored if s is not None]
        return [(r.namespace, r.profile) for r in records if self._selection.concerns(r.namespace)]

    def _in_snapshot(self, stored: StoredMemory) -> bool:
        head = stored.head.record
        now = self._reader.store.now_ms()
        live = Filter().matches(stored.version, head.state, head.effective_confidence, (), 0, now)
        query = self._selection.query
        return (
            live
            and self._selection.filter.matches(stored.version, head.effective_confidence)
            and (query is None or query.matches(stored.vector, stored.version.language))
        )

    # -- the tail

    def positions(self) -> Positions:
        """Return the resume point."""
        return Positions(self._cursors.values())

    async def fresh(self) -> AsyncIterator[None]:
        """Read on wherever there are news, to the end; yield each time that a batch is ready to be taken."""
        self._seen = self._pulse.count
        for partition in sorted(self._interest.news):
            while await self._advance(partition):
                if self._batch:
                    yield

    def take_batch(self) -> Batch:
        """Return the batch that is ready. Nothing of it is kept here: a reader that is stuck holds no events."""
        events, self._batch = self._batch, []
        return Batch(events, self.positions())

    async def news_within(self, seconds: float) -> bool:
        """Wait for news that may concern this subscription; False if there were none in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._pulse.after(self._seen)
        except TimeoutError:
            self._skip_foreign()
            return False
        return True

    def _skip_foreign(self) -> None:
        """Move cursors past commits that do not concern this subscription."""
        for partition in self._partitions:
            tail = self._tails[partition]
            is_ahead = tail.position.revision > self._cursors[partition].revision
            if is_ahead and tail.epoch == self._epochs[partition] and self._has_no_news(partition):
                self._cursors[partition] = tail.position

    def _has_no_news(self, partition: int) -> bool:
        is_told_all = self._selection.query is None or self._matcher.has_compared(partition)
        return is_told_all and partition not in self._interest.news

    async def _advance(self, partition: int) -> bool:
        """Read one batch at a cursor; False when it has reached the end."""
        tail, cursor = self._tails[partition], self._cursors[partition]
        if tail.epoch != self._epochs[partition]:
            raise LogDiverged(partition, tail.position.revision)
        if cursor.revision >= tail.position.revision:
            self._interest.news.pop(partition, None)
            return False
        commits = await self._read(tail, cursor)
        self._batch, taken = self._selection.first(commits, MAX_EVENTS, _MAX_BATCH_BYTES)
        if taken:
            self._cursors[partition] = commits[taken - 1].position
        # What does not fit into a batch is not kept, but read again; so read about as much as does.
        wanted = taken * 5 // 4 if taken < len(commits) else 2 * self._commits_a_read
        self._commits_a_read = min(MAX_EVENTS, wanted + 1)
        return bool(commits)

    async def _read(self, tail: PartitionTail, cursor: Position) -> list[LogCommit]:
        """Return commits after a cursor, from the first on that may concern this subscription."""
        store, wanted = self._reader.store, self._selection.vector_profiles
        after = max(cursor.revision, self._interest.news.get(tail.partition, 0) - 1)
        commits = tail.since(after, self._commits_a_read)
        if commits is None:
            return await read_commits(store, cursor, self._commits_a_read, wanted)
        return await hydrate(store, tail.partition, commits, wanted) if self._selection.query else commits
