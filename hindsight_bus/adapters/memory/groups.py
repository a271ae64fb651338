"""``Groups`` in plain dictionaries, on a log in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hindsight_bus.domain.events import Entry
from hindsight_bus.domain.groups import (
    DEAD_KEPT,
    Action,
    Claim,
    DeadLetter,
    EventId,
    GroupProgress,
    GroupRecord,
    Redelivery,
    Settlement,
)
from hindsight_bus.domain.position import Position
from hindsight_bus.ports import (
    CursorMoved,
    GroupFull,
    GroupGone,
    LogChanged,
    MemoryLog,
    PartitionHeld,
    Span,
)

NO_ANSWER = "no answer before the lease ran out"


@dataclass(slots=True)
class _Item:
    ready_ms: int
    owner: str = ""
    delivery: int = 0
    attempts: int = 0
    member: str = ""
    reason: str = ""
    entry: Entry | None = None


@dataclass(slots=True)
class _State:
    cursor: Position
    items: dict[EventId, _Item] = field(default_factory=dict)
    waiting: dict[str, list[EventId]] = field(default_factory=dict)
    """Owner that has an item -> events that wait behind it."""
    dead: dict[int, DeadLetter] = field(default_factory=dict)
    holder: str = ""
    held_until_ms: int = 0
    deliveries: int = 0
    buried: int = 0
    lost: int = 0
    dropped: int = 0


@dataclass(slots=True)
class _Group:
    record: GroupRecord
    expire_ms: int
    members: dict[str, int] = field(default_factory=dict)


class FakeGroups:
    """Groups in memory. ``time_ms`` is the store's time."""

    def __init__(self, log: MemoryLog, time_ms: Callable[[], int], dead_kept: int = DEAD_KEPT) -> None:
        self._log = log
        self._dead_kept = dead_kept
        self._time_ms = time_ms
        self._groups: dict[tuple[str, str], _Group] = {}
        self._states: dict[tuple[str, int], _State] = {}

    async def create(self, group: GroupRecord) -> GroupRecord:
        """Create a group."""
        made = _Group(group, self._time_ms() + group.lifetime_ms)
        return self._groups.setdefault((group.tenant, group.name), made).record

    async def find(self, tenant: str, name: str) -> GroupRecord | None:
        """Return a group."""
        found = self._groups.get((tenant, name))
        return found.record if found else None

    async def listed(self) -> list[GroupRecord]:
        """Return every group."""
        return [group.record for group in self._groups.values()]

    async def remove(self, group: GroupRecord, *, only_expired: bool = False) -> bool:
        """Remove a group."""
        found = self._groups.get((group.tenant, group.name))
        if found is None or found.record.id != group.id:
            return False
        if only_expired and found.expire_ms > self._time_ms():
            return False
        del self._groups[group.tenant, group.name]
        return True

    async def join(self, group: GroupRecord, member: str, ttl_ms: int) -> list[str]:
        """Note a member."""
        found = self._groups.get((group.tenant, group.name))
        if found is None or found.record.id != group.id:
            raise GroupGone
        found.expire_ms = self._time_ms() + group.lifetime_ms
        found.members[member] = self._time_ms() + ttl_ms
        return await self.members(group, self._time_ms())

    async def leave(self, group: GroupRecord, member: str) -> None:
        """Strike a member off."""
        if found := self._groups.get((group.tenant, group.name)):
            found.members.pop(member, None)

    async def members(self, group: GroupRecord, now_ms: int) -> list[str]:
        """Return the members."""
        found = self._groups.get((group.tenant, group.name))
        return sorted(name for name, until in found.members.items() if until > now_ms) if found else []

    async def begin(self, group: GroupRecord, start: Position) -> Position:
        """Start in a partition."""
        return self._states.setdefault((group.id, start.partition), _State(start)).cursor

    async def hold(self, group: GroupRecord, partition: int, member: str) -> None:
        """Hold a partition."""
        state, now_ms = self._state(group.id, partition), self._time_ms()
        if state.holder not in ("", member):
            if state.held_until_ms > now_ms:
                raise PartitionHeld
            _free(state, "", now_ms, uncounted=0)
        state.holder, state.held_until_ms = member, now_ms + group.lease_ms

    async def take(self, group: GroupRecord, member: str, span: Span) -> dict[int, int]:
        """Take events."""
        state = self._state(group.id, span.upto.partition)
        await self._check(state, member, span)
        state.cursor = span.upto
        given = {}
        for place, event in enumerate(span.events):
            owner = span.owners[place] if span.owners else ""
            if owner in state.waiting:
                state.waiting[owner].append(event)
                continue
            if owner:
                state.waiting[owner] = []
            state.deliveries += 1
            given[place] = state.deliveries
            ready_ms = self._time_ms() + group.lease_ms
            state.items[event] = _Item(ready_ms, owner, state.deliveries, 1, member)
        return given

    async def _check(self, state: _State, member: str, span: Span) -> None:
        if span.owners and state.holder != member:
            raise PartitionHeld
        if state.cursor.revision != span.after:
            raise CursorMoved(state.cursor)
        newest = await self._log.entries(span.upto.partition, span.upto.revision - 1, 1)
        if not newest or (newest[0].revision, newest[0].stamp) != (span.upto.revision, span.upto.stamp):
            raise LogChanged
        if span.events and _pending(state) + len(span.events) > span.limit:
            raise GroupFull

    async def claim(self, group: GroupRecord, partition: int, member: str, limit: int) -> Claim:
        """Take what is due again."""
        state, now_ms = self._state(group.id, partition), self._time_ms()
        if group.ordered and state.holder != member:
            raise PartitionHeld
        due = sorted(
            (item.ready_ms, f"{event.revision}-{event.index}", event)
            for event, item in state.items.items()
            if item.ready_ms <= now_ms
        )
        found = []
        for _, _, event in due[:limit]:
            item = state.items[event]
            entry = await self._entry(partition, event, item)
            if entry is None:
                state.lost += 1
                self._remove(state, event)
            elif item.attempts >= group.max_attempts:
                self._bury(state, event, item.reason or NO_ANSWER, entry)
            else:
                state.deliveries += 1
                item.delivery, item.member = state.deliveries, member
                item.attempts += 1
                item.ready_ms = now_ms + group.lease_ms
                found.append(Redelivery(event, item.delivery, item.attempts, entry))
        due_ms = min((item.ready_ms for item in state.items.values()), default=-1)
        return Claim(found, due_ms, state.cursor)

    async def settle(
        self, group: GroupRecord, partition: int, member: str, settlements: Sequence[Settlement]
    ) -> list[bool]:
        """Settle deliveries."""
        state = self._state(group.id, partition) if settlements else None
        if state is None:
            return []
        return [await self._settle(group, partition, state, member, each) for each in settlements]

    async def _settle(
        self, group: GroupRecord, partition: int, state: _State, member: str, wanted: Settlement
    ) -> bool:
        item = state.items.get(wanted.event)
        if item is None or item.delivery != wanted.delivery or item.member != member:
            return False
        match wanted.action:
            case Action.ACK:
                self._remove(state, wanted.event)
            case Action.EXTEND:
                item.ready_ms = self._time_ms() + wanted.delay_ms
            case Action.RETRY if item.attempts < group.max_attempts:
                item.member, item.reason = "", wanted.reason
                item.ready_ms = self._time_ms() + wanted.delay_ms
            case _:
                entry = await self._entry(partition, wanted.event, item)
                self._bury(state, wanted.event, wanted.reason, entry)
        return True

    async def release(self, group: GroupRecord, partition: int, member: str) -> None:
        """Give back what a member has."""
        state = self._state(group.id, partition)
        _free(state, member, self._time_ms(), uncounted=1)
        if state.holder == member:
            state.holder = ""

    async def yield_hold(self, group: GroupRecord, partition: int, member: str) -> bool:
        """Let a partition go."""
        state = self._state(group.id, partition)
        if any(item.member == member for item in state.items.values()):
            return False
        if state.holder == member:
            state.holder = ""
        return True

    async def seek(self, group: GroupRecord, position: Position) -> None:
        """Go on from another position."""
        state = self._state(group.id, position.partition)
        state.items.clear()
        state.waiting.clear()
        state.cursor = position

    async def progress(self, group_id: str, partition: int) -> GroupProgress:
        """Tell where a group stands."""
        state = self._state(group_id, partition)
        kept = [event.revision for event, item in state.items.items() if item.entry is None]
        lowest = min([*kept, state.cursor.revision + 1])
        oldest = await self._log.entries(partition, lowest - 1, 1)
        is_held = state.held_until_ms > self._time_ms()
        return GroupProgress(
            state.cursor,
            _pending(state),
            len(state.dead),
            state.lost,
            lowest,
            oldest[0].time_ms if oldest else 0,
            state.holder if is_held else "",
            state.dropped,
        )

    async def begun(self, partition: int) -> list[str]:
        """Return the ids of the groups in a partition."""
        return sorted(group_id for group_id, place in self._states if place == partition)

    async def drop(self, group_id: str, partition: int) -> None:
        """Remove the state of a group."""
        self._states.pop((group_id, partition), None)

    async def dead_letters(
        self, group: GroupRecord, partition: int, after: int, limit: int
    ) -> list[DeadLetter]:
        """Return dead letters."""
        dead = self._states[group.id, partition].dead if (group.id, partition) in self._states else {}
        return [letter for sequence, letter in dead.items() if sequence > after][:limit]

    async def redrive(self, group: GroupRecord, partition: int, sequences: Sequence[int]) -> int:
        """Redrive dead letters."""
        state = self._state(group.id, partition)
        letters = [state.dead.pop(sequence) for sequence in sequences if sequence in state.dead]
        for letter in letters:
            again = _Item(self._time_ms(), reason=letter.reason, entry=letter.entry)
            state.items.setdefault(letter.event, again)
        return len(letters)

    def _state(self, group_id: str, partition: int) -> _State:
        try:
            return self._states[group_id, partition]
        except KeyError:
            raise GroupGone from None

    async def _entry(self, partition: int, event: EventId, item: _Item) -> Entry | None:
        if item.entry is not None:
            return item.entry
        found = await self._log.entries(partition, event.revision - 1, 1)
        return found[0] if found and found[0].revision == event.revision else None

    def _bury(self, state: _State, event: EventId, reason: str, entry: Entry | None) -> None:
        if entry is None:
            state.lost += 1
        else:
            state.buried += 1
            attempts = state.items[event].attempts
            letter = DeadLetter(state.buried, event, attempts, reason, self._time_ms(), entry)
            state.dead[state.buried] = letter
            if len(state.dead) > self._dead_kept:
                del state.dead[next(iter(state.dead))]
                state.dropped += 1
        self._remove(state, event)

    def _remove(self, state: _State, event: EventId) -> None:
        owner = state.items.pop(event).owner
        if owner and state.waiting[owner]:
            state.items[state.waiting[owner].pop(0)] = _Item(self._time_ms(), owner)
        elif owner:
            del state.waiting[owner]


def _pending(state: _State) -> int:
    return len(state.items) + sum(map(len, state.waiting.values()))


def _free(state: _State, member: str, now_ms: int, *, uncounted: int) -> None:
    """Make ready what a member (empty = any) has been given."""
    for item in state.items.values():
        if item.member and (not member or item.member == member):
            item.member, item.ready_ms = "", now_ms
            item.attempts -= uncounted
