"""Following the log: one tail a partition feeds views and subscriptions of this node.

A tail sleeps until somebody follows it. It learns of commits in three ways: this node's own ones are offered to it as
soon as they are acknowledged, wake-ups tell of other nodes' ones, and a poll each second covers what both missed. The
wake-ups of own commits, told by their stamps, call for no read.

The newest commits are kept decoded in a ring bounded by bytes; whoever falls behind it reads the log itself.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from hindsight_bus.app.background import in_background
from hindsight_bus.domain.errors import HbusError, LogDiverged, RevisionCompacted
from hindsight_bus.domain.events import Entry, EventKind
from hindsight_bus.domain.memory import MemoryState, Vector, Version
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.position import Position
from hindsight_bus.ports import Clock, Commit, CommitRefused, Committed, MemoryLog, Record, Ref

log = structlog.get_logger(__name__)

POLL_SECONDS = 1.0
PAGE = 1000
_RETRY_SECONDS = 0.2
_ENTRY_BYTES = 600
"""Estimated size of a decoded event without its text."""

VersionKey = tuple[str, int]


@dataclass(slots=True, eq=False)
class LogCommit:
    """A log entry together with the version records and vectors that its events name."""

    entry: Entry
    versions: Mapping[VersionKey, Version]
    vectors: Mapping[VersionKey, Vector] = field(default_factory=dict)
    rendered: dict[int, object] = field(default_factory=dict)
    """What readers have made of its events, by event index: made once, shared by all of them."""
    loud: Sequence[Any] | None = None
    """The same of those events that are heard without asking; None until somebody reads them."""
    size_bytes: int = field(init=False)
    """Estimated memory held."""

    @property
    def revision(self) -> int:
        """Revision of the commit."""
        return self.entry.revision

    @property
    def position(self) -> Position:
        """Position right after the commit."""
        return Position(self.entry.partition, self.entry.revision, self.entry.stamp)

    def __post_init__(self) -> None:
        texts = sum(3 * len(version.text) + len(version.attributes) for version in self.versions.values())
        self.size_bytes = texts + _ENTRY_BYTES * len(self.entry.events)


def own_commit(commit: Commit, committed: Committed, known: Iterable[Version]) -> LogCommit:
    """Return what the log holds of a commit that this node has just made; ``known`` are versions that it had read."""
    position = committed.position
    entry = Entry(position.partition, position.revision, position.stamp, committed.time_ms, commit.events)
    versions = {(version.memory_id, version.number): version for version in known}
    vectors = {}
    for put in commit.puts:
        match put.record:
            case Version() as version:
                versions[version.memory_id, version.number] = version
            case Vector() as vector:
                vectors[vector.memory_id, vector.version] = vector
    return LogCommit(entry, versions, vectors)


VectorWish = Callable[[Namespace], Collection[str]]
"""Returns the profiles whose vectors are to be read along with the INDEXED events of a namespace."""


def no_vectors(namespace: Namespace) -> Collection[str]:
    """Want the vectors of no namespace."""
    return ()


def _missing_refs(commit: LogCommit, wanted: VectorWish) -> Iterable[Ref]:
    for event in commit.entry.events:
        if event.after is MemoryState.NONE:  # purged by this very commit
            continue
        for number in {event.version, event.version_before} - {0}:
            if (event.memory_id, number) not in commit.versions:
                yield Ref(Version, (event.memory_id, number))
        if event.kind is EventKind.INDEXED and (event.memory_id, event.version) not in commit.vectors:
            for profile in wanted(event.namespace):
                yield Ref(Vector, (event.memory_id, event.version, profile))


async def hydrate(
    store: MemoryLog, partition: int, commits: Sequence[LogCommit], wanted: VectorWish
) -> list[LogCommit]:
    """Return the commits with every version record that is still there, and the vectors wanted. One read for all."""
    missing = [list(_missing_refs(commit, wanted)) for commit in commits]
    refs = list({ref: None for each in missing for ref in each})
    if not refs:
        return list(commits)
    found = {
        ref: stored.record
        for ref, stored in zip(refs, await store.read(partition, refs), strict=True)
        if stored is not None
    }
    return [_with_records(commit, each, found) for commit, each in zip(commits, missing, strict=True)]


def _with_records(commit: LogCommit, missing: Iterable[Ref], found: Mapping[Ref, Record]) -> LogCommit:
    versions, vectors = dict(commit.versions), dict(commit.vectors)
    for ref in missing:
        match found.get(ref):
            case Version() as version:
                versions[version.memory_id, version.number] = version
            case Vector() as vector:
                vectors[vector.memory_id, vector.version] = vector
    return LogCommit(commit.entry, versions, vectors)


async def read_commits(
    store: MemoryLog, position: Position, limit: int, wanted: VectorWish
) -> list[LogCommit]:
    """Return the commits that follow a position; raise ``PositionLost`` when it is not in the log any more.

    The entry at the position itself is read too, so that its stamp proves that the log is still the same.
    """
    partition, revision = position.partition, position.revision
    entries = await store.entries(partition, max(revision - 1, 0), limit + 1)
    if revision and entries and entries[0].revision == revision:
        if entries[0].stamp != position.stamp:
            raise LogDiverged(partition, (await store.ends(partition)).newest.revision)
        entries = entries[1:]
    elif revision or not entries or entries[0].revision != 1:
        await _check_against_ends(store, position, entries)
    return await hydrate(store, partition, [LogCommit(entry, {}) for entry in entries], wanted)


async def _check_against_ends(store: MemoryLog, position: Position, entries: Sequence[Entry]) -> None:
    ends = await store.ends(position.partition)
    newest, trimmed = ends.newest, ends.trimmed
    if position.revision < trimmed.revision:
        raise RevisionCompacted(position.partition, trimmed.revision + 1, newest.revision)
    if position.revision > newest.revision:
        raise LogDiverged(position.partition, newest.revision)
    if position.revision == trimmed.revision and position.stamp != trimmed.stamp:
        raise LogDiverged(position.partition, newest.revision)


class PartitionTail:
    """Follows one partition's log and keeps its newest commits decoded."""

    def __init__(self, partition: int, store: MemoryLog, ring_bytes: int, wanted: VectorWish) -> None:
        self.partition = partition
        self.position = Position(partition, 0, 0)
        self.is_following = False
        self.epoch = 0
        """Counts how often the log was found to be another one; views and readers of an older epoch start over."""
        self._store = store
        self._vector_wish = wanted
        self._ring: dict[int, LogCommit] = {}
        self._ring_bytes = 0
        self._ring_limit = ring_bytes
        self._news = asyncio.Event()
        self._wanted = 0
        self._own: set[int] = set()
        """Stamps of the commits that this node is making."""
        self._early: dict[int, tuple[LogCommit, int]] = {}
        self._lock = asyncio.Lock()
        self._listeners: list[Callable[[Sequence[LogCommit]], None]] = []

    def listen(self, listener: Callable[[Sequence[LogCommit]], None]) -> Callable[[], None]:
        """Call ``listener`` with each run of new commits, in order, from now on; return what ends that.

        It is called with an empty run when the log has diverged: ``epoch`` has grown then.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def follow(self) -> Position:
        """Start to follow if need be; return the position reached, at least the log's head when it began."""
        async with self._lock:
            if not self.is_following:
                self.position = (await self._store.ends(self.partition)).newest
                self.is_following = True
        return self.position

    def since(self, revision: int, limit: int = sys.maxsize) -> list[LogCommit] | None:
        """Return at most ``limit`` commits after ``revision`` from the ring; None when it does not reach back that far.

        Cost: O(commits returned).
        """
        if revision >= self.position.revision:
            return []
        if revision + 1 not in self._ring:
            return None
        upto = min(self.position.revision, revision + limit)
        return list(map(self._ring.__getitem__, range(revision + 1, upto + 1)))

    @contextmanager
    def committing(self, stamp: int) -> Iterator[None]:
        """Tell that this node is making the commit of that stamp, and will offer it."""
        self._own.add(stamp)
        try:
            yield
        except CommitRefused:
            raise
        except BaseException:  # it may have been made, and nobody will offer it
            self.wake()
            raise
        finally:
            self._own.discard(stamp)

    def offer(self, commit: LogCommit, previous_stamp: int) -> None:
        """Take a commit of this node once it is the very next one, or read it from the log like others' commits.

        ``previous_stamp`` is that of the entry before it: after a failover with loss, the log goes on from elsewhere.
        """
        self._own.discard(commit.entry.stamp)
        if not self.is_following:
            return
        if commit.revision <= self.position.revision:
            known = self._ring.get(commit.revision, commit)
            if known.entry.stamp != commit.entry.stamp:
                self.wake()
            return
        if any(True for _ in _missing_refs(commit, self._vector_wish)):
            self.wake(commit.revision)
            return
        self._early[commit.revision] = commit, previous_stamp
        self._take_early()
        if not self._own:  # no other one of this node's can fill the gap before it
            self.wake(commit.revision)

    def _take_early(self) -> None:
        if self._lock.locked():
            return  # whoever reads the log takes them afterwards
        run: list[LogCommit] = []
        last = self.position
        while found := self._early.pop(last.revision + 1, None):
            commit, previous_stamp = found
            if previous_stamp != last.stamp:
                self.wake()
                break
            run.append(commit)
            last = commit.position
        if run:
            self._append(run)

    async def confirm(self, position: Position) -> None:
        """Raise ``LogDiverged`` unless the position, which the tail has reached, is of this log.

        One that has been trimmed since cannot be told and passes.
        """
        if await self._knows(position):
            return
        if self.is_following:  # what this tail has followed may be the log that was lost
            await self.catch_up()
            if await self._knows(position):
                return
        raise LogDiverged(self.partition, self.position.revision)

    async def _knows(self, position: Position) -> bool:
        if not position.revision:
            return True
        if position.revision == self.position.revision:
            return position.stamp == self.position.stamp
        if position.revision in self._ring:
            return position.stamp == self._ring[position.revision].entry.stamp
        if self.is_following and position.revision > self.position.revision:
            return False
        entries = await self._store.entries(self.partition, position.revision - 1, 1)
        is_there = bool(entries) and entries[0].revision == position.revision
        return not is_there or entries[0].stamp == position.stamp

    def wake(self, revision: int = sys.maxsize) -> None:
        """Tell that there are commits up to ``revision``, or that there may be some."""
        if revision > self.position.revision:
            self._wanted = max(self._wanted, revision)
            self._news.set()

    def hear(self, wakeup: Position) -> None:
        """Take note of a wake-up, the position after a commit; this node's own commits are offered anyway."""
        if wakeup.stamp not in self._own and wakeup.revision not in self._early:
            self.wake(wakeup.revision or sys.maxsize)

    async def run(self, clock: Clock) -> None:
        """Follow until cancelled."""
        while True:
            try:
                async with asyncio.timeout(POLL_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                self._wanted = sys.maxsize
            self._news.clear()
            if not self.is_following or self.position.revision >= self._wanted:
                continue
            try:
                await self.catch_up()
            except HbusError as error:  # the store is away, or holds what only newer nodes can read
                log.warning(
                    "tail.behind", partition=self.partition, reason=error.reason, problem=error.message
                )
                await clock.sleep(_RETRY_SECONDS)
                self.wake()

    async def catch_up(self) -> None:
        """Read the log to its end."""
        async with self._lock:
            self._wanted = 0
            try:
                while True:
                    commits = await read_commits(self._store, self.position, PAGE, self._vector_wish)
                    if commits:
                        self._append(commits)
                    if len(commits) < PAGE:
                        break
            except (LogDiverged, RevisionCompacted) as error:
                log.error("tail.log_diverged", partition=self.partition, problem=error.message)
                await self._start_over()
        self._early = {r: early for r, early in self._early.items() if r > self.position.revision}
        self._take_early()

    async def _start_over(self) -> None:
        self.position = (await self._store.ends(self.partition)).newest
        self._ring.clear()
        self._early.clear()
        self._ring_bytes = 0
        self.epoch += 1
        self._tell([])

    def _append(self, commits: Sequence[LogCommit]) -> None:
        for commit in commits:
            self._ring[commit.revision] = commit
            self._ring_bytes += commit.size_bytes
        self.position = commits[-1].position
        while self._ring_bytes > self._ring_limit and len(self._ring) > 1:
            oldest = self._ring.pop(next(iter(self._ring)))
            self._ring_bytes -= oldest.size_bytes
        self._tell(commits)

    def _tell(self, commits: Sequence[LogCommit]) -> None:
        for listener in tuple(self._listeners):
            listener(commits)


class Tails:
    """Every tail of this node."""

    def __init__(self, store: MemoryLog, clock: Clock, ring_bytes: int) -> None:
        self.store = store
        self._clock = clock
        self._wishes: list[VectorWish] = []
        partitions = range(store.partitions + 1)
        self._tails = [PartitionTail(p, store, ring_bytes, self.vector_profiles) for p in partitions]
        self._tasks: list[asyncio.Task[None]] = []

    def __getitem__(self, partition: int) -> PartitionTail:
        return self._tails[partition]

    @property
    def control(self) -> PartitionTail:
        """Tail of the control partition."""
        return self._tails[-1]

    def want_vectors(self, wish: VectorWish) -> None:
        """Have vectors read along with their events from now on, beside those wanted already."""
        self._wishes.append(wish)

    def vector_profiles(self, namespace: Namespace) -> Collection[str]:
        """Return the profiles whose vectors somebody wants for a namespace."""
        return {profile for wish in self._wishes for profile in wish(namespace)}

    def start(self) -> None:
        """Start to listen for news."""
        self._tasks = [in_background(tail.run(self._clock)) for tail in self._tails]
        self._tasks.append(in_background(self._listen()))

    async def stop(self) -> None:
        """Stop listening."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        async for wakeup in self.store.wakeups():
            self._tails[wakeup.partition].hear(wakeup)
