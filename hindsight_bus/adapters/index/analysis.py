"""From text to index terms: Chinese is cut into words, English folded and stemmed, stop words dropped."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple, TypeVar

import snowballstemmer

from hindsight_bus.adapters.index.stopwords import CHINESE, ENGLISH
from hindsight_bus.domain.language import fold

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_RUNS = re.compile(
    rf"[{_HAN}]+"
    rf"|[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)*(?:(?:\+\+|\#)(?!\w))?"  # C++, C#
)
_CACHED_WORDS = 100_000

Cut = Callable[[str], list[str]]
T = TypeVar("T")


class Named(NamedTuple):
    """How a name reads."""

    phrase: str
    """Its terms, joined: equal for names that read alike."""
    words: tuple[str, ...]
    """Its words as written, folded."""


class Analyzer:
    """Turns text into terms. Safe to share between threads and views; one a process saves caches.

    A text of nothing but stop words keeps them all, so that it can be found by itself.
    """

    def __init__(self) -> None:
        self._stemmer = snowballstemmer.stemmer("english")
        self._lock = Lock()
        self._terms: dict[str, str] = {}
        self._named: dict[str, Named] = {}
        self._cut = _rjieba_cut()

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in its order, with repetitions; under 1 us a word once words are known."""
        known = self._terms
        return [known.get(word) or self._learn(word) for word in self._split(text)]

    def words(self, text: str) -> list[tuple[str, str]]:
        """Return (word as written, folded; its term) of ``text`` in its order, with repetitions."""
        return [(word, self._terms.get(word) or self._learn(word)) for word in self._split(text)]

    def named(self, name: str) -> Named:
        """Return how a name reads; names asked for last are remembered."""
        named = self._named.get(name)
        if named is None:
            words = self.words(name)
            named = Named(" ".join(term for _, term in words), tuple(word for word, _ in words))
            _remember(self._named, name, named)
        return named

    def _split(self, text: str) -> list[str]:
        kept: list[str] = []
        dropped: list[str] = []
        for run in _RUNS.findall(fold(text)):
            if run.isascii() or not _is_han(run):
                (dropped if run in ENGLISH else kept).append(run)
            else:
                for word in self._cut(run):
                    (dropped if word in CHINESE else kept).append(word)
        return kept or dropped

    def _learn(self, word: str) -> str:
        stem = word
        if word.isascii() and not any(character.isdigit() for character in word):
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
