"""One MemoryLog under test with a hand on its time, and commits to feed it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hindsight_bus.domain.events import Event, EventKind
from hindsight_bus.domain.memory import Channel, Claim, Head, MemoryState, MemoryType, Transition, Version
from hindsight_bus.domain.names import Namespace, digest, partition_of
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import Commit, Committed, Delete, DueItem, MemoryLog, Put, Ref

T = TypeVar("T")

PARTITIONS = 4
NS = Namespace("acme", "user", "zhangsan", "facts")
PARTITION = partition_of(NS.owner_id, PARTITIONS)


@dataclass
class Rig:
    """The log, and how a moment passes for it: by the fake clock or by itself."""

    log: MemoryLog
    store_ms: Callable[[], Awaitable[int]]
    """The store's true time."""
    pass_moment: Callable[[], Awaitable[None]]
    stamps: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def commit(self, *records: Any, **fields: Any) -> Committed:
        """Commit records with one event, or whatever ``fields`` of the Commit say."""
        puts = tuple(record if isinstance(record, Put) else Put(record) for record in records)
        given: dict[str, Any] = {
            "partition": PARTITION,
            "now_ms": 0,
            "stamp": next(self.stamps),
            "events": (event(),),
        }
        return await self.log.commit(Commit(**(given | {"puts": puts} | fields)))

    async def read(self, *refs: Ref) -> list[Any]:
        """Read records of the one partition that most tests use."""
        return await self.log.read(PARTITION, refs)

    async def until(self, probe: Callable[[], Awaitable[T]]) -> T:
        """Let time pass until the probe returns something true, and return that."""
        async with asyncio.timeout(10):
            while not (found := await probe()):
                await self.pass_moment()
            return found

    async def take(self, lease_ms: int = 60_000, limit: int = 100) -> list[Any]:
        """Take due items of the one partition."""
        return await self.log.take_due(PARTITION, lease_ms, limit)


def memory_id(name: str) -> str:
    return digest("test", name)


def head(name: str, namespace: Namespace = NS, **fields: Any) -> Head:
    basis = Head(namespace, memory_id(name), MemoryType.SEMANTIC, MemoryState.ACTIVE, 1, 1, 0.7)
    return replace(basis, **fields)


def head_ref(name: str) -> Ref:
    return Ref(Head, (memory_id(name),))


def version(name: str, text: str = "likes tables", **fields: Any) -> Version:
    return replace(Version(NS, memory_id(name), 1, MemoryType.SEMANTIC, text), **fields)


def event(name: str = "m", kind: EventKind = EventKind.WRITTEN, **fields: Any) -> Event:
    basis = Event(
        kind, NS, memory_id(name), 1, MemoryType.SEMANTIC, MemoryState.NONE, MemoryState.ACTIVE, 0.0, 0.7
    )
    return replace(basis, **fields)


def claim(name: str = "m") -> Claim:
    return Claim("agent:a", "a", Channel.AGENT, memory_id(name), "v:go", 0.7, 1, 1, 1, "doc", True)


def step(name: str = "m", version: int = 1, **fields: Any) -> Transition:
    basis = Transition(
        memory_id(name), EventKind.WRITTEN, MemoryState.NONE, MemoryState.ACTIVE, version, "a", "new"
    )
    return replace(basis, **fields)


def due(name: str = "w", due_ms: int = 0) -> DueItem:
    return DueItem(f"embed:{name}", "embed", (memory_id(name), 1), due_ms)


def drop(name: str) -> Delete:
    return Delete(head_ref(name), NS)


def ids(pairs: Sequence[tuple[str, int]]) -> list[str]:
    return [each for each, _ in pairs]
