"""How alike two short texts are by their letters."""

from __future__ import annotations

from hindsight_bus.domain.language import fold


def alikeness(one: str, other: str) -> float:
    """Return the share of character pairs that two texts have in common (Dice), 0 to 1; O(n)."""
    ours, theirs = _pairs(one), _pairs(other)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


def _pairs(text: str) -> set[str]:
    folded = fold(text)
    return {folded[at : at + 2] for at in range(len(folded) - 1)}
