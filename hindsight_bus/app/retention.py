"""Retention of the log: what nobody needs and is old enough goes; so do groups that nobody uses any more.

Every node does it; doing it twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import structlog

from hindsight_bus.domain.errors import HbusError
from hindsight_bus.domain.groups import GroupProgress, GroupRecord
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
        self._dropped: dict[str, int] = {}
        self.listeners: list[Callable[[int, int], None]] = []
        """Told by each pass how many dead letters all groups keep, and how many they had to drop."""
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
        progress = await asyncio.gather(*(self._trim(p, begun[p], alive) for p in partitions))
        self._tell_of_dead(alive, [each for found in progress for each in found])

    def _tell_of_dead(
        self, alive: Mapping[str, GroupRecord], progress: Sequence[tuple[str, GroupProgress]]
    ) -> None:
        dropped = Counter[str]()
        for group_id, each in progress:
            dropped[group_id] += each.dropped
        for group_id, count in dropped.items():
            if count > self._dropped.get(group_id, 0):
                log.warning("group.dead_letters_dropped", group=alive[group_id].name, dropped=count)
        self._dropped = dict(dropped)
        kept = sum(each.dead for _, each in progress)
        for listener in self.listeners:
            listener(kept, dropped.total())

    async def _alive(self) -> dict[str, GroupRecord]:
        groups = await self._groups.listed()
        removed = await asyncio.gather(*(self._groups.remove(group, only_expired=True) for group in groups))
        for group, is_removed in zip(groups, removed, strict=True):
            if is_removed:
                log.warning("group.expired", group=group.name, lifetime_ms=group.lifetime_ms)
        return {group.id: group for group, is_removed in zip(groups, removed, strict=True) if not is_removed}

    async def _trim(
        self, partition: int, begun: Collection[str], alive: Collection[str]
    ) -> list[tuple[str, GroupProgress]]:
        """Trim one partition; return where the groups stand that are in it."""
        progress = [(g, await self._progress(g, partition)) for g in begun if g in alive]
        for group_id in begun:
            if group_id not in alive:
                await self._groups.drop(group_id, partition)
        ends = await self._store.ends(partition)
        aged = await position_before(self._store, ends, self._store.now_ms() - self._keep_ms)
        below = min([aged.revision + 1, *(each.lowest_revision for _, each in progress)])
        if below > ends.trimmed.revision + 1:
            await self._store.trim(partition, below)
        return progress

    async def _progress(self, group_id: str, partition: int) -> GroupProgress:
        """Return where a group stands; one deleted at this very moment needs all for now."""
        try:
            return await self._groups.progress(group_id, partition)
        except GroupGone:
            start = Position(partition, 0, 0)
            return GroupProgress(start, pending=0, dead=0, lost=0, lowest_revision=0, oldest_time_ms=0)
