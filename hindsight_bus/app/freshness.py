"""How fresh a read must be."""

from __future__ import annotations

from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.values import Value, field


class Freshness(Value):
    """Requirement of a read. Default: serve what this node has now."""

    at_least: Positions = field(default_factory=Positions)
    fully_consistent: bool = False
    require_vectors: bool = False
