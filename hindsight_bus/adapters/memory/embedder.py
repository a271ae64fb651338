"""An embedder whose cosines follow from shared words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.errors import EmbedderUnavailable
from hindsight_bus.domain.pieces import pieces


class FakeEmbedder:
    """``Embedder`` that hashes character pairs into buckets, so texts alike in letters are near each other."""

    def __init__(self, profile: str = "fake", dimension: int = 64) -> None:
        self.profile = profile
        self.dimension = dimension
        self.is_down = False
        """Set it to make every call fail."""
        self.embedded: list[str] = []
        """Every text embedded so far, in order."""

    async def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector a text."""
        if self.is_down:
            raise EmbedderUnavailable(self.profile, "switched off")
        self.embedded.extend(texts)
        return np.stack([self._embed(text) for text in texts])

    async def embed_pieces(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return for each text its vector and, of a long one, those of its pieces."""
        wholes = await self.embed_passages(texts)
        return [
            np.stack([whole, *map(self._embed, pieces(text))])
            for text, whole in zip(texts, wholes, strict=True)
        ]

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector that the text has as a passage."""
        vectors = await self.embed_passages([text])
        vector: NDArray[np.float32] = vectors[0]
        return vector

    async def close(self) -> None:
        """Do nothing."""

    def _embed(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self.dimension, dtype=np.float32)
        padded = f" {text.casefold()} "
        for pair in pairwise(padded):
            bucket = int.from_bytes(hashlib.blake2b("".join(pair).encode(), digest_size=4).digest(), "big")
            vector[bucket % self.dimension] += 1.0
        normalised: NDArray[np.float32] = vector / np.linalg.norm(vector)
        return normalised
