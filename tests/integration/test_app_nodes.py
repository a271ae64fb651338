"""Nodes as they are wired, on a real Valkey or Redis: their background work, and what they see of each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest
from redis.asyncio import Redis

from hindsight_bus.adapters.llm.gateway import Gateway
from hindsight_bus.adapters.memory.embedder import FakeEmbedder
from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.search import SearchRequest
from hindsight_bus.app.watch import Batch, Beginning, WatchRequest
from hindsight_bus.domain.errors import Contended
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Channel, Decision, Memory, MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace, Pattern, ResourceName, partition_of
from hindsight_bus.domain.policy import ConflictPolicy, Policy
from hindsight_bus.domain.query import EventFilter, Filter
from hindsight_bus.domain.records import ConflictState, SubjectRecord
from hindsight_bus.domain.settling import settle
from hindsight_bus.ports import Ref
from hindsight_bus.settings import Settings
from hindsight_bus.wiring import App, RandomIds, SystemClock, assemble

pytestmark = pytest.mark.integration

FACTS = Namespace.parse("user:zhangsan:facts", "default")
PARTITIONS = 4
PARTITION = partition_of(FACTS.owner_id, PARTITIONS)
ANY_STATE = Filter(states=frozenset(MemoryState) - {MemoryState.NONE})

Start = Callable[[], Awaitable[App]]


@pytest.fixture(params=["valkey", "redis"])
async def start(request: pytest.FixtureRequest) -> AsyncIterator[Start]:
    """Return a function that starts one more node on a store that was empty."""
    url = request.getfixturevalue(f"{request.param}_url")
    async with Redis.from_url(url) as client:
        await client.flushall()
    async with AsyncExitStack() as nodes:

        async def start_one() -> App:
            stack = await nodes.enter_async_context(AsyncExitStack())
            log = await ValkeyLog.open(url, partitions=PARTITIONS)
            stack.push_async_callback(log.close)
            return await assemble(
                log,
                log.groups(),
                FakeEmbedder(),
                Gateway((), log.ledger()),
                SystemClock(),
                RandomIds(),
                Settings(),
                stack,
            )

        yield start_one


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """Wait until a condition holds; return what it returned."""
    async with asyncio.timeout(15):
        while not (found := await condition()):  # noqa: ASYNC110 - it lies in the store
            await asyncio.sleep(0.01)
    return found


async def write(app: App, text: str, agent: str = "support", **fields: Any) -> Outcome:
    given: dict[str, Any] = {"type": MemoryType.SEMANTIC, "subject": "preference.presentation"} | fields
    return await app.writer.write(Caller(agent=agent), WriteDraft(FACTS, text=text, **given))


async def listed(app: App) -> dict[str, Memory]:
    page = await app.reader.list(Caller(), FACTS, ANY_STATE, 0, 10_000, Freshness())
    return {memory.head.memory_id: memory for memory in page.memories}


async def found(app: App, query: str, freshness: Freshness) -> list[str]:
    request = SearchRequest((FACTS,), query, 100, None, "", "", Filter(), freshness, None)
    answer = await app.searcher.search(Caller(), request)
    return [hit.memory.version.text for hit in answer.hits]


async def digest(app: App) -> str:
    view = await app.views.open(FACTS)
    assert view is not None
    await app.views.wait_until(view, Freshness(fully_consistent=True, require_vectors=True))
    return await app.views.ask(view, lambda v: v.digest())


async def test_a_node_does_what_follows_from_a_write_by_itself(start: Start) -> None:
    """Vectors and suspicions come, what has its time is over, and what it had overridden returns."""
    app = await start()
    closes = "the office in the old town closes at "
    one = await write(app, closes + "six", subject="")
    await write(app, closes + "ten", "orders", subject="")
    [conflict] = await until(lambda: _conflicts(app))
    assert conflict.record.state is ConflictState.SUSPECTED
    assert one.memory is not None
    assert not (await listed(app))[one.memory.head.memory_id].vector_pending
    now = app.log.now_ms()
    strong = await write(app, "tables", confidence=0.9, expire_time_ms=now + 700)
    weak = await write(app, "bars", "orders", confidence=0.3)
    assert strong.memory is not None
    assert weak.memory is not None
    assert weak.memory.head.state is MemoryState.OVERRIDDEN

    async def is_over() -> bool:
        states = await listed(app)
        assert strong.memory is not None
        return states[strong.memory.head.memory_id].head.state is MemoryState.EXPIRED

    await until(is_over)
    assert (await listed(app))[weak.memory.head.memory_id].head.state is MemoryState.ACTIVE


async def _conflicts(app: App) -> Any:
    return (await app.conflicts.list(Caller(), FACTS, (), 0, 10))[0]


async def test_two_nodes_under_many_writers_agree_with_the_rule_and_with_a_third(start: Start) -> None:
    """Stored states are those of ``settle`` over the stored claims; every view is the same."""
    nodes = [await start(), await start()]

    async def one_writer(number: int) -> None:
        for n in range(12):
            outcome = await asyncio.gather(
                write(
                    nodes[(number + n) % 2], f"statement {(number * 5 + n) % 4}", f"agent {number}",
                    subject=f"s{(number + n) % 10}", confidence=0.4 + (number * 7 + n) % 10 / 20, channel=Channel.TOOL,
                ),
                return_exceptions=True,
            )  # fmt: skip
            assert isinstance(outcome[0], Outcome | Contended)

    await asyncio.gather(*map(one_writer, range(8)))
    third = await start()
    states = await listed(third)
    keys = sorted({memory.head.subject_key for memory in states.values()})
    records = await third.log.read(PARTITION, [Ref(SubjectRecord, (FACTS.id, key)) for key in keys])
    assert len(keys) == 10
    in_a_set = set()
    for stored in records:
        assert stored is not None
        record = stored.record
        assert isinstance(record, SubjectRecord)
        for memory_id, standing in settle(record.claims, Policy()).items():
            in_a_set.add(memory_id)
            assert states[memory_id].head.state is standing.state
    others = {memory.head.state for memory_id, memory in states.items() if memory_id not in in_a_set}
    assert others <= {MemoryState.SUPERSEDED}

    async def agree() -> bool:
        """Vectors of what was superseded meanwhile may still be on their way; no reader waits for those."""
        return len({await digest(app) for app in (*nodes, third)}) == 1

    await until(agree)


async def test_a_subscriber_of_one_node_hears_what_is_written_on_another(start: Start) -> None:
    """Every event once and in order."""
    writer, node = await start(), await start()
    pattern = Pattern.parse("user:zhangsan:*", "default")
    request = WatchRequest((pattern,), EventFilter(), Beginning())
    heard: list[tuple[int, int]] = []
    async with asyncio.timeout(15), aclosing(node.watcher.subscribe(Caller(), request)) as stream:
        writes = asyncio.gather(
            *(write(writer, f"note {n}", type=MemoryType.EPISODIC, subject="") for n in range(100))
        )
        async for message in stream:
            if isinstance(message, Batch):
                heard += [(event.entry.revision, event.index) for event in message.events]
            if len(heard) >= 100:
                break
        await writes
    expected = [
        (entry.revision, index)
        for entry in await writer.log.entries(PARTITION, 0, 10_000)
        for index, event in enumerate(entry.events)
        if event.kind is EventKind.WRITTEN
    ]
    assert heard == expected


async def test_the_token_of_any_write_is_good_on_any_node(start: Start) -> None:
    """Also that of one which changed nothing."""
    writer, reader = await start(), await start()
    await write(writer, "tables")
    assert await found(reader, "tables", Freshness(fully_consistent=True)) == ["tables"]
    for n in range(20):
        outcome = await write(writer, f"note {n}", subject="", channel=Channel.TOOL)
        again = await write(writer, f"note {n}", subject="", channel=Channel.TOOL)
        assert again.decision is Decision.DUPLICATE
        for positions in (outcome.positions, again.positions):
            assert f"note {n}" in await found(reader, f"note {n}", Freshness(at_least=positions))


async def test_a_changed_policy_settles_anew_and_reaches_every_node(start: Start) -> None:
    """What lost by confidence contests when nothing but people may decide."""
    one, other = await start(), await start()
    await write(one, "tables", confidence=0.9)
    weak = await write(other, "bars", "orders", confidence=0.3)
    assert weak.memory is not None
    pattern = Pattern.parse("user:*:*", "default")
    fields = {"conflict_policy": ConflictPolicy.MANUAL}
    await one.namespaces.update_policy(Caller(agent="operator"), pattern, fields)
    name = ResourceName(FACTS, "memories", weak.memory.head.memory_id)

    async def is_contested() -> bool:
        memory, _ = await other.reader.get(Caller(), name, 0, Freshness())
        return memory.head.state is MemoryState.CONTESTED

    await until(is_contested)

    async def is_known() -> bool:
        policy, _ = await other.namespaces.policy_in_force(Caller(), FACTS)
        return policy.conflict_policy is ConflictPolicy.MANUAL

    await until(is_known)
