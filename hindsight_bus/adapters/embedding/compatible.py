"""Embeddings from a server that speaks OpenAI's API."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hindsight_bus.adapters.embedding.chunks import Cut, gathered, inputs_of, wholes
from hindsight_bus.domain.errors import EmbedderUnavailable
from hindsight_bus.domain.pieces import parts, pieces
from hindsight_bus.ports import Vectors

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MOST_INPUTS = 64
_RETRIES = 1


class OpenAIEmbedder:
    """``openai:<model>``: any server that answers ``POST <base_url>/embeddings``. Redirects are not followed.

    ``timeout`` in seconds bounds one request; a failed one is repeated once where that can help.
    """

    def __init__(self, base_url: str, model: str, api_key: str, timeout: float = 10.0) -> None:
        self._base_url = base_url
        self._model = model
        self._api_key = api_key
        self._timeout = timeout
        self._dimension = 0
        self._opening = asyncio.Lock()
        self._client: AsyncOpenAI | None = None

    @property
    def profile(self) -> str:
        """Name of the embedding profile."""
        return f"openai:{self._model}"

    @property
    def dimension(self) -> int:
        """Dimension of its vectors; 0 before the first answer."""
        return self._dimension

    async def warm_up(self) -> None:
        """Load the client library, nearly a second off the event loop; the server is not asked."""
        await self._opened()

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32, shape (n, d), L2-normalised; raise ``EmbedderUnavailable``."""
        embedded = await self._embed([Cut(parts(text)) for text in texts])
        return wholes(embedded, self._dimension)

    async def embed_pieces(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text float32, shape (1 + n, d), see ``ports.Embedder``; raise ``EmbedderUnavailable``."""
        return await self._embed([Cut(parts(text), pieces(text)) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        """Return float32, shape (d,), L2-normalised; raise ``EmbedderUnavailable``."""
        return np.asarray((await self.embed_passages([text]))[0])

    async def close(self) -> None:
        """Close connections."""
        if self._client is not None:
            await self._client.close()

    async def _embed(self, cuts: Sequence[Cut]) -> list[Vectors]:
        inputs = inputs_of(cuts)
        vectors = [
            await self._ask(inputs[start : start + _MOST_INPUTS])
            for start in range(0, len(inputs), _MOST_INPUTS)
        ]
        try:
            return gathered(np.concatenate(vectors), cuts) if vectors else []
        except ValueError as error:
            raise EmbedderUnavailable(self.profile, str(error)) from error

    async def _opened(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client

    def _open(self) -> AsyncOpenAI:
        import openai

        return openai.AsyncOpenAI(
            base_url=self._base_url,
            api_key=self._api_key or "none",  # local servers want none, the library wants one
            timeout=self._timeout,
            max_retries=_RETRIES,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, timeout=self._timeout),
        )

    async def _ask(self, inputs: list[str]) -> Vectors:
        client = await self._opened()
        from openai import OpenAIError

        try:
            answer = await client.embeddings.create(input=inputs, model=self._model, encoding_format="float")
            vectors = _vectors([(item.index, item.embedding) for item in answer.data], len(inputs))
        except OpenAIError as error:
            raise EmbedderUnavailable(self.profile, type(error).__name__) from error
        except (AttributeError, TypeError, ValueError) as error:
            raise EmbedderUnavailable(self.profile, "the server's answer is not one of embeddings") from error
        if self._dimension not in (0, vectors.shape[1]):
            raise EmbedderUnavailable(self.profile, f"its vectors changed to {vectors.shape[1]} dimensions")
        self._dimension = vectors.shape[1]
        return vectors


def _vectors(items: list[tuple[int, list[float]]], expected: int) -> Vectors:
    if sorted(index for index, _ in items) != list(range(expected)):
        raise ValueError("not one vector an input")
    vectors = np.array([values for _, values in sorted(items)], dtype=np.float32)
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise ValueError("not vectors of one dimension")
    return vectors
