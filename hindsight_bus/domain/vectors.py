"""Vectors as they are stored and indexed: L2-normalised, then rounded to float16."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.errors import InvalidField

Vector = NDArray[np.float32]
StoredVector = NDArray[np.float16]

_STORED = np.dtype("<f2")
_SHORTEST, _LONGEST = 1e-100, 1e100
"""Lengths between which no square has left the range of float64."""
_UNIT_TOLERANCE = 0.02
"""Rounding to float16 moves the length of a unit vector by far less than this."""


def normalise(
    values: Sequence[float] | NDArray[np.floating], field: str = "memory.vector", dimension: int = 0
) -> Vector:
    """Return ``values`` as ``rounded`` does, widened to float32, shape (d,)."""
    return widened(rounded(values, field, dimension))


def rounded(
    values: Sequence[float] | NDArray[np.floating], field: str = "memory.vector", dimension: int = 0
) -> StoredVector:
    """Return ``values`` at length 1, as they are stored: float16, shape (d,).

    ``dimension`` is the one required; 0 takes any. Raises ``InvalidField`` naming ``field`` for another shape or
    dimension, for NaN or infinity, and for a vector of length 0, which has no direction.
    """
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not vector.size:
        raise InvalidField(field, "must be a list of numbers")
    if dimension and vector.size != dimension:
        raise InvalidField(field, f"has {vector.size} dimensions, must have {dimension}")
    length = _length(vector)
    if not _SHORTEST < length < _LONGEST:  # or it is NaN
        vector = _scaled(vector, field)
        length = _length(vector)
    return (vector / length).astype(_STORED)


def _length(vector: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return math.sqrt(np.add.reduce(vector * vector))  # BLAS would let go of the interpreter for so little


def _scaled(vector: NDArray[np.float64], field: str) -> NDArray[np.float64]:
    """Return a vector whose squares are out of range, at a size where they are not."""
    if not np.isfinite(vector).all():
        raise InvalidField(field, "must hold finite numbers")
    scale = np.abs(vector).max()
    if not scale:
        raise InvalidField(field, "must not be zero")
    scaled: NDArray[np.float64] = vector / scale
    return scaled


def widened(vectors: StoredVector) -> Vector:
    """Return finite float16 numbers as float32, exactly; several times as fast as NumPy's own conversion."""
    bits = vectors.view(np.int16).astype(np.int32)
    bits <<= 13  # sign and fraction are where float32 has them, the exponent counts from another nought
    bits &= np.int32(-0x70000001)
    wide = bits.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide


def to_bytes(vector: NDArray[np.floating]) -> bytes:
    """Return the stored form: float16, little endian, 2 bytes a dimension."""
    return vector.astype(_STORED, copy=False).tobytes()


def from_bytes(stored: bytes) -> Vector:
    """Return a stored vector as float32, shape (d,)."""
    return widened(np.frombuffer(stored, dtype=_STORED))


def dimension_of(stored: bytes) -> int:
    """Return the dimension of a stored vector."""
    return len(stored) // _STORED.itemsize


def are_unit(vectors: NDArray[np.floating]) -> bool:
    """Tell whether every row of ``vectors``, shape (n, d), is finite and of length 1 within rounding."""
    # What is not finite in float16 has a great length when it is widened.
    rows = widened(vectors) if vectors.dtype == _STORED else vectors.astype(np.float32, copy=False)
    squares = np.einsum("ij,ij->i", rows, rows)
    return bool((np.abs(squares - 1.0) <= _UNIT_TOLERANCE).all())
