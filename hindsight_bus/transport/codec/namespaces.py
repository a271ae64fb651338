"""Namespaces and policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hbus.v1 import namespace_pb2 as pb
from hbus.v1.namespace_service_pb2 import UpdatePolicyRequest
from hindsight_bus.app.namespaces import Stats, policy_etag
from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.policy import (
    AutoReflection,
    ConflictPolicy,
    Policy,
    PolicyRecord,
    RankingWeights,
    RecencyShape,
)
from hindsight_bus.domain.profiles import is_profile
from hindsight_bus.domain.records import NamespaceRecord
from hindsight_bus.ports import Stored
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.memories import timestamp
from hindsight_bus.transport.codec.queries import decode_weights
from hindsight_bus.transport.codec.tasks import encode_usage

_MAX_DAYS = 36_500.0
_ENUMS = frozenset({"conflict_policy", "recency_shape", "auto_reflection"})


def decode_policy_changes(request: UpdatePolicyRequest) -> dict[str, object | None]:
    """Return the fields that the mask names with their new values; None removes one from the stored policy."""
    policy = request.policy
    paths = fields.mask_paths(request.update_mask, _SETTABLE)
    return {path: _SETTABLE[path](policy) if _is_set(policy, path) else None for path in paths}


def _is_set(policy: pb.Policy, path: str) -> bool:
    return bool(getattr(policy, path)) if path in _ENUMS else policy.HasField(path)


def _profile(policy: pb.Policy) -> str:
    if not is_profile(policy.embedding_profile):
        raise InvalidField(
            "policy.embedding_profile", "must be e5, use, openai:<model> or external(<dimension>)"
        )
    return policy.embedding_profile


def _days(value: float, field: str) -> float:
    if not 0.0 < value <= _MAX_DAYS:
        raise InvalidField(field, f"must be above 0, at most {_MAX_DAYS:.0f}")
    return value


def _purge_after(policy: pb.Policy) -> float:
    if not 0.0 <= policy.purge_after_days <= 3650.0:
        raise InvalidField("policy.purge_after_days", "must be 0 to 3650")
    return policy.purge_after_days


def _task_retention(policy: pb.Policy) -> float:
    if not 0.0 <= policy.task_retention_days <= 3650.0:
        raise InvalidField("policy.task_retention_days", "must be 0 to 3650")
    return policy.task_retention_days


def _consolidate_from(policy: pb.Policy) -> int:
    if policy.consolidate_from != 0 and not 3 <= policy.consolidate_from <= 64:
        raise InvalidField("policy.consolidate_from", "must be 0, or 3 to 64")
    return policy.consolidate_from


_SETTABLE: Mapping[str, Callable[[pb.Policy], object]] = {
    "embedding_profile": _profile,
    "conflict_policy": lambda p: fields.member(p.conflict_policy, ConflictPolicy, "policy.conflict_policy"),
    "conflict_margin": lambda p: fields.share(p.conflict_margin, "policy.conflict_margin"),
    "belief_half_life_days": lambda p: _days(p.belief_half_life_days, "policy.belief_half_life_days"),
    "max_text_chars": lambda p: fields.whole(p.max_text_chars, "policy.max_text_chars", 1, 8192),
    "daily_quota": lambda p: fields.whole(p.daily_quota, "policy.daily_quota", 0, 1_000_000),
    "ranking_weights": lambda p: decode_weights(p.ranking_weights, "policy.ranking_weights"),
    "recency_half_life_days": lambda p: _days(p.recency_half_life_days, "policy.recency_half_life_days"),
    "purge_after_days": _purge_after,
    "recency_shape": lambda p: fields.member(p.recency_shape, RecencyShape, "policy.recency_shape"),
    "auto_reflection": lambda p: fields.member(p.auto_reflection, AutoReflection, "policy.auto_reflection"),
    "task_retention_days": _task_retention,
    "consolidate_from": _consolidate_from,
}


def encode_policy(policy: Policy | PolicyRecord, pattern: str) -> pb.Policy:
    """Return rules for the wire, those stored or those in force; what is None stays unset."""
    return pb.Policy(
        pattern=pattern,
        embedding_profile=policy.embedding_profile or None,
        conflict_policy=fields.number(policy.conflict_policy) if policy.conflict_policy else None,
        conflict_margin=policy.conflict_margin,
        belief_half_life_days=policy.belief_half_life_days,
        max_text_chars=policy.max_text_chars,
        daily_quota=policy.daily_quota,
        ranking_weights=_encode_weights(policy.ranking_weights) if policy.ranking_weights else None,
        recency_half_life_days=policy.recency_half_life_days,
        purge_after_days=policy.purge_after_days,
        recency_shape=fields.number(policy.recency_shape) if policy.recency_shape else None,
        auto_reflection=fields.number(policy.auto_reflection) if policy.auto_reflection else None,
        task_retention_days=policy.task_retention_days,
        consolidate_from=policy.consolidate_from,
    )


def encode_stored_policy(stored: Stored[PolicyRecord]) -> pb.Policy:
    """Return the policy stored for a pattern, with its revision and etag."""
    pattern = str(stored.record.pattern)
    encoded = encode_policy(stored.record, pattern)
    encoded.revision = stored.revision
    encoded.etag = policy_etag(stored)
    return encoded


def _encode_weights(weights: RankingWeights) -> pb.RankingWeights:
    return pb.RankingWeights(
        relevance=weights.relevance, recency=weights.recency, importance=weights.importance
    )


def encode_namespace(stored: Stored[NamespaceRecord], partition: int) -> pb.Namespace:
    """Return a namespace for the wire."""
    record = stored.record
    return pb.Namespace(
        name=str(record.namespace),
        embedding_profile=record.profile,
        dimension=record.dimension,
        create_time=timestamp(stored.create_time_ms),
        partition=partition,
    )


def encode_stats(stats: Stats, namespace: Namespace) -> pb.NamespaceStats:
    """Return the figures of a namespace for the wire."""
    return pb.NamespaceStats(
        namespace=str(namespace),
        by_state=stats.by_state,
        by_type=stats.by_type,
        pending_vectors=stats.pending_vectors,
        open_conflicts=stats.open_conflicts,
        estimated_bytes=stats.estimated_bytes,
        revision=stats.revision,
        warnings=stats.warnings,
        model_usage=encode_usage(stats.spent),
    )
