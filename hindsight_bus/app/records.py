"""Reading memories whole: head, version and whether the vector has arrived, in as few round trips as there can be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from hindsight_bus.domain.memory import Head, Memory, Vector, Version
from hindsight_bus.domain.names import Namespace, partition_of
from hindsight_bus.domain.records import Conflict, NamespaceRecord, Usage
from hindsight_bus.domain.settling import Settled
from hindsight_bus.domain.values import Value
from hindsight_bus.ports import MemoryLog, Record, Ref, Stored

T = TypeVar("T", bound=Record)

_SCAN_PAGE = 500


class StoredMemory(Value):
    """A memory as the store holds it; ``head.revision`` is what a commit expects."""

    head: Stored[Head]
    version: Version
    vector: Vector | None

    @property
    def memory(self) -> Memory:
        """The memory as a reader sees it."""
        head = self.head
        return Memory(
            head.record,
            self.version,
            head.create_time_ms,
            head.update_time_ms,
            head.revision,
            vector_pending=self.vector is None,
        )


class RecordReader:
    """Typed reads from the store."""

    def __init__(self, store: MemoryLog) -> None:
        self.store = store

    def partition(self, namespace: Namespace) -> int:
        """Return the partition that a namespace lies in."""
        return partition_of(namespace.owner_id, self.store.partitions)

    async def many(
        self, partition: int, kind: type[T], keys: Sequence[tuple[str | int, ...]]
    ) -> list[Stored[T] | None]:
        """Return records of one class in the order of their keys, in one round trip."""
        if not keys:
            return []
        refs = [Ref(kind, key) for key in keys]  # type: ignore[arg-type]
        return await self.store.read(partition, refs)  # type: ignore[return-value]

    async def one(self, partition: int, kind: type[T], *key: str | int) -> Stored[T] | None:
        """Return one record."""
        return (await self.many(partition, kind, [key]))[0]

    async def newest(
        self,
        partition: int,
        kind: type[T],
        listed: Callable[[int, int], Awaitable[Sequence[tuple[str, int]]]],
        is_wanted: Callable[[T], bool],
        before: int,
        limit: int,
    ) -> tuple[list[Stored[T]], int]:
        """Return ``limit`` records, newest first, made before a revision (0 = all), and where to go on; 0 = no more.

        ``listed`` returns ids with their revisions, given a revision and a number. More are returned where the last
        one's commit has made others too. Cost: O(records looked at).
        """
        found: list[Stored[T]] = []
        while ids := _whole_revisions(await listed(before, _SCAN_PAGE), _SCAN_PAGE):
            before = ids[-1][1]
            for stored in await self.many(partition, kind, [(each,) for each, _ in ids]):
                if stored is None or not is_wanted(stored.record):
                    continue
                if len(found) >= limit and stored.create_revision < found[-1].create_revision:
                    return found, found[-1].create_revision
                found.append(stored)
        return found, 0

    async def namespace(self, namespace: Namespace) -> Stored[NamespaceRecord] | None:
        """Return the record of a namespace."""
        return await self.one(self.partition(namespace), NamespaceRecord, namespace.id)

    async def conflict(self, namespace: Namespace, conflict_id: str) -> Stored[Conflict] | None:
        """Return a conflict, if it is there and of that namespace."""
        stored = await self.one(self.partition(namespace), Conflict, conflict_id)
        return stored if stored is not None and stored.record.namespace == namespace else None

    async def conflict_of(self, settled: Settled) -> Stored[Conflict] | None:
        """Return the stored conflict that settling a subject has changed; None where it has not, or made a new one."""
        change = settled.conflict
        if change is None or change.is_new:
            return None
        return await self.conflict(settled.record.namespace, change.conflict_id)

    async def memories(
        self, partition: int, memory_ids: Sequence[str], profile: str, version: int = 0
    ) -> list[StoredMemory | None]:
        """Return memories at their current (0) or an earlier version, in two round trips; None where there is none."""
        heads = await self.many(partition, Head, [(memory_id,) for memory_id in memory_ids])
        present = [head for head in heads if head is not None]
        numbers = [(head.record.memory_id, version or head.record.version) for head in present]
        refs = [Ref(Version, key) for key in numbers] + [Ref(Vector, (*key, profile)) for key in numbers]
        found = await self.store.read(partition, refs) if refs else []
        versions, vectors = found[: len(numbers)], found[len(numbers) :]
        whole = {
            head.record.memory_id: StoredMemory(head, stored.record, vector.record if vector else None)  # type: ignore[arg-type]
            for head, stored, vector in zip(present, versions, vectors, strict=True)
            if stored is not None
        }
        return [whole.get(memory_id) for memory_id in memory_ids]

    async def by_id(self, partition: int, memory_ids: Iterable[str], profile: str) -> dict[str, StoredMemory]:
        """Return the memories that are there, at their current version, by id and in the order asked for."""
        found = await self.memories(partition, list(memory_ids), profile)
        return {memory.head.record.memory_id: memory for memory in found if memory is not None}

    async def usages(self, partition: int, memory_ids: Sequence[str]) -> dict[str, Usage]:
        """Return how often memories were used, by id; those that nobody reported on are left out. One round trip."""
        stored = await self.many(partition, Usage, [(memory_id,) for memory_id in memory_ids])
        return {usage.record.memory_id: usage.record for usage in stored if usage is not None}

    async def memory(
        self, namespace: Namespace, memory_id: str, profile: str, version: int = 0
    ) -> StoredMemory | None:
        """Return one memory, if it is there and of that namespace."""
        found = (await self.memories(self.partition(namespace), [memory_id], profile, version))[0]
        return found if found is not None and found.head.record.namespace == namespace else None


def _whole_revisions(ids: Sequence[tuple[str, int]], limit: int) -> Sequence[tuple[str, int]]:
    """Return a scanned page without its last revision, where the limit may have cut that in two."""
    whole = [pair for pair in ids if pair[1] > ids[-1][1]] if len(ids) == limit else ids
    return whole or ids
