"""Views: what is searched in memory, and what a search is answered with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain import temporal
from hindsight_bus.domain.memory import MemoryState, Version
from hindsight_bus.domain.policy import RankingWeights, RecencyShape
from hindsight_bus.domain.query import Filter, SearchChannel
from hindsight_bus.domain.values import Value

Vectors = NDArray[np.float32]


class Row(Value):
    """What a view knows of one memory: enough to filter, score and match it."""

    memory_id: str
    create_revision: int
    create_time_ms: int
    revision: int
    """Revision of the last change that the row reflects (``indexed`` not counted)."""
    state: MemoryState
    effective_confidence: float
    version: Version
    """Current version."""
    agents: tuple[str, ...] = ()
    """Agents that claim it, or that wrote it where it has no claims."""
    vector: bytes | None = None
    """float16, shape (d,), of the current version; None = pending."""
    retrieved: int = 0
    """How often it was given to an agent, as reported."""
    used: int = 0
    """How often an answer used it, as reported."""
    superseded_by: str = ""
    """Id of the memory that replaced it."""
    pieces: bytes = b""
    """float16, shape (n, d), of the pieces of a long text; it is as near to a query as the nearest of them."""


class ViewQuery(Value):
    """One search against one view."""

    text: str
    vector: Vectors | None
    """float32, shape (d,), L2-normalised."""
    filter: Filter
    top_k: int
    now_ms: int
    weights: RankingWeights
    recency_half_life_days: float
    recency_shape: RecencyShape = RecencyShape.EXPONENTIAL
    spans: tuple[temporal.Span, ...] = ()
    """Event times that the query names."""
    edge: temporal.Edge | None = None
    """The query asks for the first or the last conversation."""
    without: frozenset[SearchChannel] = frozenset()
    """Channels that must not find or score anything."""
    language: str = "und"
    """Language of the text; see ``domain.language.detect``."""
    among: int = 0
    """How many memories are asked at once, over all namespaces."""
    is_foreign: bool = False
    """No memory of any of them is in the query's language, so that cosines are of another scale."""
    pinned_apart: int = 0
    """How many pinned memories that match to add behind the hits, whatever the query; 0 = they are hits like others."""


class Candidate(Value):
    """One memory found by a view, scored."""

    memory_id: str
    create_revision: int
    score: float
    relevance: float
    recency: float
    importance: float
    dense: float | None
    lexical: float | None
    subject: float | None
    subject_key: str
    """Subject of the memory, for showing one subject once over shared and private namespaces; may be empty."""
    contested: bool
    temporal: float | None = None
    """0 to 1: how well its event time fits what the query names; None where it does not."""
    neighbours: float | None = None
    """How much its neighbours in a conversation add to its strength; None where they add nothing."""
    row: Row | None = None
    """What the view knows of the memory, so that it need not be read again; None: nothing to rely on."""


class ViewStats(Value):
    """Counts over a view's rows."""

    by_state: Mapping[str, int]
    by_type: Mapping[str, int]
    """Live ones only."""
    pending_vectors: int
    """Live ones only."""


class NamespaceView(Protocol):
    """An in-memory index over one namespace. Not thread-safe: one thread at a time calls it.

    Constraints: ``upsert`` MUST leave the view equal to one that is built afresh from the same rows, whatever the
    order; MUST NOT keep anything that only it knows.
    """

    @property
    def size_bytes(self) -> int:
        """Estimated memory held."""
        ...

    @property
    def dimension(self) -> int:
        """Dimension of the vectors held; 0 before the first one."""
        ...

    def __len__(self) -> int: ...

    def get(self, memory_id: str) -> Row | None:
        """Return the row of a memory."""
        ...

    def upsert(self, rows: Iterable[Row]) -> None:
        """Insert or replace rows by memory id."""
        ...

    def remove(self, memory_ids: Iterable[str]) -> None:
        """Drop rows; unknown ids are ignored."""
        ...

    def search(self, queries: Sequence[ViewQuery]) -> list[list[Candidate]]:
        """Answer queries, best first, each at most its ``top_k``, and behind those its pinned memories."""
        ...

    def nearest(self, vector: Vectors, k: int, filter: Filter) -> list[tuple[str, float]]:
        """Return the ``k`` memories that match whose whole texts are nearest (id, cosine), nearest first."""
        ...

    def matching(self, filter: Filter, limit: int) -> list[Row]:
        """Return at most ``limit`` rows that match, newest first."""
        ...

    def speaks(self, language: str) -> bool:
        """Tell whether any memory is in a language; may be called from any thread."""
        ...

    def subjects(self) -> Mapping[str, str]:
        """Return known surface forms (subjects' last parts and aliases, folded) -> subject, of live memories."""
        ...

    def has_pending_vectors(self, revision: int) -> bool:
        """Tell whether a live memory made at or before ``revision`` has no vector yet."""
        ...

    def stats(self) -> ViewStats:
        """Count rows."""
        ...

    def digest(self) -> str:
        """Return a hash over ids, columns, vectors and terms; equal views have equal digests."""
        ...
