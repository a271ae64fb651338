"""The store underneath: what raw Valkey does with the same bytes, and how near batches and cold loads come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec.msgpack
import numpy as np
import redis

from bench.data import DIMENSION, Namespace
from bench.load import Sample
from bench.processes import product
from bench.report import Goal, Result
from bench.rig import AGENT, BATCH, TIMEOUT_S, Rig, connect
from hbus.v1.common_pb2 import Consistency
from hbus.v1.memory_pb2 import CHANNEL_INGEST, MEMORY_TYPE_EPISODIC, Memory
from hbus.v1.memory_service_pb2 import SearchMemoriesRequest, WriteMemoryRequest
from hbus.v1.memory_service_pb2_grpc import MemoryServiceStub
from hindsight_bus.adapters.valkey.keys import PartitionKeys
from hindsight_bus.adapters.valkey.log import DEFAULT_PARTITIONS
from hindsight_bus.domain import names
from hindsight_bus.domain.memory import Head, Vector, Version
from hindsight_bus.ports import Lane, Ref

_COLD = Goal(must=5, aim=2, lower_is_better=True)
_HEADER_BYTES = 32
_PAGE = 2000
_PIPELINED = 32
_RAW_ENTRIES = 4000
_SETTLE_S = 1200.0
_POLL_S = 0.2


async def settle(rig: Rig) -> None:
    """Wait until the work that writes have left behind is done, so that it competes with no measurement."""
    store: Any = redis.Redis(unix_socket_path=str(rig.socket))
    keys = [PartitionKeys(number).due(lane)[0] for number in range(DEFAULT_PARTITIONS) for lane in Lane]
    async with asyncio.timeout(_SETTLE_S):
        while any(map(store.zcard, keys)):  # noqa: ASYNC110 - what ends it happens in other processes
            await asyncio.sleep(_POLL_S)


class RawNamespace:
    """The keys of one namespace, read past the product."""

    def __init__(self, socket: Path, name: str) -> None:
        self._store: Any = redis.Redis(unix_socket_path=str(socket))
        self._namespace = names.Namespace.parse(name, "default")
        self._keys = PartitionKeys(names.partition_of(self._namespace.owner_id, DEFAULT_PARTITIONS))

    def fetch(self) -> list[bytes]:
        """Return every head, version and vector, page by page."""
        ids = self._store.zrange(self._keys.memories(self._namespace), 0, -1)
        values: list[bytes] = []
        for start in range(0, len(ids), _PAGE):
            values += self._store.mget(
                [key for each in ids[start : start + _PAGE] for key in self._records(each.decode())]
            )
        return values

    def _records(self, memory_id: str) -> list[bytes]:
        profile = f"external({DIMENSION})"
        refs = [Ref(Head, (memory_id,)), Ref(Version, (memory_id, 1)), Ref(Vector, (memory_id, 1, profile))]
        return [self._keys.record(ref) for ref in refs]

    def read_log(self) -> int:
        """Read the partition's log from its beginning by XREAD; return the number of entries."""
        last, total = b"0", 0
        while found := self._store.xread({self._keys.log: last}, count=1000):
            entries = found[0][1]
            last, total = entries[-1][0], total + len(entries)
        return total

    def append(self, count: int, size: int) -> None:
        """Append ``count`` entries of ``size`` bytes, 32 in a pipeline."""
        for _ in range(count // _PIPELINED):
            pipeline = self._store.pipeline(transaction=False)
            for _ in range(_PIPELINED):
                pipeline.xadd("bench:raw", {"e": bytes(size)})
            pipeline.execute()
        self._store.delete("bench:raw")


def parse(values: list[bytes]) -> int:
    """Parse records as plainly as can be; return their bytes."""
    for at in range(0, len(values), 3):
        head, version, vector = values[at : at + 3]
        msgspec.msgpack.decode(head[_HEADER_BYTES:])
        msgspec.msgpack.decode(version[_HEADER_BYTES:])
        np.frombuffer(vector, np.float16, offset=_HEADER_BYTES)
    return sum(map(len, values))


@dataclass(frozen=True, slots=True)
class _Timed:
    seconds: float
    result: Any


def _timed(function: Callable[..., Any], *arguments: Any) -> _Timed:
    began = perf_counter()
    result = function(*arguments)
    return _Timed(perf_counter() - began, result)


def ingest(rig: Rig, space: Namespace, filled: Sample) -> Result:
    """Compare batches with appending the same bytes to a stream, each on disk before its reply."""
    raw = RawNamespace(rig.socket, space.name)
    size = sum(map(len, raw.fetch())) // space.size
    limit = _RAW_ENTRIES / _timed(raw.append, _RAW_ENTRIES, size).seconds
    rate = space.size / filled.seconds
    facts = {"batch": BATCH, "batch_p50_ms": filled.p50_ms, "batch_p99_ms": filled.p99_ms, "bytes": size}
    return Result(f"ingest.{space.size}", rate, "/s", "raw XADD/s", limit, rate / limit, facts=facts)


def raw_reads(rig: Rig, space: Namespace) -> list[Result]:
    """Measure what the store gives without the product: MGET of a namespace's records, XREAD of its log."""
    raw = RawNamespace(rig.socket, space.name)
    fetched = _timed(raw.fetch)
    entries = _timed(raw.read_log)
    memories_per_s, entries_per_s = space.size / fetched.seconds, entries.result / entries.seconds
    return [
        Result("raw.mget", memories_per_s, "/s", "raw MGET/s", memories_per_s, 1.0),
        Result("raw.xread", entries_per_s, "/s", "raw XREAD/s", entries_per_s, 1.0),
    ]


async def _warm_up(memory: Any) -> None:
    """Return once the model is there: a server loads it in the background of its start, on the cores measured here."""
    written = Memory(type=MEMORY_TYPE_EPISODIC, text="What the model reads first.")
    await memory.WriteMemory(
        WriteMemoryRequest(namespace="user:warm:notes", memory=written, channel=CHANNEL_INGEST),
        metadata=AGENT,
        timeout=TIMEOUT_S,
    )
    first = SearchMemoriesRequest(
        namespaces=["user:warm:notes"], query="first", consistency=Consistency(require_vectors=True)
    )
    await memory.SearchMemories(first, metadata=AGENT, timeout=TIMEOUT_S)


async def cold_loads(rig: Rig, spaces: list[Namespace]) -> AsyncIterator[Result]:
    """Yield the first search of a new server less a warm one, against fetching and parsing the same bytes."""
    async with product(rig.socket, "cold") as address, connect(address) as channel:
        memory: Any = MemoryServiceStub(channel)
        await channel.channel_ready()
        await _warm_up(memory)
        for space in spaces:
            raw = RawNamespace(rig.socket, space.name)
            plain_s = _timed(lambda raw=raw: parse(raw.fetch())).seconds
            questions = rig.source.searches(space)
            took = []
            for _ in range(6):
                began = perf_counter()
                await memory.SearchMemories(next(questions), metadata=AGENT, timeout=TIMEOUT_S)
                took.append(perf_counter() - began)
            load_s = took[0] - sorted(took[1:])[2]
            goal = _COLD if space.size == 10_000 else None
            yield Result(
                f"cold_load.{space.size}", load_s, "s", "fetch and parse s", plain_s, load_s / plain_s, goal
            )
