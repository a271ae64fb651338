"""What a benchmark stands on: the servers, stubs to them, and filled namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import grpc
from google.protobuf.field_mask_pb2 import FieldMask

from bench.data import DIMENSION, Namespace, Source
from bench.limit import SERVICE
from bench.load import Call, Sample
from bench.processes import bare_server, product, valkey
from hbus.v1.bus_service_pb2 import SubscribeResponse
from hbus.v1.memory_service_pb2 import (
    DECISION_STORED,
    BatchWriteMemoriesRequest,
    SearchMemoriesRequest,
    WriteMemoryRequest,
)
from hbus.v1.memory_service_pb2_grpc import MemoryServiceStub
from hbus.v1.namespace_pb2 import Policy
from hbus.v1.namespace_service_pb2 import UpdatePolicyRequest
from hbus.v1.namespace_service_pb2_grpc import NamespaceServiceStub

AGENT = (("hbus-agent", "bench"),)
TIMEOUT_S = 30.0
BATCH = 250
_BATCHES_AT_ONCE = 2
_OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", 16 << 20)]


def connect(address: str) -> grpc.aio.Channel:
    """Return a channel with a connection of its own."""
    return grpc.aio.insecure_channel(address, options=_OWN_CONNECTION)


class Bare:
    """Calls of the server without a product."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.echo_write = _echo(channel, "EchoWrite", WriteMemoryRequest)
        self.echo_search = _echo(channel, "EchoSearch", SearchMemoriesRequest)
        self.send: Any = channel.unary_unary(
            f"/{SERVICE}/Send", request_serializer=SubscribeResponse.SerializeToString
        )


def listen_to(channel: grpc.aio.Channel, method: str) -> Any:
    """Return a stream method of the server without a product."""
    return channel.unary_stream(f"/{SERVICE}/{method}", response_deserializer=SubscribeResponse.FromString)


def _echo(channel: grpc.aio.Channel, method: str, message: Any) -> Any:
    return channel.unary_unary(
        f"/{SERVICE}/{method}",
        request_serializer=message.SerializeToString,
        response_deserializer=message.FromString,
    )


@dataclass(slots=True)
class Rig:
    """The running processes and connections to them."""

    socket: Path
    address: str
    bare_address: str
    channel: grpc.aio.Channel
    bare: Bare
    source: Source = field(default_factory=Source)

    @property
    def memory(self) -> Any:
        """Stub of MemoryService."""
        return MemoryServiceStub(self.channel)

    def calling(self, method: Any, requests: Iterator[Any]) -> Call:
        """Return a call that takes the next request each time."""

        def call() -> Awaitable[object]:
            response: Awaitable[object] = method(next(requests), metadata=AGENT, timeout=TIMEOUT_S)
            return response

        return call

    async def fill(self, name: str, size: int, *, semantic: bool = True) -> tuple[Namespace, Sample]:
        """Write ``size`` memories into a new namespace by batches; return it and how long each batch took.

        EPISODIC ones leave no search for contradictions behind, which for many would take minutes.
        """
        texts, vectors = self.source.contents(size)
        rows = vectors.tolist()
        writes = (
            self.source.write(name, text, row, semantic=semantic)
            for text, row in zip(texts, rows, strict=True)
        )
        requests = iter(lambda: list(islice(writes, BATCH)), [])
        latencies: list[float] = []

        async def lane() -> None:
            for batch in requests:
                began = perf_counter()
                response = await self.memory.BatchWriteMemories(
                    BatchWriteMemoriesRequest(writes=batch), metadata=AGENT, timeout=TIMEOUT_S
                )
                latencies.append(perf_counter() - began)
                _require_stored(response.results)

        started = perf_counter()
        await asyncio.gather(*(lane() for _ in range(_BATCHES_AT_ONCE)))
        return Namespace(name, size, texts, vectors), Sample(perf_counter() - started, latencies)


def _require_stored(results: Sequence[Any]) -> None:
    for result in results:
        if result.response.decision != DECISION_STORED:
            raise RuntimeError(f"not stored: {result}")


@asynccontextmanager
async def set_up(directory: Path) -> AsyncIterator[Rig]:
    """Start everything; vectors are the callers' own."""
    async with (
        valkey(directory) as socket,
        bare_server(directory) as bare_address,
        product(socket, "product") as address,
        connect(address) as channel,
        connect(bare_address) as bare_channel,
    ):
        policy = Policy(pattern="user:*:bench", embedding_profile=f"external({DIMENSION})")
        request = UpdatePolicyRequest(policy=policy, update_mask=FieldMask(paths=["embedding_profile"]))
        namespaces: Any = NamespaceServiceStub(channel)
        await namespaces.UpdatePolicy(request, metadata=AGENT)
        yield Rig(socket, address, bare_address, channel, Bare(bare_channel))
