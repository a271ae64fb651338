"""Vectors of the pieces of long texts: a memory is as near to a query as the nearest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.dense import CODED_FROM, DenseIndex, Mask, Slots
from hindsight_bus.domain.language import UNKNOWN

_SMALLEST = 64
_SPARE = 2
"""Pieces asked for each memory that is wanted: several of the nearest may be of one."""
_WIDER = 4
"""How many times more are asked for where those found are of too few memories."""


class PieceIndex:
    """Vectors by place, each of a piece of the memory at some slot, its owner; empty where no text is long."""

    def __init__(self, coded_from: int = CODED_FROM) -> None:
        self._dense = DenseIndex(coded_from)
        self._owners: Slots = np.empty(0, np.intp)
        """Slot of the memory that a place is in use for; of others it says nothing."""
        self._places: dict[int, Slots] = {}
        self._free: list[int] = []
        self._top = 0

    @property
    def count(self) -> int:
        """How many pieces are held."""
        return self._dense.count

    @property
    def size_bytes(self) -> int:
        """Bytes of vectors, codes and owners."""
        return self._dense.size_bytes + self._owners.nbytes

    def put(self, pieces: Mapping[int, NDArray[np.float16]]) -> None:
        """Hold the pieces of memories, slot -> vectors as parsed, shape (n, d), in place of those they had."""
        self.drop(list(pieces))
        if not pieces:
            return
        for owner, vectors in pieces.items():
            places = np.array([self._take() for _ in vectors], np.intp)
            self._places[owner], self._owners[places] = places, owner
        places = np.concatenate([self._places[owner] for owner in pieces])
        vectors = np.concatenate(list(pieces.values()))
        self._dense.put(places, vectors, [UNKNOWN] * len(places), self._top)

    def drop(self, owners: Sequence[int]) -> None:
        """Forget the pieces of the memories at these slots, where there are any."""
        held = [self._places.pop(owner) for owner in owners if owner in self._places] if self._places else []
        if held:
            places = np.concatenate(held)
            self._dense.drop(places)
            self._free.extend(places.tolist())

    def __contains__(self, owner: int) -> bool:
        """Tell whether the memory at a slot has pieces."""
        return owner in self._places

    def at(self, owner: int) -> NDArray[np.float16]:
        """Return the pieces of the memory at a slot, which has some, in order, float16, shape (n, d)."""
        return self._dense.at(self._places[owner])

    def cosines(self, query: NDArray[np.float32], slots: Slots) -> NDArray[np.float64]:
        """Return the exact cosine of each memory's nearest piece, shape (n,); NaN where it has none."""
        best = np.full(len(slots), np.nan)
        held = [i for i, slot in enumerate(slots.tolist()) if slot in self._places]
        if held:
            places = [self._places[slot] for slot in slots[held].tolist()]
            starts = np.cumsum([0, *map(len, places[:-1])])
            best[held] = np.maximum.reduceat(self._dense.cosines(query, np.concatenate(places)), starts)
        return best

    def nearest(self, queries: NDArray[np.float32], k: int, allowed: Mask) -> list[Slots]:
        """Return for each query, shape (m, d), the slots of the ``k`` memories with the nearest pieces, or some more.

        Of those ``allowed``, by slot; at least ``k`` where as many have pieces.
        """
        passing = self._dense.held[: self._top].copy()
        passing[passing] = allowed[self._owners[: self._top][passing]]
        count, asked = int(np.count_nonzero(passing)), _SPARE * k
        while True:
            near = self._dense.nearest(queries, asked, passing)
            found = [np.unique(self._owners[places]) for places in near]
            if asked >= count or min(map(len, found)) >= k:
                return found
            asked *= _WIDER

    def _take(self) -> int:
        if self._free:
            return self._free.pop()
        place = self._top
        self._top += 1
        if place >= len(self._owners):
            capacity = max(_SMALLEST, 2 * place)
            self._owners = np.concatenate((self._owners, np.zeros(capacity - place, np.intp)))
            self._dense.reserve(capacity)
        return place
