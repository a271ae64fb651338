"""Embedding: texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_bus.ports.views import Vectors


class Embedder(Protocol):
    """Turns text into vectors. No call blocks the event loop."""

    @property
    def profile(self) -> str:
        """Name of the embedding profile, for example ``e5``; stored with every vector."""
        ...

    @property
    def dimension(self) -> int:
        """Dimension of its vectors; 0 while unknown (a remote model before its first answer)."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32, shape (n, d), L2-normalised; raise ``EmbedderUnavailable``. Long texts are cut and pooled."""
        ...

    async def embed_pieces(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text float32, shape (1 + n, d): its vector as ``embed_passages`` has it, then its n pieces'.

        n is 0 for a text that one vector can stand for, and at most ``domain.pieces.MOST_PIECES``.
        """
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return float32, shape (d,), L2-normalised; raise ``EmbedderUnavailable``."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...
