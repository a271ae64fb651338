"""How fresh a read must be."""

from __future__ import annotations

from dataclasses import dataclass, field

from hindsight_bus.domain.position import Positions


@dataclass(frozen=True, slots=True)
class Freshness:
    """Requirement of a read. Default: serve what this node has now."""

    at_least: Positions = field(default_factory=Positions)
    fully_consistent: bool = False
    require_vectors: bool = False
