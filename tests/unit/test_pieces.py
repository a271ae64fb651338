"""Long texts in pieces: bounded, overlapping, on the borders of sentences, and nothing lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_bus.domain.pieces import (
    LONG_BYTES,
    MOST_PIECES,
    OVERLAP_BYTES,
    PIECE_BYTES,
    READ_BYTES,
    parts,
    pieces,
)

ENGLISH = "".join(f"On day {n} the crew of v1.{n} paid $3.50 for fuel and went on. " for n in range(60))
CHINESE = "".join(f"第{n}天，他们在港口修好了船，又加了油。" for n in range(60))
AWKWARD = [
    "", "short", ENGLISH, CHINESE, ENGLISH + CHINESE, "x" * 5_000, "字" * 2_700, "🙂" * 1_300, "。\n" * 2_000,
    "word " * 1_600, "a." * 4_000, "." * 8_000, "?" * 8_000, " " * 8_000, "a" * 1_190 + "。" + "b" * 300,
]  # fmt: skip


def joined(found: list[str]) -> str:
    """Put pieces together again, each laid on the longest end that it begins with."""
    text = found[0]
    for piece in found[1:]:
        shared = next(n for n in range(min(len(piece), OVERLAP_BYTES), -1, -1) if text.endswith(piece[:n]))
        text += piece[shared:]
    return text


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, ENGLISH + CHINESE])
def test_pieces_lose_nothing(text: str) -> None:
    """Laid on each other they are the text, and each begins and ends with a sentence."""
    found = pieces(text)
    assert joined(found) == text
    for piece in found:
        assert piece.strip()[-1] in ".。"
        assert piece.strip().startswith(("On day", "第"))


@pytest.mark.parametrize(
    "text", [ENGLISH, CHINESE, " ".join(map(str, range(1_600))), "".join(map(chr, range(0x4E00, 0x5800)))]
)
def test_neighbours_overlap_a_little(text: str) -> None:
    """Each piece begins with the end of the one before, of at most so many bytes."""
    found = pieces(text)
    for before, after in pairwise(found):
        shared = max(n for n in range(OVERLAP_BYTES + 1) if before.endswith(after[:n]))
        assert shared
        assert len(after[:shared].encode()) <= OVERLAP_BYTES


@given(st.one_of(st.sampled_from(AWKWARD), st.text(alphabet="ab 。.!?\n字🙂”", max_size=4_000)))
@settings(max_examples=60, deadline=None)
def test_pieces_are_bounded(text: str) -> None:
    """A short text has none; a longer one, up to what a memory may hold, has few and none of them is long."""
    found = pieces(text)
    size = len(text.encode())
    if size <= LONG_BYTES:
        assert found == []
        return
    assert 1 < len(found) <= MOST_PIECES
    assert all(piece and piece in text for piece in found)
    assert len("".join(found).encode()) >= size
    if size <= PIECE_BYTES * MOST_PIECES * 0.8:
        assert max(len(piece.encode()) for piece in found) <= PIECE_BYTES + OVERLAP_BYTES


def test_a_text_beyond_many_pieces_has_longer_ones() -> None:
    """No text has more pieces than are allowed, whatever its length."""
    found = pieces(ENGLISH * 10)
    assert MOST_PIECES // 2 < len(found) <= MOST_PIECES
    assert joined(found) == ENGLISH * 10


@given(st.one_of(st.sampled_from(AWKWARD), st.text(alphabet="ab 。.!?\n字🙂”", max_size=4_000)))
@settings(max_examples=60, deadline=None)
def test_parts_are_short_and_lose_nothing(text: str) -> None:
    """Every part can be read at once, and together they are the text."""
    found = parts(text)
    assert "".join(found) == text
    assert all(len(part.encode()) <= READ_BYTES for part in found)
