"""The arguments that calls share, with the types that they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict

from hbus.v1.event_pb2 import EventKind
from hbus.v1.memory_pb2 import Attachment, Cardinality, Channel, MemoryState, MemoryType
from hbus.v1.namespace_pb2 import AutoReflection, ConflictPolicy, RankingWeights
from hbus.values import (
    AutoReflectionName,
    CardinalityName,
    ChannelName,
    ConflictPolicyName,
    KindName,
    MemoryRef,
    StateName,
    Token,
    TypeName,
)


class MemoryFields(TypedDict, total=False):
    """What a writer may say about a memory beside its text; ``memory.proto`` gives limits and defaults."""

    type: TypeName | MemoryType
    subject: str
    value: str
    cardinality: CardinalityName | Cardinality
    aliases: Iterable[str]
    tags: Iterable[str]
    attributes: Mapping[str, Any] | None
    about: str
    language: str
    attachments: Iterable[Attachment | str]
    vector: Iterable[float]
    confidence: float | None
    importance: float | None
    explicit: bool
    pinned: bool
    event_time: datetime | None
    expire_time: datetime | None
    conversation: str
    task: str


class WriteFields(MemoryFields, total=False):
    """What a writer may say about a write beside namespace and text."""

    supersedes: Iterable[MemoryRef]
    channel: ChannelName | Channel
    source: str
    request_id: str


class MemoryChanges(MemoryFields, total=False):
    """Fields of a memory to change; None or an empty value clears."""

    text: str


class FilterFields(TypedDict, total=False):
    """Conditions on memories; all given ones must hold."""

    types: Iterable[TypeName | MemoryType]
    states: Iterable[StateName | MemoryState]
    tags: Iterable[str]
    any_tags: Iterable[str]
    subject: str
    subject_prefix: str
    about: str
    languages: Iterable[str]
    agents: Iterable[str]
    min_confidence: float
    min_importance: float
    event_after: datetime
    event_before: datetime
    create_after: datetime
    create_before: datetime
    pinned: bool


class ReadFields(TypedDict, total=False):
    """How fresh a read must be; default: what the server has now."""

    after: Token | Iterable[Token]
    """See everything that these tokens have seen."""
    fully_consistent: bool
    """See everything committed before this call."""
    require_vectors: bool
    """Wait until memories are found by meaning too."""


class EventFields(TypedDict, total=False):
    """Conditions on events; all given ones must hold."""

    types: Iterable[TypeName | MemoryType]
    tags: Iterable[str]
    min_confidence: float | None
    kinds: Iterable[KindName | EventKind]
    subject_prefix: str
    not_my_own: bool
    meaning: str | Iterable[float] | None
    """What the memory must be about, in any words, or a vector for it. The events are of kind INDEXED then: they come
    when the memory's vector has arrived."""
    threshold: float | None
    """Cosine from which a memory is about it, above 0 to 1; None = what fits the server's embedding profile."""


class PolicyFields(TypedDict, total=False):
    """Fields of a policy to set; None removes one, so that the next less specific policy decides."""

    embedding_profile: str | None
    conflict_policy: ConflictPolicyName | ConflictPolicy | None
    conflict_margin: float | None
    belief_half_life_days: float | None
    max_text_chars: int | None
    daily_quota: int | None
    ranking_weights: RankingWeights | Mapping[str, float] | None
    recency_half_life_days: float | None
    purge_after_days: float | None
    auto_reflection: AutoReflectionName | AutoReflection | None
    task_retention_days: float | None
    consolidate_from: int | None
