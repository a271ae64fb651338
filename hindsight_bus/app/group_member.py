"""One member of a group, as the node serves it that it is connected to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence

from hindsight_bus.app.group_feed import MAX_EVENTS, Delivery, GroupFeed
from hindsight_bus.app.pulse import Pulse
from hindsight_bus.domain.groups import Action, GroupRecord, Settlement
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import Groups, PartitionHeld

_LONGEST_KEEP_MS = 5_000
_SHORTEST_LOOK_S = 0.02


class GroupMember:
    """Takes and settles for one member. Members of an ordered group share the partitions out among them."""

    def __init__(self, name: str, feed: GroupFeed, groups: Groups) -> None:
        self.name = name
        self.group: GroupRecord = feed.group
        self.pulse = Pulse()
        """Fires on whatever may concern this member."""
        self._feed = feed
        self._groups = groups
        self._mine: list[int] = [] if self.group.ordered else list(feed.partitions)
        self._leaving: set[int] = set()
        self._next = 0

    @property
    def keep_s(self) -> float:
        """Seconds after which ``keep`` is due again."""
        return min(self.group.lease_ms / 3, _LONGEST_KEEP_MS) / 1000

    async def keep(self) -> None:
        """Say that the member is there; in an ordered group, keep its share of the partitions.

        Raises ``GroupGone``.
        """
        ttl_ms = max(self.group.lease_ms, 3 * _LONGEST_KEEP_MS)
        members = await self._groups.join(self.group, self.name, ttl_ms)
        await asyncio.gather(*(feed.note_progress() for feed in self._feed.partitions.values()))
        if self.group.ordered:
            await self._rebalance(members)

    async def _rebalance(self, members: Sequence[str]) -> None:
        """Hold as many partitions as are this member's share: renew, let go of some, or try for more."""
        share = -(-len(self._feed.partitions) // len(members))
        await asyncio.gather(*map(self._hold, [p for p in self._mine if p not in self._leaving]))
        self._leaving.update(self._mine[share:])
        for partition in sorted(self._leaving):
            if await self._groups.yield_hold(self.group, partition, self.name):
                self._leaving.discard(partition)
                self._mine.remove(partition)
        first = members.index(self.name) * share
        order = sorted(self._feed.partitions)
        for partition in (*order[first:], *order[:first]):
            if len(self._mine) >= share:
                break
            if partition not in self._mine:
                await self._hold(partition)

    async def _hold(self, partition: int) -> None:
        try:
            await self._groups.hold(self.group, partition, self.name)
        except PartitionHeld:
            if partition in self._mine:
                self._mine.remove(partition)
            return
        if partition not in self._mine:
            self._mine.append(partition)
            self._feed.partitions[partition].look_soon()
            self.pulse.fire()

    async def take(self, limit: int) -> list[Delivery]:
        """Return at most about ``limit`` deliveries, due ones first, from each partition in turn."""
        taken: list[Delivery] = []
        partitions = [p for p in self._mine if p not in self._leaving]
        for n in range(len(partitions)):
            room = min(limit, MAX_EVENTS) - len(taken)
            if room <= 0:
                break
            taken += await self._feed.take(self.name, partitions[(self._next + n) % len(partitions)], room)
        self._next += 1
        return taken

    async def take_within(self, limit: int, seconds: float) -> list[Delivery]:
        """Return deliveries as soon as there are some; none when there are none in time."""
        until = asyncio.get_running_loop().time() + seconds
        await self.keep()
        while True:
            seen = self.pulse.count
            if taken := await self.take(limit):
                return taken
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                return []
            await self.news_after(seen, left)

    async def news_after(self, count: int, seconds: float, *, can_take: bool = True) -> bool:
        """Wait for a pulse since a count, until something may be due, or for some seconds; False for the last.

        A member that cannot take anything need not be told that something is due.
        """
        is_looking = can_take and self._mine
        look_s = max(self._feed.seconds_to_look(self._mine), _SHORTEST_LOOK_S) if is_looking else seconds
        try:
            async with asyncio.timeout(min(look_s, seconds)):
                await self.pulse.after(count)
        except TimeoutError:
            return look_s < seconds
        return True

    async def settle(self, settlements: Sequence[tuple[int, Settlement]]) -> list[bool]:
        """Settle deliveries of any partitions; tell of each whether the member still had it."""
        by_partition: defaultdict[int, dict[int, Settlement]] = defaultdict(dict)
        for place, (partition, settlement) in enumerate(settlements):
            by_partition[partition][place] = self._with_lease(settlement)
        outcomes = [False] * len(settlements)

        async def settle_in(partition: int, wanted: dict[int, Settlement]) -> None:
            feed = self._feed.partitions.get(partition)
            if feed is not None:
                settled = await feed.settle(self.name, list(wanted.values()))
                for place, outcome in zip(wanted, settled, strict=True):
                    outcomes[place] = outcome

        await asyncio.gather(*(settle_in(*each) for each in by_partition.items()))
        if self.group.ordered or any(each.action is Action.RETRY for _, each in settlements):
            self._look_soon(by_partition)
        return outcomes

    def _with_lease(self, settlement: Settlement) -> Settlement:
        """Return an extension of no length with the group's lease, anything else as it is."""
        if settlement.action is Action.EXTEND and not settlement.delay_ms:
            return replace(settlement, delay_ms=self.group.lease_ms)
        return settlement

    async def leave(self) -> None:
        """Give back what the member has, and strike it off."""
        partitions = self._feed.partitions
        await asyncio.gather(*(self._groups.release(self.group, p, self.name) for p in partitions))
        await self._groups.leave(self.group, self.name)
        self._look_soon(partitions)

    def _look_soon(self, partitions: Iterable[int]) -> None:
        for partition in partitions:
            if partition in self._feed.partitions:
                self._feed.partitions[partition].look_soon()
        self._feed.tell()
