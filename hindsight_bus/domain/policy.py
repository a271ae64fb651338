"""Policies: rules attached to names or patterns; field by field the most specific one wins."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.values import Storable, Value, fields, replace


class ConflictPolicy(IntEnum):
    """How competing statements about one subject are settled. Numbers are those of ``hbus.v1``."""

    CONFIDENCE = 1
    LATEST = 2
    MANUAL = 3


class RecencyShape(IntEnum):
    """How recency falls with age. Numbers are those of ``hbus.v1``."""

    EXPONENTIAL = 1
    LINEAR = 2


class AutoReflection(IntEnum):
    """After which tasks the reflection comes by itself. Numbers are those of ``hbus.v1``."""

    ALWAYS = 1
    FAILURES = 2
    NEVER = 3


class RankingProfile(IntEnum):
    """A named set of ranking weights. Numbers are those of ``hbus.v1``."""

    SUPPORT = 1
    KNOWLEDGE = 2
    ASSISTANT = 3

    @property
    def weights(self) -> RankingWeights:
        """Weights of the profile."""
        return _PROFILE_WEIGHTS[self]


class RankingWeights(Value):
    """How much each factor counts; scaled to sum 1 by ``normalised``."""

    relevance: float = 0.6
    recency: float = 0.2
    importance: float = 0.2

    def normalised(self) -> RankingWeights:
        """Return the weights scaled to sum 1; at least one must be above 0."""
        total = self.relevance + self.recency + self.importance
        return RankingWeights(self.relevance / total, self.recency / total, self.importance / total)


_PROFILE_WEIGHTS = {
    RankingProfile.SUPPORT: RankingWeights(relevance=0.4, recency=0.45, importance=0.15),
    RankingProfile.KNOWLEDGE: RankingWeights(relevance=0.8, recency=0.05, importance=0.15),
    RankingProfile.ASSISTANT: RankingWeights(relevance=0.4, recency=0.15, importance=0.45),
}


class Policy(Value):
    """Rules in force for one namespace; every field is set. See ``policy`` in ``hbus.v1`` for units and limits."""

    embedding_profile: str = ""
    """Empty: the server's default profile."""
    conflict_policy: ConflictPolicy = ConflictPolicy.CONFIDENCE
    conflict_margin: float = 0.05
    belief_half_life_days: float = 180.0
    max_text_chars: int = 200
    daily_quota: int = 50
    ranking_weights: RankingWeights = RankingWeights()
    recency_half_life_days: float = 30.0
    purge_after_days: float = 30.0
    recency_shape: RecencyShape = RecencyShape.EXPONENTIAL
    auto_reflection: AutoReflection = AutoReflection.ALWAYS
    task_retention_days: float = 90.0
    consolidate_from: int = 0


class PolicyRecord(Storable):
    """The policy stored for one pattern; None = not set here. Key: the pattern."""

    pattern: Pattern
    embedding_profile: str | None = None
    conflict_policy: ConflictPolicy | None = None
    conflict_margin: float | None = None
    belief_half_life_days: float | None = None
    max_text_chars: int | None = None
    daily_quota: int | None = None
    ranking_weights: RankingWeights | None = None
    recency_half_life_days: float | None = None
    purge_after_days: float | None = None
    recency_shape: RecencyShape | None = None
    auto_reflection: AutoReflection | None = None
    task_retention_days: float | None = None
    consolidate_from: int | None = None


POLICY_FIELDS = tuple(f.name for f in fields(Policy))


def resolve(records: Iterable[PolicyRecord], name: Namespace) -> tuple[Policy, list[PolicyRecord]]:
    """Return the policy in force for a namespace and the records it was put together from, most specific first."""
    matching = sorted(
        (r for r in records if r.pattern.matches(name)), key=lambda r: r.pattern.specificity, reverse=True
    )
    chosen: dict[str, object] = {}
    for record in matching:
        for field in POLICY_FIELDS:
            value = getattr(record, field)
            if value is not None:
                chosen.setdefault(field, value)
    return replace(Policy(), **chosen), matching
