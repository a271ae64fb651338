"""Work that follows a write: vectors, suspicions, expiry, purging, settling anew under a changed policy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import groupby
from time import perf_counter
from typing import Any

from hindsight_bus.app.change import Changer
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.conflicts import Conflicts
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.plan import CommitPlan, SubjectChange, texts_of
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.views import LoadedView, Views
from hindsight_bus.app.work import Handler
from hindsight_bus.domain import vectors
from hindsight_bus.domain.calibration import Calibrations
from hindsight_bus.domain.claims import Change
from hindsight_bus.domain.errors import ProfileMismatch
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Head, MemoryState, MemoryType, Vector, Version
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.records import Conflict, NamespaceRecord, SubjectRecord, Usage
from hindsight_bus.domain.skills import Skill, SkillVersion, kept_versions
from hindsight_bus.domain.suspicion import Closeness, may_contradict, reads_alike
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import (
    DueItem,
    Embedder,
    LeaseLost,
    NamespaceView,
    Ref,
    Row,
    Stored,
    TakenItem,
    Vectors,
)

MAX_SUSPICIONS = 3
"""Neighbours of one memory that are suspected at most."""
_PURGED_VERSIONS = 100
"""Versions removed by one commit, each with its vector: a commit has at most 256 mutations."""
_VISIT_SECONDS = 0.002
"""How long looking around may hold the index thread at a time."""
_SUSPECTED_TYPES = frozenset({MemoryType.SEMANTIC, MemoryType.PROCEDURAL})


def one_by_one(work: Callable[[TakenItem], Coroutine[Any, Any, None]]) -> Handler:
    """Make a handler of what does one item."""

    async def handle(items: Sequence[TakenItem]) -> None:
        for item in items:
            await work(item)

    return handle


class Indexer:
    """Gives memories their vectors, many at a time."""

    def __init__(self, reader: RecordReader, committer: Committer, embedder: Embedder) -> None:
        self._reader = reader
        self._committer = committer
        self._embedder = embedder

    async def embed(self, items: Sequence[TakenItem]) -> None:
        """Handle `embed` items: one call to the embedder, one commit a memory."""
        found = await asyncio.gather(*(self._find(item) for item in items))
        stale = [item for item, memory in zip(items, found, strict=True) if memory is None]
        todo = [(item, memory) for item, memory in zip(items, found, strict=True) if memory is not None]
        await self._reader.store.finish_due(stale)
        if not todo:
            return
        values = await self._embedder.embed_pieces([memory.version.text for _, (memory, _) in todo])
        await asyncio.gather(*(self._store(i, v) for (i, _), v in zip(todo, values, strict=True)))

    async def _find(self, item: TakenItem) -> tuple[StoredMemory, Stored[NamespaceRecord]] | None:
        """Return the memory, if it still has that version and no vector, and its namespace."""
        memory_id, number = str(item.item.payload[0]), int(item.item.payload[1])
        memory = (await self._reader.memories(item.partition, [memory_id], self._embedder.profile))[0]
        if memory is None or memory.vector is not None or memory.version.number != number:
            return None
        namespace = await self._reader.namespace(memory.head.record.namespace)
        if namespace is None:
            return None
        if namespace.record.profile != self._embedder.profile:
            name = str(namespace.record.namespace)
            raise ProfileMismatch(name, namespace.record.profile, self._embedder.profile)
        return memory, namespace

    async def _store(self, item: TakenItem, values: Vectors) -> None:
        """Commit vectors; the memory may have changed its state since, and with a new version has no use for it."""

        async def attempt() -> None:
            found = await self._find(item)
            if found is None:
                await self._reader.store.finish_due([item])
            else:
                await self._commit(item, *found, values)

        with suppress(LeaseLost):  # whoever has taken the item since makes the vector
            await self._committer.attempt(attempt)

    async def _commit(
        self, item: TakenItem, memory: StoredMemory, namespace: Stored[NamespaceRecord], values: Vectors
    ) -> None:
        head, version = memory.head.record, memory.version
        plan = CommitPlan(item.partition, head.namespace, version.agent)
        _learn_dimension(plan, namespace, values.shape[1])
        plan.expect(Ref(Head, (head.memory_id,)), memory.head.revision)
        plan.finish(item)
        plan.memories[head.memory_id] = memory
        whole, pieces = vectors.to_bytes(values[0]), vectors.to_bytes(values[1:])
        plan.index(Vector(head.memory_id, version.number, self._embedder.profile, whole, pieces))
        if version.type in _SUSPECTED_TYPES:
            plan.due(DueItem(f"suspect:{head.memory_id}:{version.number}", "suspect", item.item.payload))
        await self._committer.commit(plan)


def _learn_dimension(plan: CommitPlan, namespace: Stored[NamespaceRecord], dimension: int) -> None:
    """Note the dimension of a namespace's first vector; refuse one of another dimension, which no view could hold."""
    record = namespace.record
    if record.dimension not in (0, dimension):
        expected, actual = f"{record.profile} ({record.dimension})", f"{record.profile} ({dimension})"
        raise ProfileMismatch(str(record.namespace), expected, actual)
    if not record.dimension:
        ref = Ref(NamespaceRecord, (record.namespace.id,))
        plan.expect(ref, namespace.revision)
        plan.put(ref, replace(record, dimension=dimension))


