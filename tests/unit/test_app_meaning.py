"""Subscribing and consuming by meaning: a memory is compared once its vector is there, wherever the event is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from functools import partial
from typing import Any

import numpy as np
import pytest

from hindsight_bus.adapters.memory.embedder import FakeEmbedder
from hindsight_bus.app.caller import Caller
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
from hindsight_bus.domain import vectors
from hindsight_bus.domain.errors import EmbedderUnavailable, GroupMismatch, InvalidField, ProfileMismatch
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.meaning import Meaning
from hindsight_bus.domain.memory import MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.domain.values import replace
from tests.unit.app_rig import FACTS, Node, SameThread, eventually, running
from tests.unit.consumer import TERMS, consuming, pull, texts
from tests.unit.squeezed import SqueezedEmbedder
from tests.unit.test_app_watch import Stream, events_of, heard, is_idle, read, stored, told

OTHER = Namespace.parse("user:lisi:facts", "default")
OWN = Namespace.parse("user:wangwu:own", "default")
REFUNDS = Meaning("refund of an order", threshold=0.6)


def has_events(messages: Sequence[Message]) -> bool:
    return bool(events_of(messages))


async def some_history(node: Node) -> None:
    """Three memories that are about refunds and two that are not."""
    await node.note("refund of an order", tags=("money",))
    await node.note("blue skies", tags=("money",))
    await node.note("a refund of the order", "orders", namespace=OTHER)
    await node.write("refund of orders", subject="policy.refunds", confidence=0.9)
    await node.write("tables", subject="preference.presentation")
    await node.work()


async def callers_bring_vectors(node: Node, pattern: str, dimension: int) -> None:
    """Have namespaces under a pattern hold vectors of their callers."""
    profile = {"embedding_profile": f"external({dimension})"}
    await node.namespaces.update_policy(Caller(agent="ops"), Pattern.parse(pattern, "default"), profile)
    await node.policies.reload()


FILTERS: dict[str, tuple[tuple[str, ...], dict[str, Any], list[str]]] = {
    "everywhere": (("*:*:*",), {}, ["a refund of the order", "refund of an order", "refund of orders"]),
    "pattern": (("user:zhangsan:*",), {}, ["refund of an order", "refund of orders"]),
    "two patterns that overlap": (("user:lisi:*", "user:*:facts", "user:lisi:facts"), {},
        ["a refund of the order", "refund of an order", "refund of orders"]),
    "type": (("*:*:*",), {"types": frozenset({MemoryType.SEMANTIC})}, ["refund of orders"]),
    "tags": (("*:*:*",), {"tags": frozenset({"money"})}, ["refund of an order"]),
    "confidence": (("*:*:*",), {"min_confidence": 0.8}, ["refund of orders"]),
    "kinds": (("user:lisi:*",), {"kinds": frozenset({EventKind.INDEXED})}, ["a refund of the order"]),
    "subject": (("*:*:*",), {"subject_prefix": "policy."}, ["refund of orders"]),
    "not my own": (("*:*:*",), {"not_my_own": True}, ["a refund of the order"]),
    "nobody there": (("user:nobody:facts",), {}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", FILTERS)
async def test_a_subscription_hears_what_is_about_it(case: str) -> None:
    """Together with every other condition."""
    patterns, conditions, expected = FILTERS[case]
    async with running(Node()) as node:
        await some_history(node)
        events = await heard(node.watch(*patterns, agent="support", meaning=REFUNDS, **conditions))
    assert sorted(event.memory.version.text for event in events) == expected
    assert {event.event.kind for event in events} <= {EventKind.INDEXED}


async def test_it_is_told_when_the_vector_arrives() -> None:
    """Not before, and at once then."""
    async with running(Node()) as node, aclosing(node.watch(start=Now(), meaning=REFUNDS)) as stream:
        await read(stream, bool)
        await node.note("refund of an order")
        assert not events_of(await read(stream, is_idle))
        await node.work()
        assert told(events_of(await read(stream, has_events))) == [("INDEXED", "refund of an order")]


@pytest.mark.parametrize("is_external", [False, True])
async def test_a_callers_vector_is_compared_too(is_external: bool) -> None:
    """On either side: a memory written with one, and a subscription that brings one."""
    node = Node()
    async with running(node):
        if is_external:
            await callers_bring_vectors(node, "*:*:own", 64)
        near, far = np.eye(64, dtype=np.float32)[:2]
        meaning = Meaning(vector=vectors.to_bytes(near), threshold=1.0)
        async with aclosing(node.watch("user:*:own", start=Now(), meaning=meaning)) as stream:
            await read(stream, bool)
            await node.note("far", namespace=OWN, vector=far)
            await node.note("near", namespace=OWN, vector=near)
            assert told(events_of(await read(stream, has_events))) == [("INDEXED", "near")]
        exact = await heard(node.watch("user:wangwu:own", meaning=meaning))
    assert told(exact) == [("INDEXED", "near")]


async def test_a_meaning_is_compared_as_the_profile_has_it() -> None:
    """Without what all texts share in e5: with it, everything would be about everything."""
    node = Node(embedder=SqueezedEmbedder())
    meaning = Meaning("refund of an order", threshold=0.6)
    async with running(node), aclosing(node.watch(start=Now(), meaning=meaning)) as stream:
        await read(stream, bool)
        await node.note("blue skies")
        await node.note("refund of the order")
        assert not events_of(await read(stream, is_idle))
        await node.work()
        assert told(events_of(await read(stream, has_events))) == [("INDEXED", "refund of the order")]


@pytest.mark.parametrize("ring_bytes", [1, 1 << 20])
async def test_a_token_resumes_without_gap_or_repeat(ring_bytes: int) -> None:
    """Cut after any message, on a node that never held the vectors, from its ring or from the log."""
    node = Node()
    async with (
        running(node),
        running(Node(store=node.store, clock=node.clock, ring_bytes=ring_bytes)) as other,
    ):
        for n in range(4):
            await node.note(f"refund of an order {n}", namespace=(FACTS, OTHER)[n % 2])
            await node.note(f"blue skies {n}")
            await node.work()
        await other.tails[0].follow()
        async with aclosing(node.watch(meaning=REFUNDS)) as stream:
            whole = await read(stream, is_idle)
        expected = told(events_of(whole))
        assert len(expected) == 4
        for cut in range(1, len(whole) + 1):
            last = whole[cut - 1]
            assert isinstance(last, Confirmed | Batch | Progress)
            before = events_of(whole[:cut])
            for reader in (node, other):
                after = await heard(reader.watch(start=AfterTokens(last.positions), meaning=REFUNDS))
                assert sorted(told([*before, *after])) == sorted(expected)


async def test_another_node_tells_of_it_too() -> None:
    """Its tail brings the vectors of what is subscribed to by meaning, though it has no view of the namespace."""
    node = Node()
    async with (
        running(node),
        running(Node(store=node.store, clock=node.clock)) as other,
        aclosing(other.watch("user:*:facts", start=Now(), meaning=REFUNDS)) as stream,
    ):
        await read(stream, is_idle)
        await node.note("blue skies")
        await node.note("refund of an order")
        await node.work()
        await other.catch_up()
        assert told(events_of(await read(stream, has_events))) == [("INDEXED", "refund of an order")]
        await eventually(lambda: other.matcher.has_compared(other.records.partition(FACTS)))


async def test_nothing_is_passed_over_while_vectors_are_compared() -> None:
    """A checkpoint does not go past what nobody has looked at yet."""
    slow = SlowThread()
    async with (
        running(Node(match_thread=slow)) as node,
        aclosing(node.watch(start=Now(), meaning=REFUNDS)) as stream,
    ):
        await read(stream, is_idle)
        await node.note("refund of an order")
        await node.work()
        await read(stream, lambda messages: len(messages) > 2)  # checkpoints
        await eventually(lambda: slow.waiting)
        slow.run()
        assert told(events_of(await read(stream, has_events))) == [("INDEXED", "refund of an order")]


class SlowThread(SameThread):
    """Does nothing until it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        self.waiting.append((done, partial(function, *args, **kwargs)))
        return done

    def run(self) -> None:
        """Do all that waits."""
        while self.waiting:
            done, work = self.waiting.pop(0)
            done.set_result(work())


