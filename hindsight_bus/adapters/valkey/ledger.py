"""What models answered, for a day or two, and what that took, beside the records of each namespace.

Answers lie in one hash a namespace and day that expires as a whole, so erasing them means two keys
and no search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hindsight_bus.adapters.valkey.client import Client
from hindsight_bus.adapters.valkey.keys import PartitionKeys
from hindsight_bus.domain.names import Namespace, partition_of
from hindsight_bus.ports import ModelUsage

_DAY_MS = 24 * 3600 * 1000
_COUNTS = ("calls", "input_tokens", "output_tokens")


class ValkeyLedger:
    """``ModelLedger`` on the connections of a log."""

    def __init__(self, client: Client, keys: Sequence[PartitionKeys], now_ms: Callable[[], int]) -> None:
        self._client = client
        self._keys = keys
        self._now_ms = now_ms

    async def recall(self, namespace: Namespace, key: str) -> bytes | None:
        """Return what was remembered today or yesterday."""
        keys, today = self._of(namespace), self._now_ms() // _DAY_MS
        days = (keys.answers(namespace, today), keys.answers(namespace, today - 1))
        found = await asyncio.gather(*(self._client.read(b"HGET", day, key) for day in days))
        return next((answer for answer in found if answer is not None), None)

    async def remember(self, namespace: Namespace, key: str, answer: bytes) -> None:
        """Remember an answer until the day after is over."""
        today = self._now_ms() // _DAY_MS
        day = self._of(namespace).answers(namespace, today)
        await asyncio.gather(
            self._client.write(b"HSET", day, key, answer),
            self._client.write(b"PEXPIREAT", day, (today + 2) * _DAY_MS),
        )

    async def charge(self, namespace: Namespace, usage: ModelUsage) -> None:
        """Add to the counters; those that stay the same are not written."""
        spent, write = self._of(namespace).spent(namespace), self._client.write
        counts = [(name, getattr(usage, name)) for name in _COUNTS]
        await asyncio.gather(*(write(b"HINCRBY", spent, name, count) for name, count in counts if count))
        if usage.cost:
            await write(b"HINCRBYFLOAT", spent, b"cost", repr(usage.cost))

    async def spent(self, namespace: Namespace) -> ModelUsage:
        """Return the counters."""
        fields = (*_COUNTS, "cost")
        found = await self._client.read(b"HMGET", self._of(namespace).spent(namespace), *fields)
        calls, read, written = (int(count or 0) for count in found[:-1])
        return ModelUsage(calls, read, written, float(found[-1] or 0))

    def _of(self, namespace: Namespace) -> PartitionKeys:
        return self._keys[partition_of(namespace.owner_id, len(self._keys) - 1)]
