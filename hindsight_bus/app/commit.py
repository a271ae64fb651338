"""Committing: attempts under preconditions, and telling this node what it has just done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.tail import Tails
from hindsight_bus.domain.errors import Contended
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import ClockSkewed, Committed, Conflicted, Ids, Lane, MemoryLog

T = TypeVar("T")

MAX_ATTEMPTS = 5


class KeyedLocks:
    """A lock a key, fair, alive only while somebody holds or waits for it.

    Optimistic commits of many writers on one subject mostly fail; within a node they queue instead.
    """

    def __init__(self) -> None:
        self._locks: dict[tuple[str, ...], tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def holding(self, *key: str) -> AsyncIterator[None]:
        """Hold the lock of a key."""
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)


class Committer:
    """Makes commits of plans."""

    def __init__(self, store: MemoryLog, tails: Tails, ids: Ids) -> None:
        self.locks = KeyedLocks()
        self.due_listeners: list[Callable[[int, Lane], None]] = []
        """Called with the partition and the lane when a commit has queued work."""
        self._store = store
        self._tails = tails
        self._ids = ids

    async def commit(self, plan: CommitPlan) -> Committed:
        """Commit a plan; raise ``CommitRefused`` when a precondition fails."""
        commit = plan.build(self._store.now_ms(), self._ids.stamp())
        tail = self._tails[plan.partition]
        with tail.committing(commit.stamp):
            committed = await self._store.commit(commit)
            if commit.events:
                tail.offer(plan.logged(commit, committed), committed.previous_stamp)
        if not commit.events:  # it has no entry, so no stamp: it is known from the newest one on
            newest = (await self._store.ends(plan.partition)).newest
            committed = replace(committed, position=newest)
        for lane in {item.lane for item in commit.due}:
            for listener in self.due_listeners:
                listener(plan.partition, lane)
        return committed

    async def attempt(self, action: Callable[[], Awaitable[T]]) -> T:
        """Run what reads, decides and commits until no precondition fails; ``Contended`` after 5 tries."""
        for _ in range(MAX_ATTEMPTS):
            try:
                return await action()
            except (Conflicted, ClockSkewed):
                continue
        raise Contended(MAX_ATTEMPTS)
