"""Which embedder stands behind a profile's name."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hindsight_bus.adapters.embedding import e5, use
from hindsight_bus.adapters.embedding.compatible import OpenAIEmbedder
from hindsight_bus.adapters.embedding.external import ExternalVectors
from hindsight_bus.domain.profiles import external_dimension
from hindsight_bus.ports import Embedder, Vectors

_QUERIES = 1024


class LoadedEmbedder(Embedder, Protocol):
    """An embedder that can be loaded ahead of its first call."""

    async def warm_up(self) -> None:
        """Load and check; raise ``EmbedderUnavailable`` if it cannot work."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an ``openai:<model>`` profile is computed."""

    base_url: str
    api_key: str


def open_embedder(profile: str, endpoint: Endpoint | None = None) -> CachedQueries:
    """Return the embedder of a profile: ``e5``, ``use``, ``openai:<model>`` or ``external(<dimension>)``.

    Nothing is loaded yet. ``ValueError`` for another name, or for ``openai:`` without an endpoint.
    """
    return CachedQueries(_embedder(profile, endpoint))


def _embedder(profile: str, endpoint: Endpoint | None) -> LoadedEmbedder:
    if profile == e5.PROFILE:
        return e5.E5Embedder()
    if profile == use.PROFILE:
        return use.UseEmbedder()
    kind, _, model = profile.partition(":")
    if kind == "openai" and model and endpoint is not None:
        return OpenAIEmbedder(endpoint.base_url, model, endpoint.api_key)
    if dimension := external_dimension(profile):
        return ExternalVectors(dimension)
    raise ValueError(f"no such embedding profile: {profile!r}")


class CachedQueries:
    """An embedder that remembers the vectors of the queries asked last, read-only."""

    def __init__(self, inner: LoadedEmbedder, entries: int = _QUERIES) -> None:
        self._inner = inner
        self._entries = entries
        self._vectors: dict[str, Vectors] = {}
        self._under_way: dict[str, asyncio.Task[Vectors]] = {}

    @property
    def profile(self) -> str:
        """Name of the embedding profile."""
        return self._inner.profile

    @property
    def dimension(self) -> int:
        """Dimension of its vectors; 0 while unknown."""
        return self._inner.dimension

    async def warm_up(self) -> None:
        """Load and check the embedder; raise ``EmbedderUnavailable`` if it cannot work."""
        await self._inner.warm_up()

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32, shape (n, d), L2-normalised; raise ``EmbedderUnavailable``."""
        return await self._inner.embed_passages(texts)

    async def embed_pieces(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text float32, shape (1 + n, d), see ``ports.Embedder``; raise ``EmbedderUnavailable``."""
        return await self._inner.embed_pieces(texts)

    async def embed_query(self, text: str) -> Vectors:
        """Return float32, shape (d,), L2-normalised, from memory where it can; raise ``EmbedderUnavailable``.

        Whoever asks for what is being embedded waits for that.
        """
        vector = self._vectors.pop(text, None)
        if vector is None:
            vector = await asyncio.shield(self._under_way.get(text) or self._embedding(text))
            self._vectors.pop(text, None)
        self._vectors[text] = vector
        if len(self._vectors) > self._entries:
            del self._vectors[next(iter(self._vectors))]
        return vector

    def _embedding(self, text: str) -> asyncio.Task[Vectors]:
        """Begin to embed a query; whoever gave up on it leaves it to those who have not."""
        task = self._under_way[text] = asyncio.create_task(self._embedded(text))

        def end(task: asyncio.Task[Vectors]) -> None:
            del self._under_way[text]
            if not task.cancelled():
                task.exception()  # nobody may be left to hear of it

        task.add_done_callback(end)
        return task

    async def _embedded(self, text: str) -> Vectors:
        vector = await self._inner.embed_query(text)
        vector.setflags(write=False)
        return vector

    async def close(self) -> None:
        """Release the embedder."""
        await self._inner.close()
