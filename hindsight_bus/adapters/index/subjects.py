"""What memories are about: the subjects, aliases and tags that a query may name outright."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.postings import Postings
from hindsight_bus.adapters.index.typos import Spellings
from hindsight_bus.domain.memory import Version

_NAME_WEIGHT = 1.0
_TYPO_WEIGHT = 0.8
_TAG_WEIGHT = 0.5
NAMED = 0.75
"""Score from which on a memory counts as named outright, not merely tagged."""
_LONGEST_NAME = 4
"""Terms of the longest name that is recognised within a query."""


Word = tuple[str, str]
"""A word as written, folded, and its term."""


class SubjectIndex:
    """Finds the slots whose subject's last part, alias or tag stands in a query: as a phrase, one typo allowed."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._names = Postings()
        self._tags = Postings()
        self._spellings = Spellings()

    @property
    def postings(self) -> tuple[Postings, Postings]:
        """Names and tags."""
        return self._names, self._tags

    def add(self, slot: int, version: Version) -> None:
        """Enter a version's names."""
        names, words = self._named(version)
        self._names.enter(slot, names)
        self._spellings.add(words)
        self._tags.enter(slot, self._keys(version.tags))

    def remove(self, slot: int, version: Version) -> None:
        """Take out what ``add`` entered for the same version."""
        names, words = self._named(version)
        self._names.remove(slot, names)
        self._spellings.remove(words)
        self._tags.remove(slot, self._keys(version.tags))

    def scores(
        self, words: Sequence[Word], unknown: Collection[str], slots: int
    ) -> NDArray[np.float64] | None:
        """Return for every slot below ``slots`` how well the query's words name it: 1 by name, 0.8 by a name with a
        typo, 0.5 by tag, 0 not. None where they name nothing.

        ``unknown`` are the terms that no memory holds: only those may be misspelt.
        """
        terms = [term for _, term in words]
        phrases = list(_phrases(terms))
        tags, names = self._tags.among(phrases), self._names.among(phrases)
        guessed = self._names.among(self._corrected(words, unknown)) if unknown else []
        if not tags and not names and not guessed:
            return None
        scores = np.zeros(slots)
        for postings, keys, weight in (
            (self._tags, tags, _TAG_WEIGHT),
            (self._names, guessed, _TYPO_WEIGHT),
            (self._names, names, _NAME_WEIGHT),
        ):
            for key in keys:
                scores[postings.slots(key)] = weight
        return scores

    def _corrected(self, words: Sequence[Word], unknown: Collection[str]) -> Iterator[str]:
        """Yield the phrases of the query in which one unknown word is replaced by one that it may be a typo of."""
        terms = [term for _, term in words]
        for at, (word, term) in enumerate(words):
            if term in unknown:
                first = max(at - _LONGEST_NAME + 1, 0)
                for meant in self._spellings.near(word):
                    meant_terms = self._analyzer.terms(meant)
                    yield from _phrases([*terms[first:at], *meant_terms, *terms[at + 1 : at + _LONGEST_NAME]])

    def _named(self, version: Version) -> tuple[set[str], set[str]]:
        """Return the phrases that name a version's subject, and the words of them as written."""
        named = [self._analyzer.named(name) for name in surfaces(version)]
        return {each.phrase for each in named if each.phrase}, {word for each in named for word in each.words}

    def _keys(self, names: Iterable[str]) -> set[str]:
        return {phrase for name in names if (phrase := self._analyzer.named(name).phrase)}


class KnownSubjects:
    """Surface form -> subject, over live memories; of several, the one of most memories, then the first by name."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._counts: dict[str, dict[str, int]] = {}
        self._chosen: dict[str, str] = {}
        self._snapshot: Mapping[str, str] | None = None

    @property
    def chosen(self) -> Mapping[str, str]:
        """The mapping as it stands, safe to hand to another thread; O(1) unless it changed since the last call."""
        if self._snapshot is None:
            self._snapshot = MappingProxyType(dict(self._chosen))
        return self._snapshot

    def add(self, version: Version) -> None:
        """Count a live memory in."""
        for form in self._forms(version):
            counts = self._counts.get(form)
            if counts is None:
                self._counts[form] = {version.subject: 1}
                self._chosen[form], self._snapshot = version.subject, None
                continue
            counts[version.subject] = counts.get(version.subject, 0) + 1
            self._choose(form)

    def remove(self, version: Version) -> None:
        """Count a memory out that was counted in."""
        for form in self._forms(version):
            counts = self._counts[form]
            counts[version.subject] -= 1
            if not counts[version.subject]:
                del counts[version.subject]
            self._choose(form)

    def _forms(self, version: Version) -> set[str]:
        names = surfaces(version) if version.subject else ()
        return {self._analyzer.named(name).folded for name in names}

    def _choose(self, form: str) -> None:
        counts = self._counts[form]
        if not counts:
            del self._counts[form], self._chosen[form]
            self._snapshot = None
            return
        [subject, *others] = counts
        if others:
            subject = min(counts, key=lambda subject: (-counts[subject], subject))
        if self._chosen.get(form) != subject:
            self._chosen[form] = subject
            self._snapshot = None


def surfaces(version: Version) -> tuple[str, ...]:
    """Return the forms that name a memory's subject: its last part, as words, and the aliases."""
    last = version.subject.rpartition(".")[2].replace("_", " ")
    return (last, *version.aliases) if last else version.aliases


def _phrases(terms: Sequence[str]) -> Iterator[str]:
    for length in range(1, _LONGEST_NAME + 1):
        for start in range(len(terms) - length + 1):
            yield " ".join(terms[start : start + length])
