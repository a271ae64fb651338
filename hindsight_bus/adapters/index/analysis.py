"""From text to index terms: Chinese is cut into words, English folded and stemmed, stop words dropped."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple, TypeVar

import snowballstemmer

from hindsight_bus.adapters.index.stopwords import CHINESE, ENGLISH
from hindsight_bus.domain.language import fold, folded_parts

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_RUNS = re.compile(
    rf"[{_HAN}]+"
    rf"|[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)*(?:(?:\+\+|\#)(?!\w))?"  # C++, C#
)
_CACHED_WORDS = 100_000
"""Those with digits are not among them: they mostly come once, and are their own terms."""
_LONGEST_PART = 24
"""Characters between white space that are remembered as one: of more, as in Chinese, few come again."""
_DIGIT = re.compile("[0-9]")

Cut = Callable[[str], list[str]]
T = TypeVar("T")


class Named(NamedTuple):
    """How a name reads."""

    phrase: str
    """Its terms, joined: equal for names that read alike."""
    words: tuple[str, ...]
    """Its words as written, folded."""
    folded: str
    """All of it, folded."""


class Analyzer:
    """Turns text into terms. Safe to share between threads and views; one a process saves caches.

    A text of nothing but stop words keeps them all, so that it can be found by itself.
    """

    def __init__(self) -> None:
        self._stemmer = snowballstemmer.stemmer("english")
        self._lock = Lock()
        self._terms: dict[str, str] = {}
        self._parts: dict[str, tuple[str, ...]] = {}
        self._named: dict[str, Named] = {}
        self._cut = _rjieba_cut()

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in its order, with repetitions; 0.1 us a word once words are known.

        No word reaches over white space, so what stands between is looked up whole.
        """
        terms: list[str] = []
        for part in folded_parts(text):
            known = self._parts.get(part)
            terms += self._read(part) if known is None else known
        return terms or [term for _, term in self.words(text)]

    def words(self, text: str) -> list[tuple[str, str]]:
        """Return (word as written, folded; its term) of ``text`` in its order, with repetitions."""
        kept, dropped = self._split(fold(text))
        return [(word, self._term(word)) for word in kept or dropped]

    def named(self, name: str) -> Named:
        """Return how a name reads; names asked for last are remembered."""
        named = self._named.get(name)
        if named is None:
            folded = fold(name)
            kept, dropped = self._split(folded)
            words = kept or dropped
            named = Named(" ".join(map(self._term, words)), tuple(words), folded)
            _remember(self._named, name, named)
        return named

    def _read(self, part: str) -> tuple[str, ...]:
        kept, _ = self._split(part)
        terms = tuple(map(self._term, kept))
        if len(part) <= _LONGEST_PART and not _DIGIT.search(part):
            _remember(self._parts, part, terms)
        return terms

    def _split(self, folded: str) -> tuple[list[str], list[str]]:
        """Return words and stop words."""
        kept: list[str] = []
        dropped: list[str] = []
        is_plain = folded.isascii() and folded.isalnum()
        for run in [folded] if is_plain else _RUNS.findall(folded):
            if run.isascii() or not _is_han(run):
                (dropped if run in ENGLISH else kept).append(run)
            else:
                for word in self._cut(run):
                    (dropped if word in CHINESE else kept).append(word)
        return kept, dropped

    def _term(self, word: str) -> str:
        known = self._terms.get(word)
        return self._learn(word) if known is None else known

    def _learn(self, word: str) -> str:
        if not word.isascii() or _DIGIT.search(word):
            return word
        with self._lock:
            stem = str(self._stemmer.stemWord(word))
        _remember(self._terms, word, stem)
        return stem


def _remember(known: dict[str, T], key: str, value: T) -> None:
    if len(known) >= _CACHED_WORDS:
        known.clear()
    known[key] = value


def _is_han(run: str) -> bool:
    return "\u3400" <= run[0] <= "\u9fff" or "\uf900" <= run[0] <= "\ufaff" or run[0] >= "\U00020000"


def _rjieba_cut() -> Cut:
    import rjieba  # 0.1 s: it loads its dictionary

    return rjieba.cut
