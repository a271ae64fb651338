"""Searching: one question over shared and private namespaces, answered from views and read back from the store."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.views import LoadedView, Views
from hindsight_bus.domain import temporal
from hindsight_bus.domain.errors import EmbedderUnavailable, InvalidField, ProfileMismatch
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import Head, Memory, MemoryState, Vector
from hindsight_bus.domain.names import Namespace, owner_id, partition_of
from hindsight_bus.domain.policy import RankingWeights
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.profiles import external_dimension
from hindsight_bus.domain.query import Filter, SearchChannel
from hindsight_bus.domain.records import NamespaceRecord
from hindsight_bus.domain.tokens import estimated_tokens
from hindsight_bus.domain.values import Value, field, replace
from hindsight_bus.ports import Candidate, Embedder, Row, Stored, Vectors, ViewQuery

T = TypeVar("T")

DEFAULT_TOP_K = 5
MAX_NAMESPACES = 32
MAX_PINNED = 20
"""Pinned memories that come with an answer at most."""
_OVERFETCH = 4
"""Extra candidates a view is asked for, so that a hit that has just left can be made good."""


class SearchRequest(Value):
    """One question. Empty ``query`` and no ``vector``: by filter alone."""

    namespaces: tuple[Namespace, ...]
    query: str
    top_k: int
    vector: Vectors | None
    as_agent: str
    for_user: str
    filter: Filter
    freshness: Freshness
    weights: RankingWeights | None
    query_time_ms: int = 0
    """When the query is asked, for the dates that it names; 0 = now."""
    without: frozenset[SearchChannel] = frozenset()
    max_tokens: int = 0
    """Tokens that the texts may take together; 0 = no limit."""

    @property
    def sets_pinned_apart(self) -> bool:
        """Tell whether pinned memories are a part of their own: where there is a question, and no filter on them."""
        return bool(self.query or self.vector is not None) and self.filter.pinned is None


class Hit(Value):
    """One memory found, with the other sides of its open conflict."""

    memory: Memory
    candidate: Candidate
    rivals: tuple[Memory, ...] = ()


class SearchAnswer(Value):
    """Hits, best first, and the state of the store that they reflect."""

    hits: list[Hit]
    positions: Positions
    dense_skipped: bool = False
    pinned: list[Hit] = field(default_factory=list)
    """Pinned memories, whatever was asked; they are not among the hits."""


class _Asked(Value):
    """A request as all views are asked it."""

    request: SearchRequest
    vector: Vectors | None
    language: str
    among: int
    is_foreign: bool


class _Found(Value):
    view: LoadedView
    shared: bool
    candidate: Candidate

    @property
    def is_pinned(self) -> bool:
        """Tell whether it is pinned, as far as the view knows."""
        row = self.candidate.row
        return row is not None and row.version.pinned


class Searcher:
    """Answers searches."""

    def __init__(
        self,
        reader: RecordReader,
        views: Views,
        policies: PolicyBook,
        embedder: Embedder,
        served: ServedNotes,
    ) -> None:
        self._reader = reader
        self._views = views
        self._policies = policies
        self._embedder = embedder
        self._served = served

    async def search(self, caller: Caller, request: SearchRequest) -> SearchAnswer:
        """Return the best memories over all namespaces asked for, each subject shown once, shared ones first."""
        namespaces = await self._namespaces(caller.tenant, request)
        views = [v for v in await _all(map(self._views.open, namespaces)) if v is not None]
        for view in views:
            await self._views.wait_until(view, request.freshness)
        vector, dense_skipped = await self._query_vector(views, request)
        positions = Positions(self._views.position(view) for view in views)
        language = detect(request.query)
        is_foreign = bool(request.query) and not any(view.view.speaks(language) for view in views)
        among = sum(len(view.view) for view in views)
        asked = _Asked(request, vector, language, among, is_foreign)
        found = await _all(self._in_view(view, asked) for view in views)
        apart, rest = _split([each for several in found for each in several], request)
        parts = [(_merge(rest, request.top_k + _OVERFETCH), request.top_k)]
        if apart:
            parts.append((_merge(apart, MAX_PINNED), MAX_PINNED))
        hits, *others = await _all(self._read_back(best, request, most) for best, most in parts)
        pinned = others[0] if others else []
        pinned, hits = _within_budget(pinned, hits, request.max_tokens)
        self._served.note(caller.agent, [hit.memory for hit in (*pinned, *hits)])
        return SearchAnswer(hits, positions, dense_skipped, pinned)

    # -- where to look

    async def _namespaces(self, tenant: str, request: SearchRequest) -> list[Namespace]:
        named = list(request.namespaces)
        for scope, owner in (("user", request.for_user), ("agent", request.as_agent)):
            if owner:
                named += await self._of_owner(tenant, scope, owner)
        unique = list(dict.fromkeys(named))
        if len(unique) > MAX_NAMESPACES:
            raise InvalidField("namespaces", f"{len(unique)} namespaces, at most {MAX_NAMESPACES}")
        return unique

    async def _of_owner(self, tenant: str, scope: str, owner: str) -> list[Namespace]:
        owned = owner_id(tenant, scope, owner)
        partition = partition_of(owned, self._reader.store.partitions)
        ids = await self._reader.store.owner_namespaces(partition, owned)
        stored = await self._reader.many(
            partition, NamespaceRecord, [(namespace_id,) for namespace_id in ids]
        )
        return [s.record.namespace for s in stored if s is not None]

    # -- what to look for

    async def _query_vector(
        self, views: Sequence[LoadedView], request: SearchRequest
    ) -> tuple[Vectors | None, bool]:
        if request.vector is not None:
            for view in views:
                _check_dimension(view, len(request.vector))
            return request.vector, False
        if not request.query.strip() or not views:
            return None, False
        own = [view for view in views if not external_dimension(view.record.profile)]
        for view in own:
            if view.record.profile != self._embedder.profile:
                raise ProfileMismatch(str(view.record.namespace), view.record.profile, self._embedder.profile)
        if not own:
            return None, True
        try:
            return await self._embedder.embed_query(request.query), False
        except EmbedderUnavailable:
            return None, True

    async def _in_view(self, view: LoadedView, asked: _Asked) -> list[_Found]:
        request, vector = asked.request, asked.vector
        namespace = view.record.namespace
        policy = self._policies.in_force(namespace)
        fits = vector is not None and view.dimension in (0, len(vector))
        now_ms = self._reader.store.now_ms()
        query = ViewQuery(
            text=request.query,
            vector=vector if fits else None,
            filter=request.filter,
            top_k=request.top_k + _OVERFETCH,
            now_ms=now_ms,
            weights=(request.weights or policy.ranking_weights).normalised(),
            recency_half_life_days=policy.recency_half_life_days,
            recency_shape=policy.recency_shape,
            spans=temporal.spans(request.query, request.query_time_ms or now_ms),
            edge=temporal.edge(request.query),
            without=request.without,
            language=asked.language,
            among=asked.among,
            is_foreign=asked.is_foreign,
            pinned_apart=MAX_PINNED if request.sets_pinned_apart else 0,
        )
        candidates = await self._views.search(view, query)
        return [_Found(view, namespace.is_shared, candidate) for candidate in candidates]

    # -- what to show

    async def _read_back(self, best: Sequence[_Found], request: SearchRequest, most: int) -> list[Hit]:
        stored = await self._memories(best)
        hits = [
            Hit(memory.memory, found.candidate)
            for found, memory in zip(best, stored, strict=True)
            if memory is not None and self._still_matches(request.filter, memory)
        ][:most]
        return await self._with_rivals(hits)

    async def _memories(self, wanted: Sequence[_Found]) -> list[StoredMemory | None]:
        """Read heads, one round trip a partition; and versions only where the view had another one."""
        groups: dict[tuple[int, str], list[Candidate]] = {}
        for found in wanted:
            groups.setdefault((found.view.partition, found.view.record.profile), []).append(found.candidate)
        whole: dict[str, StoredMemory] = {}
        for (partition, profile), candidates in groups.items():
            heads = await self._reader.many(partition, Head, [(c.memory_id,) for c in candidates])
            for candidate, head in zip(candidates, heads, strict=True):
                if head is not None and (memory := _as_known(candidate.row, head, profile)):
                    whole[candidate.memory_id] = memory
            others = [c.memory_id for c in candidates if c.memory_id not in whole]
            memories = await self._reader.memories(partition, others, profile)
            whole.update((m.head.record.memory_id, m) for m in memories if m is not None)
        return [whole.get(found.candidate.memory_id) for found in wanted]

    def _still_matches(self, filter: Filter, stored: StoredMemory) -> bool:
        head = stored.head.record
        return filter.matches(
            stored.version,
            head.state,
            head.effective_confidence,
            head.agents,
            stored.head.create_time_ms,
            self._reader.store.now_ms(),
        )

    async def _with_rivals(self, hits: Sequence[Hit]) -> list[Hit]:
        contested = [hit for hit in hits if hit.memory.head.state is MemoryState.CONTESTED]
        if not contested:
            return list(hits)
        rivals = await asyncio.gather(*(self._rivals(hit.memory) for hit in contested))
        by_name = {hit.memory.name: found for hit, found in zip(contested, rivals, strict=True)}
        return [replace(hit, rivals=by_name.get(hit.memory.name, ())) for hit in hits]

    async def _rivals(self, memory: Memory) -> tuple[Memory, ...]:
        namespace, head = memory.namespace, memory.head
        conflict = await self._reader.conflict(namespace, head.conflict_id)
        record = await self._reader.namespace(namespace)
        if conflict is None or record is None:
            return ()
        others = [s.memory_id for s in conflict.record.sides if s.memory_id != head.memory_id]
        partition = self._reader.partition(namespace)
        stored = await self._reader.memories(partition, others, record.record.profile)
        return tuple(m.memory for m in stored if m is not None)


async def _all(several: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return what coroutines return, run side by side; of one, which is the rule, without a task."""
    waiting = list(several)
    return [await waiting[0]] if len(waiting) == 1 else await asyncio.gather(*waiting)


