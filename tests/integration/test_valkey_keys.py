"""What stands in the keys of the store."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.domain.events import Event, EventKind
from hindsight_bus.domain.memory import Head, MemoryState, MemoryType, Transition, Vector, Version
from hindsight_bus.domain.names import Namespace, Pattern, partition_of
from hindsight_bus.domain.policy import PolicyRecord
from hindsight_bus.domain.records import (
    Conflict,
    ConflictState,
    Fingerprint,
    NamespaceRecord,
    Receipt,
    SubjectRecord,
    Usage,
)
from hindsight_bus.ports import Commit, Count, DueItem, Put, Record

pytestmark = pytest.mark.integration

PARTITIONS = 4
HOSTILE = ["\x00\r\n", "{p1}", "*?[a-z]", "用户🦊", "hb:{p0}:meta", "a" * 10_000, "\\", "}{", ""]
KEY = re.compile(rb"hb:\{p[0-4]\}:[a-z]+(:[0-9a-f]{32})?")


@pytest.fixture(params=["valkey", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
async def client(url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(url) as client:
        await client.flushall()
        yield client


async def commit_everywhere(log: ValkeyLog, text: str) -> Commit:
    """Put the text wherever a key could take it from."""
    namespace = Namespace(text, text, text, text)
    statement = MemoryType.SEMANTIC
    records: list[Record] = [
        Head(namespace, text, statement, MemoryState.ACTIVE, 1, 1, 0.5),
        Version(namespace, text, 1, statement, text, subject=text),
        Vector(text, 1, text, b"\x00\x00"),
        SubjectRecord(namespace, text, text, statement),
        Conflict(namespace, text, text, text, statement, ConflictState.OPEN, ()),
        NamespaceRecord(namespace, text, 4),
        Receipt(namespace, text, text, text, 1, text),
        Fingerprint(namespace, text, text),
        Usage(namespace, text, 2, 1),
        PolicyRecord(Pattern(text, text, text, text)),
    ]
    states = MemoryState.NONE, MemoryState.ACTIVE
    commit = Commit(
        partition_of(namespace.owner_id, PARTITIONS),
        now_ms=0,
        stamp=1,
        counts=(Count((text, text), 5, 60_000),),
        puts=tuple(map(Put, records)),
        transitions=(Transition(text, 1, *states, 1, text, text),),
        due=(DueItem(text, text, (text,)),),
        events=(Event(EventKind.WRITTEN, namespace, text, 1, statement, *states, 0.0, 1.0),),
    )
    await log.commit(commit)
    await log.note_served(text, {namespace: [text]}, log.now_ms())
    return commit


async def test_no_text_reaches_a_key(url: str, client: Redis) -> None:
    """Every key is a fixed word and a hash under the partition's tag, whatever the text."""
    log = await ValkeyLog.open(url, partitions=PARTITIONS)
    for text in HOSTILE:
        await commit_everywhere(log, text)
    await log.close()
    keys = [key async for key in client.scan_iter()]
    assert len(keys) > 14 * len(HOSTILE)
    assert [key for key in keys if not KEY.fullmatch(key)] == []


async def test_a_commit_stays_in_its_slot(url: str, client: Redis) -> None:
    """All keys of a commit carry the tag of its partition, so it is one slot of a cluster."""
    log = await ValkeyLog.open(url, partitions=PARTITIONS)
    await client.delete("hb:{p0}:meta")
    commit = await commit_everywhere(log, "x")
    await log.close()
    tag = f"hb:{{p{commit.partition}}}:".encode()
    assert [key async for key in client.scan_iter() if not key.startswith(tag)] == []
