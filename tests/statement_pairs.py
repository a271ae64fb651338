"""A hundred pairs of statements about a user, as agents store them: without a subject, labelled by what a reader says.

They were written down before anybody ran the rules on them; a change of the rules is no reason to change them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

LABELS = ("same", "updated", "contradictory", "unrelated")
_FILE = Path(__file__).parent / "data" / "statement_pairs.jsonl"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements about one user, the second later than the first."""

    id: str
    label: str
    language: str
    """``en``, ``zh``, ``zh-Hant``, or ``mixed`` where it takes two."""
    first: str
    second: str
    may_replace: bool
    """The second, said by the same speaker, makes the first untrue, and the fact has one value at a time."""


def load() -> list[Pair]:
    """Return the pairs, 25 a label."""
    return [Pair(**json.loads(line)) for line in _FILE.read_text(encoding="utf-8").splitlines()]
