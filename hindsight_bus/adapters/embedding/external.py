"""No embedder: callers bring their own vectors."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_bus.domain.errors import EmbedderUnavailable
from hindsight_bus.ports import Vectors


class ExternalVectors:
    """``external(<dimension>)``: nothing is computed here, every request to embed is ``EmbedderUnavailable``."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension

    @property
    def profile(self) -> str:
        """Name of the embedding profile."""
        return f"external({self._dimension})"

    @property
    def dimension(self) -> int:
        """Dimension that callers' vectors must have."""
        return self._dimension

    async def warm_up(self) -> None:
        """Do nothing."""

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Raise ``EmbedderUnavailable``."""
        raise EmbedderUnavailable(self.profile, "callers bring the vectors")

    async def embed_pieces(self, texts: Sequence[str]) -> list[Vectors]:
        """Raise ``EmbedderUnavailable``."""
        raise EmbedderUnavailable(self.profile, "callers bring the vectors")

    async def embed_query(self, text: str) -> Vectors:
        """Raise ``EmbedderUnavailable``."""
        raise EmbedderUnavailable(self.profile, "callers bring the vectors")

    async def close(self) -> None:
        """Do nothing."""
