"""Subscriptions: every matching event, in order, whole commits, from any place that the log still holds."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.selection import WatchEvent
from hindsight_bus.app.watch import (
    AfterTokens,
    Batch,
    Confirmed,
    Message,
    Now,
    Progress,
    Snapshot,
    SnapshotPart,
)
from hindsight_bus.domain.errors import LogDiverged, RevisionCompacted
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Channel, Memory, MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.values import replace
from tests.unit.app_rig import FACTS, Node, running

OTHER = Namespace.parse("user:lisi:facts", "default")
PRIVATE = Namespace.parse("agent:support:procedures", "default")
Stream = AsyncGenerator[Message, None]


def stored(outcome: Outcome) -> Memory:
    assert outcome.memory is not None
    return outcome.memory


async def read(stream: Stream, is_enough: Callable[[Sequence[Message]], bool]) -> list[Message]:
    """Read a subscription until there is enough; fail when it takes too long."""
    messages: list[Message] = []
    async with asyncio.timeout(10):
        while not is_enough(messages):
            messages.append(await anext(stream))
    return messages


def events_of(messages: Sequence[Message]) -> list[WatchEvent]:
    return [event for message in messages if isinstance(message, Batch) for event in message.events]


def is_idle(messages: Sequence[Message]) -> bool:
    return bool(messages) and isinstance(messages[-1], Progress)


async def heard(stream: Stream) -> list[WatchEvent]:
    """Return the events up to the first checkpoint, and end the subscription."""
    async with aclosing(stream):
        return events_of(await read(stream, is_idle))


def told(events: Sequence[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.event.kind.name, event.memory.version.text) for event in events]


async def some_history(node: Node) -> None:
    """Two owners, three namespaces, all sorts of events."""
    await node.write("tables", confidence=0.85, tags=("look", "table"))
    await node.write("bars", "orders", confidence=0.5, tags=("look",))
    await node.note("the parcel left", "orders")
    await node.write("trains", namespace=OTHER, subject="travel.means", confidence=0.4)
    await node.write(
        "ask first", namespace=PRIVATE, type=MemoryType.PROCEDURAL, subject="refunds", channel=Channel.TOOL
    )
    await node.work()


FILTERS: dict[str, tuple[tuple[str, ...], dict[str, Any], list[tuple[str, str]]]] = {
    "one owner": (
        ("user:zhangsan:*",), {},
        [("WRITTEN", "tables"), ("WRITTEN", "bars"), ("OVERRIDDEN", "bars"), ("WRITTEN", "the parcel left")],
    ),
    "two patterns": (
        ("user:lisi:facts", "agent:*:*"), {}, [("WRITTEN", "ask first"), ("WRITTEN", "trains")],
    ),
    "no such owner": (("user:nobody:*",), {}, []),
    "types": (("*:*:*",), {"types": frozenset({MemoryType.EPISODIC})}, [("WRITTEN", "the parcel left")]),
    "all tags": (("*:*:*",), {"tags": frozenset({"look", "table"})}, [("WRITTEN", "tables")]),
    "confidence": (
        ("*:*:*",), {"min_confidence": 0.8}, [("WRITTEN", "ask first"), ("WRITTEN", "tables")],
    ),
    "kinds": (("*:*:*",), {"kinds": frozenset({EventKind.OVERRIDDEN})}, [("OVERRIDDEN", "bars")]),
    "kinds, those off by default too": (
        ("user:lisi:*",), {"kinds": frozenset({EventKind.INDEXED})}, [("INDEXED", "trains")],
    ),
    "subject": (("*:*:*",), {"subject_prefix": "travel."}, [("WRITTEN", "trains")]),
    "not my own": (
        ("user:*:facts",), {"not_my_own": True},
        [("OVERRIDDEN", "bars"), ("WRITTEN", "bars"), ("WRITTEN", "the parcel left")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FILTERS)
async def test_a_subscription_hears_what_matches(case: str) -> None:
    """Conditions on name, type, tags, confidence, kind, subject and author."""
    node = Node()
    patterns, conditions, expected = FILTERS[case]
    async with running(node):
        await some_history(node)
        events = told(await heard(node.watch(*patterns, agent="support", **conditions)))
    in_order = events if case == "one owner" else sorted(events)
    assert in_order == expected


async def test_a_change_is_heard_by_who_wanted_the_memory_as_it_was_or_as_it_is() -> None:
    """Somebody who keeps a list must hear that a memory has left it."""
    node = Node()
    async with running(node):
        first = stored(await node.write("tables", tags=("look",), confidence=0.9))
        await node.update(first, tags=("other",))
        await node.update(first, tags=("third",))
        left = await heard(node.watch(tags=frozenset({"look"})))
        joined = await heard(node.watch(tags=frozenset({"third"})))
    assert [event.event.kind.name for event in left] == ["WRITTEN", "UPDATED"]
    assert [event.memory.version.tags for event in joined] == [("third",)]


async def test_an_event_shows_the_memory_as_it_was_then() -> None:
    """Text, version and state of that time, whatever has become of it since."""
    node = Node()
    async with running(node):
        first = stored(await node.write("tables"))
        await node.update(first, text="big tables")
        await node.write("pies", "orders", confidence=0.99)
        events = await heard(node.watch())
    assert [
        (e.event.kind.name, e.memory.version.text, e.event.before.name, e.memory.head.state.name)
        for e in events
    ] == [
        ("WRITTEN", "tables", "NONE", "ACTIVE"),
        ("UPDATED", "big tables", "ACTIVE", "ACTIVE"),
        ("WRITTEN", "pies", "NONE", "ACTIVE"),
        ("OVERRIDDEN", "big tables", "ACTIVE", "OVERRIDDEN"),
    ]


async def test_now_hears_only_what_follows() -> None:
    """The confirmation says after what."""
    node = Node()
    async with running(node):
        await node.note("before")
        async with aclosing(node.watch(start=Now())) as stream:
            [confirmed] = await read(stream, bool)
            assert isinstance(confirmed, Confirmed)
            last = await node.note("after")
            assert told(events_of(await read(stream, lambda m: bool(events_of(m))))) == [("WRITTEN", "after")]
    partition = node.records.partition(FACTS)
    assert confirmed.positions[partition].revision == last.positions[partition].revision - 1


@pytest.mark.parametrize("ring_bytes", [1, 64 << 10, 1 << 20])
async def test_a_token_resumes_without_gap_or_repeat(ring_bytes: int) -> None:
    """Cut after any message, on whatever node, near or far behind: the rest follows."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=2)
    writer = Node(store=store, clock=clock)
    nodes = [
        Node(store=store, clock=clock, ring_bytes=ring_bytes, analyzer=writer.analyzer) for _ in range(2)
    ]
    received: list[tuple[int, int, int]] = []
    start: Any = None
    async with running(nodes[0]), running(nodes[1]):
        for n in range(60):
            await writer.note(f"note {n} " + "x" * 2000)
            await writer.note(f"note {n}", namespace=OTHER)
            if n % 7 == 0:
                async with aclosing(nodes[n % 2].watch(start=start)) as stream:
                    messages = await read(stream, lambda m: len(m) > 1)
                received += [(e.entry.partition, e.entry.revision, e.index) for e in events_of(messages)]
                last = messages[-1]
                assert not isinstance(last, SnapshotPart)
                start = AfterTokens(last.positions)
        received += [
            (e.entry.partition, e.entry.revision, e.index) for e in await heard(nodes[0].watch(start=start))
        ]
    expected = [
        (entry.partition, entry.revision, index)
        for partition in range(2)
        for entry in await store.entries(partition, 0)
        for index, event in enumerate(entry.events)
        if event.kind is not EventKind.INDEXED
    ]
    assert sorted(received) == expected
    for partition in range(2):
        assert [r for r in received if r[0] == partition] == [r for r in expected if r[0] == partition]


