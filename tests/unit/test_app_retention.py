"""Retention: by age, never above what a group needs, and no gap without saying so."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.groups import FakeGroups
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.groups import AtTime
from hindsight_bus.app.retention import Retention
from hindsight_bus.app.watch import AfterTokens, Batch, Beginning, Now, Progress, Snapshot, SnapshotPart
from hindsight_bus.domain.errors import RevisionCompacted
from hindsight_bus.domain.groups import Action
from hindsight_bus.domain.names import partition_of
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.values import replace
from tests.unit.app_rig import FACTS, Node, running
from tests.unit.consumer import TERMS, ack, pull, texts

HOUR_S = 3600
NOTICED_S = 2.0
"""How soon members notice a seek."""
PARTITION = partition_of(FACTS.owner_id, 4)
OPERATOR = Caller(agent="op")


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    async with running(Node()) as node:
        yield node


def retention_of(node: Node) -> Retention:
    return Retention(node.store, node.groups, node.clock, 1.0)


async def trimmed(node: Node) -> int:
    """Trim what is older than an hour; return the newest revision that was dropped."""
    await retention_of(node).trim()
    return (await node.store.ends(PARTITION)).trimmed.revision


async def write_hourly(node: Node, count: int) -> None:
    """Write one event an hour, the last one an hour and a second ago."""
    for n in range(count):
        await node.note(f"event {n}")
        node.clock.advance(HOUR_S if n < count - 1 else HOUR_S + 1)


async def test_what_is_old_goes_and_what_is_young_stays(node: Node) -> None:
    """Age decides, never the number of entries."""
    await write_hourly(node, 3)
    await node.note("young")
    assert await trimmed(node) == 3
    assert await trimmed(node) == 3
    assert [entry.revision for entry in await node.store.entries(PARTITION, 0)] == [4]


async def test_a_group_holds_what_it_has_not_settled(node: Node) -> None:
    """Neither what it has not seen nor what is pending is trimmed; what is settled goes."""
    await write_hourly(node, 3)
    first, second, _ = await pull(node, terms=replace(TERMS, lifetime_ms=90 * 24 * HOUR_S * 1000))
    assert await trimmed(node) == 0
    await ack(node, first)
    assert await trimmed(node) == 1
    await ack(node, second, action=Action.RETRY)
    assert await trimmed(node) == 1


async def test_a_dead_letter_holds_nothing(node: Node) -> None:
    """It keeps its event, and comes again from there."""
    await write_hourly(node, 1)
    await ack(node, *await pull(node), action=Action.REJECT)
    assert await trimmed(node) == 1
    await node.book.redrive(OPERATOR, TERMS.name, ())
    node.clock.advance(3)
    assert texts(await pull(node)) == ["event 0"]


async def test_a_group_that_nobody_uses_holds_nothing_for_ever(node: Node) -> None:
    """When its lifetime is over it is gone with all it had, and the log is trimmed."""
    terms = replace(TERMS, lifetime_ms=2 * HOUR_S * 1000)
    await node.note("event")
    await pull(node, terms=terms)
    node.clock.advance(HOUR_S + 1)
    assert await trimmed(node) == 0
    node.clock.advance(HOUR_S)
    assert await trimmed(node) == 1
    assert await node.groups.begun(PARTITION) == []
    assert await node.book.page(Caller(), "", 10) == ([], "")


async def test_a_subscriber_below_the_floor_is_told(node: Node) -> None:
    """No gap in silence: the position is refused, and a snapshot with what follows takes its place."""
    await node.note("event 0")
    old = Positions([(await node.store.ends(PARTITION)).newest])
    await node.note("event 1")
    node.clock.advance(HOUR_S + 1)
    assert await trimmed(node) == 2
    with pytest.raises(RevisionCompacted):
        await anext(node.watch("user:zhangsan:*", start=AfterTokens(old)))
    stream = node.watch("user:zhangsan:*", start=Snapshot())
    await anext(stream)
    part = await anext(stream)
    assert isinstance(part, SnapshotPart)
    assert [memory.version.text for memory in part.memories] == ["event 0", "event 1"]
    assert isinstance(await anext(stream), Progress)
    await node.note("event 2")
    batch = await anext(stream)
    assert isinstance(batch, Batch)
    await stream.aclose()


async def test_a_group_below_the_floor_is_told(node: Node) -> None:
    """Were the log trimmed past a group, it would hear of it, and go on after a seek."""
    await pull(node)
    for n in range(3):
        await node.note(f"event {n}")
    await node.store.trim(PARTITION, 3)
    fresh = Node(store=node.store, clock=node.clock, groups=node.groups, ids=node.ids)
    async with running(fresh):
        with pytest.raises(RevisionCompacted):
            await pull(fresh)
        await fresh.book.seek(OPERATOR, TERMS.name, Beginning())
        fresh.clock.advance(NOTICED_S)
        assert texts(await pull(fresh)) == ["event 2"]


@pytest.mark.parametrize(("hours_ago", "expected"), [(0, []), (2, ["event 2"]), (3, ["event 1", "event 2"])])
async def test_a_group_goes_to_a_time(node: Node, hours_ago: int, expected: list[str]) -> None:
    """To the first event committed then or later."""
    await write_hourly(node, 3)
    await pull(node)
    await node.book.seek(OPERATOR, TERMS.name, AtTime(node.clock.now_ms() - hours_ago * HOUR_S * 1000))
    node.clock.advance(NOTICED_S)
    assert texts(await pull(node)) == expected


async def test_a_group_goes_to_now_and_to_a_token(node: Node) -> None:
    """What lies between is skipped, or comes again."""
    await pull(node)
    await node.note("event 0")
    seen = Positions([(await node.store.ends(PARTITION)).newest])
    await node.note("event 1")
    await node.book.seek(OPERATOR, TERMS.name, Now())
    assert await pull(node) == []
    await node.book.seek(OPERATOR, TERMS.name, AfterTokens(seen))
    node.clock.advance(NOTICED_S)
    assert texts(await pull(node)) == ["event 1"]


async def test_dropped_dead_letters_are_told_of_once() -> None:
    """Each pass tells how many there are; the log has a line whenever more were dropped."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms)
    node = Node(store=store, clock=clock, groups=FakeGroups(store, clock.now_ms, dead_kept=2))
    async with running(node):
        told: list[tuple[int, int]] = []
        retention = retention_of(node)
        retention.listeners.append(lambda kept, dropped: told.append((kept, dropped)))
        with capture_logs() as logged:
            for n in range(4):
                await node.note(f"event {n}")
                await ack(node, *await pull(node), action=Action.REJECT)
                await retention.trim()
                await retention.trim()
    assert told == [(n, d) for n, d in ((1, 0), (2, 0), (2, 1), (2, 2)) for _ in range(2)]
    lines = [
        (each["group"], each["dropped"]) for each in logged if each["event"] == "group.dead_letters_dropped"
    ]
    assert lines == [(TERMS.name, 1), (TERMS.name, 2)]
