"""Models that run in this process, on one thread of their own."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import numpy as np

from hindsight_bus.adapters.embedding.chunks import Cut, batches, gathered, inputs_of, pool, unit, wholes
from hindsight_bus.adapters.embedding.selftest import TRIPLES, failures
from hindsight_bus.domain.errors import EmbedderUnavailable
from hindsight_bus.domain.pieces import parts, pieces
from hindsight_bus.ports import Vectors

P = ParamSpec("P")
T = TypeVar("T")

_BATCH = 4
"""Texts in one call of the model: a query waits for no more than these."""


class Model(Protocol):
    """A loaded model."""

    def passages(self, texts: list[str]) -> Vectors:
        """Return float32, shape (n, d), for texts that are stored."""
        ...

    def query(self, text: str) -> Vectors:
        """Return float32, shape (d,), for a text that is searched with."""
        ...


class LocalEmbedder:
    """An embedder over a model in this process; see ``ports.Embedder``.

    The model is loaded by ``warm_up`` or the first call, checked by the hash of its files and by the self-test, and
    called on one thread, in small batches, so that a query never waits long behind passages. A model that fails its
    checks stays unavailable.
    """

    def __init__(self, profile: str, dimension: int, load: Callable[[], Model]) -> None:
        self._profile = profile
        self._dimension = dimension
        self._load = load
        self._model: Model | None = None
        self._failure = ""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"embed-{profile}")

    @property
    def profile(self) -> str:
        """Name of the embedding profile."""
        return self._profile

    @property
    def dimension(self) -> int:
        """Dimension of its vectors."""
        return self._dimension

    async def warm_up(self) -> None:
        """Load and check the model; raise ``EmbedderUnavailable`` if it is broken. Up to a second or two."""
        await self._run(self._ready)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32, shape (n, d), L2-normalised; raise ``EmbedderUnavailable``."""
        cuts = [Cut(parts(_printable(text))) for text in texts]
        return wholes(await self._embed(cuts), self._dimension)

    async def embed_pieces(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text float32, shape (1 + n, d), see ``ports.Embedder``; raise ``EmbedderUnavailable``."""
        printable = [_printable(text) for text in texts]
        return await self._embed([Cut(parts(text), pieces(text)) for text in printable])

    async def embed_query(self, text: str) -> Vectors:
        """Return float32, shape (d,), L2-normalised; raise ``EmbedderUnavailable``."""
        cut = parts(_printable(text))
        vectors = [await self._run(self._query, part) for part in cut]
        return pool(np.stack(vectors), cut)

    async def close(self) -> None:
        """Let go of the thread; calls under way are answered first."""
        self._failure = "closed"
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    async def _embed(self, cuts: Sequence[Cut]) -> list[Vectors]:
        if not cuts:
            return []
        vectors = [await self._run(self._passages, batch) for batch in batches(inputs_of(cuts), _BATCH)]
        return gathered(np.concatenate(vectors), cuts)

    async def _run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._failure:
            raise EmbedderUnavailable(self._profile, self._failure)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, partial(call, *args, **kwargs))
        except (OSError, ImportError, RuntimeError, ValueError) as error:
            raise EmbedderUnavailable(self._profile, str(error)) from error

    def _ready(self) -> Model:
        if self._failure:
            raise RuntimeError(self._failure)
        if self._model is None:
            self._model = self._checked()
        return self._model

    def _checked(self) -> Model:
        try:
            model = self._load()
            failed = failures(model.passages)
        except (OSError, ImportError, RuntimeError, ValueError) as error:
            self._failure = f"cannot be loaded: {error}"
            raise
        if failed:
            self._failure = f"{failed} of the {len(TRIPLES)} self-tests failed"
            raise RuntimeError(self._failure)
        return model

    def _passages(self, texts: list[str]) -> Vectors:
        return unit(self._ready().passages(texts))

    def _query(self, text: str) -> Vectors:
        return unit(self._ready().query(text))


def check_file(path: Path, sha256: str) -> None:
    """Raise ``ValueError`` unless a model's file is the one that this profile was measured with; 1.5 ms a MB."""
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise ValueError(f"{path.name} is not the file that the profile stands for")


def _printable(text: str) -> str:
    return text.replace("\0", " ")  # a C string ends there
