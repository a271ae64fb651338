"""Which hits say the same again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.values import Value

_SAME_WORDS = 0.85
"""Share of the words of two texts that both have, from which on they say the same."""
_FEW_WORDS = 6
"""Below this many words one word makes another statement: only equal words are the same."""


class Saying(Value):
    """What somebody said about what."""

    writer: str
    subject: str
    text: str


def first_of_each(
    sayings: Sequence[Saying], near: NDArray[np.bool_], terms: Callable[[str], Sequence[str]]
) -> list[int]:
    """Return the indices of those that say something that none before them says.

    Of texts by one writer on one subject two are near duplicates if they are ``near``, shape (n, n), nearly all their
    ``terms`` agree, and no differing one has a digit: two amounts or dates are two statements.
    """
    kept: list[int] = []
    for i, saying in enumerate(sayings):
        alike = (sayings[j] for j in kept if near[i, j])
        if not any(_says_the_same(saying, other, terms) for other in alike):
            kept.append(i)
    return kept


def _says_the_same(first: Saying, second: Saying, terms: Callable[[str], Sequence[str]]) -> bool:
    if (first.writer, first.subject) != (second.writer, second.subject):
        return False
    if first.text == second.text:
        return True
    return same_terms(terms(first.text), terms(second.text))


def same_terms(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Tell whether two texts with these words say the same: nearly all agree, and no differing one has a digit."""
    either = {*ours, *theirs}
    if len(either) < _FEW_WORDS:
        return list(ours) == list(theirs)
    different = {*ours} ^ {*theirs}
    agree = len(either) - len(different) >= _SAME_WORDS * len(either)
    return agree and not any(any(map(str.isdigit, word)) for word in different)
