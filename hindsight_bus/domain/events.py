"""What happened: the content of the change log."""

from __future__ import annotations

from enum import IntEnum

from hindsight_bus.domain.memory import MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.values import Value


class EventKind(IntEnum):
    """What happened to a memory. Numbers are those of ``hbus.v1``."""

    WRITTEN = 1
    CORROBORATED = 2
    SUPERSEDED = 3
    OVERRIDDEN = 4
    CONTESTED = 5
    SUSPECTED = 6
    RESOLVED = 7
    REINSTATED = 8
    UPDATED = 9
    ARCHIVED = 10
    RESTORED = 11
    FORGOTTEN = 12
    EXPIRED = 13
    QUARANTINED = 14
    RELEASED = 15
    INDEXED = 16
    POLICY = 100
    """Internal, control partition only: a policy changed; ``reason`` is its pattern."""
    USED = 101
    """Internal, for views: how often a memory was used has been recorded. It names no version, for none changed."""
    TASK = 102
    """A task or its reflection changed; ``memory_id`` is the task's. No memory did."""
    SKILL = 103
    """A skill or how it does changed; ``memory_id`` is the skill's. Its memory did not."""


QUIET_KINDS = (EventKind.INDEXED, EventKind.USED, EventKind.TASK, EventKind.SKILL)
"""What nobody hears of without asking: nothing about the memory changed. A tuple: hashing an enum takes longer."""
KINDS_BESIDE = (EventKind.POLICY, EventKind.TASK, EventKind.SKILL)
"""What is no event of a memory at all."""


class Event(Value):
    """One thing that happened to one memory. It names the version record instead of carrying its text."""

    kind: EventKind
    namespace: Namespace
    memory_id: str
    version: int
    """Version that was current after the event."""
    type: MemoryType
    before: MemoryState
    after: MemoryState
    confidence_before: float
    """Effective confidence before."""
    confidence_after: float
    """Effective confidence after."""
    version_before: int = 0
    """Version that was current before the event; 0 for a new memory."""
    create_time_ms: int = 0
    """When the memory was made; 0 = by this very commit."""
    create_revision: int = 0
    """Revision that made the memory; 0 = this very commit."""
    agent: str = ""
    reason: str = ""
    conflict_id: str = ""
    """The memory's conflict after the event (SUSPECTED: the suspicion)."""
    superseded_by: str = ""
    subject_key: str = ""
    agents: tuple[str, ...] = ()
    """Agents that claim it after the event (its writer, where it has no claims)."""
    retrieved: int = 0
    """USED: how often it has been given to an agent by now, so far as was reported."""
    used: int = 0
    """USED: how often an answer has used it by now."""


class Entry(Value):
    """One commit in the log: revision, stamp, the store's time and 1..n events in order."""

    partition: int
    revision: int
    stamp: int
    time_ms: int
    events: tuple[Event, ...]
