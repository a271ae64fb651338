"""A namespace in memory: rows, columns, vectors and words, and the search over them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index import search as searching
from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.channels import Indexes
from hindsight_bus.adapters.index.columns import Columns, Mask
from hindsight_bus.adapters.index.conversations import Conversations
from hindsight_bus.adapters.index.dense import DenseIndex
from hindsight_bus.adapters.index.lexical import LexicalIndex
from hindsight_bus.adapters.index.pieces import PieceIndex
from hindsight_bus.adapters.index.postings import MAX_SLOTS, counts_of, slots_of
from hindsight_bus.adapters.index.subjects import KnownSubjects, SubjectIndex
from hindsight_bus.adapters.index.successors import Successors
from hindsight_bus.domain.calibration import Calibration
from hindsight_bus.domain.language import primary
from hindsight_bus.domain.memory import MemoryState, MemoryType, Version
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.values import replace
from hindsight_bus.domain.vectors import widened
from hindsight_bus.ports import Candidate, Row, Vectors, ViewQuery, ViewStats

_SMALLEST = 64
_ROW_BYTES = 1000
"""A row with its version, ids and numbers, without text and vector."""
_LETTER_BYTES = 2
"""Of a text that is not all ASCII."""


class View:
    """An in-memory index over one namespace; see ``ports.NamespaceView``.

    A row keeps its slot until it is removed; freed slots are used again. ``calibration`` is that of the namespace's
    embedding profile; without one, nothing is withheld as irrelevant.
    """

    def __init__(self, analyzer: Analyzer, calibration: Calibration | None = None) -> None:
        calibration = calibration or Calibration()
        self._analyzer = analyzer
        self._common = calibration.common
        self._rows: list[Row | None] = []
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._row_bytes = 0
        self._columns = Columns()
        self._dense = DenseIndex()
        self._pieces = PieceIndex()
        self._lexical = LexicalIndex()
        self._subjects = SubjectIndex(analyzer)
        self._known = KnownSubjects(analyzer)
        self._conversations = Conversations()
        self._successors = Successors()
        self._indexes = Indexes(
            self._rows,
            self._slots,
            self._columns,
            self._dense,
            self._pieces,
            self._lexical,
            self._subjects,
            self._conversations,
            self._successors,
            analyzer,
            calibration,
        )

    @property
    def size_bytes(self) -> int:
        """Estimated memory held; O(1)."""
        postings = sum(each.size_bytes for each in (self._lexical.postings, *self._subjects.postings))
        vectors = self._dense.size_bytes + self._pieces.size_bytes
        return self._row_bytes + self._columns.size_bytes + vectors + postings

    @property
    def dimension(self) -> int:
        """Dimension of the vectors held; 0 while there are none."""
        return self._dense.dimension

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, memory_id: str) -> Row | None:
        """Return the row of a memory."""
        slot = self._slots.get(memory_id)
        return None if slot is None else self._rows[slot]

    def upsert(self, rows: Iterable[Row]) -> None:
        """Insert or replace rows by memory id, the last one where an id comes twice; O(1) a row.

        ``ValueError`` where a vector is not finite, not of length 1 or not of the view's dimension; nothing is changed.
        """
        latest = list({row.memory_id: row for row in rows}.values())
        if not latest:
            return
        embedded = [row for row in latest if row.vector is not None]
        stored = [row.vector for row in embedded if row.vector is not None]
        pieces = {row.memory_id: _parted(row) for row in embedded if row.pieces}
        parsed = self._parsed([*stored, *chain.from_iterable(pieces.values())]) if stored else None
        slots = np.array([self._place(row) for row in latest], dtype=np.intp)
        self._columns.put(slots, latest)
        self._dense.drop(slots)
        self._pieces.drop(slots.tolist())
        if parsed is not None:
            held = np.array([self._slots[row.memory_id] for row in embedded], dtype=np.intp)
            languages = [primary(row.version.language) for row in embedded]
            self._dense.put(held, parsed[: len(held)], languages, len(self._rows))
            ends = np.cumsum([len(held), *map(len, pieces.values())])[:-1]
            owners = [self._slots[memory_id] for memory_id in pieces]
            self._pieces.put(dict(zip(owners, np.split(parsed, ends)[1:], strict=True)))

    def remove(self, memory_ids: Iterable[str]) -> None:
        """Drop rows; unknown ids are ignored."""
        known = [memory_id for memory_id in dict.fromkeys(memory_ids) if memory_id in self._slots]
        freed = np.array([self._displace(memory_id) for memory_id in known], dtype=np.intp)
        self._columns.clear(freed)
        self._dense.drop(freed)
        self._pieces.drop(freed.tolist())

    def search(self, queries: Sequence[ViewQuery]) -> list[list[Candidate]]:
        """Answer queries, best first, each at most its ``top_k``; those under one filter share the dense scan.

        ``ValueError`` where a query's vector has not the view's dimension. Cost: one scan of the vectors and of the
        words' postings.
        """
        return searching.search(self._indexes, [self._comparable(query) for query in queries])

    def nearest(self, vector: Vectors, k: int, filter: Filter) -> list[tuple[str, float]]:
        """Return the ``k`` nearest memories (id, cosine) among those that match, nearest first."""
        return searching.nearest(self._indexes, self._common.without(vector), k, filter)

    def matching(self, filter: Filter, limit: int) -> list[Row]:
        """Return at most ``limit`` rows that match, newest first; O(n)."""
        return searching.matching(self._indexes, filter, limit)

    def speaks(self, language: str) -> bool:
        """Tell whether any memory is in a language; O(1), may be called from any thread."""
        return self._columns.has_language(language)

    def subjects(self) -> Mapping[str, str]:
        """Return known surface forms -> subject, of live memories, as they stand; O(1) unless they changed."""
        return self._known.chosen

    def has_pending_vectors(self, revision: int) -> bool:
        """Tell whether a live memory made at or before ``revision`` has no vector yet; O(n)."""
        return bool(
            (self._pending() & (self._columns["create_revision"][: len(self._rows)] <= revision)).any()
        )

    def stats(self) -> ViewStats:
        """Count rows; O(n)."""
        top = len(self._rows)
        live = self._columns.live[:top]
        states = Counter(self._columns["state"][:top].tolist())
        types = Counter(self._columns["type"][:top][live].tolist())
        return ViewStats(
            by_state={state.name: states[state] for state in MemoryState if state and states[state]},
            by_type={type_.name: types[type_] for type_ in MemoryType if types[type_]},
            pending_vectors=int(np.count_nonzero(self._pending())),
        )

    def digest(self) -> str:
        """Return a hash over ids, columns, vectors and terms; equal views have equal digests. O(n log n)."""
        state = hashlib.blake2b(digest_size=16)
        for part in self._content():
            state.update(len(part).to_bytes(8, "big"))
            state.update(part)
        return state.hexdigest()

    def _content(self) -> Iterator[bytes]:
        ids = sorted(self._slots)
        slots = np.array([self._slots[memory_id] for memory_id in ids], dtype=np.intp)
        yield from (memory_id.encode() for memory_id in ids)
        yield from (repr(self._rows[slot]).encode() for slot in slots)
        yield from (column.tobytes() for column in self._columns.at(slots))
        yield self._dense.held[slots].tobytes()
        yield self._dense.at(slots[self._dense.held[slots]]).tobytes()
        yield from (self._pieces.at(slot).tobytes() for slot in slots.tolist() if slot in self._pieces)
        rank = np.zeros(len(self._rows), dtype=np.int64)
        rank[slots] = np.arange(len(slots))
        for postings in (self._lexical.postings, *self._subjects.postings, *self._columns.postings):
            for key, packed in postings.items():
                holders = rank[slots_of(packed)]
                order = np.argsort(holders)
                yield key.encode()
                yield holders[order].tobytes() + counts_of(packed)[order].tobytes()
        yield repr(sorted(self._known.chosen.items())).encode()

    def _parsed(self, stored: Sequence[bytes]) -> NDArray[np.float16]:
        """Return stored vectors as they are held: checked, and without what all texts have in common."""
        parsed = self._dense.parse(stored)
        if self._common.fits(parsed.shape[1]):
            parsed = self._common.without(widened(parsed)).astype(np.float16)
        return parsed

    def _comparable(self, query: ViewQuery) -> ViewQuery:
        if query.vector is None or not self._common.fits(len(query.vector)):
            return query
        return replace(query, vector=self._common.without(query.vector))

    def _pending(self) -> Mask:
        top = len(self._rows)
        return self._columns.live[:top] & ~self._dense.held[:top]

    def _place(self, row: Row) -> int:
        slot = self._slots.get(row.memory_id)
        old = None if slot is None else self._rows[slot]
        if slot is None:
            slot = self._slots[row.memory_id] = self._free.pop() if self._free else self._grow()
        self._rows[slot] = row
        self._row_bytes += _size_of(row)
        if old is None or old.version != row.version or old.agents != row.agents:
            self._unindex(slot, old)
            self._index(slot, row)
        self._restand(slot, old, row)
        self._recount(old, row)
        return slot

    def _displace(self, memory_id: str) -> int:
        slot = self._slots.pop(memory_id)
        old = self._rows[slot]
        self._rows[slot] = None
        self._unindex(slot, old)
        self._restand(slot, old, None)
        self._recount(old, None)
        self._free.append(slot)
        return slot

    def _grow(self) -> int:
        slot = len(self._rows)
        if slot >= MAX_SLOTS:
            raise OverflowError(f"a view holds at most {MAX_SLOTS} memories")
        if slot >= self._columns.capacity:
            capacity = max(_SMALLEST, 2 * slot)
            for index in (self._columns, self._dense, self._lexical, self._conversations):
                index.reserve(capacity)
        self._rows.append(None)
        return slot

    def _index(self, slot: int, row: Row) -> None:
        self._lexical.add(slot, self._counts(row.version))
        self._subjects.add(slot, row.version)
        self._columns.add_tokens(slot, row)

    def _unindex(self, slot: int, row: Row | None) -> None:
        if row is None:
            return
        self._lexical.remove(slot, self._counts(row.version))
        self._subjects.remove(slot, row.version)
        self._columns.remove_tokens(slot, row)

    def _restand(self, slot: int, old: Row | None, new: Row | None) -> None:
        if old is not None:
            self._conversations.remove(slot, old)
        if new is not None:
            self._conversations.add(slot, new)
        self._successors.put(slot, new)

    def _recount(self, old: Row | None, new: Row | None) -> None:
        if old is not None:
            self._row_bytes -= _size_of(old)
            if old.state.is_live:
                self._known.remove(old.version)
        if new is not None and new.state.is_live:
            self._known.add(new.version)

    def _counts(self, version: Version) -> Mapping[str, int]:
        subject = version.subject.replace(".", " ").replace("_", " ")
        fields = (version.text, subject, version.value, *version.aliases, *version.tags)
        terms = self._analyzer.terms("\n".join(fields))
        counts = dict.fromkeys(terms, 0)
        for term in terms:
            counts[term] += 1
        return counts


def _parted(row: Row) -> list[bytes]:
    """Return the stored vectors of a row's pieces; of a wrong length where they do not fit its own."""
    size = len(row.vector or row.pieces)
    return [row.pieces[start : start + size] for start in range(0, len(row.pieces), size)]


def _size_of(row: Row) -> int:
    version = row.version
    letters = len(version.text) + len(version.subject) + len(version.value)
    letters += sum(map(len, version.aliases)) + sum(map(len, version.tags))
    held = len(version.attributes) + (0 if row.vector is None else len(row.vector)) + len(row.pieces)
    return _ROW_BYTES + _LETTER_BYTES * letters + held
