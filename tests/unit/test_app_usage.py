"""Recorded use: counted once, kept with the memory, seen by every view alike."""

from __future__ import annotations

import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.usage import UsageOutcome, UsageRecorder, UsageReport
from hindsight_bus.domain.errors import AgentRequired, RequestIdReused
from hindsight_bus.domain.memory import Memory
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.records import Usage
from tests.unit.app_rig import FACTS, Node, name_of, running

PRIVATE = Namespace.parse("agent:support:notes", "default")
SUPPORT = Caller(agent="support")


def report(
    retrieved: list[Memory], used: list[Memory] | None = None, answer: str = "", request_id: str = ""
) -> UsageReport:
    return UsageReport(
        retrieved=tuple(map(name_of, retrieved)),
        used=frozenset(map(name_of, used or [])),
        answer=answer,
        query="",
        request_id=request_id,
        payload=f"{len(retrieved)} {len(used or [])} {answer}",
    )


async def noted(node: Node, *texts: str, namespace: Namespace = FACTS) -> list[Memory]:
    outcomes = [await node.note(text, namespace=namespace) for text in texts]
    return [outcome.memory for outcome in outcomes if outcome.memory is not None]


async def usage(node: Node, memory: Memory) -> Usage | None:
    partition = node.records.partition(memory.namespace)
    return (await node.records.usages(partition, [memory.head.memory_id])).get(memory.head.memory_id)


async def row(node: Node, memory: Memory) -> tuple[int, int]:
    view = await node.views.open(memory.namespace)
    assert view is not None
    found = await node.views.ask(view, lambda v: v.get(memory.head.memory_id))
    assert found is not None
    return found.retrieved, found.used


async def digest(node: Node, namespace: Namespace = FACTS) -> str:
    view = await node.views.open(namespace)
    assert view is not None
    return await node.views.ask(view, lambda v: v.digest())


async def test_use_is_counted_with_the_memory_and_seen_by_the_view() -> None:
    """Each report adds one to what was given and, where it was used, to what was used."""
    async with running(Node()) as node:
        tea, coffee = await noted(node, "Li drinks tea", "Wang drinks coffee")
        recorder = UsageRecorder(node.records, node.committer)
        first = await recorder.record(SUPPORT, report([tea, coffee], [tea]))
        await recorder.record(SUPPORT, report([tea, coffee], answer="Wang takes coffee"))
        await recorder.record(SUPPORT, report([tea]))
        assert (first.used, first.retrieved) == ([name_of(tea)], 2)
        assert (await row(node, tea), await row(node, coffee)) == ((3, 1), (2, 1))
        assert await usage(node, tea) == Usage(FACTS, tea.head.memory_id, 3, 1)


async def test_use_decides_between_equals() -> None:
    """Of two memories that are alike otherwise, the one that answers used comes first."""
    async with running(Node()) as node:
        await noted(node, "Li drinks tea in May", "Li drinks tea in June")
        recorder = UsageRecorder(node.records, node.committer)
        ahead, behind = await node.search()
        await recorder.record(SUPPORT, report([ahead, behind], [behind]))
        assert [each.head.memory_id for each in await node.search()] == [
            behind.head.memory_id,
            ahead.head.memory_id,
        ]


async def test_a_report_sent_again_counts_once() -> None:
    """One request_id has one effect, and comes with one payload only."""
    node = Node()
    [tea] = await noted(node, "Li drinks tea")
    recorder = UsageRecorder(node.records, node.committer)
    totals: list[tuple[int, int]] = []
    recorder.listeners.append(lambda retrieved, used: totals.append((retrieved, used)))
    again: list[UsageOutcome] = [
        await recorder.record(SUPPORT, report([tea], [tea], request_id="r")) for _ in range(2)
    ]
    assert await usage(node, tea) == Usage(FACTS, tea.head.memory_id, 1, 1)
    assert totals == [(1, 1)]
    assert again[0].used == again[1].used
    with pytest.raises(RequestIdReused):
        await recorder.record(SUPPORT, report([tea], request_id="r"))


async def test_each_namespace_is_counted_by_itself() -> None:
    """Shared and private memories of one answer count each where they lie, also when only one half got through."""
    node = Node()
    [shared] = await noted(node, "Li drinks tea")
    [private] = await noted(node, "Be brief with Li", namespace=PRIVATE)
    recorder = UsageRecorder(node.records, node.committer)
    await recorder.record(SUPPORT, report([shared], [shared], request_id="half"))
    half = UsageReport((name_of(shared), name_of(private)), frozenset(), "", "", "half", "1 1 ")
    await recorder.record(SUPPORT, half)
    assert await usage(node, shared) == Usage(FACTS, shared.head.memory_id, 1, 1)
    assert await usage(node, private) == Usage(PRIVATE, private.head.memory_id, 1, 0)


async def test_what_is_not_there_is_left_out() -> None:
    """A memory of another namespace, or one that nobody knows, is not counted, and nothing is made of it."""
    node = Node()
    [tea] = await noted(node, "Li drinks tea")
    other = Namespace.parse("user:zhangsan:other", "default")
    stray = UsageReport(
        (ResourceName(other, "memories", tea.head.memory_id), ResourceName(FACTS, "memories", "0" * 32)),
        frozenset(), "", "", "", "",
    )  # fmt: skip
    outcome = await UsageRecorder(node.records, node.committer).record(SUPPORT, stray)
    assert (outcome.used, outcome.retrieved) == ([], 0)
    assert await usage(node, tea) is None
    with pytest.raises(AgentRequired):
        await UsageRecorder(node.records, node.committer).record(Caller(), report([tea]))


async def test_views_agree_on_use() -> None:
    """A view kept up by events, that of another node and one built afresh are the same after use and change."""
    async with running(Node()) as node:
        other = Node(store=node.store, clock=node.clock)
        async with running(other):
            tea, coffee = await noted(node, "Li drinks tea", "Wang drinks coffee")
            assert await digest(node) == await digest(other)
            recorder = UsageRecorder(node.records, node.committer)
            await recorder.record(SUPPORT, report([tea, coffee], [tea]))
            await node.update(tea, text="Li drinks green tea")
            await UsageRecorder(other.records, other.committer).record(SUPPORT, report([tea], [tea]))
            await node.catch_up()
            await other.catch_up()
            fresh = Node(store=node.store, clock=node.clock)
            async with running(fresh):
                assert await row(fresh, tea) == (2, 2)
                assert await digest(node) == await digest(other) == await digest(fresh)


async def test_subscribers_hear_nothing_of_use() -> None:
    """Use changes nothing about a memory: no event is delivered and no step of history is added."""
    async with running(Node()) as node:
        [tea] = await noted(node, "Li drinks tea")
        await UsageRecorder(node.records, node.committer).record(SUPPORT, report([tea], [tea]))
        await noted(node, "Wang drinks coffee")
        heard: list[str] = []
        async for message in node.watch():
            heard += [each.memory.version.text for each in getattr(message, "events", [])]
            if len(heard) == 2:
                break
        assert heard == ["Li drinks tea", "Wang drinks coffee"]
        past, _ = await node.reader.versions(SUPPORT, name_of(tea), 0, 10)
        assert [len(version.transitions) for version in past] == [1]


async def test_use_goes_with_the_memory() -> None:
    """What is purged leaves no count behind."""
    node = Node()
    [tea] = await noted(node, "Li drinks tea")
    await UsageRecorder(node.records, node.committer).record(SUPPORT, report([tea], [tea]))
    await node.forget(tea)
    node.clock.advance(31 * 24 * 3600)
    await node.work()
    assert await usage(node, tea) is None