async def test_a_batch_never_splits_a_commit() -> None:
    """However many events there are: a token stands between commits."""
    node = Node(ring_bytes=64 << 10)
    async with running(node):
        for n in range(150):
            await node.write(f"strong {n}", subject=f"s{n}", confidence=0.9)
            await node.write(f"weak {n}", "orders", subject=f"s{n}", confidence=0.1)
            node.clock.advance(24 * 3600 if n % 40 == 39 else 0)
        async with aclosing(node.watch()) as stream:
            batches = [m for m in await read(stream, is_idle) if isinstance(m, Batch)]
    seen: set[tuple[int, int]] = set()
    for batch in batches:
        revisions = {(e.entry.partition, e.entry.revision) for e in batch.events}
        assert not revisions & seen
        seen |= revisions
        assert len(batch.events) <= 200
    assert sum(len(batch.events) for batch in batches) == 450
    assert len(batches) > 1


async def test_a_snapshot_and_what_follows_give_the_whole_picture() -> None:
    """Whatever others write meanwhile: applied in order, it is what is there in the end."""
    node = Node()
    async with running(node):
        kept = [stored(await node.note(f"note {n}")) for n in range(5)]
        gone = stored(await node.note("gone"))
        await node.forget(gone)
        picture: dict[str, Memory] = {}
        async with aclosing(node.watch(start=Snapshot())) as stream:
            await read(stream, bool)
            await node.forget(kept[0])
            await node.note("before the snapshot is read")
            [part] = await read(stream, bool)
            assert isinstance(part, SnapshotPart)
            picture |= {memory.name: memory for memory in part.memories}
            await node.update(kept[1], text="changed")
            await node.forget(kept[2])
            await node.note("after it was read")
            for event in events_of(await read(stream, lambda m: is_idle(m) and bool(events_of(m)))):
                picture[event.memory.name] = event.memory
        live = {name: m.version.text for name, m in picture.items() if m.head.state.is_live}
        assert live == {m.name: m.version.text for m in await node.listed() if m.head.state.is_live}
        assert gone.name not in picture


