"""Searches, lists and how fresh their answers must be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

from hbus.v1 import memory_pb2, namespace_pb2
from hbus.v1.common_pb2 import Consistency, ConsistencyToken
from hbus.v1.memory_service_pb2 import ScoreParts, SearchHit, SearchMemoriesRequest
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.search import DEFAULT_TOP_K, Hit, SearchRequest
from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.memory import MemoryState, MemoryType
from hindsight_bus.domain.policy import RankingProfile, RankingWeights
from hindsight_bus.domain.position import MAX_TOKENS, Positions
from hindsight_bus.domain.query import LIVE_STATES, Filter, SearchChannel
from hindsight_bus.domain.vectors import Vector, widened
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.memories import fill_memory, vector_of

_MAX_TOP_K = 100
MAX_QUERY_CHARS = 2048
_MAX_TOKENS = 1_000_000
_MAX_FILTER_ENTRIES = 64
_MAX_TOKEN_CHARS = 4096


def decode_search(request: SearchMemoriesRequest, tenant: str) -> SearchRequest:
    """Return a search; raise ``InvalidField`` naming the field at fault."""
    if not (request.namespaces or request.as_agent or request.for_user):
        raise InvalidField("namespaces", "is required unless as_agent or for_user is given")
    if not (request.query.strip() or request.vector or request.HasField("filter")):
        raise InvalidField("query", "is required unless a vector or a filter is given")
    return SearchRequest(
        namespaces=fields.namespaces(request.namespaces, tenant),
        query=_question(request.query),
        top_k=fields.whole(request.top_k, "top_k", 0, _MAX_TOP_K) or DEFAULT_TOP_K,
        vector=_vector(request),
        as_agent=fields.optional_part(request.as_agent, "as_agent"),
        for_user=fields.optional_part(request.for_user, "for_user"),
        filter=decode_filter(request.filter) if request.HasField("filter") else Filter(),
        freshness=decode_freshness(request.consistency, tenant),
        weights=_weights(request),
        query_time_ms=fields.time_ms(request.query_time, "query_time")
        if request.HasField("query_time")
        else 0,
        without=fields.members(request.without, SearchChannel, "without"),
        max_tokens=fields.whole(request.max_tokens, "max_tokens", 0, _MAX_TOKENS),
    )


def _vector(request: SearchMemoriesRequest) -> Vector | None:
    stored = vector_of(request.vector, "vector")
    return None if stored is None else widened(stored)


def _question(text: str) -> str:
    """Return the query; one of white space alone is a question that says nothing, not the lack of one."""
    question = fields.remark(text, "query", MAX_QUERY_CHARS)
    return question.strip() or question[:1]


def _weights(request: SearchMemoriesRequest) -> RankingWeights | None:
    if request.HasField("weights"):
        return decode_weights(request.weights, "weights")
    return fields.member(request.profile, RankingProfile, "profile").weights if request.profile else None


def decode_filter(message: memory_pb2.MemoryFilter) -> Filter:
    """Return conditions on memories."""
    return Filter(
        types=fields.members(message.types, MemoryType, "filter.types"),
        states=fields.members(message.states, MemoryState, "filter.states") or LIVE_STATES,
        tags=filter_lines(message.tags, "filter.tags"),
        any_tags=filter_lines(message.any_tags, "filter.any_tags"),
        subject=fields.line(message.subject, "filter.subject", 128),
        subject_prefix=fields.line(message.subject_prefix, "filter.subject_prefix", 128),
        about=fields.optional_part(message.about, "filter.about"),
        languages=filter_lines(message.languages, "filter.languages"),
        agents=filter_lines(message.agents, "filter.agents"),
        min_confidence=fields.share(message.min_confidence, "filter.min_confidence"),
        min_importance=fields.share(message.min_importance, "filter.min_importance"),
        event_after_ms=_filter_time_ms(message, "event_after"),
        event_before_ms=_filter_time_ms(message, "event_before"),
        create_after_ms=_filter_time_ms(message, "create_after"),
        create_before_ms=_filter_time_ms(message, "create_before"),
        pinned=message.pinned if message.HasField("pinned") else None,
    )


def filter_lines(texts: Sequence[str], field: str) -> frozenset[str]:
    """Return the labels that a filter names."""
    return frozenset(fields.lines(texts, field, _MAX_FILTER_ENTRIES, 64))


def _filter_time_ms(message: memory_pb2.MemoryFilter, name: str) -> int:
    return fields.time_ms(getattr(message, name), f"filter.{name}") if message.HasField(name) else 0


def decode_weights(message: namespace_pb2.RankingWeights, field: str) -> RankingWeights:
    """Return ranking weights; at least one is above 0."""
    weights = RankingWeights(
        fields.share(message.relevance, f"{field}.relevance"),
        fields.share(message.recency, f"{field}.recency"),
        fields.share(message.importance, f"{field}.importance"),
    )
    if weights.relevance + weights.recency + weights.importance == 0.0:
        raise InvalidField(field, "must have at least one weight above 0")
    return weights


def decode_freshness(message: Consistency, tenant: str) -> Freshness:
    """Return how fresh a read must be."""
    requirement = message.WhichOneof("requirement")
    if requirement in ("minimize_latency", "fully_consistent") and not getattr(message, requirement):
        raise InvalidField(f"consistency.{requirement}", "must be true where it is given")
    at_least = Positions()
    if requirement == "at_least":
        at_least = decode_tokens(message.at_least.tokens, tenant, "consistency.at_least.tokens")
    return Freshness(at_least, requirement == "fully_consistent", message.require_vectors)


def decode_tokens(tokens: Sequence[ConsistencyToken], tenant: str, field: str) -> Positions:
    """Return, per partition, the latest position that the tokens hold; at least one token."""
    if not tokens:
        raise InvalidField(field, "must hold at least one token")
    fields.at_most(tokens, field, MAX_TOKENS)
    positions = Positions()
    for i, token in enumerate(tokens):
        text = fields.required_line(token.token, f"{field}[{i}].token", _MAX_TOKEN_CHARS)
        positions = positions.merged(Positions.decode(text, tenant, f"{field}[{i}].token"))
    return positions


def encode_token(positions: Positions, tenant: str) -> ConsistencyToken:
    """Return a token for the wire."""
    return ConsistencyToken(token=positions.encode(tenant))


def fill_hits(encoded: RepeatedCompositeFieldContainer[SearchHit], hits: Iterable[Hit]) -> None:
    """Write hits into a message."""
    for hit in hits:
        found = hit.candidate
        parts = ScoreParts(
            relevance=found.relevance,
            recency=found.recency,
            importance=found.importance,
            dense=found.dense,
            lexical=found.lexical,
            subject=found.subject,
            temporal=found.temporal,
            neighbours=found.neighbours,
        )
        filled = encoded.add(score=found.score, parts=parts)
        fill_memory(filled.memory, hit.memory)
        for rival in hit.rivals:
            fill_memory(filled.rivals.add(), rival)
