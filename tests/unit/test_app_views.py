"""Views: loaded on first touch, as fresh as was asked for, dropped and built again without anybody noticing."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.embedder import FakeEmbedder
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.domain.errors import InvalidField, LogDiverged
from hindsight_bus.domain.memory import Decision, Memory, MemoryState
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.position import Position, Positions
from hindsight_bus.ports import Record, Ref, Stored
from tests.unit.app_rig import FACTS, Node, eventually, running

OTHER = Namespace.parse("user:lisi:facts", "default")


def stored(outcome: Outcome) -> Memory:
    assert outcome.memory is not None
    return outcome.memory


async def rebuilt(node: Node, namespace: Namespace = FACTS) -> str:
    """Return the digest of a view that is built afresh."""
    fresh = Node(store=node.store, clock=node.clock, analyzer=node.analyzer)
    view = await fresh.views.open(namespace)
    assert view is not None
    return await fresh.views.ask(view, lambda v: v.digest())


async def digest_of(node: Node, namespace: Namespace = FACTS) -> str:
    view = await node.views.open(namespace)
    assert view is not None
    return await node.views.ask(view, lambda v: v.digest())


async def test_a_write_is_found_at_once_by_its_token() -> None:
    """Also a write that changed nothing has a token, and it says how far the log was."""
    node = Node()
    first = await node.write("tables")
    again = await node.write("tables")
    assert again.decision is Decision.DUPLICATE
    assert again.positions == first.positions
    for outcome in (first, again):
        found = await node.search("tables", freshness=Freshness(at_least=outcome.positions))
        assert [memory.version.text for memory in found] == ["tables"]


async def test_a_view_dropped_while_its_reader_waits_is_built_again() -> None:
    """A reader that holds a token sees its write, however small the budget."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    writer = Node(store=store, clock=clock)
    reader = Node(store=store, clock=clock, ids=writer.ids, analyzer=writer.analyzer, view_budget_bytes=1)
    await writer.write("tables")
    await writer.write("trains", namespace=OTHER)
    async with running(reader):
        assert await reader.search("tables")
        view = await reader.views.open(FACTS)
        assert view is not None
        late = await writer.write("tables and bars", agent="orders", subject="")
        await reader.views.wait_until(view, Freshness(at_least=late.positions))
        await reader.search("trains", namespaces=(OTHER,))
        assert reader.views.peek(FACTS.id) is None
        await writer.write("more tables", agent="sales", subject="")
        await reader.catch_up()
        assert await reader.views.ask(view, len) == 3


async def test_a_view_that_grows_over_the_budget_drops_those_used_longest_ago() -> None:
    """What changes after loading counts as well, if not at once."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    writer = Node(store=store, clock=clock)
    reader = Node(
        store=store, clock=clock, ids=writer.ids, analyzer=writer.analyzer, view_budget_bytes=200_000
    )
    await writer.write("tables")
    await writer.write("trains", namespace=OTHER)
    async with running(reader):
        await reader.search("tables")
        await reader.search("trains", namespaces=(OTHER,))
        assert reader.views.peek(FACTS.id) is not None
        for n in range(20):
            written = await writer.note(f"rails{n} " * 1_000, namespace=OTHER)
            assert written.decision is Decision.STORED
        await reader.catch_up()
        await reader.search("rails3", namespaces=(OTHER,))
        await eventually(lambda: reader.views.peek(FACTS.id) is None)
        assert reader.views.peek(OTHER.id) is not None


async def test_a_view_that_loads_while_others_write_misses_nothing() -> None:
    """What is committed while it reads comes by the tail."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    writer = Node(store=store, clock=clock)
    for n in range(20):
        await writer.note(f"note {n}")
    node = Node(store=store, clock=clock, ids=writer.ids, analyzer=writer.analyzer, ring_bytes=1)
    read, late = store.read, iter(range(3))

    async def interrupted(partition: int, refs: Sequence[Ref]) -> list[Stored[Record] | None]:
        if not is_writing and (n := next(late, None)) is not None:
            is_writing.append(n)
            await writer.note(f"late {n}")
            is_writing.clear()
        return await read(partition, refs)

    is_writing: list[int] = []
    store.read = interrupted  # type: ignore[method-assign]
    async with running(node):
        view = await node.views.open(FACTS)
        assert view is not None
        assert next(late, None) is None
        await node.catch_up()
        assert await node.views.ask(view, len) == len(await node.listed())
        assert await digest_of(node) == await rebuilt(node)


async def test_a_view_loads_although_writers_never_pause() -> None:
    """Each look at the store finds one more memory; the view is there all the same, and has them all."""
    node = Node()
    await node.note("first")
    memory_ids, numbers = node.store.memory_ids, itertools.count()

    async def busy(namespace: Namespace, after: int = 0, limit: int = 1000) -> list[tuple[str, int]]:
        await node.note(f"note {next(numbers)}")
        return await memory_ids(namespace, after, limit)

    node.store.memory_ids = busy  # type: ignore[method-assign]
    async with asyncio.timeout(10):
        view = await node.views.open(FACTS)
    node.store.memory_ids = memory_ids  # type: ignore[method-assign]
    assert view is not None
    assert await node.views.ask(view, len) == len(await node.listed()) > 1
    assert await digest_of(node) == await rebuilt(node)