async def test_a_snapshot_ends_although_writers_never_pause() -> None:
    """Each look at the store finds one more memory; those made after the start come as events instead."""
    node = Node()
    memory_ids, numbers = node.store.memory_ids, itertools.count()

    async def busy(namespace: Namespace, after: int = 0, limit: int = 1000) -> list[tuple[str, int]]:
        await node.note(f"note {next(numbers)}")
        return await memory_ids(namespace, after, limit)

    node.store.memory_ids = busy  # type: ignore[method-assign]
    async with running(node):
        await node.note("first")
        async with aclosing(node.watch(start=Snapshot())) as stream:
            messages = await read(stream, is_idle)
            messages += await read(stream, is_idle)
    node.store.memory_ids = memory_ids  # type: ignore[method-assign]
    parts = [
        memory for message in messages if isinstance(message, SnapshotPart) for memory in message.memories
    ]
    texts = {memory.version.text for memory in parts} | {text for _, text in told(events_of(messages))}
    assert texts == {memory.version.text for memory in await node.listed()}


async def test_a_place_that_was_trimmed_is_out_of_range() -> None:
    """The refusal names what is there; the beginning is the oldest that is."""
    node = Node()
    async with running(node):
        early = await node.note("one")
        for n in range(5):
            await node.note(f"note {n}")
        partition = node.records.partition(FACTS)
        await node.store.trim(partition, 4)
        with pytest.raises(RevisionCompacted) as refused:
            await heard(node.watch(start=AfterTokens(early.positions)))
        assert (refused.value.metadata["oldest"], refused.value.metadata["current"]) == ("4", "6")
        async with aclosing(node.watch()) as stream:
            confirmed, *rest = await read(stream, is_idle)
        assert isinstance(confirmed, Confirmed)
        assert confirmed.oldest_revision == 4
        assert [event.entry.revision for event in events_of(rest)] == [4, 5, 6]


async def test_a_reader_that_is_trimmed_away_while_it_is_slow_is_told() -> None:
    """Never a silent gap."""
    node = Node(ring_bytes=1)
    async with running(node):
        await node.note("one")
        async with aclosing(node.watch()) as stream:
            await read(stream, lambda m: bool(events_of(m)))
            for n in range(5):
                await node.note(f"note {n}")
            await node.store.trim(node.records.partition(FACTS), 5)
            with pytest.raises(RevisionCompacted):
                await read(stream, lambda m: False)


@pytest.mark.parametrize("change", [{"stamp": 12345}, {"revision": 99}])
async def test_a_token_of_another_log_is_refused(change: dict[str, int]) -> None:
    """A wrong stamp or a future revision: the log was lost or restored since."""
    node = Node()
    async with running(node):
        outcome = await node.note("one")
        [position] = outcome.positions.values()
        forged = AfterTokens(Positions([replace(position, **change)]))
        with pytest.raises(LogDiverged):
            await heard(node.watch(start=forged))


