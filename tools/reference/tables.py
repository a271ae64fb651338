"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table, an empty one after it."""
    return [_row(heads), _row(("---",) * len(heads)), *map(_row, rows), ""]


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
