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
        self._words: dict[str, str] = {}
        self._cut = _rjieba_cut()

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in its order, with repetitions; about 1 us a word once words are known."""
        terms: list[str] = []
        dropped: list[str] = []
        for run in _RUNS.findall(fold(text)):
            if run[0].isascii():
                (terms if run not in ENGLISH else dropped).append(self._word(run))
            elif _is_han(run):
                for word in self._cut(run):
                    (terms if word not in CHINESE else dropped).append(word)
            else:
                terms.append(run)
        return terms or dropped

    def _word(self, word: str) -> str:
        stem = self._words.get(word)
        if stem is None:
            stem = self._stem(word)
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            self._words[word] = stem
        return stem

    def _stem(self, word: str) -> str:
        if not word.isascii() or any(character.isdigit() for character in word):
            return word
        with self._lock:
            return str(self._stemmer.stemWord(word))


def _is_han(run: str) -> bool:
    return "\u3400" <= run[0] <= "\u9fff" or "\uf900" <= run[0] <= "\ufaff" or run[0] >= "\U00020000"


def _rjieba_cut() -> Cut:
    import rjieba  # its dictionary takes 0.1 s to load

    return rjieba.Jieba().cut
