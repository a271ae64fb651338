"""Retention of the log: what nobody needs and is old enough goes; so do groups that nobody uses any more.

Every node does it; doing it twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import structlog

from hindsight_bus.domain.errors import HbusError
from hindsight_bus.domain.position import Position
from hindsight_bus.ports import Clock, GroupGone, Groups, LogEnds, MemoryLog

log = structlog.get_logger(__name__)

_LONGEST_PAUSE_S = 60.0
_SHORTEST_PAUSE_S = 0.2


async def position_before(store: MemoryLog, ends: LogEnds, time_ms: int) -> Position:
    """Return the last position of a log whose entry is older than a time (store time); O(log n) reads."""
    below, above = ends.trimmed, ends.newest.revision + 1
    while above - below.revision > 1:
        middle = (below.revision + above) // 2
        found = await store.entries(ends.newest.partition, middle - 1, 1)
        if found and found[0].time_ms < time_ms:
            below = Position(found[0].partition, found[0].revision, found[0].stamp)
        else:
            above = middle
    return below


class Retention:
    """Trims every partition by age, but never above what a group still needs; views and subscribers do not count."""

    def __init__(self, store: MemoryLog, groups: Groups, clock: Clock, keep_hours: float) -> None:
        self._store = store
        self._groups = groups
        self._clock = clock
        self._keep_ms = int(keep_hours * 3_600_000)
        self._pause_s = min(max(self._keep_ms / 10_000, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)

    async def run(self) -> None:
        """Trim now and then, until cancelled."""
        while True:
            await self._clock.sleep(self._pause_s)
            try:
                await self.trim()
            except HbusError as error:
                log.warning("retention.store_unavailable", reason=error.reason)

    async def trim(self) -> None:
        """Remove groups whose lifetime is over, with all they have; then trim every partition."""
        partitions = range(self._store.partitions + 1)
        # In this order: a group is defined before it begins anywhere, so what has begun and is not defined is dead.
        begun = await asyncio.gather(*map(self._groups.begun, partitions))
        alive = await self._alive()
        await asyncio.gather(*(self._trim(p, begun[p], alive) for p in partitions))

    async def _alive(self) -> set[str]:
        groups = await self._groups.listed()
        removed = await asyncio.gather(*(self._groups.remove(group, only_expired=True) for group in groups))
        for group, is_removed in zip(groups, removed, strict=True):
            if is_removed:
                log.warning("group.expired", group=group.name, lifetime_ms=group.lifetime_ms)
        return {group.id for group, is_removed in zip(groups, removed, strict=True) if not is_removed}

    async def _trim(self, partition: int, begun: Collection[str], alive: Collection[str]) -> None:
        needed = [await self._needed(group_id, partition) for group_id in begun if group_id in alive]
        for group_id in begun:
            if group_id not in alive:
                await self._groups.drop(group_id, partition)
        ends = await self._store.ends(partition)
        aged = await position_before(self._store, ends, self._store.now_ms() - self._keep_ms)
        below = min([aged.revision + 1, *needed])
        if below > ends.trimmed.revision + 1:
            await self._store.trim(partition, below)

    async def _needed(self, group_id: str, partition: int) -> int:
        """Return the lowest revision that a group needs; one deleted at this very moment needs all for now."""
        try:
            return (await self._groups.progress(group_id, partition)).lowest_revision
        except GroupGone:
            return 0
