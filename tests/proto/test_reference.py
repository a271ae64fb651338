"""The generated reference is that of this code."""

from __future__ import annotations

from tools.reference.pages import PLACE, pages


def test_the_reference_is_up_to_date() -> None:
    """``make docs`` was run after the last change of contract, settings, command line or metrics."""
    made = pages()
    there = {str(path.relative_to(PLACE)) for path in PLACE.rglob("*.md")}
    assert there == set(made)
    stale = [name for name, text in made.items() if (PLACE / name).read_text() != text]
    assert stale == [], "run `make docs`"