async def test_another_nodes_commits_are_seen() -> None:
    """A reader waits for them when it is told to, and hears of them soon when it is not."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=2)
    writer = Node(store=store, clock=clock)
    reader = Node(store=store, clock=clock, ids=writer.ids, analyzer=writer.analyzer)
    await writer.write("tables")
    async with running(reader):
        await reader.search("tables")
        outcome = await writer.write("bars", agent="orders", confidence=0.1)
        await writer.write("pies", agent="sales", subject="")
        found = await reader.search("pies", freshness=Freshness(fully_consistent=True))
        assert {memory.version.text for memory in found} == {"pies"}
        partition = reader.records.partition(FACTS)
        await eventually(
            lambda: reader.tails[partition].position.revision >= outcome.positions[partition].revision
        )
        await writer.work()
        found = await reader.search("pie", freshness=Freshness(fully_consistent=True, require_vectors=True))
        assert not any(memory.vector_pending for memory in found)
        assert await digest_of(reader) == await rebuilt(reader)


async def test_waiting_for_vectors_covers_a_memory_that_changed_since() -> None:
    """That somebody corroborated it after the token is no reason to answer without its vector."""
    node = Node()
    first = await node.write("tables")
    await node.write("tables", agent="orders")
    wanted = Freshness(at_least=first.positions, require_vectors=True)
    search = asyncio.create_task(node.search("tables", freshness=wanted))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not search.done()
    await node.work()
    assert [memory.vector_pending for memory in await search] == [False]


async def test_a_token_of_another_log_is_refused() -> None:
    """A future revision, or one with another stamp, says that the log was lost."""
    node = Node()
    outcome = await node.write("tables")
    [partition] = outcome.positions
    position = outcome.positions[partition]
    for revision, stamp in ((position.revision + 9, 1), (position.revision, position.stamp + 1)):
        forged = Freshness(at_least=Positions([Position(partition, revision, stamp)]))
        with pytest.raises(LogDiverged):
            await node.search("tables", freshness=forged)


async def test_a_view_follows_every_kind_of_change() -> None:
    """Updated, superseded, contested, forgotten, restored, expired, purged: as if it had been built afterwards."""
    node = Node()
    await node.search("nothing")
    first = stored(await node.write("tables"))
    await node.search("tables")
    digests = set()

    async def check() -> None:
        digests.add(await digest_of(node))
        assert await digest_of(node) == await rebuilt(node)

    await node.update(first, tags=("t",), text="big tables")
    await check()
    rival = stored(await node.write("bars", agent="orders"))
    await check()
    await node.work()
    await check()
    await node.forget(rival)
    await check()
    await node.restore(rival)
    await check()
    await node.write("pies", agent="sales", supersedes=())
    note = stored(await node.note("soon over", expire_time_ms=node.clock.now_ms() + 1000))
    node.clock.advance(2)
    await node.work()
    assert (await node.get(note)).head.state is MemoryState.EXPIRED
    await check()
    node.clock.advance(40 * 24 * 3600)
    await node.work()
    await check()
    assert len(digests) > 6


async def test_a_question_of_the_wrong_dimension_is_refused_also_before_the_dimension_is_known() -> None:
    """It harms no view, and nobody else's search."""
    node = Node(embedder=FakeEmbedder(dimension=0))
    node.embedder.is_down = True
    vector = np.zeros(8, dtype=np.float32)
    vector[0] = 1.0
    await node.write("tables", vector=vector)
    with pytest.raises(InvalidField, match=r"memory\.vector"):
        await node.write("bars", agent="orders", vector=np.ones(4, dtype=np.float32) / 2)
    with pytest.raises(InvalidField, match="vector"):
        await node.search("tables", vector=np.ones(4, dtype=np.float32) / 2)
    assert [memory.version.text for memory in await node.search("tables", vector=vector)] == ["tables"]


async def test_the_first_vector_fixes_the_dimension() -> None:
    """Whether a caller or the embedder gave it; what does not fit stays without one, and harms no view."""
    node = Node(embedder=FakeEmbedder(dimension=8))
    node.embedder.dimension = 0  # a remote model before its first answer
    await node.write("tables")
    node.embedder.dimension = 8
    await node.work()
    with pytest.raises(InvalidField, match="8"):
        await node.write("bars", agent="orders", vector=np.ones(4, dtype=np.float32) / 2)
    node.embedder.dimension = 4
    misfit = stored(await node.write("pies", agent="sales", subject=""))
    await node.work()
    assert (await node.get(misfit)).vector_pending
    assert {memory.version.text for memory in await node.search()} == {"tables", "pies"}
