"""``MemoryLog`` on Valkey or Redis."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from hindsight_bus.adapters.valkey.client import REPLY_TIMEOUT_S, Client
from hindsight_bus.adapters.valkey.clock import StoreClock
from hindsight_bus.adapters.valkey.durability import StoreDurability
from hindsight_bus.adapters.valkey.encoding import encode_commit
from hindsight_bus.adapters.valkey.groups import ValkeyGroups
from hindsight_bus.adapters.valkey.keys import PartitionKeys
from hindsight_bus.adapters.valkey.ledger import ValkeyLedger
from hindsight_bus.adapters.valkey.probe import Server, probe, settle_partitions
from hindsight_bus.adapters.valkey.records import decode, decode_entry, decode_record, decode_step
from hindsight_bus.adapters.valkey.scripts import Scripts
from hindsight_bus.adapters.valkey.wakeups import wakeups
from hindsight_bus.domain.errors import StoreUnavailable
from hindsight_bus.domain.events import Entry
from hindsight_bus.domain.groups import DEAD_KEPT
from hindsight_bus.domain.names import Namespace, partition_of
from hindsight_bus.domain.policy import PolicyRecord
from hindsight_bus.domain.position import Position
from hindsight_bus.ports import (
    ClockSkewed,
    Commit,
    CommitRefused,
    Committed,
    Conflicted,
    CounterFull,
    DueItem,
    HistoryStep,
    Lane,
    LeaseLost,
    LogEnds,
    Record,
    Ref,
    Stored,
    TakenItem,
)

DEFAULT_PARTITIONS = 16
SERVED_LIMIT = 4096
SERVED_TTL_MS = 24 * 3600 * 1000


class ValkeyLog:
    """The change log and its records on one server. Make it with ``open``; it lives in that event loop."""

    def __init__(
        self,
        client: Client,
        server: Server,
        clock: StoreClock,
        durability: StoreDurability,
        partitions: int,
    ) -> None:
        self._client = client
        self._server = server
        self._clock = clock
        self._durability = durability
        self._keys = [PartitionKeys(number) for number in range(partitions + 1)]
        self._scripts = Scripts()
        self._tasks = [asyncio.create_task(each.run()) for each in (clock, durability)]

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        partitions: int = DEFAULT_PARTITIONS,
        connections: int = 2,
        reply_timeout_s: float = REPLY_TIMEOUT_S,
    ) -> ValkeyLog:
        """Connect to ``redis://``, ``rediss://`` or ``unix://`` and check that the server is fit.

        Raises ``StoreUnavailable``, ``UnfitStore`` or ``SchemaTooNew``.
        """
        client = Client(url, connections=connections, reply_timeout_s=reply_timeout_s)
        try:
            server = await probe(client)
            await settle_partitions(client, partitions)
            clock, durability = StoreClock(client), StoreDurability(client)
            await clock.refresh()
            await durability.refresh()
        except StoreUnavailable as problem:
            await client.close()
            raise StoreUnavailable(f"the store cannot be used: {problem.__cause__}") from problem
        except BaseException:
            await client.close()
            raise
        return cls(client, server, clock, durability, partitions)

    @property
    def partitions(self) -> int:
        """Number of namespace partitions."""
        return len(self._keys) - 1

    @property
    def is_fsynced(self) -> bool:
        """Tell whether a commit is on disk before its acknowledgement."""
        return self._durability.is_fsynced

    @property
    def server(self) -> Server:
        """What the store runs on."""
        return self._server

    def groups(self, dead_kept: int = DEAD_KEPT) -> ValkeyGroups:
        """Return the consumer groups of this log; they share its connections."""
        return ValkeyGroups(self._client, self.partitions, dead_kept)

    def ledger(self) -> ValkeyLedger:
        """Return what is remembered of questions to models; it shares the connections of this log."""
        return ValkeyLedger(self._client, self._keys, self.now_ms)

    def now_ms(self) -> int:
        """Return the estimate of store time."""
        return self._clock.now_ms()

    async def read(self, partition: int, refs: Sequence[Ref]) -> list[Stored[Record] | None]:
        """Return records by one MGET."""
        if not refs:
            return []
        keys = self._keys[partition]
        values = await self._client.read(b"MGET", *map(keys.record, refs))
        return [
            None if raw is None else decode_record(ref, raw) for ref, raw in zip(refs, values, strict=True)
        ]

    async def commit(self, commit: Commit) -> Committed:
        """Apply a commit by one script."""
        keys = self._keys[commit.partition]
        encoded = encode_commit(keys, commit)
        reply = await self._client.run(self._scripts.commit, encoded.keys, keys.channel, encoded.payload)
        if reply[0] != b"ok":
            raise self._refusal(commit, reply)
        stamp = commit.stamp if commit.events else 0
        return Committed(Position(commit.partition, reply[1], stamp), reply[2], reply[3])

    def _refusal(self, commit: Commit, reply: list[Any]) -> CommitRefused:
        match reply:
            case [b"changed", index]:
                return Conflicted(commit.expects[index - 1].ref)
            case [b"full", index]:
                return CounterFull(commit.counts[index - 1].key)
            case [b"skewed", now_ms]:
                self._clock.set(now_ms)
                return ClockSkewed("the estimate of store time was off by more than 2 s")
            case _:
                return LeaseLost("the due item that it finishes is leased no more")

    async def ends(self, partition: int) -> LogEnds:
        """Return both ends; O(1)."""
        fields = await self._client.read(b"HMGET", self._keys[partition].ends, b"r", b"s", b"tr", b"ts")
        revision, stamp, trimmed, trimmed_stamp = (int(field or 0) for field in fields)
        return LogEnds(Position(partition, revision, stamp), Position(partition, trimmed, trimmed_stamp))

    async def entries(self, partition: int, after: int, limit: int = 1000) -> list[Entry]:
        """Return entries above ``after``, oldest first."""
        first = f"{after + 1}-0"
        found = await self._client.read(b"XRANGE", self._keys[partition].log, first, b"+", b"COUNT", limit)
        return [decode_entry(partition, entry) for entry in found]

    async def trim(self, partition: int, below: int) -> None:
        """Drop entries below a revision; O(number dropped)."""
        if below <= 1:  # revisions start at 1
            return
        keys = self._keys[partition]
        await self._client.run(self._scripts.trim, [keys.ends, keys.log], below)

    def wakeups(self) -> AsyncIterator[Position]:
        """Yield the position after each commit; after a lost connection one of revision 0 for each partition."""
        return wakeups(self._client.connection, self._keys)

    async def memory_ids(
        self, namespace: Namespace, after: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return memory ids in order of creation; O(log n + limit)."""
        key = self._of(namespace).memories(namespace)
        page = await self._ranked(b"ZRANGEBYSCORE", key, f"({after}", b"+inf", limit)
        if len(page) == limit:
            last = page[-1][1]
            page = [pair for pair in page if pair[1] < last]
            page += await self._ranked(b"ZRANGEBYSCORE", key, last, last)
        return page

    async def conflict_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return conflict ids, newest first; O(log n + limit)."""
        return await self._newest_first(self._of(namespace).conflicts(namespace), before, limit)

    async def task_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return task ids, newest first; O(log n + limit)."""
        return await self._newest_first(self._of(namespace).tasks(namespace), before, limit)

    async def review_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return ids of review items, newest first; O(log n + limit)."""
        return await self._newest_first(self._of(namespace).reviews(namespace), before, limit)

    async def _newest_first(self, key: bytes, before: int, limit: int) -> list[tuple[str, int]]:
        newest = f"({before}" if before else "+inf"
        return await self._ranked(b"ZREVRANGEBYSCORE", key, newest, b"-inf", limit)

    async def _ranked(
        self, command: bytes, key: bytes, first: str | bytes | int, last: str | bytes | int, limit: int = -1
    ) -> list[tuple[str, int]]:
        flat = await self._client.read(command, key, first, last, b"WITHSCORES", b"LIMIT", 0, limit)
        return [(member.decode(), int(score)) for member, score in zip(flat[::2], flat[1::2], strict=True)]

    async def namespaces(self, partition: int) -> list[str]:
        """Return the ids of a partition's namespaces; O(n log n)."""
        return _sorted_text(await self._client.read(b"SMEMBERS", self._keys[partition].namespaces))

    async def owner_namespaces(self, partition: int, owner_id: str) -> list[str]:
        """Return the ids of an owner's namespaces."""
        return _sorted_text(await self._client.read(b"SMEMBERS", self._keys[partition].owner(owner_id)))

    async def policies(self) -> list[Stored[PolicyRecord]]:
        """Return every policy; O(n)."""
        members = sorted(await self._client.read(b"SMEMBERS", self._keys[-1].policies))
        values = await self._client.read(b"MGET", *members) if members else []
        ref = Ref(PolicyRecord, ())
        return [decode_record(ref, raw) for raw in values if raw is not None]  # type: ignore[misc]

    async def history(self, partition: int, memory_id: str) -> list[HistoryStep]:
        """Return a memory's transitions; at most 256."""
        key = self._keys[partition].history(memory_id)
        return [decode_step(raw) for raw in await self._client.read(b"LRANGE", key, 0, -1)]

    async def take_due(
        self, partition: int, lease_ms: int, limit: int, lane: Lane = Lane.QUICK
    ) -> list[TakenItem]:
        """Lease due items by one script; O(limit log n)."""
        keys = self._keys[partition].due(lane)
        flat = await self._client.run(self._scripts.take, keys, lease_ms, limit)
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return [TakenItem(decode(DueItem, body), partition, attempt) for attempt, body in pairs]

    async def finish_due(self, taken: Sequence[TakenItem]) -> None:
        """Remove leased items, one script a partition."""
        queues: defaultdict[tuple[int, Lane], list[TakenItem]] = defaultdict(list)
        for item in taken:
            queues[item.partition, item.item.lane].append(item)
        await asyncio.gather(*(self._release(items, -1) for items in queues.values()))

    async def extend_due(self, taken: TakenItem, lease_ms: int) -> None:
        """Keep an item leased."""
        await self._release([taken], lease_ms, stays_leased=True)

    async def retry_due(self, taken: TakenItem, delay_ms: int) -> None:
        """Give an item back."""
        await self._release([taken], delay_ms)

    async def _release(
        self, taken: Sequence[TakenItem], delay_ms: int, *, stays_leased: bool = False
    ) -> None:
        """Change what becomes of items of one partition and lane."""
        keys = self._keys[taken[0].partition].due(taken[0].item.lane)
        fences = [part for item in taken for part in (item.item.id, item.attempt)]
        await self._client.run(self._scripts.release, keys, delay_ms, int(stays_leased), *fences)

    async def note_served(self, agent: str, served: Mapping[Namespace, Sequence[str]], now_ms: int) -> None:
        """Remember what an agent was served: up to four commands a namespace, all in one pipeline."""
        await asyncio.gather(
            *(
                self._note_served(self._of(namespace).served(agent, namespace), statements, now_ms)
                for namespace, statements in served.items()
                if statements
            )
        )

    async def _note_served(self, key: bytes, statements: Sequence[str], now_ms: int) -> None:
        scored = [part for statement in statements for part in (now_ms, statement)]
        write = self._client.write
        await asyncio.gather(
            write(b"ZADD", key, *scored),
            write(b"ZREMRANGEBYSCORE", key, b"-inf", f"({now_ms - SERVED_TTL_MS}"),
            write(b"ZREMRANGEBYRANK", key, 0, -SERVED_LIMIT - 1),
            write(b"PEXPIRE", key, SERVED_TTL_MS),
        )

    async def was_served(self, agent: str, namespace: Namespace, statement: str, since_ms: int) -> bool:
        """Tell whether an agent was served a statement; O(1)."""
        score = await self._client.read(b"ZSCORE", self._of(namespace).served(agent, namespace), statement)
        return score is not None and int(score) >= since_ms

    async def close(self) -> None:
        """Stop asking what changes by itself, and close the connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await self._client.close()

    def _of(self, namespace: Namespace) -> PartitionKeys:
        return self._keys[partition_of(namespace.owner_id, self.partitions)]


def _sorted_text(members: Iterable[bytes]) -> list[str]:
    return sorted(member.decode() for member in members)
