"""What the application needs from outside: the change log, views, embedders, time and ids.

Implementations live in ``adapters``; one contract suite under ``tests/contract`` runs against every adapter of a port.
"""

from __future__ import annotations

from hindsight_bus.domain.expense import ModelUsage
from hindsight_bus.ports.embedding import (
    Embedder,
)
from hindsight_bus.ports.groups import (
    CursorMoved,
    GroupFull,
    GroupGone,
    GroupRefused,
    Groups,
    LogChanged,
    PartitionHeld,
    Span,
)
from hindsight_bus.ports.log import (
    ClockSkewed,
    Commit,
    CommitRefused,
    Committed,
    Conflicted,
    Count,
    CounterFull,
    Delete,
    DueItem,
    Expect,
    HistoryStep,
    Lane,
    LeaseLost,
    LogEnds,
    MemoryLog,
    Put,
    Record,
    Ref,
    Stored,
    TakenItem,
    ref_of,
)
from hindsight_bus.ports.models import (
    JsonObject,
    LanguageModel,
    ModelAnswer,
    ModelLedger,
    ModelRequest,
    ModelStatus,
)
from hindsight_bus.ports.reflecting import (
    Reflector,
)
from hindsight_bus.ports.system import (
    Clock,
    Ids,
)
from hindsight_bus.ports.views import (
    Candidate,
    NamespaceView,
    Row,
    Vectors,
    ViewQuery,
    ViewStats,
)

__all__ = [
    "Candidate",
    "Clock",
    "ClockSkewed",
    "Commit",
    "CommitRefused",
    "Committed",
    "Conflicted",
    "Count",
    "CounterFull",
    "CursorMoved",
    "Delete",
    "DueItem",
    "Embedder",
    "Expect",
    "GroupFull",
    "GroupGone",
    "GroupRefused",
    "Groups",
    "HistoryStep",
    "Ids",
    "JsonObject",
    "Lane",
    "LanguageModel",
    "LeaseLost",
    "LogChanged",
    "LogEnds",
    "MemoryLog",
    "ModelAnswer",
    "ModelLedger",
    "ModelRequest",
    "ModelStatus",
    "ModelUsage",
    "NamespaceView",
    "PartitionHeld",
    "Put",
    "Record",
    "Ref",
    "Reflector",
    "Row",
    "Span",
    "Stored",
    "TakenItem",
    "Vectors",
    "ViewQuery",
    "ViewStats",
    "ref_of",
]
