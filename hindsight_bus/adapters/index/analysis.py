"""From text to index terms: Chinese is cut into words, English folded and stemmed, stop words dropped."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock

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


class Analyzer:
    """Turns text into terms. Safe to share between threads and views; one a process saves caches.

    A text of nothing but stop words keeps them all, so that it can be found by itself.
    """

    def __init__(self) -> None:
        self._stemmer = snowballstemmer.stemmer("english")
        self._lock = Lock()
        self._stems: dict[str, str] = {}
        self._cut = _rjieba_cut()

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in its order, with repetitions; about 1 us a word once words are known."""
        return [term for _, term in self.words(text)]

    def words(self, text: str) -> list[tuple[str, str]]:
        """Return (word as written, folded; its term) of ``text`` in its order, with repetitions."""
        kept: list[tuple[str, str]] = []
        dropped: list[tuple[str, str]] = []
        for run in _RUNS.findall(fold(text)):
            if run[0].isascii():
                stem = self._stems.get(run) or self._learn(run)
                (kept if run not in ENGLISH else dropped).append((run, stem))
            elif _is_han(run):
                for word in self._cut(run):
                    (kept if word not in CHINESE else dropped).append((word, word))
            else:
                kept.append((run, run))
        return kept or dropped

    def _learn(self, word: str) -> str:
        stem = word
        if word.isascii() and not any(character.isdigit() for character in word):
            with self._lock:
                stem = str(self._stemmer.stemWord(word))
        if len(self._stems) >= _CACHED_WORDS:
            self._stems.clear()
        self._stems[word] = stem
        return stem


def _is_han(run: str) -> bool:
    return "\u3400" <= run[0] <= "\u9fff" or "\uf900" <= run[0] <= "\ufaff" or run[0] >= "\U00020000"


def _rjieba_cut() -> Cut:
    import rjieba  # 0.1 s: it loads its dictionary

    return rjieba.cut