class Suspector:
    """Looks for memories that may contradict one that is new."""

    def __init__(
        self, reader: RecordReader, views: Views, conflicts: Conflicts, calibrations: Calibrations
    ) -> None:
        self._reader = reader
        self._views = views
        self._conflicts = conflicts
        self._calibrations = calibrations

    async def suspect(self, items: Sequence[TakenItem]) -> None:
        """Handle `suspect` items, reading and finishing those of one partition together."""
        await asyncio.gather(*(self._in_partition(p, list(group)) for p, group in _by_partition(items)))

    async def _in_partition(self, partition: int, items: Sequence[TakenItem]) -> None:
        ids = [(str(item.item.payload[0]),) for item in items]
        namespaces: dict[Namespace, list[str]] = {}
        for head in await self._reader.many(partition, Head, ids):
            if head is not None and head.record.type in _SUSPECTED_TYPES:
                namespaces.setdefault(head.record.namespace, []).append(head.record.memory_id)
        for namespace, memory_ids in namespaces.items():
            await self._look_around(namespace, memory_ids)
        await self._reader.store.finish_due(items)

    async def _look_around(self, namespace: Namespace, memory_ids: Sequence[str]) -> None:
        view = await self._views.open(namespace)
        if view is None:
            return
        # The vectors may have been committed a moment ago, or by another node.
        await self._views.wait_until(view, Freshness(fully_consistent=True))
        closeness = self._calibrations(view.record.profile).closeness
        while memory_ids:
            found = await self._views.ask(
                view, partial(self._some_neighbours, memory_ids=memory_ids, closeness=closeness)
            )
            for memory_id, neighbours in zip(memory_ids, found, strict=False):
                if neighbours:
                    await self._judge(view, memory_id, neighbours)
            memory_ids = memory_ids[len(found) :]

    async def _judge(self, view: LoadedView, memory_id: str, near: Mapping[str, str]) -> None:
        """Suspect those of the near memories (id -> why they are near) that the rules do not settle anyway."""
        partition, profile = view.partition, view.record.profile
        one, *others = await self._reader.memories(partition, [memory_id, *near], profile)
        if one is None or not one.head.record.state.is_live:
            return
        subject_key = one.head.record.subject_key
        suspects = [
            other
            for other in others
            if other is not None
            and other.head.record.state.is_live
            and other.head.record.subject_key != subject_key
            and may_contradict(one.version, other.version)
        ]
        for other in suspects[:MAX_SUSPICIONS]:
            await self._conflicts.suspect(one, other, near[other.head.record.memory_id])
            one = (await self._reader.memories(partition, [memory_id], profile))[0] or one

    def _some_neighbours(
        self, view: NamespaceView, memory_ids: Sequence[str], closeness: Closeness
    ) -> list[dict[str, str]]:
        """Return the neighbours of as many memories as fit into a visit: a search must not wait for many scans."""
        found, end = list[dict[str, str]](), perf_counter() + _VISIT_SECONDS
        has_comparables = cache(lambda comparable: bool(view.matching(comparable, limit=1)))
        for memory_id in memory_ids:
            row, near = view.get(memory_id), dict[str, str]()
            if row is not None and has_comparables(comparable := _comparable(row)):
                near = self._neighbours(view, row, comparable, closeness)
            found.append(near)
            if perf_counter() > end:
                break
        return found

    def _neighbours(
        self, view: NamespaceView, row: Row, comparable: Filter, closeness: Closeness
    ) -> dict[str, str]:
        """Return memories that are near, each with the reason. Runs on the index thread."""
        near = self._near_in_meaning(view, row, comparable, closeness)
        return near | self._read_alike(view, row, comparable)

    def _near_in_meaning(
        self, view: NamespaceView, row: Row, comparable: Filter, closeness: Closeness
    ) -> dict[str, str]:
        if row.vector is None:
            return {}
        near, language = {}, row.version.language
        for other, cosine in view.nearest(vectors.from_bytes(row.vector), 4 * MAX_SUSPICIONS, comparable):
            found = view.get(other)
            if found is None or other == row.memory_id:
                continue
            if cosine >= closeness.threshold(language, found.version.language):
                near[other] = f"close in meaning ({cosine:.2f}) but not the same words"
        return near

    def _read_alike(self, view: NamespaceView, row: Row, comparable: Filter) -> dict[str, str]:
        """Return memories on the same subject, where one of the two subjects was only derived."""
        version = row.version
        if not version.subject:
            return {}
        alike = {}
        for other in view.matching(replace(comparable, subject=version.subject), limit=4 * MAX_SUSPICIONS):
            is_derived = version.subject_derived or other.version.subject_derived
            if other.memory_id != row.memory_id and is_derived and reads_alike(version, other.version):
                alike[other.memory_id] = f"both seem to be about {version.subject}"
        return alike