async def test_a_snapshot_holds_what_is_about_it() -> None:
    """What has no vector yet follows when it has."""
    async with running(Node()) as node:
        await some_history(node)
        await node.note("refund of an order, late")
        async with aclosing(node.watch(start=Snapshot(), meaning=REFUNDS)) as stream:
            messages = await read(stream, is_idle)
            await node.work()
            late = events_of(await read(stream, has_events))
    found = [m.version.text for part in messages if isinstance(part, SnapshotPart) for m in part.memories]
    assert sorted(found) == ["a refund of the order", "refund of an order", "refund of orders"]
    assert told(late) == [("INDEXED", "refund of an order, late")]


async def test_a_memory_without_a_vector_never_matches() -> None:
    """An embedder that is away delays the event, and loses none."""
    async with running(Node()) as node:
        stream: Stream = node.watch(meaning=REFUNDS)
        async with aclosing(stream):
            await read(stream, is_idle)
            node.embedder.is_down = True
            await node.note("refund of an order")
            with pytest.raises(EmbedderUnavailable):
                await node.indexer.embed(await node.store.take_due(node.records.partition(FACTS), 0, 10))
            assert not events_of(await read(stream, is_idle))
            node.embedder.is_down = False
            node.clock.advance(60)
            await node.work()
            assert told(events_of(await read(stream, has_events))) == [("INDEXED", "refund of an order")]


