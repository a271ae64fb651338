"""Consumer groups: what the store does for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_bus.domain.groups import (
    Claim,
    DeadLetter,
    EventId,
    GroupProgress,
    GroupRecord,
    Settlement,
)
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.values import Value


class Span(Value):
    """A run of the log after a group's cursor, and the events in it that the group's filter wants."""

    after: int
    """Revision of the cursor that it follows."""
    upto: Position
    """Where the cursor goes."""
    events: tuple[EventId, ...]
    """In order."""
    owners: tuple[str, ...] = ()
    """Ordered groups: the owner of each event, hexadecimal digits."""
    limit: int = 10_000
    """Events pending in the partition at most."""


class GroupRefused(Exception):
    """A group is not in the state that the call assumed; nothing was changed. Never leaves the application."""


class GroupGone(GroupRefused):
    """The group was removed, or never was."""


class CursorMoved(GroupRefused):
    """Another member has moved the cursor; ``position`` is where it is now."""

    def __init__(self, position: Position) -> None:
        super().__init__(f"the cursor is at revision {position.revision}")
        self.position = position


class PartitionHeld(GroupRefused):
    """Another member holds this partition of the ordered group."""


class GroupFull(GroupRefused):
    """As many events as may be are pending in the partition."""


class LogChanged(GroupRefused):
    """The log does not hold what the caller has read of it: it was lost or restored since."""


class Groups(Protocol):
    """Where consumer groups stand. All state of a group in a partition changes atomically.

    Constraints: a delivery MUST be settled by the member that it was given to, under its number, and by nobody else;
    every event of a span MUST be given out again until it is settled or a dead letter; only the newest dead letters may
    be kept, and dropped ones MUST be counted; in an ordered group no event
    MUST be given out before the one before it of the same owner is settled. Errors are those of ``MemoryLog``.
    """

    async def create(self, group: GroupRecord) -> GroupRecord:
        """Create a group unless there is one of that tenant and name; return the one there is."""
        ...

    async def find(self, tenant: str, name: str) -> GroupRecord | None:
        """Return a group."""
        ...

    async def listed(self) -> list[GroupRecord]:
        """Return the groups of all tenants."""
        ...

    async def remove(self, group: GroupRecord, *, only_expired: bool = False) -> bool:
        """Remove a group, or only if its lifetime is over; tell whether it was there. ``drop`` its state then."""
        ...

    async def join(self, group: GroupRecord, member: str, ttl_ms: int) -> list[str]:
        """Note that a member is there for ``ttl_ms``, and that the group is in use; return all members, sorted.

        Raises ``GroupGone``.
        """
        ...

    async def leave(self, group: GroupRecord, member: str) -> None:
        """Strike a member off."""
        ...

    async def members(self, group: GroupRecord, now_ms: int) -> list[str]:
        """Return the members that are there, sorted."""
        ...

    async def begin(self, group: GroupRecord, start: Position) -> Position:
        """Start in a partition unless the group has; return its cursor."""
        ...

    async def hold(self, group: GroupRecord, partition: int, member: str) -> None:
        """Hold a partition of an ordered group for its lease; raise ``PartitionHeld``.

        Whoever had events of another holder, whose lease must have run out, has them no more.
        """
        ...

    async def take(self, group: GroupRecord, member: str, span: Span) -> dict[int, int]:
        """Give events to a member and move the cursor: (place in the span -> number of the delivery).

        In an ordered group the others wait behind an event of their owner. Raises ``GroupGone``, ``CursorMoved``,
        ``PartitionHeld``, ``GroupFull`` or ``LogChanged``.
        """
        ...

    async def claim(self, group: GroupRecord, partition: int, member: str, limit: int) -> Claim:
        """Give a member events that are due again; those out of attempts become dead letters instead.

        Raises ``GroupGone`` or ``PartitionHeld``.
        """
        ...

    async def settle(
        self, group: GroupRecord, partition: int, member: str, settlements: Sequence[Settlement]
    ) -> list[bool]:
        """Settle deliveries, in order; False where the member has it no more. A retry out of attempts rejects."""
        ...

    async def release(self, group: GroupRecord, partition: int, member: str) -> None:
        """Give back whatever a member has; it is due at once and does not count as an attempt."""
        ...

    async def yield_hold(self, group: GroupRecord, partition: int, member: str) -> bool:
        """Let a partition of an ordered group go, unless the member still has events of it; tell whether."""
        ...

    async def seek(self, group: GroupRecord, position: Position) -> None:
        """Go on from another position: nothing is pending any more, deliveries under way are stale."""
        ...

    async def progress(self, group_id: str, partition: int) -> GroupProgress:
        """Tell where a group stands in a partition; raise ``GroupGone``."""
        ...

    async def begun(self, partition: int) -> list[str]:
        """Return the ids of all groups that have state in a partition, sorted."""
        ...

    async def drop(self, group_id: str, partition: int) -> None:
        """Remove the state of a group from a partition."""
        ...

    async def dead_letters(
        self, group: GroupRecord, partition: int, after: int, limit: int
    ) -> list[DeadLetter]:
        """Return dead letters with a number above ``after``, in order."""
        ...

    async def redrive(self, group: GroupRecord, partition: int, sequences: Sequence[int]) -> int:
        """Give dead letters another run of attempts, outside of any order; return how many there were."""
        ...
