"""Places in the change log, and the tokens that carry them to clients.

A position is (partition, revision, stamp). The revision is a counter per partition and the id of the log entry; the
stamp is a random number of that entry, by which a lost or restored log is noticed.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping

from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.names import digest
from hindsight_bus.domain.values import Value

MAX_TOKENS = 32
_FORMAT = 1
_SEAL_BYTES = 8
_STAMP_BYTES = 4
_BYTES = [bytes([byte]) for byte in range(0x100)]


class Position(Value):
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

    def merged(self, other: Positions) -> Positions:
        """Return, per partition, the later of both."""
        later = dict(self._by_partition)
        for partition, position in other.items():
            if partition not in later or later[partition].revision < position.revision:
                later[partition] = position
        return Positions(later.values())

    def encode(self, tenant: str) -> str:
        """Return the token text: URL-safe, bound to the tenant; 2 bytes for an empty partition, about 8 for another."""
        body, last = bytearray(), -1
        for partition, position in sorted(self._by_partition.items()):
            body += varint(partition - last - 1) + varint(position.revision)
            if position.revision:
                body += position.stamp.to_bytes(_STAMP_BYTES, "big")
            last = partition
        raw = bytes([_FORMAT]) + _seal(tenant, bytes(body)) + body
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, tenant: str, field: str = "token") -> Positions:
        """Parse a token; raise ``InvalidField`` when it is malformed or another tenant's."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:
            raise InvalidField(field, "is not a token of this service") from None
        body = raw[1 + _SEAL_BYTES :]
        if len(raw) <= _SEAL_BYTES or raw[0] != _FORMAT or raw[1 : 1 + _SEAL_BYTES] != _seal(tenant, body):
            raise InvalidField(field, "is not a token of this service")
        return cls(_entries(body))


def _entries(body: bytes) -> Iterator[Position]:
    """Yield the positions of a body that ``encode`` has made."""
    at, partition = 0, -1
    while at < len(body):
        skipped, at = _read_varint(body, at)
        revision, at = _read_varint(body, at)
        partition += skipped + 1
        stamp = 0
        if revision:
            stamp, at = int.from_bytes(body[at : at + _STAMP_BYTES], "big"), at + _STAMP_BYTES
        yield Position(partition, revision, stamp)


def varint(number: int) -> bytes:
    """Return a number in base 128, lowest digit first, as protobuf writes lengths."""
    return _BYTES[number] if number < 0x80 else _BYTES[number & 0x7F | 0x80] + varint(number >> 7)


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while body[at] & 0x80:
        value |= (body[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | body[at] << shift, at + 1


def _seal(tenant: str, body: bytes) -> bytes:
    return bytes.fromhex(digest("token", tenant, body.hex(), size=_SEAL_BYTES))
