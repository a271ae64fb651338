"""Places in the change log, and the tokens that carry them to clients.

A position is (partition, revision, stamp). The revision is a counter per partition and the id of the log entry; the
stamp is a random number of that entry, by which a lost or restored log is noticed.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.names import digest

MAX_TOKENS = 32
_FORMAT = 1
_ENTRY = struct.Struct(">HQI")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in one partition's log: right after the entry ``revision``. Revision 0 is the start of the log."""

    partition: int
    revision: int
    stamp: int


class Positions(Mapping[int, Position]):
    """At most one position a partition: what a ConsistencyToken holds."""

    __slots__ = ("_by_partition",)

    def __init__(self, positions: Iterable[Position] = ()) -> None:
        self._by_partition = {p.partition: p for p in positions}

    def __getitem__(self, partition: int) -> Position:
        return self._by_partition[partition]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_partition)

    def __len__(self) -> int:
        return len(self._by_partition)

    def with_position(self, position: Position) -> Positions:
        """Return a copy in which the position replaces that of its partition."""
        return Positions([*self._by_partition.values(), position])

    def merged(self, other: Positions) -> Positions:
        """Return, per partition, the later of both."""
        later = dict(self._by_partition)
        for partition, position in other.items():
            if partition not in later or later[partition].revision < position.revision:
                later[partition] = position
        return Positions(later.values())

    def encode(self, tenant: str) -> str:
        """Return the token text: URL-safe, bound to the tenant, about 19 characters a partition."""
        body = b"".join(
            _ENTRY.pack(p.partition, p.revision, p.stamp)
            for p in sorted(self._by_partition.values(), key=lambda p: p.partition)
        )
        raw = bytes([_FORMAT]) + _seal(tenant, body) + body
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, tenant: str, field: str = "token") -> Positions:
        """Parse a token; raise ``InvalidField`` when it is malformed or another tenant's."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:
            raise InvalidField(field, "is not a token of this service") from None
        body = raw[9:]
        sound = len(raw) >= 9 and raw[0] == _FORMAT and len(body) % _ENTRY.size == 0
        if not sound or raw[1:9] != _seal(tenant, body):
            raise InvalidField(field, "is not a token of this service")
        return cls(Position(*entry) for entry in _ENTRY.iter_unpack(body))


def _seal(tenant: str, body: bytes) -> bytes:
    return bytes.fromhex(digest("token", tenant, body.hex(), size=8))
