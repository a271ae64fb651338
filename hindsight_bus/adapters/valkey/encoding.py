"""A commit as the keys and the payload of the commit script."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgpack

from hindsight_bus.adapters.valkey.keys import PartitionKeys
from hindsight_bus.adapters.valkey.records import encode, encode_events, encode_record
from hindsight_bus.domain.memory import Head
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.policy import PolicyRecord
from hindsight_bus.domain.records import Conflict, NamespaceRecord
from hindsight_bus.domain.reviews import ReviewItem
from hindsight_bus.domain.tasks import Task
from hindsight_bus.ports import Commit, Delete, DueItem, Put, Ref, TakenItem, ref_of

MAX_MUTATIONS = 256


class EncodedCommit(NamedTuple):
    """What the script is called with."""

    keys: list[bytes]
    payload: bytes


def encode_commit(keys: PartitionKeys, commit: Commit) -> EncodedCommit:
    """Encode a commit; raise ``ValueError`` above 256 mutations."""
    if len(commit.puts) + len(commit.deletes) + len(commit.transitions) > MAX_MUTATIONS:
        raise ValueError(f"a commit has at most {MAX_MUTATIONS} mutations")
    table = _KeyTable(keys)
    payload = [
        commit.now_ms,
        commit.stamp,
        encode_events(commit.events) if commit.events else b"",
        [(table.record(expect.ref), expect.revision) for expect in commit.expects],
        [(table.number(keys.counter(count.key)), count.limit, count.ttl_ms) for count in commit.counts],
        _fence(table, commit.finish),
        [_encode_put(table, put) for put in commit.puts],
        [_encode_delete(table, delete) for delete in commit.deletes],
        [(table.number(keys.history(step.memory_id)), encode(step)) for step in commit.transitions],
        [(item.id, encode(item), item.due_ms, *table.queue(item)) for item in commit.due],
    ]
    # Not msgspec: Redis' Lua reads no msgpack type for bytes, so text and bytes must go out as the same one.
    return EncodedCommit(table.keys, msgpack.packb(payload, use_bin_type=False))


class _KeyTable:
    """Numbers the keys of one call, from 1, in the order in which they come up."""

    __slots__ = ("_numbers", "_records", "partition")

    def __init__(self, partition: PartitionKeys) -> None:
        self.partition = partition
        self._numbers: dict[bytes, int] = {}
        self._records: dict[Ref, int] = {}
        for key in (partition.ends, partition.log):
            self.number(key)

    @property
    def keys(self) -> list[bytes]:
        return list(self._numbers)

    def number(self, key: bytes) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def queue(self, item: DueItem) -> list[int]:
        """Return the numbers of the keys that an item waits in: times, items."""
        return [self.number(key) for key in self.partition.due(item.lane)]

    def record(self, ref: Ref) -> int:
        number = self._records.get(ref)
        if number is None:
            number = self._records[ref] = self.number(self.partition.record(ref))
        return number


def _encode_put(table: _KeyTable, put: Put) -> tuple[Any, ...]:
    ref = ref_of(put.record)
    namespace: Namespace | None = getattr(put.record, "namespace", None)
    return (table.record(ref), encode_record(put.record), put.ttl_ms, *_places(table, ref, namespace))


def _encode_delete(table: _KeyTable, delete: Delete) -> tuple[Any, ...]:
    return (table.record(delete.ref), *_places(table, delete.ref, delete.namespace))


def _places(table: _KeyTable, ref: Ref, namespace: Namespace | None) -> tuple[str | bytes, int, list[int]]:
    """Return the member, the sorted index (0 = none) and the sets by which a record is listed."""
    keys = table.partition
    if ref.kind is PolicyRecord:
        return keys.record(ref), 0, [table.number(keys.policies)]
    if namespace is not None:
        if ref.kind is Head:
            return str(ref.key[0]), table.number(keys.memories(namespace)), []
        if ref.kind is Conflict:
            return str(ref.key[0]), table.number(keys.conflicts(namespace)), []
        if ref.kind is Task:
            return str(ref.key[0]), table.number(keys.tasks(namespace)), []
        if ref.kind is ReviewItem:
            return str(ref.key[0]), table.number(keys.reviews(namespace)), []
        if ref.kind is NamespaceRecord:
            sets = [table.number(keys.namespaces), table.number(keys.owner(namespace.owner_id))]
            return namespace.id, 0, sets
    return "", 0, []


def _fence(table: _KeyTable, taken: TakenItem | None) -> tuple[str | int, ...]:
    return () if taken is None else (taken.item.id, taken.attempt, *table.queue(taken.item))
