"""The fields that searches filter and rank by, as columns over slots."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.postings import Postings
from hindsight_bus.domain import ranking
from hindsight_bus.domain.language import primary
from hindsight_bus.domain.memory import MemoryState, MemoryType
from hindsight_bus.domain.names import digest
from hindsight_bus.domain.query import LIVE_STATES, Filter
from hindsight_bus.ports import Row

Mask = NDArray[np.bool_]
Slots = NDArray[np.intp]

_NUMBERS = np.dtype(
    [
        ("state", np.uint8),
        ("type", np.uint8),
        ("confidence", np.float64),
        ("stated_importance", np.float64),
        ("importance", np.float64),
        ("explicit", np.bool_),
        ("pinned", np.bool_),
        ("is_named", np.bool_),
        ("has_names", np.bool_),
        ("event_ms", np.int64),
        ("create_ms", np.int64),
        ("time_ms", np.int64),
        ("expire_ms", np.int64),
        ("create_revision", np.int64),
        ("revision", np.int64),
        ("retrieved", np.int64),
        ("used", np.int64),
        ("tie", np.uint64),
    ]
)
_TOKENS = ("tags", "agents", "subject", "about", "language")


class Columns:
    """Numbers in arrays, words in postings. A free slot has the state NONE."""

    def __init__(self) -> None:
        self.capacity = 0
        self._numbers = {name: np.zeros(0, _NUMBERS[name]) for name in _NUMBERS.names or ()}
        self._tokens = {name: Postings() for name in _TOKENS}
        self._live: Mask = np.zeros(0, bool)
        self._expiring = 0
        self._pinned = 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column of numbers, shape (capacity,)."""
        return self._numbers[name]

    def at(self, slots: Slots) -> list[NDArray[Any]]:
        """Return every column at ``slots``."""
        return [column[slots] for column in self._numbers.values()]

    @property
    def size_bytes(self) -> int:
        """Estimated memory held."""
        return self.capacity * (_NUMBERS.itemsize + 1) + sum(
            each.size_bytes for each in self._tokens.values()
        )

    @property
    def postings(self) -> tuple[Postings, ...]:
        """The words that rows are filtered by."""
        return tuple(self._tokens.values())

    def reserve(self, capacity: int) -> None:
        """Make room for slots below ``capacity``."""
        for name, column in self._numbers.items():
            self._numbers[name] = _grown(column, capacity)
        self._live = _grown(self._live, capacity)
        self.capacity = capacity

    def put(self, slots: Slots, rows: Sequence[Row]) -> None:
        """Write rows' numbers at distinct slots."""
        self._discount(slots)
        written = np.array([_numbers_of(row) for row in rows], dtype=_NUMBERS)
        written["importance"] = ranking.importance(
            written["stated_importance"],
            written["confidence"],
            written["explicit"],
            written["pinned"],
            ranking.use_rate(written["retrieved"], written["used"]),
        )
        for name, column in self._numbers.items():
            column[slots] = written[name]
        self._live[slots] = _one_of(written["state"], LIVE_STATES)
        self._expiring += int(np.count_nonzero(written["expire_ms"]))
        self._pinned += int(np.count_nonzero(written["pinned"]))

    def clear(self, slots: Slots) -> None:
        """Free slots."""
        self._discount(slots)
        for column in self._numbers.values():
            column[slots] = 0
        self._live[slots] = False

    def _discount(self, slots: Slots) -> None:
        self._expiring -= int(np.count_nonzero(self._numbers["expire_ms"][slots]))
        self._pinned -= int(np.count_nonzero(self._numbers["pinned"][slots]))

    def add_tokens(self, slot: int, row: Row) -> None:
        """Enter what a row is filtered by as words."""
        for postings, tokens in zip(self._tokens.values(), _tokens_of(row), strict=True):
            postings.enter(slot, tokens)

    def remove_tokens(self, slot: int, row: Row) -> None:
        """Take out what ``add_tokens`` entered for the same row."""
        for postings, tokens in zip(self._tokens.values(), _tokens_of(row), strict=True):
            postings.remove(slot, tokens)

    @property
    def is_expiring(self) -> bool:
        """Tell whether any row has an expire time, so that matches depend on the time of asking."""
        return self._expiring > 0

    def has_language(self, language: str) -> bool:
        """Tell whether any row is in a language, whatever its region or script."""
        return any(primary(token) == language for token in self._tokens["language"])

    @property
    def has_pinned(self) -> bool:
        """Tell whether any row is pinned."""
        return self._pinned > 0

    @property
    def live(self) -> Mask:
        """Which slots are ACTIVE or CONTESTED, shape (capacity,); not to be written to."""
        return self._live

    def matching(self, wanted: Filter, now_ms: int, top: int) -> Mask:
        """Return which slots below ``top`` match, by the rule of ``Filter.matches``; O(n), not to be written to."""
        mask = self._live[:top]
        if not wanted.is_default:
            mask = self._numbers_match(wanted, top) & self._tokens_match(wanted, top)
        if self._expiring and MemoryState.EXPIRED not in wanted.states:
            expire_ms = self._numbers["expire_ms"][:top]
            mask = mask & ((expire_ms == 0) | (expire_ms > now_ms))
        return mask

    def _numbers_match(self, wanted: Filter, top: int) -> Mask:
        column = {name: values[:top] for name, values in self._numbers.items()}
        mask = _one_of(column["state"], wanted.states)
        if wanted.types:
            mask &= _one_of(column["type"], wanted.types)
        if wanted.min_confidence:
            mask &= column["confidence"] >= wanted.min_confidence
        if wanted.min_importance:
            mask &= column["stated_importance"] >= wanted.min_importance
        for name, after_ms, before_ms in (
            ("event_ms", wanted.event_after_ms, wanted.event_before_ms),
            ("create_ms", wanted.create_after_ms, wanted.create_before_ms),
        ):
            if after_ms:
                mask &= column[name] >= after_ms
            if before_ms:
                mask &= column[name] < before_ms
        if wanted.pinned is not None:
            mask &= column["pinned"] == wanted.pinned
        return mask

    def _tokens_match(self, wanted: Filter, top: int) -> Mask:
        mask = np.ones(top, bool)
        for tag in wanted.tags:
            mask &= self._holding("tags", (tag,), top)
        for name, any_of in (
            ("tags", wanted.any_tags),
            ("agents", wanted.agents),
            ("language", wanted.languages),
            ("subject", (wanted.subject,) if wanted.subject else ()),
            ("about", (wanted.about,) if wanted.about else ()),
        ):
            if any_of:
                mask &= self._holding(name, any_of, top)
        if wanted.unnamed:
            mask &= ~self._numbers["is_named"][:top]
        if wanted.subject_prefix:
            subjects = self._tokens["subject"]
            mask &= self._holding(
                "subject", (s for s in subjects if s.startswith(wanted.subject_prefix)), top
            )
        return mask

    def _holding(self, name: str, any_of: Iterable[str], top: int) -> Mask:
        mask = np.zeros(top, bool)
        for token in any_of:
            mask[self._tokens[name].slots(token)] = True
        return mask


def _grown(column: NDArray[Any], capacity: int) -> NDArray[Any]:
    grown = np.zeros(capacity, column.dtype)
    grown[: len(column)] = column
    return grown


def _one_of(column: NDArray[Any], values: Iterable[MemoryState | MemoryType]) -> Mask:
    table = np.zeros(256, bool)
    table[[int(value) for value in values]] = True
    return np.asarray(table[column])


def _numbers_of(row: Row) -> tuple[float, ...]:
    version = row.version
    return (
        row.state,
        version.type,
        row.effective_confidence,
        version.importance,
        0.0,
        version.explicit,
        version.pinned,
        bool(version.named_subject),
        bool(version.named_subject or version.aliases),
        version.event_time_ms,
        row.create_time_ms,
        version.event_time_ms or row.create_time_ms,
        version.expire_time_ms,
        row.create_revision,
        row.revision,
        row.retrieved,
        row.used,
        int(digest(row.memory_id, size=8), 16),
    )


def _tokens_of(row: Row) -> tuple[Collection[str], ...]:
    """Return what a row is filtered by, in the order of ``_TOKENS``."""
    version = row.version
    return set(version.tags), set(row.agents), (version.subject,), (version.about,), (version.language,)
