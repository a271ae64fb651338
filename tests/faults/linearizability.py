"""Is there one order of the calls on a subject that explains every answer?

The search is that of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) with the memory of visited
configurations of Lowe ("Testing for linearizability", 2017). A call takes effect at one point between its beginning
and its end; one whose outcome is unknown at any point after its beginning, or never.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Statement:
    """What one speaker holds."""

    text: str
    confidence: float


Subject: TypeAlias = frozenset[tuple[str, Statement]]
"""State of the model: what each speaker holds on the subject."""
EMPTY: Subject = frozenset()


@dataclass(frozen=True, slots=True)
class Said:
    """A write: a speaker states something, with an event time later than all it said before."""

    start_s: float
    end_s: float
    """Infinite where the outcome is unknown."""
    speaker: str
    text: str
    confidence: float
    is_new: bool | None = None
    """The answer said STORED (True) or CORROBORATED (False); None where nobody knows."""
    state: str = ""
    """State of the memory in the answer; empty where nobody knows."""

    def step(self, subject: Subject) -> Subject | None:
        """Return the state after the call, or None where its answer does not fit."""
        is_new = all(statement.text != self.text for _, statement in subject)
        if self.is_new not in (None, is_new):
            return None
        others = {(speaker, statement) for speaker, statement in subject if speaker != self.speaker}
        after = frozenset({*others, (self.speaker, Statement(self.text, self.confidence))})
        return after if self.state in ("", standings(after)[self.text]) else None


@dataclass(frozen=True, slots=True)
class Listed:
    """A read: every live statement on the subject with its state."""

    start_s: float
    end_s: float
    live: frozenset[tuple[str, str]]

    def step(self, subject: Subject) -> Subject | None:
        """Return the state, or None where the answer does not fit it."""
        live = {(text, state) for text, state in standings(subject).items() if state != "OVERRIDDEN"}
        return subject if live == self.live else None


Operation: TypeAlias = Said | Listed


def standings(subject: Subject, margin: float = 0.05) -> dict[str, str]:
    """Return each statement's state by the rules, written down here once more for event times that are close."""
    doubts: dict[str, list[float]] = {}
    for _, statement in subject:
        doubts.setdefault(statement.text, []).append(1.0 - statement.confidence)
    scores = {text: min(0.99, 1.0 - math.prod(doubt)) for text, doubt in doubts.items()}
    best = max(scores.values(), default=0.0)
    held = [text for text, score in scores.items() if score >= (1.0 - margin) * best]
    winning = "ACTIVE" if len(held) == 1 else "CONTESTED"
    return {text: winning if text in held else "OVERRIDDEN" for text in scores}


def explain(operations: Sequence[Operation], last: Subject | None = None) -> list[int] | None:
    """Return an order (indexes) that explains every answer and ends in ``last`` if given; None if there is none."""
    return _Search(operations, last).run()


class _Search:
    def __init__(self, operations: Sequence[Operation], last: Subject | None) -> None:
        self._operations = operations
        self._last = last
        self._visited: set[tuple[frozenset[int], Subject]] = set()
        self._known = frozenset(i for i, each in enumerate(operations) if not math.isinf(each.end_s))

    def run(self) -> list[int] | None:
        """Search depth first, without recursion: histories are longer than Python's stack is deep."""
        waiting: list[tuple[list[int], frozenset[int], Subject]] = [([], frozenset(), EMPTY)]
        while waiting:
            order, done, subject = waiting.pop()
            if self._known <= done and self._last in (None, subject):
                return order
            if (done, subject) in self._visited:
                continue
            self._visited.add((done, subject))
            for index in self._next(done):
                after = self._operations[index].step(subject)
                if after is not None:
                    waiting.append(([*order, index], done | {index}, after))
        return None

    def _next(self, done: frozenset[int]) -> list[int]:
        """Return the calls that may take effect next: those that began before any other that is left has ended."""
        left = [i for i in range(len(self._operations)) if i not in done]
        first_end = min((self._operations[i].end_s for i in left), default=math.inf)
        return [i for i in left if self._operations[i].start_s <= first_end]