async def test_the_event_shows_the_memory_as_it_was_when_the_vector_came() -> None:
    """In whatever state; a new text is compared anew, a change of state is not."""
    async with running(Node()) as node:
        first = stored(await node.write("refund of an order"))
        await node.write(
            "refund of some orders"
        )  # by the same speaker: the first is replaced before it is indexed
        await node.work()
        second = stored(await node.note("blue skies"))
        await node.work()
        await node.update(second, text="a refund of an order")
        await node.work()
        await node.update(second, text="blue skies again")
        await node.work()
        await node.forget(second)
        events = await heard(node.watch("user:zhangsan:*", meaning=REFUNDS))
        assert (await node.get(first)).head.state is MemoryState.SUPERSEDED
    assert [(e.memory.version.text, e.memory.head.state) for e in events] == [
        ("refund of an order", MemoryState.SUPERSEDED),
        ("refund of some orders", MemoryState.ACTIVE),
        ("a refund of an order", MemoryState.ACTIVE),
    ]


async def test_who_asks_in_vain_is_told_why() -> None:
    """Before anything is streamed, by the field at fault."""
    node = Node()
    async with running(node):
        await node.note("near", namespace=OWN, vector=np.eye(64, dtype=np.float32)[0])
        await callers_bring_vectors(node, "*:*:theirs", 3)
        short = Meaning(vector=vectors.to_bytes(np.ones(7, np.float32)), threshold=0.5)
        for pattern, meaning, field in [
            ("user:*:facts", Meaning("refunds"), "filter.meaning.threshold"),
            ("user:wangwu:own", short, "filter.meaning.vector"),
            ("user:*:facts", short, "filter.meaning.vector"),
            ("user:new:facts", short, "filter.meaning.vector"),
            ("user:new:theirs", REFUNDS, "filter.meaning.vector"),
        ]:
            with pytest.raises(InvalidField) as refused:
                await anext(node.watch(pattern, meaning=meaning))
            assert refused.value.field == field, pattern
        node.embedder.is_down = True
        with pytest.raises(EmbedderUnavailable):
            await anext(node.watch(meaning=REFUNDS))
        assert not node.matcher._interests


async def test_a_namespace_of_another_profile_is_refused_by_name_and_passed_over_by_pattern() -> None:
    """Cosines of two models have nothing to do with each other."""
    node = Node()
    async with running(node):
        await node.note("refund of an order")
        await node.work()
        other = Node(store=node.store, clock=node.clock, embedder=FakeEmbedder("another"))
        async with running(other):
            with pytest.raises(ProfileMismatch):
                await anext(other.watch(str(FACTS), meaning=REFUNDS))
            assert not await heard(other.watch("user:*:facts", meaning=REFUNDS))


async def test_members_of_a_group_share_what_is_about_it() -> None:
    """On any node, from the log as well; the group is what it was made for."""
    terms = replace(TERMS, filter=EventFilter(meaning=REFUNDS))
    node = Node()
    async with running(node):
        await some_history(node)
        other = Node(store=node.store, clock=node.clock, groups=node.groups, ring_bytes=1)
        async with running(other):
            first = await pull(other, terms=terms, limit=1)
            async with consuming(node, "m2", terms) as member:
                rest = await member.deliveries()
                waiting = asyncio.create_task(member.deliveries())
                await node.note("blue skies")
                await node.note("refund of an order, late")
                await node.work()
                late = await waiting
            skies = replace(terms, filter=EventFilter(meaning=replace(REFUNDS, text="skies")))
            with pytest.raises(GroupMismatch):
                await pull(node, terms=skies)
            unknown = replace(terms, name="new", filter=EventFilter(meaning=replace(REFUNDS, threshold=0.0)))
            with pytest.raises(InvalidField, match=r"^group\.filter\.meaning\.threshold: "):
                await pull(node, terms=unknown)
            with pytest.raises(InvalidField, match=r"^open\.group\.filter\.meaning\.threshold: "):
                await consuming(node, "m3", unknown).__aenter__()
            assert await node.groups.find("default", "new") is None
    assert sorted(texts([*first, *rest])) == FILTERS["everywhere"][2]
    assert texts(late) == ["refund of an order, late"]