async def test_a_log_that_was_lost_ends_subscriptions_and_views() -> None:
    """Whoever followed the lost one is told, and whoever asks again sees the restored one."""
    clock = FakeClock()
    node = Node(store=FakeLog(clock.now_ms, partitions=1), clock=clock)
    restored = Node(store=FakeLog(clock.now_ms, partitions=1), clock=clock, ids=node.ids)
    await restored.note("restored")
    async with running(node):
        await node.note("one")
        await node.note("two")
        await node.search()
        async with aclosing(node.watch()) as stream:
            await read(stream, is_idle)
            node.store.__dict__.update(restored.store.__dict__)
            await node.catch_up()
            with pytest.raises(LogDiverged):
                await read(stream, lambda m: False)
        assert [memory.version.text for memory in await node.search()] == ["restored"]
        assert told(await heard(node.watch())) == [("WRITTEN", "restored")]


async def test_checkpoints_carry_a_quiet_subscription_on() -> None:
    """So that its token is not trimmed away while others are busy."""
    node = Node()
    async with running(node):
        await node.note("mine")
        async with aclosing(node.watch("user:zhangsan:facts", start=Now())) as stream:
            await read(stream, lambda m: bool(m))
            other = Namespace.parse("user:zhangsan:working", "default")
            late = await node.note("foreign", namespace=other)
            [(partition, position)] = late.positions.items()

            def is_past(messages: Sequence[Message]) -> bool:
                last = messages[-1] if messages else None
                return isinstance(last, Progress) and last.positions[partition] == position

            assert events_of(await read(stream, is_past)) == []


async def test_a_checkpoint_never_goes_back() -> None:
    """A subscription may be ahead of its node's tail: what it has seen does not come again when the tail gets there."""
    clock = FakeClock()
    store = FakeLog(clock.now_ms, partitions=1)
    writer, node = Node(store=store, clock=clock), Node(store=store, clock=clock)
    await writer.note("one")
    await node.tails[0].follow()
    ahead = await writer.note("two")
    async with aclosing(node.watch(start=Now())) as stream:
        messages = await read(stream, is_idle)
        assert isinstance(messages[-1], Progress)
        assert messages[-1].positions == ahead.positions
        await node.catch_up()
        assert events_of(await read(stream, is_idle)) == []


async def test_news_that_come_with_a_checkpoint_are_not_passed_over() -> None:
    """However the two fall together."""
    async with (
        running(Node(checkpoint_seconds=0.0)) as node,
        aclosing(node.watch(start=Now())) as stream,
    ):
        await read(stream, is_idle)
        writing = asyncio.create_task(write_many(node, 200))
        messages = await read(stream, lambda m: len(events_of(m)) == 200)
        await writing
    assert [text for _, text in told(events_of(messages))] == [f"note {n}" for n in range(200)]


async def write_many(node: Node, count: int) -> None:
    for n in range(count):
        await node.note(f"note {n}")
        await asyncio.sleep(0)


async def test_what_was_purged_is_still_told_of_without_its_text() -> None:
    """A subscriber that was away must not keep what others have forgotten."""
    node = Node()
    async with running(node):
        first = await node.note("secret", tags=("t",))
        await node.forget(stored(first))
        node.clock.advance(40 * 24 * 3600)
        await node.work()
        assert await node.listed() == []
        for conditions in ({}, {"tags": frozenset({"t"})}, {"types": frozenset({MemoryType.EPISODIC})}):
            events = await heard(node.watch(start=AfterTokens(first.positions), **conditions))
            assert [e.event.kind for e in events] == [EventKind.FORGOTTEN, EventKind.FORGOTTEN]
            assert {e.memory.version.text for e in events} == {""}
            assert events[-1].event.after is MemoryState.NONE
        assert await heard(node.watch(types=frozenset({MemoryType.SEMANTIC}))) == []


async def test_a_stuck_subscriber_holds_no_events() -> None:
    """It costs a cursor; what it has not read is in the log."""
    node = Node(ring_bytes=64 << 10)
    async with running(node), aclosing(node.watch()) as stuck:
        await read(stuck, bool)
        for n in range(300):
            await node.note(f"{n} " + "x" * 4000)
        tail = node.tails[node.records.partition(FACTS)]
        assert tail.since(0) is None
        assert len(tail.since(tail.position.revision - 1) or []) == 1
        events = events_of(await read(stuck, lambda m: len(events_of(m)) >= 300))
    assert [event.memory.version.text.split()[0] for event in events] == [str(n) for n in range(300)]