def _as_known(row: Row | None, head: Stored[Head], profile: str) -> StoredMemory | None:
    """Return a memory from its head and what a view knows of the same version, which never changes."""
    if row is None or row.version.number != head.record.version:
        return None
    if row.vector is None:
        return StoredMemory(head, row.version, None)
    vector = Vector(row.memory_id, row.version.number, profile, row.vector, row.pieces)
    return StoredMemory(head, row.version, vector)


def _check_dimension(view: LoadedView, dimension: int) -> None:
    if view.dimension not in (0, dimension):
        record = view.record
        problem = f"has {dimension} dimensions, {record.namespace} ({record.profile}) has {view.dimension}"
        raise InvalidField("vector", problem)


def _split(found: Sequence[_Found], request: SearchRequest) -> tuple[list[_Found], list[_Found]]:
    """Return the pinned memories that are a part of their own, and the rest."""
    apart = [each for each in found if request.sets_pinned_apart and each.is_pinned]
    rest = [each for each in found if not (request.sets_pinned_apart and each.is_pinned)]
    return apart, rest


def _within_budget(
    pinned: Sequence[Hit], hits: Sequence[Hit], max_tokens: int
) -> tuple[list[Hit], list[Hit]]:
    """Leave out what does not fit, pinned memories having the first claim; 0 = everything fits."""
    left = max_tokens or math.inf
    kept: tuple[list[Hit], list[Hit]] = ([], [])
    for part, several in zip(kept, (pinned, hits), strict=True):
        for hit in several:
            tokens = estimated_tokens(hit.memory.version.text) if max_tokens else 0
            if tokens <= left:
                left -= tokens
                part.append(hit)
    return kept


def _merge(found: Iterable[_Found], limit: int) -> list[_Found]:
    """Return the best over all views; a subject in shared and private namespaces is shown once, the shared one."""
    found = list(found)
    shared_subjects = {f.candidate.subject_key for f in found if f.shared and f.candidate.subject_key}
    kept = [f for f in found if f.shared or f.candidate.subject_key not in shared_subjects]
    kept.sort(key=lambda f: (-f.candidate.score, not f.shared, f.candidate.create_revision))
    return kept[:limit]
