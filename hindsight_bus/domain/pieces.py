"""Long texts cut on the borders of sentences: into what a model reads at once, and into pieces that are searched."""

from __future__ import annotations

import re

READ_BYTES = 1_200
"""What a model reads at once: about 400 tokens, for an English token has about 4 letters and a Chinese one is about one
character of 3 bytes."""
LONG_BYTES = 800
"""What one vector is enough for: some 260 Chinese characters or 130 English words."""
PIECE_BYTES = 400
"""What a piece of a longer text takes up by itself: so few sentences that each of them shows in its vector."""
OVERLAP_BYTES = 100
"""What a piece takes over from the end of the one before, whole sentences: a short one keeps its context."""
MOST_PIECES = 16
"""Pieces of one text; those of a text beyond ``MOST_PIECES * PIECE_BYTES`` are longer instead."""

_SENTENCE = re.compile(r".+?(?:[。！？!?\n]+[”’」』\"')）]*|\.(?=\s)|\Z)", re.DOTALL)
_STEP = OVERLAP_BYTES // 4  # no character is longer than 4 bytes
_SCRAP = re.compile(rf".{{1,{_STEP}}}(?!\S)|.{{1,{_STEP}}}", re.DOTALL)
"""A part of a sentence that is too long by itself, cut after a word if there is one."""


def parts(text: str) -> list[str]:
    """Return a text in parts of at most ``READ_BYTES``, which together are the text. O(length)."""
    if len(text.encode()) <= READ_BYTES:
        return [text]
    return _packed(_units(text, READ_BYTES), READ_BYTES, 0)


def pieces(text: str) -> list[str]:
    """Return pieces of a long text that overlap a little, in order; none of one of at most ``LONG_BYTES``.

    They begin and end with sentences, are of about the same length, at most ``PIECE_BYTES + OVERLAP_BYTES`` unless the
    text is too long for that, and at most ``MOST_PIECES``. O(length).
    """
    size = len(text.encode())
    if size <= LONG_BYTES:
        return []
    most = -(-size // min(-(-size // PIECE_BYTES), MOST_PIECES)) + OVERLAP_BYTES
    while len(found := _packed(_units(text, most), most, OVERLAP_BYTES)) > MOST_PIECES:
        most += most // 4
    return found


def _units(text: str, most: int) -> list[str]:
    """Return what must not be cut: sentences, or scraps of those that are longer than ``most`` bytes."""
    return [
        unit
        for sentence in _SENTENCE.findall(text)
        for unit in ([sentence] if len(sentence.encode()) <= most else _SCRAP.findall(sentence))
    ]


def _packed(units: list[str], most: int, overlap: int) -> list[str]:
    """Return consecutive units put together to at most ``most`` bytes, the last ``overlap`` again in the next."""
    sizes = [len(unit.encode()) for unit in units]
    found, start = [], 0
    while True:
        end = _reach(sizes, start, most)
        found.append("".join(units[start:end]))
        if end == len(units):
            return found
        start = end - _reach(sizes[start + 1 : end][::-1], 0, overlap)
        if _reach(sizes, start, most) == end:  # the next unit does not fit behind what would be taken over
            start = end


def _reach(sizes: list[int], start: int, most: int) -> int:
    """Return where units from ``start`` on have taken up to ``most`` bytes."""
    end, taken = start, 0
    while end < len(sizes) and taken + sizes[end] <= most:
        taken += sizes[end]
        end += 1
    return end
