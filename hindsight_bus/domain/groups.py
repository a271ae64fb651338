"""Consumer groups: what one is, what may be done with an event it was given, and where it stands.

A group is a reader of the log that several members share: each event goes to one of them, at least once. Its state in
a partition is a cursor (everything up to it was given out, or excluded by the filter), the events pending (given out
and not settled), and the dead letters.
"""

from __future__ import annotations

from enum import IntEnum

from hindsight_bus.domain.events import Entry
from hindsight_bus.domain.names import Pattern
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.domain.values import Storable, Value

DEAD_KEPT = 10_000
"""Dead letters of a group in a partition at most; the oldest go first, and are counted."""


class GroupRecord(Storable):
    """A group as it was created; it never changes."""

    tenant: str
    name: str
    id: str
    """Made anew with each creation, so what a deleted group left behind is never mistaken for its successor's."""
    patterns: tuple[Pattern, ...]
    filter: EventFilter
    ordered: bool
    """The events of one owner come one after the other, the next once the one before is settled."""
    lease_ms: int
    """How long a member may take over an event before it goes to another one."""
    max_attempts: int
    """Deliveries after which an event becomes a dead letter."""
    lifetime_ms: int
    """A group that no member has joined for so long is removed, and holds the log no more."""
    start: tuple[Position, ...]
    """Where it began, by partition; these are the partitions that its patterns can match."""
    agent: str = ""
    """Who created it."""
    create_time_ms: int = 0

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions that hold state of the group."""
        return tuple(position.partition for position in self.start)


class Action(IntEnum):
    """What a member does with an event that it holds."""

    ACK = 1
    RETRY = 2
    EXTEND = 3
    REJECT = 4


class EventId(Value):
    """An event of a partition: revision of its commit and place within it."""

    revision: int
    index: int


class Settlement(Value):
    """What is to be done with one delivery."""

    event: EventId
    delivery: int
    """Number of the delivery; it grows with each one in the partition, so it fences older ones."""
    action: Action = Action.ACK
    delay_ms: int = 0
    """RETRY: until it comes again. EXTEND: new length of the lease from now."""
    reason: str = ""
    """RETRY, REJECT: why, kept with the dead letter."""


class Redelivery(Value):
    """An event that is given out again, with its whole log entry."""

    event: EventId
    delivery: int
    attempt: int
    """How often it has been given out by now, from 1."""
    entry: Entry


class Claim(Value):
    """What was due again in a partition."""

    redeliveries: list[Redelivery]
    due_ms: int
    """When (store time) the next pending event will be due; -1 when nothing is pending."""
    cursor: Position
    """Where the group is; not where it was last when it was sent elsewhere."""


class GroupProgress(Value):
    """Where a group stands in one partition."""

    cursor: Position
    pending: int
    """Events given out, delayed or waiting behind another one of their owner."""
    dead: int
    """Dead letters."""
    lost: int
    """Events that were pending when the log lost them."""
    lowest_revision: int
    """Lowest revision that is still needed; that after the cursor when nothing is pending."""
    oldest_time_ms: int
    """When the entry at the lowest needed revision was committed; 0 when there is none."""
    holder: str = ""
    """Member that holds the partition of an ordered group."""
    dropped: int = 0
    """Dead letters that were dropped because there were too many."""


class DeadLetter(Value):
    """An event that no member could settle."""

    sequence: int
    """Number of the dead letter in its partition, from 1."""
    event: EventId
    attempts: int
    reason: str
    time_ms: int
    """When it was given up."""
    entry: Entry
    """The log entry; kept here, for the log may be trimmed."""
