"""Consumer groups as operators see them: made, listed, moved and removed; dead letters looked at and redriven."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.meanings import Meanings
from hindsight_bus.app.retention import position_before
from hindsight_bus.app.selection import Selection, WatchEvent, watch_event
from hindsight_bus.app.tail import LogCommit, hydrate, no_vectors, read_commits
from hindsight_bus.app.watch import AfterTokens, Beginning, Now
from hindsight_bus.domain.errors import GroupMismatch, NotFound
from hindsight_bus.domain.groups import DeadLetter, GroupProgress, GroupRecord
from hindsight_bus.domain.names import Pattern
from hindsight_bus.domain.position import Position, Positions
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.domain.values import Value, field, fields, replace
from hindsight_bus.ports import GroupGone, Groups, Ids, LogEnds, MemoryLog

DAY_MS = 24 * 3600 * 1000


class AtTime(Value):
    """Go to the first event that was committed at a time or later (store time)."""

    time_ms: int


class GroupTerms(Value):
    """What a member expects of its group; without patterns the group must exist, whatever it is like."""

    name: str
    patterns: tuple[Pattern, ...] = ()
    filter: EventFilter = field(default_factory=EventFilter)
    ordered: bool = False
    lease_ms: int = 30_000
    max_attempts: int = 5
    lifetime_ms: int = 7 * DAY_MS
    start: Now | Beginning | AfterTokens = field(default_factory=Now)
    """Where a new group starts."""


class GroupStatus(Value):
    """A group and where it stands."""

    group: GroupRecord
    members: tuple[str, ...]
    pending: int
    dead: int
    lost: int
    lag: int
    """Commits after the cursor, wanted or not."""
    oldest_age_ms: int
    """Age of the oldest commit that may hold an event not settled yet; 0 when there is none."""
    dropped: int
    """Dead letters that were dropped because there were too many."""


class BuriedEvent(Value):
    """A dead letter with the event as it was then."""

    partition: int
    letter: DeadLetter
    watched: WatchEvent


class GroupBook:
    """Every consumer group of the installation."""

    def __init__(self, store: MemoryLog, groups: Groups, meanings: Meanings, ids: Ids) -> None:
        self._store = store
        self._groups = groups
        self._meanings = meanings
        self._ids = ids

    async def open(self, caller: Caller, terms: GroupTerms) -> GroupRecord:
        """Return the group, made by these terms if there was none.

        Raises ``NotFound`` without patterns where there is none, ``GroupMismatch`` where it was made by other terms,
        and what ``Meanings.query`` raises where it is new.
        """
        known = await self._groups.find(caller.tenant, terms.name)
        if known is None and not terms.patterns:
            raise NotFound(f"groups/{terms.name}")
        if known is None:
            known = await self._groups.create(await self._made(caller, terms))
        if terms.patterns:
            _require_same(known, terms)
        return known

    async def _made(self, caller: Caller, terms: GroupTerms) -> GroupRecord:
        await self._meanings.query(
            terms.filter.meaning, terms.patterns
        )  # refuses what no feed could be made of
        partitions = Selection(terms.patterns, terms.filter).partitions(self._store.partitions)
        start = await asyncio.gather(*(self._position(p, terms.start) for p in partitions))
        return GroupRecord(
            tenant=caller.tenant,
            name=terms.name,
            id=self._ids.memory_id(),
            patterns=terms.patterns,
            filter=terms.filter,
            ordered=terms.ordered,
            lease_ms=terms.lease_ms,
            max_attempts=terms.max_attempts,
            lifetime_ms=terms.lifetime_ms,
            start=tuple(start),
            agent=caller.agent,
            create_time_ms=self._store.now_ms(),
        )

    async def page(self, caller: Caller, after: str, limit: int) -> tuple[list[GroupStatus], str]:
        """Return the tenant's groups by name, those after a name, and the name to go on after; O(pending events)."""
        mine = [group for group in await self._groups.listed() if group.tenant == caller.tenant]
        named = sorted((group for group in mine if group.name > after), key=lambda group: group.name)
        found = await asyncio.gather(*map(self._status, named[:limit]))
        return found, named[limit - 1].name if len(named) > limit else ""

    async def _status(self, group: GroupRecord) -> GroupStatus:
        now_ms = self._store.now_ms()
        ends = await asyncio.gather(*map(self._store.ends, group.partitions))
        progress = await asyncio.gather(*(self._progress(group, p) for p in group.start))
        oldest_ms = min((p.oldest_time_ms for p in progress if p.oldest_time_ms), default=now_ms)
        return GroupStatus(
            group,
            tuple(await self._groups.members(group, now_ms)),
            pending=sum(p.pending for p in progress),
            dead=sum(p.dead for p in progress),
            lost=sum(p.lost for p in progress),
            lag=sum(map(_behind, ends, progress)),
            oldest_age_ms=max(0, now_ms - oldest_ms),
            dropped=sum(p.dropped for p in progress),
        )

    async def _progress(self, group: GroupRecord, start: Position) -> GroupProgress:
        try:
            return await self._groups.progress(group.id, start.partition)
        except GroupGone:  # it has not begun here
            return GroupProgress(start, 0, 0, 0, start.revision + 1, 0)

    async def seek(
        self, caller: Caller, name: str, to: Now | Beginning | AfterTokens | AtTime
    ) -> GroupRecord:
        """Let a group go on from elsewhere; what is pending is dropped, dead letters stay."""
        caller.require_agent()
        group = await self._named(caller, name)
        positions = await asyncio.gather(*(self._position(p, to) for p in group.partitions))
        for start, position in zip(group.start, positions, strict=True):
            await self._groups.begin(group, start)
            await self._groups.seek(group, position)
        return group

    async def delete(self, caller: Caller, name: str) -> None:
        """Remove a group with all it has; its members are told that it is gone."""
        caller.require_agent()
        group = await self._named(caller, name)
        await self._groups.remove(group)
        await asyncio.gather(*(self._groups.drop(group.id, p) for p in group.partitions))

    async def dead_letters(
        self, caller: Caller, name: str, after: tuple[int, int], limit: int
    ) -> list[BuriedEvent]:
        """Return dead letters after a (partition, sequence), by partition and then as they died."""
        group = await self._named(caller, name)
        first, sequence = after
        found: list[BuriedEvent] = []
        for partition in sorted(p for p in group.partitions if p >= first):
            since = sequence if partition == first else 0
            letters = await self._groups.dead_letters(group, partition, since, limit - len(found))
            found += await self._buried(partition, letters)
            if len(found) >= limit:
                break
        return found

    async def _buried(self, partition: int, letters: Sequence[DeadLetter]) -> list[BuriedEvent]:
        commits = [LogCommit(letter.entry, {}) for letter in letters]
        whole = await hydrate(self._store, partition, commits, no_vectors)
        return [
            BuriedEvent(partition, letter, watch_event(commit, letter.event.index))
            for letter, commit in zip(letters, whole, strict=True)
        ]

    async def redrive(self, caller: Caller, name: str, which: Iterable[tuple[int, int]]) -> int:
        """Give dead letters, by (partition, sequence), another run of attempts; none named = all. Return how many."""
        caller.require_agent()
        group = await self._named(caller, name)
        chosen: defaultdict[int, list[int]] = defaultdict(list)
        for partition, sequence in which:
            chosen[partition].append(sequence)
        if not chosen:
            return sum([await self._redrive_all(group, p) for p in group.partitions])
        known = [p for p in chosen if p in group.partitions]
        return sum([await self._groups.redrive(group, p, chosen[p]) for p in known])

    async def _redrive_all(self, group: GroupRecord, partition: int) -> int:
        redriven = after = 0
        while letters := await self._groups.dead_letters(group, partition, after, 1000):
            after = letters[-1].sequence
            redriven += await self._groups.redrive(group, partition, [each.sequence for each in letters])
        return redriven

    async def _named(self, caller: Caller, name: str) -> GroupRecord:
        group = await self._groups.find(caller.tenant, name)
        if group is None:
            raise NotFound(f"groups/{name}")
        return group

    async def _position(self, partition: int, to: Now | Beginning | AfterTokens | AtTime) -> Position:
        ends = await self._store.ends(partition)
        match to:
            case Beginning():
                return ends.trimmed
            case AfterTokens(positions) if partition in positions:
                return await self._confirmed(positions, partition)
            case AtTime(time_ms):
                return await position_before(self._store, ends, time_ms)
            case _:
                return ends.newest

    async def _confirmed(self, positions: Positions, partition: int) -> Position:
        """Return the position of a token; raise ``PositionLost`` where the log does not have it."""
        position = positions[partition]
        await read_commits(self._store, position, 1, no_vectors)
        return position


def _require_same(group: GroupRecord, terms: GroupTerms) -> None:
    """Raise ``GroupMismatch`` naming the terms under which the group was not made."""
    same = {each.name for each in fields(terms)} - {"start"}
    wanted = replace(terms, patterns=tuple(sorted(terms.patterns, key=str)))
    actual = replace(group, patterns=tuple(sorted(group.patterns, key=str)))
    differing = [name for name in sorted(same) if getattr(wanted, name) != getattr(actual, name)]
    if differing:
        raise GroupMismatch(group.name, differing)


def _behind(ends: LogEnds, progress: GroupProgress) -> int:
    return max(0, ends.newest.revision - progress.cursor.revision)
