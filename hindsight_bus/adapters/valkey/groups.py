"""``Groups`` on Valkey or Redis.

A group is defined in the control partition. What it has done in a partition lies there, in the slot of that partition's
log, so both are always of one age: a failover or a restored backup cannot part them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgpack

from hindsight_bus.adapters.valkey.client import Client
from hindsight_bus.adapters.valkey.group_keys import GroupKeys
from hindsight_bus.adapters.valkey.group_records import decode_group, encode_group
from hindsight_bus.adapters.valkey.records import decode_entry
from hindsight_bus.adapters.valkey.scripts import Script
from hindsight_bus.domain.groups import (
    Action,
    Claim,
    DeadLetter,
    EventId,
    GroupProgress,
    GroupRecord,
    Redelivery,
    Settlement,
)
from hindsight_bus.domain.position import Position
from hindsight_bus.ports import CursorMoved, GroupFull, GroupGone, LogChanged, PartitionHeld, Span

_REFUSALS: Final = {
    b"gone": GroupGone,
    b"held": PartitionHeld,
    b"diverged": LogChanged,
    b"full": GroupFull,
}

_SETTLED_AT_ONCE = 1000
"""Lua hands at most about 8,000 arguments to one command."""


class ValkeyGroups:
    """Groups on the server of a ``ValkeyLog``, which makes it."""

    def __init__(self, client: Client, partitions: int, dead_kept: int) -> None:
        self._client = client
        self._dead_kept = dead_kept
        self._keys = GroupKeys(partitions)
        self._scripts = _Scripts()

    async def create(self, group: GroupRecord) -> GroupRecord:
        """Create a group by one script."""
        keys = self._keys.control(group)
        raw = await self._client.run(self._scripts.create, keys[:2], encode_group(group), group.lifetime_ms)
        return decode_group(raw)

    async def find(self, tenant: str, name: str) -> GroupRecord | None:
        """Return a group; O(1)."""
        raw = await self._client.read(b"GET", self._keys.definition(tenant, name))
        return None if raw is None else decode_group(raw)

    async def listed(self) -> list[GroupRecord]:
        """Return every group; O(n)."""
        names = await self._client.read(b"ZRANGE", self._keys.groups, 0, -1)
        found = await self._client.read(b"MGET", *names) if names else []
        return [decode_group(raw) for raw in found if raw is not None]

    async def remove(self, group: GroupRecord, *, only_expired: bool = False) -> bool:
        """Remove the definition of a group and its members."""
        keys = self._keys.control(group)
        return bool(await self._client.run(self._scripts.remove, keys, group.id, int(only_expired)))

    async def join(self, group: GroupRecord, member: str, ttl_ms: int) -> list[str]:
        """Note a member; O(members)."""
        keys = self._keys.control(group)
        reply = await self._client.run(self._scripts.join, keys, group.id, member, ttl_ms, group.lifetime_ms)
        _check(reply)
        return [name.decode() for name in reply[1]]

    async def leave(self, group: GroupRecord, member: str) -> None:
        """Strike a member off."""
        await self._client.write(b"ZREM", self._keys.members(group), member)

    async def members(self, group: GroupRecord, now_ms: int) -> list[str]:
        """Return the members; O(members)."""
        found = await self._client.read(b"ZRANGEBYSCORE", self._keys.members(group), f"({now_ms}", b"+inf")
        return sorted(name.decode() for name in found)

    async def begin(self, group: GroupRecord, start: Position) -> Position:
        """Start in a partition by one script."""
        partition = start.partition
        keys = [*self._keys.partition(group.id, partition), self._keys.listing(partition)]
        reply = await self._run(self._scripts.begin, keys, start.revision, start.stamp, group.id)
        return Position(partition, int(reply[0]), int(reply[1]))

    async def hold(self, group: GroupRecord, partition: int, member: str) -> None:
        """Hold a partition; O(pending) when it changes hands."""
        await self._call(self._scripts.hold, group, partition, member, group.lease_ms)

    async def take(self, group: GroupRecord, member: str, span: Span) -> dict[int, int]:
        """Take events by one script; O(n log pending)."""
        upto, ids = span.upto, [_text(event) for event in span.events]
        reply = await self._call(
            self._scripts.take, group, upto.partition,
            member, group.lease_ms, span.limit, span.after, upto.revision, upto.stamp, ids, span.owners,
        )  # fmt: skip
        if reply[0] == b"moved":
            raise CursorMoved(Position(upto.partition, reply[1], reply[2]))
        _, first, places = reply
        return {place: first + n for n, place in enumerate(places)}

    async def claim(self, group: GroupRecord, partition: int, member: str, limit: int) -> Claim:
        """Take what is due again by one script; O(limit log pending)."""
        reply = await self._call(
            self._scripts.claim, group, partition,
            member, group.lease_ms, limit, group.max_attempts, group.ordered, self._dead_kept,
        )  # fmt: skip
        _, found, due_ms, revision, stamp = reply
        redeliveries = [_redelivery(partition, each) for each in found]
        return Claim(redeliveries, due_ms, Position(partition, revision, stamp))

    async def settle(
        self, group: GroupRecord, partition: int, member: str, settlements: Sequence[Settlement]
    ) -> list[bool]:
        """Settle, one script a thousand; O(n log pending)."""
        outcomes: list[bool] = []
        for start in range(0, len(settlements), _SETTLED_AT_ONCE):
            chunk = settlements[start : start + _SETTLED_AT_ONCE]
            reply = await self._call(
                self._scripts.settle, group, partition,
                member, group.max_attempts, self._dead_kept,
                [_text(each.event) for each in chunk], [each.delivery for each in chunk], *_beyond_acks(chunk),
            )  # fmt: skip
            outcomes += map(bool, reply[1])
        return outcomes

    async def release(self, group: GroupRecord, partition: int, member: str) -> None:
        """Give back what a member has; O(pending)."""
        await self._call(self._scripts.release, group, partition, member)

    async def yield_hold(self, group: GroupRecord, partition: int, member: str) -> bool:
        """Let a partition go; O(pending)."""
        reply = await self._call(self._scripts.let_go, group, partition, member)
        return bool(reply[0] == b"ok")

    async def seek(self, group: GroupRecord, position: Position) -> None:
        """Go on from another position; O(pending)."""
        await self._call(self._scripts.seek, group, position.partition, position.revision, position.stamp)

    async def progress(self, group_id: str, partition: int) -> GroupProgress:
        """Tell where a group stands; O(pending)."""
        keys = self._keys.partition(group_id, partition)
        _, revision, stamp, pending, dead, lost, lowest, oldest_ms, holder, dropped = await self._run(
            self._scripts.progress, keys
        )
        cursor = Position(partition, revision, stamp)
        return GroupProgress(cursor, pending, dead, lost, lowest, oldest_ms, holder.decode(), dropped)

    async def begun(self, partition: int) -> list[str]:
        """Return the ids of the groups that have state in a partition."""
        members = await self._client.read(b"SMEMBERS", self._keys.listing(partition))
        return sorted(member.decode() for member in members)

    async def drop(self, group_id: str, partition: int) -> None:
        """Remove the state of a group from a partition."""
        *state, _ = self._keys.partition(group_id, partition)
        await self._client.write(b"DEL", *state)
        await self._client.write(b"SREM", self._keys.listing(partition), group_id)

    async def dead_letters(
        self, group: GroupRecord, partition: int, after: int, limit: int
    ) -> list[DeadLetter]:
        """Return dead letters in order; O(log n + limit)."""
        dead = self._keys.dead(group.id, partition)
        found = await self._client.read(b"ZRANGEBYSCORE", dead, f"({after}", b"+inf", b"LIMIT", 0, limit)
        return [_dead_letter(partition, raw) for raw in found]

    async def redrive(self, group: GroupRecord, partition: int, sequences: Sequence[int]) -> int:
        """Redrive dead letters; O(n log n)."""
        reply = await self._call(self._scripts.redrive, group, partition, *sequences)
        return int(reply[1])

    async def _call(self, script: Script, group: GroupRecord, partition: int, *args: Any) -> Any:
        return await self._run(script, self._keys.partition(group.id, partition), *args)

    async def _run(self, script: Script, keys: Sequence[bytes], *args: Any) -> Any:
        reply = await self._client.run(script, keys, msgpack.packb(args, use_bin_type=False))
        _check(reply)
        return reply


class _Scripts:
    """The scripts of groups."""

    def __init__(self) -> None:
        self.create = Script("group_create")
        self.join = Script("group_join")
        self.remove = Script("group_remove")
        self.begin = _shared("begin")
        self.hold = _shared("hold")
        self.take = _shared("take")
        self.claim = _shared("claim")
        self.settle = _shared("settle")
        self.release = _shared("release")
        self.let_go = _shared("yield")
        self.seek = _shared("seek")
        self.progress = _shared("progress")
        self.redrive = _shared("redrive")


def _shared(name: str) -> Script:
    return Script("group", f"group_{name}")


def _check(reply: Any) -> None:
    """Raise what a script has answered instead of doing its work."""
    refusal = _REFUSALS.get(reply[0])
    if refusal is not None:
        raise refusal


def _beyond_acks(chunk: Sequence[Settlement]) -> tuple[list[int], list[int], list[str]]:
    """Return actions, delays and reasons; nothing where all are acknowledged, as they mostly are."""
    if all(each.action is Action.ACK for each in chunk):
        return [], [], []
    return (
        [int(each.action) for each in chunk],
        [each.delay_ms for each in chunk],
        [each.reason for each in chunk],
    )


def _text(event: EventId) -> str:
    return f"{event.revision}-{event.index}"


def _event(text: bytes) -> EventId:
    revision, _, index = text.partition(b"-")
    return EventId(int(revision), int(index))


def _redelivery(partition: int, found: tuple[bytes, int, int, list[bytes]]) -> Redelivery:
    text, delivery, attempt, fields = found
    return Redelivery(_event(text), delivery, attempt, decode_entry(partition, (text, fields)))


def _dead_letter(partition: int, raw: bytes) -> DeadLetter:
    sequence, text, attempts, reason, time_ms, fields = msgpack.unpackb(raw, raw=True)
    entry = decode_entry(partition, (text, fields))
    return DeadLetter(sequence, _event(text), attempts, reason.decode(), int(time_ms), entry)
