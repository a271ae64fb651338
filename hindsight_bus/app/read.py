"""Reading memories by name and in order."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Sequence

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.tail import Tails
from hindsight_bus.domain.errors import LogDiverged, NotFound
from hindsight_bus.domain.memory import Memory, Version
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.records import NamespaceRecord
from hindsight_bus.domain.values import Value
from hindsight_bus.ports import HistoryStep, Stored

_SCAN_PAGE = 500


class Page(Value):
    """Some memories in order of creation, ``create_revisions`` beside them; ``next_after`` 0 on the last page."""

    memories: list[Memory]
    create_revisions: list[int]
    next_after: int
    positions: Positions


class PastVersion(Value):
    """A version of a memory with what happened while it was current, oldest first."""

    memory: Memory
    agent: str
    create_time_ms: int
    transitions: list[HistoryStep]


class Reader:
    """Reads straight from the store, so every read sees every commit before it."""

    def __init__(self, reader: RecordReader, tails: Tails, served: ServedNotes) -> None:
        self._reader = reader
        self._tails = tails
        self._served = served

    async def get(
        self, caller: Caller, name: ResourceName, version: int, freshness: Freshness
    ) -> tuple[Memory, Positions]:
        """Return a memory at its current (0) or an earlier version."""
        positions, record = await self._start(name.namespace, freshness)
        if record is None:
            raise NotFound(str(name))
        found = await self._reader.memory(name.namespace, name.id, record.record.profile, version)
        if found is None:
            raise NotFound(f"{name} version {version}" if version else str(name))
        self._served.note(caller.agent, [found.memory])
        return found.memory, positions

    async def list(
        self,
        caller: Caller,
        namespace: Namespace,
        filter: Filter,
        after: int,
        limit: int,
        freshness: Freshness,
    ) -> Page:
        """Return at most ``limit`` matching memories made after the creation revision ``after``.

        Cost: O(memories looked at); a narrow filter looks at many. A namespace that does not exist is empty.
        """
        positions, record = await self._start(namespace, freshness)
        found: builtins.list[StoredMemory] = []
        while record is not None and len(found) < limit:
            ids = await self._reader.store.memory_ids(namespace, after, _SCAN_PAGE)
            if not ids:
                after = 0
                break
            memories = await self._memories(namespace, ids, record.record.profile)
            matching = [m for m in memories if self._matches(filter, m)]
            taken = _whole_revisions(matching, limit - len(found))
            found += taken
            after = taken[-1].head.create_revision if len(taken) < len(matching) else ids[-1][1]
        self._served.note(caller.agent, [m.memory for m in found])
        revisions = [m.head.create_revision for m in found]
        return Page([m.memory for m in found], revisions, after if record is not None else 0, positions)

    async def versions(
        self, caller: Caller, name: ResourceName, before: int, limit: int
    ) -> tuple[builtins.list[PastVersion], int]:
        """Return at most ``limit`` versions numbered below ``before`` (0 = all), newest first, and where to go on."""
        record = await self._reader.namespace(name.namespace)
        profile = record.record.profile if record is not None else ""
        current = await self._reader.memory(name.namespace, name.id, profile)
        if current is None:
            raise NotFound(str(name))
        partition = self._reader.partition(name.namespace)
        newest = (
            min(before - 1, current.head.record.last_version) if before else current.head.record.last_version
        )
        numbers = range(newest, max(newest - limit, 0), -1)
        stored, history = await asyncio.gather(
            self._reader.many(partition, Version, [(name.id, number) for number in numbers]),
            self._reader.store.history(partition, name.id),
        )
        past = [_past(current, version, history) for version in stored if version is not None]
        return past, max(numbers[-1] if numbers[-1] > 1 else 0, 0) if numbers else 0

    async def _start(
        self, namespace: Namespace, freshness: Freshness
    ) -> tuple[Positions, Stored[NamespaceRecord] | None]:
        """Note the log's head before anything is read: that much the answer reflects."""
        partition = self._reader.partition(namespace)
        ends, record = await asyncio.gather(
            self._reader.store.ends(partition), self._reader.namespace(namespace)
        )
        wanted = freshness.at_least.get(partition)
        if wanted is not None:
            if wanted.revision > ends.newest.revision:
                raise LogDiverged(partition, ends.newest.revision)
            await self._tails[partition].confirm(wanted)
        return Positions([ends.newest]), record

    async def _memories(
        self, namespace: Namespace, ids: Sequence[tuple[str, int]], profile: str
    ) -> builtins.list[StoredMemory]:
        partition = self._reader.partition(namespace)
        found = await self._reader.memories(partition, [memory_id for memory_id, _ in ids], profile)
        return [memory for memory in found if memory is not None]

    def _matches(self, filter: Filter, stored: StoredMemory) -> bool:
        head = stored.head
        return filter.matches(
            stored.version,
            head.record.state,
            head.record.effective_confidence,
            head.record.agents,
            head.create_time_ms,
            self._reader.store.now_ms(),
        )


def _whole_revisions(memories: Sequence[StoredMemory], limit: int) -> list[StoredMemory]:
    """Return the first ``limit`` memories, and those made by the same commit as the last one."""
    taken = list(memories[:limit])
    for memory in memories[limit:]:
        if memory.head.create_revision != taken[-1].head.create_revision:
            break
        taken.append(memory)
    return taken


def _past(current: StoredMemory, version: Stored[Version], history: Sequence[HistoryStep]) -> PastVersion:
    number = version.record.number
    at_version = StoredMemory(current.head, version.record, current.vector)
    steps = [step for step in history if step.transition.version == number]
    return PastVersion(at_version.memory, version.record.agent, version.create_time_ms, steps)
