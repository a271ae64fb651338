"""Fault row 18: bad vectors, sizes and bombs; each is refused by name, changes nothing, and harms nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from hbus import errors
from hbus.v1 import bus_service_pb2, memory_service_pb2, namespace_service_pb2
from hbus.v1.memory_pb2 import MemoryType
from tests.faults.conftest import Pair
from tests.faults.load import DIMENSION, client, episode, listed, vector
from tests.faults.processes import ServerProcess

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

Unary: TypeAlias = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
Streaming: TypeAlias = grpc.aio.UnaryStreamMultiCallable[bytes, bytes]
NAMESPACE = "user:zhangsan:bad"
GOOD = [1.0] * DIMENSION


@dataclass(frozen=True, slots=True)
class Bad:
    """A request that must be refused."""

    method: str
    """``Service/Method``."""
    request: Message | bytes
    field: str
    """Field that the refusal must name; empty where the message never gets as far as having fields."""
    code: grpc.StatusCode = grpc.StatusCode.INVALID_ARGUMENT


def write(field: str, code: grpc.StatusCode = grpc.StatusCode.INVALID_ARGUMENT, **memory: Any) -> Bad:
    """Return a write whose memory is bad."""
    request = memory_service_pb2.WriteMemoryRequest(namespace=NAMESPACE)
    request.memory.type = MemoryType.MEMORY_TYPE_SEMANTIC
    request.memory.text = "the parcel has arrived"
    for name, value in memory.items():
        _set(request.memory, name, value)
    return Bad("MemoryService/WriteMemory", request, field, code)


def _set(message: Message, name: str, value: Any) -> None:
    if isinstance(value, list):
        getattr(message, name).extend(value)
    elif isinstance(value, dict):
        ParseDict(value, getattr(message, name))
    else:
        setattr(message, name, value)


def search(field: str, **fields: Any) -> Bad:
    """Return a bad search."""
    good: dict[str, Any] = {"namespaces": [NAMESPACE], "vector": GOOD, "query": "x"}
    request = memory_service_pb2.SearchMemoriesRequest(**(good | fields))
    return Bad("MemoryService/SearchMemories", request, field)


def nested(depth: int) -> dict[str, Any]:
    """Return a structure that deep."""
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"a": inner}
    return inner


def bottomless(depth: int) -> bytes:
    """Return a write whose attributes are nested deeper than any library would encode."""
    data = b""
    for _ in range(depth):
        value = _framed(5, data)
        data = _framed(1, _framed(1, b"a") + _framed(2, value))
    return _framed(1, NAMESPACE.encode()) + _framed(
        2, b"\x10\x01" + _framed(3, b"the parcel has arrived") + _framed(9, data)
    )


def _framed(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
BAD = {
    "NaN": write("memory.vector", vector=[float("nan"), *GOOD[1:]]),
    "infinite": write("memory.vector", vector=[float("inf"), *GOOD[1:]]),
    "zero vector": write("memory.vector", vector=[0.0] * DIMENSION),
    "overflows when squared": write("memory.vector", vector=[float("-inf")] * DIMENSION),
    "dimension too low": write("memory.vector", vector=GOOD[1:]),
    "dimension too high": write("memory.vector", vector=[*GOOD, 1.0]),
    "dimension absurd": write("memory.vector", vector=[1.0] * 1_000_000),
    "confidence NaN": write("memory.confidence", vector=GOOD, confidence=float("nan")),
    "confidence 1.7": write("memory.confidence", vector=GOOD, confidence=1.7),
    "unknown type": write("memory.type", vector=GOOD, type=99),
    "10 MB text": write("memory.text", EXHAUSTED, vector=GOOD, text="x" * 10_000_000),
    "10 MB subject": write("memory.subject", vector=GOOD, subject="x" * 10_000_000),
    "100,000 tags": write("memory.tags", vector=GOOD, tags=["t"] * 100_000),
    "100,000 aliases": write("memory.aliases", vector=GOOD, aliases=["t"] * 100_000),
    "100,000 supersedes": write("memory.supersedes", vector=GOOD, supersedes=["t"] * 100_000),
    "1 MB of attributes": write(
        "memory.attributes", EXHAUSTED, vector=GOOD, attributes={"a": "x" * 1_000_000}
    ),
    "bottomless attributes": Bad("MemoryService/WriteMemory", bottomless(5_000), "request"),
    "garbage": Bad("MemoryService/WriteMemory", b"\xff" * 1000, "request"),
    "17 MiB request": Bad("MemoryService/WriteMemory", b"\x0a" * (17 << 20), "", EXHAUSTED),
    "query NaN": search("vector", vector=[float("nan"), *GOOD[1:]]),
    "query zero": search("vector", vector=[0.0] * DIMENSION),
    "query dimension": search("vector", vector=GOOD[1:]),
    "k = 10^9": search("top_k", top_k=1_000_000_000),
    "k = -1": search("top_k", top_k=-1),
    "10 MB query": search("query", query="x" * 10_000_000),
    "100,000 namespaces": search("namespaces", namespaces=[f"user:u{n}:facts" for n in range(100_000)]),
    "page of 10^9": Bad(
        "MemoryService/ListMemories",
        memory_service_pb2.ListMemoriesRequest(namespace=NAMESPACE, page_size=1_000_000_000),
        "page_size",
    ),
    "page of -1": Bad(
        "MemoryService/ListMemories",
        memory_service_pb2.ListMemoriesRequest(namespace=NAMESPACE, page_size=-1),
        "page_size",
    ),
    "100,000 writes": Bad(
        "MemoryService/BatchWriteMemories",
        memory_service_pb2.BatchWriteMemoriesRequest(
            writes=[memory_service_pb2.WriteMemoryRequest(namespace=NAMESPACE)] * 100_000
        ),
        "writes",
    ),
    "100,000 patterns": Bad(
        "BusService/Subscribe",
        bus_service_pb2.SubscribeRequest(namespaces=["user:*:facts"] * 100_000),
        "namespaces",
    ),
    "foreign token": Bad(
        "BusService/Subscribe",
        bus_service_pb2.SubscribeRequest(
            namespaces=[NAMESPACE], start={"tokens": {"tokens": [{"token": "x" * 1_000_000}]}}
        ),
        "start.tokens.tokens[0].token",
    ),
    "half-life NaN": Bad(
        "NamespaceService/UpdatePolicy",
        namespace_service_pb2.UpdatePolicyRequest(
            policy={"pattern": NAMESPACE, "belief_half_life_days": float("nan")},
            update_mask={"paths": ["belief_half_life_days"]},
        ),
        "policy.belief_half_life_days",
    ),
}


@pytest.fixture
async def server(pair: Pair) -> ServerProcess:
    """Return a server that holds a few memories."""
    async with client(pair.one.target) as bus:
        for n in range(5):
            await bus.write(NAMESPACE, f"memory {n}", **episode(f"memory {n}", n))
    return pair.one


async def test_bad_input_is_refused_by_name_and_changes_nothing(server: ServerProcess) -> None:
    """Every request is refused with the field named, the view and the listing stay as they were, all within time."""
    before = await _picture(server.target)
    rss = server.rss_bytes()
    problems = []
    async with grpc.aio.insecure_channel(server.target) as channel:
        for name, bad in BAD.items():
            problem = await _problem(channel, bad)
            if problem:
                problems.append(f"{name}: {problem}")
    assert not problems
    assert await _picture(server.target) == before
    assert await server.is_healthy()
    assert server.rss_bytes() - rss < 256 << 20


async def _problem(channel: grpc.aio.Channel, bad: Bad) -> str:
    """Send a bad request; return what is wrong with the refusal."""
    data = bad.request if isinstance(bad.request, bytes) else bad.request.SerializeToString()
    path, metadata = f"/hbus.v1.{bad.method}", (("hbus-agent", "attacker"),)
    try:
        if bad.method == "BusService/Subscribe":
            stream: Streaming = channel.unary_stream(path)
            answer = await anext(aiter(stream(data, timeout=10.0, metadata=metadata)))
        else:
            call: Unary = channel.unary_unary(path)
            answer = await call(data, timeout=10.0, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        refusal = errors.from_rpc(error)
        if error.code() is not bad.code:
            return f"{error.code()}: {error.details():.200}"
        if not refusal.field.startswith(bad.field):
            return f"names {refusal.field!r}, not {bad.field!r}"
        return ""
    return f"accepted: {answer!r:.100}"


async def _picture(target: str) -> object:
    """Return what the store lists and what the view answers."""
    rows = [memory.SerializeToString(deterministic=True) for memory in await listed(target, NAMESPACE)]
    async with client(target) as bus:
        found = await bus.search(NAMESPACE, "memory", vector=vector(1), top_k=100, fully_consistent=True)
    return rows, [(hit.memory.name, hit.parts.dense, hit.parts.lexical) for hit in found.hits]