def _comparable(row: Row) -> Filter:
    """Return what a memory may contradict unnoticed: of its type, and where its writer named a subject, those without.

    Statements of one type on one named subject are settled by the rules, those on two named ones compete with nothing.
    """
    return Filter(types=frozenset({row.version.type}), unnamed=bool(row.version.named_subject))


def _by_partition(items: Sequence[TakenItem]) -> Iterator[tuple[int, Iterator[TakenItem]]]:
    return groupby(sorted(items, key=lambda item: item.partition), key=lambda item: item.partition)


class Caretaker:
    """Expires, purges and settles anew."""

    def __init__(
        self,
        reader: RecordReader,
        committer: Committer,
        policies: PolicyBook,
        changer: Changer,
        conflicts: Conflicts,
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._policies = policies
        self._changer = changer
        self._conflicts = conflicts

    async def expire(self, item: TakenItem) -> None:
        """Handle an `expire` item."""
        memory_id = str(item.item.payload[0])
        head = await self._reader.one(item.partition, Head, memory_id)
        if head is not None:
            await self._changer.expire(head.record.namespace, memory_id, self._now_ms(item))
        await self._reader.store.finish_due([item])

    async def moot(self, item: TakenItem) -> None:
        """Handle a `moot` item."""
        conflict_id = str(item.item.payload[0])
        stored = await self._reader.one(item.partition, Conflict, conflict_id)
        if stored is not None:
            namespace = stored.record.namespace
            await self._committer.attempt(lambda: self._conflicts.close_moot(namespace, conflict_id))
        await self._reader.store.finish_due([item])

    async def purge(self, item: TakenItem) -> None:
        """Handle a `purge` item: remove a memory that is still gone at its purge time, every version included."""
        memory_id = str(item.item.payload[0])
        head = await self._reader.one(item.partition, Head, memory_id)
        gone = head is not None and head.record.state in (MemoryState.FORGOTTEN, MemoryState.EXPIRED)
        if head is None or not gone or head.record.purge_time_ms > self._now_ms(item):
            await self._reader.store.finish_due([item])
            return
        namespace = await self._reader.namespace(head.record.namespace)
        profile = namespace.record.profile if namespace is not None else ""
        *early, last = _batched(range(1, head.record.last_version + 1), _PURGED_VERSIONS)
        for numbers in early:
            await self._committer.commit(_purge_plan(item, head, numbers, profile))
        plan = _purge_plan(item, head, last, profile)
        plan.finish(item)
        plan.delete(Ref(Head, (memory_id,)))
        plan.delete(Ref(Usage, (memory_id,)))
        await self._purge_skill(plan, memory_id)
        none = replace(head.record, state=MemoryState.NONE)
        plan.tell(EventKind.FORGOTTEN, head, none, reason="purged")
        await self._committer.commit(plan)

    async def _purge_skill(self, plan: CommitPlan, memory_id: str) -> None:
        """Remove the skill that a memory tells of, if it does."""
        skill = await self._reader.one(plan.partition, Skill, memory_id)
        if skill is not None:
            plan.delete(Ref(Skill, (memory_id,)))
            for number in kept_versions(skill.record.version):
                plan.delete(Ref(SkillVersion, (memory_id, number)))

    def _now_ms(self, item: TakenItem) -> int:
        """Return the time, by the store where it is ahead of this node's estimate: it has called the item due."""
        return max(self._reader.store.now_ms(), item.item.due_ms)

    async def resettle(self, item: TakenItem) -> None:
        """Handle a `resettle` item: settle every subject under a pattern by the policy now in force."""
        tenant, scope, owner, kind = map(str, item.item.payload)
        pattern = Pattern(tenant, scope, owner, kind)
        await self._policies.reload()
        for partition in pattern.partitions(self._reader.store.partitions):
            ids = await self._reader.store.namespaces(partition)
            stored = await self._reader.many(partition, NamespaceRecord, [(i,) for i in ids])
            for namespace in [s.record.namespace for s in stored if s is not None]:
                if pattern.matches(namespace):
                    await self._resettle_namespace(namespace)
        await self._reader.store.finish_due([item])

    async def _resettle_namespace(self, namespace: Namespace) -> None:
        after = 0
        keys: dict[str, None] = {}
        partition = self._reader.partition(namespace)
        while ids := await self._reader.store.memory_ids(namespace, after):
            after = ids[-1][1]
            heads = await self._reader.many(partition, Head, [(memory_id,) for memory_id, _ in ids])
            keys |= dict.fromkeys(
                h.record.subject_key for h in heads if h is not None and h.record.subject_key
            )
        for key in keys:
            async with self._committer.locks.holding(namespace.id, key):
                await self._committer.attempt(lambda key=key: self._resettle_subject(namespace, key))  # type: ignore[misc]

    async def _resettle_subject(self, namespace: Namespace, key: str) -> None:
        partition = self._reader.partition(namespace)
        stored = await self._reader.one(partition, SubjectRecord, namespace.id, key)
        if stored is None:
            return
        subject = SubjectChange.of(stored, Change(record=stored.record), self._policies.in_force(namespace))
        if subject.settled.record == stored.record:
            return
        record = await self._reader.namespace(namespace)
        profile = record.record.profile if record is not None else ""
        memories = await self._reader.by_id(partition, subject.affected() | subject.sides(), profile)
        plan = CommitPlan(partition, namespace, "")
        plan.put_subject(subject)
        plan.settle_others(subject, memories, skip=(), reason="the policy changed")
        plan.put_conflict(subject, await self._reader.conflict_of(subject.settled), texts_of(memories))
        await self._committer.commit(plan)


def _purge_plan(item: TakenItem, head: Stored[Head], numbers: Iterable[int], profile: str) -> CommitPlan:
    """Return a plan that removes some versions of a memory, so long as nobody has brought it back."""
    memory_id = head.record.memory_id
    plan = CommitPlan(item.partition, head.record.namespace, "")
    plan.expect(Ref(Head, (memory_id,)), head.revision)
    for number in numbers:
        plan.delete(Ref(Version, (memory_id, number)))
        plan.delete(Ref(Vector, (memory_id, number, profile)))
    return plan


def _batched(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


def due_handlers(indexer: Indexer, suspector: Suspector, caretaker: Caretaker) -> dict[str, Handler]:
    """Return the handler of every kind of due work."""
    return {
        "embed": indexer.embed,
        "suspect": suspector.suspect,
        "expire": one_by_one(caretaker.expire),
        "moot": one_by_one(caretaker.moot),
        "purge": one_by_one(caretaker.purge),
        "resettle": one_by_one(caretaker.resettle),
    }
