"""What the channels say of candidates, before it is weighed: what weights are fitted on."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_bus.adapters.index import channels
from hindsight_bus.adapters.index.view import View
from hindsight_bus.domain import ranking
from hindsight_bus.ports import ViewQuery


@dataclass(frozen=True, slots=True)
class Heard:
    """The evidence for one memory, as ``calibration.likelihood`` takes it."""

    memory_id: str
    dense: float
    lexical: float
    temporal: float


class OpenView(View):
    """A view that shows what it hears."""

    def evidence(self, query: ViewQuery) -> list[Heard]:
        """Return the evidence for every candidate of a query, in no particular order; nothing is withheld."""
        query = self._comparable(query)
        mask = self._columns.matching(query.filter, query.now_ms, len(self._rows))
        vector = channels.vector_of(query)
        nearest = channels.NOTHING
        if vector is not None and self._dense.count:
            [nearest] = self._dense.nearest(vector[None], channels.PER_CHANNEL, mask)
        found = channels.gather(self._indexes, query, mask, nearest)
        parts = (ranking.closeness(found.evidence), found.evidence.matched, found.evidence.temporal)
        return [
            Heard(self._indexes.row(slot).memory_id, *map(float, said))
            for slot, *said in zip(found.slots, *parts, strict=True)
        ]
