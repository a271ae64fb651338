"""Tails: every commit once and in order, however it is heard of, and never given up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.tail import LogCommit
from hindsight_bus.domain.errors import HbusError, OutcomeUnknown, SchemaTooNew, StoreUnavailable
from hindsight_bus.domain.events import Entry
from hindsight_bus.ports import Commit, Committed
from tests.unit.app_rig import Node, eventually, running


@pytest.mark.parametrize("error", [StoreUnavailable(), SchemaTooNew(2, 1)])
async def test_a_tail_goes_on_after_it_could_not_read(error: HbusError) -> None:
    """The store was away, or held a record of a newer server: what follows is heard of all the same."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    writer, node = Node(store=store, clock=clock), Node(store=store, clock=clock)
    entries, failures = store.entries, iter([error])

    async def fail_at_first(partition: int, after: int, limit: int = 1000) -> list[Entry]:
        if partition == 0:
            for failure in failures:
                raise failure
        return await entries(partition, after, limit)

    async with running(node):
        await node.tails[0].follow()
        store.entries = fail_at_first  # type: ignore[method-assign]
        outcome = await writer.note("one")
        await eventually(lambda: node.tails[0].position == outcome.positions[0])


async def test_commits_are_told_of_once_and_in_order_however_they_are_acknowledged() -> None:
    """Replies may overtake each other, and other nodes' commits lie between; the log's order holds."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    node = Node(store=store, clock=clock)
    other = Node(store=store, clock=clock, ids=node.ids, analyzer=node.analyzer)
    told: list[int] = []
    commit_now = store.commit

    async def reply_late(commit: Commit) -> Committed:
        committed = await commit_now(commit)
        for _ in range(committed.position.revision * 7 % 5):
            await asyncio.sleep(0)
        return committed

    def listen(commits: Sequence[LogCommit]) -> None:
        told.extend(each.revision for each in commits)

    async with running(node):
        await node.note("one")
        await node.tails[0].follow()
        node.tails[0].listen(listen)
        store.commit = reply_late  # type: ignore[method-assign]
        writes = [(other if n % 3 == 0 else node).note(f"note {n}") for n in range(40)]
        await asyncio.gather(*writes)
        await eventually(lambda: len(told) >= 40)
    assert told == list(range(2, 42))


async def test_a_node_reads_nothing_that_it_committed_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """However late the acknowledgements come after the wake-ups, and in whatever order."""
    monkeypatch.setattr("hindsight_bus.app.tail.POLL_SECONDS", 60.0)
    store = FakeLog(FakeClock().now_ms, partitions=1)
    node = Node(store=store)
    commit_now = store.commit

    async def reply_late(commit: Commit) -> Committed:
        committed = await commit_now(commit)
        for _ in range(10 + committed.position.revision * 7 % 5):
            await asyncio.sleep(0)
        return committed

    entries, reads = store.entries, []

    async def count(partition: int, after: int, limit: int = 1000) -> list[Entry]:
        reads.append(after)
        return await entries(partition, after, limit)

    async with running(node):
        await node.note("one")
        await node.tails[0].follow()
        store.commit = reply_late  # type: ignore[method-assign]
        store.entries = count  # type: ignore[method-assign]
        await asyncio.gather(*(node.note(f"note {n}") for n in range(40)))
        assert node.tails[0].position.revision == 41
    assert not reads


@pytest.mark.parametrize("ended_by", [OutcomeUnknown(), asyncio.CancelledError()])
async def test_a_commit_whose_reply_is_lost_is_heard_of(
    ended_by: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody offers it, so the node reads it."""
    monkeypatch.setattr("hindsight_bus.app.tail.POLL_SECONDS", 60.0)
    store = FakeLog(FakeClock().now_ms, partitions=1)
    node = Node(store=store)
    commit_now = store.commit

    async def lose_reply(commit: Commit) -> Committed:
        await commit_now(commit)
        for _ in range(10):  # its wake-up comes first
            await asyncio.sleep(0)
        raise ended_by

    async with running(node):
        await node.note("one")
        await node.tails[0].follow()
        store.commit = lose_reply  # type: ignore[method-assign]
        with pytest.raises(type(ended_by)):
            await node.note("two")
        await eventually(lambda: node.tails[0].position.revision == 2)


async def lose(node: Node) -> None:
    """Have the store go on from a log that lacks what the node has last seen, as after a failover."""
    restored = Node(store=FakeLog(node.clock.now_ms, partitions=1), clock=node.clock, ids=node.ids)
    for n in range(3):
        await node.note(f"lost {n}")
    await restored.note("restored")
    await eventually(lambda: node.tails[0].position.revision == 4)
    node.store.__dict__.update(restored.store.__dict__)  # and it wakes nobody: its listeners are others


@pytest.mark.parametrize("others", [0, 1, 2, 3])
async def test_own_commits_on_another_log_are_noticed(others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take the revisions of what was lost, or follow on those of other nodes: no gap goes unseen."""
    monkeypatch.setattr("hindsight_bus.app.tail.POLL_SECONDS", 60.0)
    node = Node(store=FakeLog(FakeClock().now_ms, partitions=1))
    other = Node(store=node.store, clock=node.clock, ids=node.ids, analyzer=node.analyzer)
    async with running(node):
        await node.note("kept")
        await node.tails[0].follow()
        await lose(node)
        for n in range(4):
            await (other if n < others else node).note(f"new {n}")
        await eventually(lambda: node.tails[0].epoch == 1)
        await eventually(lambda: node.tails[0].position.revision == 5)


async def test_a_fresh_token_is_good_before_the_loss_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes right after a failover finds the write by its token."""
    monkeypatch.setattr("hindsight_bus.app.tail.POLL_SECONDS", 60.0)
    node = Node(store=FakeLog(FakeClock().now_ms, partitions=1))
    async with running(node):
        await node.note("kept")
        assert await node.search("kept")
        await lose(node)
        fresh = await node.note("fresh")
        found = await node.search("fresh", freshness=Freshness(at_least=fresh.positions))
        assert [memory.version.text for memory in found][:1] == ["fresh"]


async def test_a_tail_that_dies_of_a_defect_is_told_of() -> None:
    """It must not go unseen that a node has stopped to follow."""
    node = Node()

    async def be_broken(partition: int, after: int, limit: int = 1000) -> list[Entry]:
        raise KeyError("a defect")

    with capture_logs() as logs:
        async with running(node):
            await node.tails[0].follow()
            node.store.entries = be_broken  # type: ignore[method-assign]
            node.tails[0].wake()
            await eventually(lambda: logs)
    assert logs[0]["event"] == "node.background_died"
