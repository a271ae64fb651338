"""How records are laid out in bytes, which stores of today fix for the servers of tomorrow."""

from __future__ import annotations

import struct

import msgpack
import pytest

from hindsight_bus.adapters.valkey.records import (
    decode,
    decode_record,
    encode,
    encode_record,
)
from hindsight_bus.domain.errors import SchemaTooNew
from hindsight_bus.domain.memory import Vector
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.records import NamespaceRecord, Receipt
from hindsight_bus.domain.values import SCHEMA, replace
from hindsight_bus.ports import ref_of

NS = Namespace("acme", "user", "zhangsan", "facts")
RECEIPT = Receipt(NS, "p", "r", "digest", 2, "m", "c", "why")


def test_the_layout_is_what_older_servers_wrote() -> None:
    """Bytes in a store are read for years: this row may only grow at its end."""
    row = [SCHEMA, ["acme", "user", "zhangsan", "facts"], "p", "r", "digest", 2, "m", "c", "why"]
    assert encode(RECEIPT) == msgpack.packb(row)


def test_a_field_that_an_older_row_lacks_takes_its_default() -> None:
    """Rows written before a field was appended still read."""
    row = [SCHEMA, ["acme", "user", "zhangsan", "facts"], "p", "r", "digest", 2, "m"]
    assert decode(Receipt, msgpack.packb(row)) == replace(RECEIPT, conflict_id="", reason="")


def test_a_newer_schema_is_refused() -> None:
    """What a newer schema means cannot be known here."""
    with pytest.raises(SchemaTooNew):
        decode(NamespaceRecord, msgpack.packb([SCHEMA + 1, "anything"]))


def test_a_vector_is_stored_as_its_bare_values() -> None:
    """A vector of d dimensions takes 2 d bytes and the header."""
    vector = Vector("m", 3, "e5", bytes(range(8)))
    assert encode_record(vector) == vector.values
    header = struct.pack(">dddd", 1, 2, 3, 4)
    stored = decode_record(ref_of(vector), header + vector.values)
    assert stored.record == vector
    assert (stored.create_revision, stored.create_time_ms, stored.revision, stored.update_time_ms) == (
        1,
        2,
        3,
        4,
    )


@pytest.mark.parametrize(("dimension", "count"), [(1, 1), (4, 3), (384, 16)])
def test_a_vector_has_those_of_its_pieces_behind_it(dimension: int, count: int) -> None:
    """Pieces read back, whatever their bytes are, and cost their values and one byte."""
    for last in (b"\x00", b"\xff"):
        values, pieces = last * 2 * dimension, last * 2 * dimension * count
        vector = Vector("m", 3, "e5", values, pieces)
        body = encode_record(vector)
        assert len(body) == len(values) + len(pieces) + 1
        assert decode_record(ref_of(vector), bytes(32) + body).record == vector


def test_fields_beyond_the_layout_are_skipped() -> None:
    """A newer server may have appended fields."""
    record = NamespaceRecord(NS, "e5", 384)
    row = msgpack.packb([*msgpack.unpackb(encode(record)), "new"])
    assert decode(NamespaceRecord, row) == record
