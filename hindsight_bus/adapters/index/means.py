"""The mean vector of a view's memories in each language: what a query has in common with any of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.intp]
Floats = NDArray[np.float64]


class LanguageMeans:
    """Sums of vectors by language, and the language of each slot.

    Sums of float16 numbers are exact in float64 (up to 2**29 vectors), so no order of changes shows in them.
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._at = np.zeros(0, np.intp)
        self._sums = np.zeros((0, 0))
        self._counts = np.zeros(0, np.int64)

    @property
    def languages(self) -> Sequence[str]:
        """Languages that were ever held, by number."""
        return tuple(self._codes)

    @property
    def overall(self) -> Floats:
        """The mean vector of all languages, shape (d,)."""
        return np.asarray(self._sums.sum(axis=0) / max(int(self._counts.sum()), 1))

    def reserve(self, capacity: int) -> None:
        """Make room for slots below ``capacity``."""
        self._at = np.concatenate((self._at, np.zeros(capacity - len(self._at), np.intp)))

    def add(self, slots: Slots, vectors: NDArray[np.float32], languages: Sequence[str]) -> None:
        """Count in ``vectors``, shape (n, d), of distinct ``slots``."""
        numbers = np.array([self._code(each, vectors.shape[1]) for each in languages], np.intp)
        self._at[slots] = numbers
        np.add.at(self._counts, numbers, 1)
        for number in np.unique(numbers):
            self._sums[number] += vectors[numbers == number].sum(axis=0, dtype=np.float64)

    def drop(self, slots: Slots, vectors: NDArray[np.float32]) -> None:
        """Count out what was counted in for ``slots``."""
        numbers = self._at[slots]
        np.subtract.at(self._counts, numbers, 1)
        for number in np.unique(numbers):
            self._sums[number] -= vectors[numbers == number].sum(axis=0, dtype=np.float64)

    def clear(self) -> None:
        """Forget all languages; nothing may be counted in."""
        self._codes.clear()
        self._at[:] = 0
        self._sums, self._counts = np.zeros((0, 0)), np.zeros(0, np.int64)

    def of(self, slots: Slots) -> Slots:
        """Return the numbers of the languages of slots; of one that holds no vector, of any language that is known."""
        return self._at[slots]

    def cosines(self, query: NDArray[np.float32]) -> tuple[Floats, NDArray[np.int64]]:
        """Return the query's mean cosine with the memories in each language (0 where there are none), and their number.

        O(languages x d).
        """
        return self._sums @ query / np.maximum(self._counts, 1), self._counts

    def _code(self, language: str, dimension: int) -> int:
        if language not in self._codes:
            self._codes[language] = len(self._codes)
            self._sums = np.vstack((self._sums.reshape(-1, dimension), np.zeros((1, dimension))))
            self._counts = np.append(self._counts, 0)
        return self._codes[language]
