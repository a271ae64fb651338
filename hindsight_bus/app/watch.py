"""Subscribing: every matching event in order, from any place in the log that is retained.

A subscription pulls: it holds a cursor a partition and nothing else, reads the tail's ring where that reaches back to
the cursor and the log itself where it does not. A slow subscriber therefore costs no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.pulse import Pulse
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.selection import Selection, WatchEvent
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.tail import LogCommit, Tails, no_vectors, read_commits
from hindsight_bus.domain.errors import LogDiverged
from hindsight_bus.domain.memory import Memory
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.position import Position, Positions
from hindsight_bus.domain.query import EventFilter, Filter
from hindsight_bus.domain.records import NamespaceRecord

MAX_EVENTS = 200
_MAX_BATCH_BYTES = 2 << 20
_CHECKPOINT_SECONDS = 10.0
_SNAPSHOT_PAGE = 200


@dataclass(frozen=True, slots=True)
class Now:
    """Start at what happens from now on."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Start at the oldest event retained."""


@dataclass(frozen=True, slots=True)
class AfterTokens:
    """Start after what the tokens have seen; partitions that they do not name start now."""

    positions: Positions


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Start with the memories that match now, then what follows."""


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """One subscription."""

    patterns: tuple[Pattern, ...]
    filter: EventFilter
    start: Now | Beginning | AfterTokens | Snapshot


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The subscription stands; everything after ``positions`` will follow."""

    positions: Positions
    oldest_revision: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Events in order, and the resume point after them."""

    events: list[WatchEvent]
    positions: Positions


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """Memories that match now."""

    memories: list[Memory]


@dataclass(frozen=True, slots=True)
class Progress:
    """Nothing new up to ``positions``."""

    positions: Positions


Message = Confirmed | Batch | SnapshotPart | Progress


class Watcher:
    """Serves subscriptions."""

    def __init__(
        self,
        reader: RecordReader,
        tails: Tails,
        served: ServedNotes,
        checkpoint_seconds: float = _CHECKPOINT_SECONDS,
    ) -> None:
        self._reader = reader
        self._tails = tails
        self._served = served
        self._checkpoint_seconds = checkpoint_seconds

    async def subscribe(self, caller: Caller, request: WatchRequest) -> AsyncGenerator[Message, None]:
        """Yield the confirmation, then what was asked for, until the caller closes the generator.

        Raises:
            RevisionCompacted, LogDiverged: the start, or later the cursor, is not in the log (any more).
        """
        subscription = _Subscription(self._reader, self._tails, caller.agent, request)
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

    def __init__(self, reader: RecordReader, tails: Tails, agent: str, request: WatchRequest) -> None:
        self._reader = reader
        self._tails = tails
        self._request = request
        self._selection = Selection(request.patterns, request.filter, agent)
        self._partitions = self._selection.partitions(reader.store.partitions)
        self._cursors: dict[int, Position] = {}
        self._epochs: dict[int, int] = {}
        self._pulse = Pulse()
        self._seen = 0
        self._batch: list[WatchEvent] = []

    # -- starting

    async def open(self, stack: ExitStack) -> Confirmed:
        """Fix the cursors and begin to listen."""
        for partition in self._partitions:
            tail = self._tails[partition]
            stack.callback(tail.listen(self._listener()))
            await tail.follow()
            self._epochs[partition] = tail.epoch
        ends = await asyncio.gather(*(self._reader.store.ends(p) for p in self._partitions))
        for partition, (newest, trimmed) in zip(
            self._partitions, ((e.newest, e.trimmed) for e in ends), strict=True
        ):
            self._cursors[partition] = self._start_in(partition, newest, trimmed)
        if isinstance(self._request.start, AfterTokens):
            await asyncio.gather(*(self._confirm(position) for position in self._cursors.values()))
        return Confirmed(self.positions(), max(end.trimmed.revision + 1 for end in ends))

    def _start_in(self, partition: int, newest: Position, trimmed: Position) -> Position:
        match self._request.start:
            case Beginning():
                return trimmed
            case AfterTokens(positions) if partition in positions:
                return positions[partition]
            case _:
                return newest

    async def _confirm(self, position: Position) -> None:
        await read_commits(self._reader.store, position, 1, no_vectors)

    def _listener(self) -> Callable[[Sequence[LogCommit]], None]:
        def on_commits(commits: Sequence[LogCommit]) -> None:
            if not commits or any(map(self._selection.touches, commits)):
                self._pulse.fire()

        return on_commits

    # -- the snapshot

    async def snapshot(self) -> AsyncIterator[SnapshotPart]:
        """Yield every live memory that matches now."""
        for partition in self._partitions:
            for namespace, profile in await self._namespaces(partition):
                after = 0
                while ids := await self._reader.store.memory_ids(namespace, after, _SNAPSHOT_PAGE):
                    after = ids[-1][1]
                    memories = await self._reader.memories(partition, [i for i, _ in ids], profile)
                    part = [m.memory for m in memories if m is not None and self._in_snapshot(m)]
                    if part:
                        yield SnapshotPart(part)

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
        return live and self._request.filter.matches(stored.version, head.effective_confidence)

    # -- the tail

    def positions(self) -> Positions:
        """Return the resume point."""
        return Positions(self._cursors.values())

    async def fresh(self) -> AsyncIterator[None]:
        """Read on at every cursor until nothing is new; yield each time that a batch is ready to be taken."""
        self._seen = self._pulse.count
        for partition in self._partitions:
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
        """Move cursors past commits that do not concern this subscription: nothing else came since the last look."""
        if self._seen == self._pulse.count:
            for partition in self._partitions:
                tail = self._tails[partition]
                is_ahead = tail.position.revision > self._cursors[partition].revision
                if is_ahead and tail.epoch == self._epochs[partition]:
                    self._cursors[partition] = tail.position

    async def _advance(self, partition: int) -> bool:
        """Read one batch at a cursor; False when it has reached the end."""
        tail, cursor = self._tails[partition], self._cursors[partition]
        if tail.epoch != self._epochs[partition]:
            raise LogDiverged(partition, tail.position.revision)
        if cursor.revision >= tail.position.revision:
            return False
        commits = tail.since(cursor.revision, MAX_EVENTS)
        if commits is None:
            commits = await read_commits(self._reader.store, cursor, MAX_EVENTS, no_vectors)
        size, last = 0, None
        for commit in commits:
            found = self._selection.events(commit)
            size += commit.size_bytes if found else 0
            if self._batch and (len(self._batch) + len(found) > MAX_EVENTS or size > _MAX_BATCH_BYTES):
                break
            self._batch += found
            last = commit
        if last is not None:
            self._cursors[partition] = last.position
        return bool(commits)
