"""Writing memories: validate -> gate -> settle -> commit -> ack."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_bus.domain.memory import Attachment, Cardinality, Channel, Decision, Memory, MemoryType
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.records import Conflict
from hindsight_bus.ports import Stored, Vectors


@dataclass(frozen=True, slots=True)
class WriteDraft:
    """One write as decoded: well formed, but not yet judged. None = not given."""

    namespace: Namespace
    type: MemoryType
    text: str
    subject: str = ""
    value: str = ""
    cardinality: Cardinality = Cardinality.ONE
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    attributes: bytes = b""
    about: str = ""
    language: str = ""
    attachments: tuple[Attachment, ...] = ()
    vector: Vectors | None = None
    """float32, shape (d,), L2-normalised."""
    confidence: float | None = None
    importance: float | None = None
    explicit: bool = False
    pinned: bool = False
    event_time_ms: int = 0
    expire_time_ms: int = 0
    supersedes: tuple[ResourceName, ...] = ()
    request_id: str = ""
    channel: Channel = Channel.AGENT
    source: str = ""
    payload: str = ""
    """Digest of the whole request; the same request_id with another digest is refused."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutation."""

    decision: Decision
    memory: Memory | None
    conflict: Stored[Conflict] | None
    reason: str
    positions: Positions
