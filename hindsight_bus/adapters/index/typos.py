"""One-typo tolerance over the words that names are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

_SHORTEST = 5
"""Letters of the shortest word that may be misspelt: in shorter ones another letter makes another word."""
_SURE_LETTERS = 2
"""Leading letters that must agree: people rarely misspell them."""

Bucket = tuple[str, int]


class Spellings:
    """Words by their first letters and length."""

    def __init__(self) -> None:
        self._words: dict[Bucket, Counter[str]] = {}

    def add(self, words: Iterable[str]) -> None:
        """Enter words; each counts."""
        for word in words:
            if _is_tolerant(word):
                self._words.setdefault(_bucket(word, len(word)), Counter())[word] += 1

    def remove(self, words: Iterable[str]) -> None:
        """Take out words that were entered."""
        for word in words:
            if not _is_tolerant(word):
                continue
            bucket = self._words[_bucket(word, len(word))]
            bucket[word] -= 1
            if not bucket[word]:
                del bucket[word]
            if not bucket:
                del self._words[_bucket(word, len(word))]

    def near(self, word: str) -> list[str]:
        """Return the words one letter away: one too many, too few, another, or two swapped. O(words that start so)."""
        if not _is_tolerant(word):
            return []
        buckets = (self._words.get(_bucket(word, len(word) + step), ()) for step in (-1, 0, 1))
        return sorted(other for bucket in buckets for other in bucket if is_one_typo(word, other))


def is_one_typo(first: str, second: str) -> bool:
    """Tell whether two different words are one edit apart, two letters swapped counting as one; O(length)."""
    short, long = sorted((first, second), key=len)
    if first == second or len(long) - len(short) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    swapped = (
        short[start : start + 2] == long[start : start + 2][::-1] and short[start + 2 :] == long[start + 2 :]
    )
    return swapped or short[start + 1 :] == long[start + 1 :]


def _is_tolerant(word: str) -> bool:
    return len(word) >= _SHORTEST and word.isascii() and word.isalpha()


def _bucket(word: str, length: int) -> Bucket:
    return word[:_SURE_LETTERS], length
