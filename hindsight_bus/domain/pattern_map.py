"""A map from patterns, asked by namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from hindsight_bus.domain.names import Namespace, Pattern

V = TypeVar("V")

_Shape = tuple[bool, bool, bool]
"""Which of scope, owner and kind are named; the others are ``*``."""
_Parts = tuple[str, str, str, str]


class PatternMap(Generic[V]):
    """Values by pattern. Each part of a pattern is a name or ``*``, so at most eight keys fit one namespace.

    Finding what fits a namespace costs a look-up for each shape in use, however many patterns there are.
    """

    def __init__(self) -> None:
        self._by_shape: dict[_Shape, dict[_Parts, V]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_shape)

    def get(self, pattern: Pattern) -> V | None:
        """Return the value of exactly this pattern."""
        return self._by_shape.get(_shape(pattern), {}).get(_parts(pattern))

    def put(self, pattern: Pattern, value: V) -> None:
        """Set the value of a pattern."""
        self._by_shape.setdefault(_shape(pattern), {})[_parts(pattern)] = value

    def remove(self, pattern: Pattern) -> None:
        """Drop a pattern, which must be there."""
        values = self._by_shape[_shape(pattern)]
        del values[_parts(pattern)]
        if not values:
            del self._by_shape[_shape(pattern)]

    def matching(self, namespace: Namespace) -> Iterator[V]:
        """Yield the values of the patterns that a namespace falls under."""
        for (scope, owner, kind), values in self._by_shape.items():
            key = (
                namespace.tenant,
                namespace.scope if scope else "*",
                namespace.owner if owner else "*",
                namespace.kind if kind else "*",
            )
            value = values.get(key)
            if value is not None:
                yield value


def _shape(pattern: Pattern) -> _Shape:
    return pattern.scope != "*", pattern.owner != "*", pattern.kind != "*"


def _parts(pattern: Pattern) -> _Parts:
    return pattern.tenant, pattern.scope, pattern.owner, pattern.kind
