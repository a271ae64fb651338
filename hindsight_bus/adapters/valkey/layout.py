"""Positional layouts: how a dataclass becomes a compact array and comes back.

The order of names is the stored order. It is append-only: a new field goes last and has a default, so older rows still
read and older servers skip what they do not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from enum import IntEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_SHARED = 16_384


class Part:
    """How one field differs from what msgpack stores by itself."""

    __slots__ = ("decode", "encode")

    def __init__(self, encode: Callable[[Any], Any] | None, decode: Callable[[Any], Any]) -> None:
        self.encode = encode
        self.decode = decode


class Layout(Generic[T]):
    """Stored order of the fields of one dataclass with at least two fields."""

    def __init__(self, kind: type[T], names: str, /, **parts: Part) -> None:
        self.names = tuple(names.split())
        self._kind = kind
        self._values = attrgetter(*self.names)
        self._encoders = [(n, parts[name].encode) for n, name in enumerate(self.names) if name in parts]
        self._decoders = [(n, parts[name].decode) for n, name in enumerate(self.names) if name in parts]
        self._is_in_order = self.names == _field_names(kind)[: len(self.names)]

    def encode(self, value: T) -> list[Any]:
        """Return the field values in stored order."""
        values = list(self._values(value))
        for n, encode in self._encoders:
            if encode is not None:
                values[n] = encode(values[n])
        return values

    def decode(self, stored: Sequence[Any]) -> T:
        """Build the object; fields that the row lacks take their defaults, fields beyond the layout are skipped."""
        values = list(stored)
        for n, decode in self._decoders:
            if n < len(values):
                values[n] = decode(values[n])
        if self._is_in_order:
            return self._kind(*values[: len(self.names)])
        return self._kind(**dict(zip(self.names, values, strict=False)))

    @property
    def one(self) -> Part:
        """A field that holds one such object."""
        return Part(self.encode, self.decode)

    @property
    def many(self) -> Part:
        """A field that holds a tuple of such objects."""
        return Part(self._encode_all, self._decode_all)

    def _encode_all(self, values: Iterable[T]) -> list[Any]:
        return [self.encode(value) for value in values]

    def _decode_all(self, stored: Iterable[Sequence[Any]]) -> tuple[T, ...]:
        return tuple(self.decode(values) for values in stored)


def _field_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def enum(kind: type[IntEnum]) -> Part:
    """Return the part of a field that holds an IntEnum, which msgpack stores as its number."""
    members = {
        int(member): member for member in kind
    }  # looking one up is ten times faster than ``kind(number)``
    return Part(None, members.__getitem__)


def shared(part: Part) -> Part:
    """Return the part of a field whose few values recur: equal ones become one object."""
    return Part(part.encode, lru_cache(_SHARED)(part.decode))


def optional(part: Part) -> Part:
    """Return the part of a field that may be None."""
    encode, decode = part.encode, part.decode
    return Part(
        None if encode is None else lambda value: None if value is None else encode(value),
        lambda stored: None if stored is None else decode(stored),
    )


def mapping(part: Part) -> Part:
    """Return the part of a field that maps text to such objects."""
    encode, decode = part.encode, part.decode
    return Part(
        None if encode is None else lambda value: {key: encode(item) for key, item in value.items()},
        lambda stored: {key: decode(item) for key, item in stored.items()},
    )
