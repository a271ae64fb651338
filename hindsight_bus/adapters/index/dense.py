"""Nearest neighbours by meaning: inner product over float16 vectors; of many, a scan of 4-bit codes proposes them.

Of FAISS's exact indexes the float16 one answers fastest here (384-d, k = 50, one thread, 1 k / 10 k / 100 k vectors:
0.04 / 0.3 / 4.2 ms, against 0.05 / 0.6 / 11 ms of the float32 one) at half the memory, and loses next to nothing:
vectors are rounded to float16 before they are stored. The scan of codes takes 0.13 ms at 10 k and 1.1 ms at 100 k,
exact cosines of what it proposes included; at 5 k both take the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import faiss
import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.codes import CodeScan
from hindsight_bus.adapters.index.means import LanguageMeans
from hindsight_bus.domain.vectors import are_unit, widened

_HALF = np.dtype("<f2")
CODED_FROM = 8_000
"""Vectors from which on codes are kept and scanned."""
_CODED_DIMENSION = 32
"""Dimension from which on: the rounding of fewer numbers does not even out, and they are soon compared."""
_OUTGROWN = 4
"""How many times more vectors there are when all are coded afresh: by then their centre may be another."""
_CAUGHT_UP = 4
"""Vectors coded along with each one that is put, until all are."""
_LEAST_CAUGHT_UP = 512
"""Vectors coded by any change and any search until then: 2 ms."""
_WIDEST = 1_024
"""Vectors that a scan of codes is asked for at most: beyond, a filter leaves so few that all are better compared."""
_SPARE = 1.5
"""What a scan is asked for beyond what a filter would leave were it indifferent to meaning."""

Mask = NDArray[np.bool_]
Slots = NDArray[np.intp]


class DenseIndex:
    """Vectors by slot; all of one dimension, which is 0 while there are none.

    From ``coded_from`` vectors on they are searched by codes, once all have theirs; a filter that leaves few is scanned
    exactly.
    """

    def __init__(self, coded_from: int = CODED_FROM) -> None:
        self._coded_from = coded_from
        self._scan: CodeScan | None = None
        self._coded_count = 0
        self.dimension = 0
        self.count = 0
        self.held: Mask = np.zeros(0, bool)
        self.means = LanguageMeans()

    @property
    def size_bytes(self) -> int:
        """Bytes of vectors and codes."""
        coded = 0 if self._scan is None else self._scan.size_bytes
        return coded + (int(self._index.codes.size()) if self.dimension else 0)

    def reserve(self, capacity: int) -> None:
        """Make room for slots below ``capacity``."""
        grown = np.zeros(capacity, bool)
        grown[: len(self.held)] = self.held
        self.held = grown
        self.means.reserve(capacity)

    def parse(self, stored: Sequence[bytes]) -> NDArray[np.float16]:
        """Return stored vectors as float16, shape (n, d); ``ValueError`` unless finite, of length 1 and fitting."""
        size = len(stored[0])
        if not size or size % _HALF.itemsize or any(len(each) != size for each in stored):
            raise ValueError("vectors must be float16 and of one dimension")
        if self.dimension and size != self.dimension * _HALF.itemsize:
            raise ValueError(
                f"vectors have {size // _HALF.itemsize} dimensions, the view holds {self.dimension}"
            )
        vectors = np.frombuffer(b"".join(stored), dtype=_HALF).reshape(len(stored), -1)
        if not are_unit(vectors):
            raise ValueError("vectors must be finite and of length 1")
        return vectors

    def put(self, slots: Slots, vectors: NDArray[np.float16], languages: Sequence[str], top: int) -> None:
        """Hold ``vectors``, shape (n, d), as parsed, of memories in ``languages``, at distinct ``slots`` < ``top``."""
        self.drop(slots)
        if not self.dimension:
            self._open(vectors.shape[1])
        missing = top - self._index.ntotal
        if missing > 0:
            self._index.add_sa_codes(np.zeros((missing, self._index.sa_code_size()), np.uint8))
            self._vectors = self._stored()
        self._vectors[slots] = vectors
        self.held[slots] = True
        self.count += len(slots)
        wide = widened(vectors)
        self.means.add(slots, wide, languages)
        self._code(slots, wide)

    def drop(self, slots: Slots) -> None:
        """Forget the vectors at ``slots``, where there are any."""
        slots = slots[self.held[slots]]
        if not len(slots):
            return
        self.means.drop(slots, self._wide(slots))
        self.held[slots] = False
        self.count -= len(slots)
        if self.count <= self._coded_from // 2:
            self._scan = None
        if not self.count:
            self.dimension = 0
            self.means.clear()

    def at(self, slots: Slots) -> NDArray[np.float16]:
        """Return the vectors at ``slots``, float16, shape (n, d)."""
        return self._vectors.take(slots, axis=0) if self.dimension else np.empty((0, 0), np.float16)

    def cosines(self, query: NDArray[np.float32], slots: Slots) -> NDArray[np.float64]:
        """Return exact cosines, shape (n,); NaN where a slot holds no vector."""
        cosines = np.full(len(slots), np.nan)
        held = self.held[slots]
        cosines[held] = np.einsum(
            "ij,j->i", self._wide(slots[held]), query
        )  # row by row: its place must not move a last bit
        return cosines

    def are_near(self, slots: Slots, cosine: float) -> NDArray[np.bool_]:
        """Tell of each two slots whether their vectors are at least as close, shape (n, n); so they are without one."""
        held = np.flatnonzero(self.held[slots])
        if not len(held):
            return np.ones((len(slots), len(slots)), bool)
        vectors = self._wide(slots[held])
        near: NDArray[np.bool_] = vectors @ vectors.T >= cosine
        if len(held) == len(slots):
            return near
        every = np.ones((len(slots), len(slots)), bool)
        every[np.ix_(held, held)] = near
        return every

    def nearest(self, queries: NDArray[np.float32], k: int, allowed: Mask) -> list[Slots]:
        """Return for each query, shape (m, d), the slots of its ``k`` nearest among ``allowed``, and any that tie."""
        if queries.shape[1] != self.dimension:
            raise ValueError(f"the query has {queries.shape[1]} dimensions, the view holds {self.dimension}")
        allowed = allowed & self.held[: len(allowed)]
        count = int(np.count_nonzero(allowed))
        wanted = min(k + 1, count)
        if not wanted:
            return [np.empty(0, np.intp)] * len(queries)
        faiss.omp_set_num_threads(1)  # holds for the calling thread only
        found = self._by_codes(queries, k, wanted, allowed, count)
        unsure = [number for number, slots in enumerate(found) if slots is None]
        for number, slots in zip(unsure, self._exactly(queries[unsure], k, wanted, allowed), strict=True):
            found[number] = slots
        return [slots for slots in found if slots is not None]

    def _by_codes(
        self, queries: NDArray[np.float32], k: int, wanted: int, allowed: Mask, count: int
    ) -> list[Slots | None]:
        """Return what a scan of codes finds; None where it finds too few, or may have cut through a tie."""
        asked = math.ceil(_SPARE * wanted * self._index.ntotal / count)
        scan = self._scan
        if scan is not None and scan.top < self._index.ntotal:
            self._catch_up(scan)
        if scan is None or scan.top < self._index.ntotal or asked > _WIDEST:
            return [None] * len(queries)
        found: list[Slots | None] = []
        for cosines, slots in zip(*scan.nearest(queries, asked), strict=True):
            passing = np.flatnonzero(allowed[slots] & (slots >= 0))[:wanted]
            is_cut = len(passing) > k and cosines[passing[k]] == cosines[passing[k - 1]]
            found.append(None if is_cut or len(passing) < wanted else slots[passing[:k]])
        return found

    def _exactly(self, queries: NDArray[np.float32], k: int, wanted: int, allowed: Mask) -> Iterable[Slots]:
        if not len(queries):
            return []
        parameters = None
        if not allowed.all():
            bits = np.packbits(allowed[: self._index.ntotal], bitorder="little")
            selector = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]
            parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        cosines, slots = self._index.search(queries, wanted, params=parameters)
        if wanted <= k:
            return list(slots)
        return [
            found[:k] if row[k] < row[k - 1] else self._within(query, row[k], parameters)
            for query, row, found in zip(queries, cosines, slots, strict=True)
        ]

    def _within(
        self, query: NDArray[np.float32], least: np.float32, parameters: faiss.SearchParameters | None
    ) -> Slots:
        below = float(np.nextafter(least, np.float32(-2.0)))
        return np.asarray(self._index.range_search(query[None], below, params=parameters)[2])

    def _open(self, dimension: int) -> None:
        half = faiss.ScalarQuantizer.QT_fp16
        self._index = faiss.IndexScalarQuantizer(dimension, half, faiss.METRIC_INNER_PRODUCT)
        self.dimension = dimension

    def _code(self, slots: Slots, vectors: NDArray[np.float32]) -> None:
        """Keep codes up, and catch up with those that there were before codes were kept: never many at once."""
        if self.count < self._coded_from or self.dimension < _CODED_DIMENSION:
            return
        if self._scan is None or self.count >= _OUTGROWN * self._coded_count:
            self._scan, self._coded_count = CodeScan(self._index, self.means.overall), self.count
        known = slots < self._scan.top
        self._scan.put(slots[known], vectors[known], self._index.ntotal)
        self._catch_up(self._scan, _CAUGHT_UP * len(slots))

    def _catch_up(self, scan: CodeScan, most: int = 0) -> None:
        top = self._index.ntotal
        upto = min(top, scan.top + max(_LEAST_CAUGHT_UP, most))
        fresh = np.arange(scan.top, upto)
        scan.put(fresh, self._wide(fresh), top)
        scan.top = upto

    def _wide(self, slots: Slots) -> NDArray[np.float32]:
        return widened(self._vectors.take(slots, axis=0))

    def _stored(self) -> NDArray[np.float16]:
        """Return the index's own vectors by slot, shape (n, d), to be read and written until it grows."""
        codes = self._index.codes
        flat = faiss.rev_swig_ptr(codes.data(), codes.size())
        return np.asarray(flat.view(_HALF).reshape(self._index.ntotal, self.dimension))
