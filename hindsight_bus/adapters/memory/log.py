"""``MemoryLog`` in plain dictionaries. One event loop runs it, so every method is atomic where it does not await."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from hindsight_bus.domain.events import Entry
from hindsight_bus.domain.memory import Head
from hindsight_bus.domain.names import Namespace, partition_of
from hindsight_bus.domain.policy import PolicyRecord
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.records import Conflict, NamespaceRecord
from hindsight_bus.domain.reviews import ReviewItem
from hindsight_bus.domain.tasks import Task
from hindsight_bus.ports import (
    ClockSkewed,
    Commit,
    Committed,
    Conflicted,
    CounterFull,
    DueItem,
    HistoryStep,
    Lane,
    LeaseLost,
    LogEnds,
    Record,
    Ref,
    Stored,
    TakenItem,
    ref_of,
)

MAX_MUTATIONS = 256
MAX_SKEW_MS = 2000
HISTORY_LIMIT = 256
SERVED_LIMIT = 4096
SERVED_TTL_MS = 24 * 3600 * 1000


@dataclass(slots=True)
class _Counter:
    value: int
    expire_ms: int


@dataclass(slots=True)
class _Work:
    item: DueItem
    ready_ms: int
    """When it may be taken: its due time, or the end of its lease."""
    attempt: int = 0
    is_leased: bool = False


@dataclass(slots=True)
class _Partition:
    newest: Position
    trimmed: Position
    entries: list[Entry] = field(default_factory=list)
    records: dict[Ref, tuple[Stored[Record], int]] = field(default_factory=dict)
    """Record and expiry time; 0 = never."""
    counters: dict[tuple[str, ...], _Counter] = field(default_factory=dict)
    ranked: defaultdict[tuple[type, str], dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """(class, namespace id) -> record id -> creation revision."""
    namespaces: dict[str, str] = field(default_factory=dict)
    """Namespace id -> owner id."""
    history: defaultdict[str, list[HistoryStep]] = field(default_factory=lambda: defaultdict(list))
    work: dict[tuple[Lane, str], _Work] = field(default_factory=dict)


class FakeLog:
    """A change log in memory. ``time_ms`` is the store's time; ``skew_ms`` is by how much ``now_ms`` is off."""

    def __init__(self, time_ms: Callable[[], int], partitions: int = 16, *, is_fsynced: bool = True) -> None:
        self.partitions = partitions
        self.is_fsynced = is_fsynced
        self.skew_ms = 0
        self._time_ms = time_ms
        self._partitions = [_Partition(Position(n, 0, 0), Position(n, 0, 0)) for n in range(partitions + 1)]
        self._served: defaultdict[tuple[str, Namespace], dict[str, int]] = defaultdict(dict)
        self._listeners: set[asyncio.Queue[Position]] = set()

    def now_ms(self) -> int:
        """Return store time, off by ``skew_ms``."""
        return self._time_ms() + self.skew_ms

    async def read(self, partition: int, refs: Sequence[Ref]) -> list[Stored[Record] | None]:
        """Return records."""
        return [self._get(self._partitions[partition], ref) for ref in refs]

    def _get(self, partition: _Partition, ref: Ref) -> Stored[Record] | None:
        stored, expire_ms = partition.records.get(ref, (None, 0))
        return None if expire_ms and expire_ms <= self._time_ms() else stored

    async def commit(self, commit: Commit) -> Committed:
        """Apply a commit."""
        if len(commit.puts) + len(commit.deletes) + len(commit.transitions) > MAX_MUTATIONS:
            raise ValueError(f"a commit has at most {MAX_MUTATIONS} mutations")
        partition, now_ms = self._partitions[commit.partition], self._time_ms()
        self._check(partition, commit, now_ms)
        previous_stamp = partition.newest.stamp
        if commit.events:
            revision = partition.newest.revision + 1
            partition.newest = Position(commit.partition, revision, commit.stamp)
            partition.entries.append(Entry(commit.partition, revision, commit.stamp, now_ms, commit.events))
        self._apply(partition, commit, now_ms)
        if commit.events:
            for listener in self._listeners:
                listener.put_nowait(partition.newest)
        stamp = commit.stamp if commit.events else 0
        position = Position(commit.partition, partition.newest.revision, stamp)
        return Committed(position, now_ms, previous_stamp)

    def _check(self, partition: _Partition, commit: Commit, now_ms: int) -> None:
        if commit.now_ms and abs(now_ms - commit.now_ms) > MAX_SKEW_MS:
            self.skew_ms = 0
            raise ClockSkewed("the estimate of store time was off by more than 2 s")
        for expect in commit.expects:
            stored = self._get(partition, expect.ref)
            revision = stored.revision if stored else 0
            if revision != expect.revision or (stored is not None and expect.revision == 0):
                raise Conflicted(expect.ref)
        for count in commit.counts:
            counter = self._counter(partition, count.key, now_ms)
            if (counter is not None and counter.value >= count.limit) or count.limit <= 0:
                raise CounterFull(count.key)
        if commit.finish is not None and not _is_leased(partition, commit.finish):
            raise LeaseLost("the due item that it finishes is leased no more")

    def _counter(self, partition: _Partition, key: tuple[str, ...], now_ms: int) -> _Counter | None:
        counter = partition.counters.get(key)
        return None if counter is None or counter.expire_ms <= now_ms else counter

    def _apply(self, partition: _Partition, commit: Commit, now_ms: int) -> None:
        revision = partition.newest.revision
        for count in commit.counts:
            counter = self._counter(partition, count.key, now_ms) or _Counter(0, now_ms + count.ttl_ms)
            counter.value += 1
            partition.counters[count.key] = counter
        for put in commit.puts:
            self._put(partition, put.record, now_ms, now_ms + put.ttl_ms if put.ttl_ms else 0)
        for delete in commit.deletes:
            partition.records.pop(delete.ref, None)
            _forget_place(partition, delete.ref, delete.namespace)
        for step in commit.transitions:
            steps = partition.history[step.memory_id]
            steps.append(HistoryStep(step, revision, now_ms))
            del steps[:-HISTORY_LIMIT]
        if commit.finish is not None:
            del partition.work[_place(commit.finish.item)]
        for item in commit.due:
            known = partition.work.get(_place(item))
            partition.work[_place(item)] = _Work(item, item.due_ms or now_ms, known.attempt if known else 0)

    def _put(self, partition: _Partition, record: Record, now_ms: int, expire_ms: int) -> None:
        ref, revision = ref_of(record), partition.newest.revision
        known = self._get(partition, ref)
        created = (revision, now_ms) if known is None else (known.create_revision, known.create_time_ms)
        if known is None:
            _enter_place(partition, record, revision)
        partition.records[ref] = Stored(record, *created, revision, now_ms), expire_ms

    async def ends(self, partition: int) -> LogEnds:
        """Return both ends."""
        return LogEnds(self._partitions[partition].newest, self._partitions[partition].trimmed)

    async def entries(self, partition: int, after: int, limit: int = 1000) -> list[Entry]:
        """Return entries above ``after``."""
        return [entry for entry in self._partitions[partition].entries if entry.revision > after][:limit]

    async def trim(self, partition: int, below: int) -> None:
        """Drop entries below a revision."""
        log = self._partitions[partition]
        dropped = [entry for entry in log.entries if entry.revision < below]
        if dropped:
            log.trimmed = Position(partition, dropped[-1].revision, dropped[-1].stamp)
            log.entries = log.entries[len(dropped) :]

    async def wakeups(self) -> AsyncIterator[Position]:
        """Yield the position after each commit from the first step of the iteration on."""
        listener: asyncio.Queue[Position] = asyncio.Queue()
        self._listeners.add(listener)
        try:
            while True:
                yield await listener.get()
        finally:
            self._listeners.discard(listener)

    async def memory_ids(
        self, namespace: Namespace, after: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return memory ids in order of creation."""
        ranked = [pair for pair in self._ranked(Head, namespace) if pair[1] > after]
        last = ranked[limit - 1][1] if len(ranked) > limit else 0
        return ranked[:limit] + [pair for pair in ranked[limit:] if pair[1] == last]

    async def conflict_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return conflict ids, newest first."""
        return self._newest_first(Conflict, namespace, before)[:limit]

    async def task_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return task ids, newest first."""
        return self._newest_first(Task, namespace, before)[:limit]

    async def review_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return ids of review items, newest first."""
        return self._newest_first(ReviewItem, namespace, before)[:limit]

    def _newest_first(self, kind: type, namespace: Namespace, before: int) -> list[tuple[str, int]]:
        ranked = reversed(self._ranked(kind, namespace))
        return [pair for pair in ranked if not before or pair[1] < before]

    def _ranked(self, kind: type, namespace: Namespace) -> list[tuple[str, int]]:
        ranked = self._of(namespace).ranked[kind, namespace.id]
        return sorted(ranked.items(), key=lambda pair: (pair[1], pair[0]))

    async def namespaces(self, partition: int) -> list[str]:
        """Return the ids of a partition's namespaces."""
        return sorted(self._partitions[partition].namespaces)

    async def owner_namespaces(self, partition: int, owner_id: str) -> list[str]:
        """Return the ids of an owner's namespaces."""
        owners = self._partitions[partition].namespaces
        return sorted(namespace for namespace, owner in owners.items() if owner == owner_id)

    async def policies(self) -> list[Stored[PolicyRecord]]:
        """Return every policy."""
        control = self._partitions[-1]
        stored = [self._get(control, ref) for ref in control.records if ref.kind is PolicyRecord]
        return cast(list[Stored[PolicyRecord]], [policy for policy in stored if policy is not None])

    async def history(self, partition: int, memory_id: str) -> list[HistoryStep]:
        """Return a memory's transitions."""
        return list(self._partitions[partition].history[memory_id])

    async def take_due(
        self, partition: int, lease_ms: int, limit: int, lane: Lane = Lane.QUICK
    ) -> list[TakenItem]:
        """Lease due items."""
        now_ms = self._time_ms()
        waiting = self._partitions[partition].work.values()
        ready = [work for work in waiting if work.ready_ms <= now_ms and work.item.lane is lane]
        ready.sort(key=lambda work: (work.ready_ms, work.item.id))
        for work in ready[:limit]:
            work.ready_ms = now_ms + lease_ms
            work.attempt += 1
            work.is_leased = True
        return [TakenItem(work.item, partition, work.attempt) for work in ready[:limit]]

    async def finish_due(self, taken: Sequence[TakenItem]) -> None:
        """Remove leased items."""
        for item in taken:
            partition = self._partitions[item.partition]
            if _is_leased(partition, item):
                del partition.work[_place(item.item)]

    async def extend_due(self, taken: TakenItem, lease_ms: int) -> None:
        """Keep an item leased."""
        partition = self._partitions[taken.partition]
        if _is_leased(partition, taken):
            partition.work[_place(taken.item)].ready_ms = self._time_ms() + lease_ms

    async def retry_due(self, taken: TakenItem, delay_ms: int) -> None:
        """Give an item back."""
        partition = self._partitions[taken.partition]
        if _is_leased(partition, taken):
            work = partition.work[_place(taken.item)]
            work.is_leased = False
            work.ready_ms = self._time_ms() + delay_ms

    async def note_served(self, agent: str, served: Mapping[Namespace, Sequence[str]], now_ms: int) -> None:
        """Remember what an agent was served."""
        for namespace, statements in served.items():
            noted = self._served[agent, namespace]
            noted.update(dict.fromkeys(statements, now_ms))
            newest = sorted(noted.items(), key=lambda pair: (pair[1], pair[0]))[-SERVED_LIMIT:]
            self._served[agent, namespace] = {
                statement: time_ms for statement, time_ms in newest if time_ms >= now_ms - SERVED_TTL_MS
            }

    async def was_served(self, agent: str, namespace: Namespace, statement: str, since_ms: int) -> bool:
        """Tell whether an agent was served a statement."""
        time_ms = self._served[agent, namespace].get(statement)
        return time_ms is not None and time_ms >= since_ms

    async def close(self) -> None:
        """Do nothing."""

    def _of(self, namespace: Namespace) -> _Partition:
        return self._partitions[partition_of(namespace.owner_id, self.partitions)]


def _place(item: DueItem) -> tuple[Lane, str]:
    return item.lane, item.id


def _is_leased(partition: _Partition, taken: TakenItem) -> bool:
    work = partition.work.get(_place(taken.item))
    return work is not None and work.is_leased and work.attempt == taken.attempt


def _enter_place(partition: _Partition, record: Record, revision: int) -> None:
    match record:
        case Head():
            partition.ranked[Head, record.namespace.id].setdefault(record.memory_id, revision)
        case Conflict() | Task() | ReviewItem():
            partition.ranked[type(record), record.namespace.id].setdefault(record.id, revision)
        case NamespaceRecord():
            partition.namespaces[record.namespace.id] = record.namespace.owner_id


def _forget_place(partition: _Partition, ref: Ref, namespace: Namespace) -> None:
    if ref.kind in (Head, Conflict, Task, ReviewItem):
        partition.ranked[ref.kind, namespace.id].pop(str(ref.key[0]), None)
    elif ref.kind is NamespaceRecord:
        partition.namespaces.pop(namespace.id, None)
