"""Whether two sentences of advice are one in other words."""

from __future__ import annotations

import re

_NEGATIONS = re.compile(
    r"\b(?:not|never|no|don'?t|do not|avoid|without|instead of|stop)\b|n't\b"
    r"|不要|不用|不必|不能|不再|别|勿|无需|禁止|避免|切忌",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+")


def are_twins(one: str, other: str, cosine: float, closeness: float) -> bool:
    """Tell whether two sentences say the same: twice as near to equal as to merely close, no number or "not" apart.

    ``closeness`` is the cosine from which sentences of their languages are close. Embeddings hardly tell a sentence
    from its opposite or one amount from another, so those are told by words.
    """
    near = cosine >= (closeness + 2) / 3
    return near and _negates(one) == _negates(other) and _numbers(one) == _numbers(other)


def _negates(text: str) -> bool:
    return len(_NEGATIONS.findall(text)) % 2 == 1


def _numbers(text: str) -> list[str]:
    return sorted(_NUMBERS.findall(text))
