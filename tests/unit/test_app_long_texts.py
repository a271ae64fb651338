"""Long texts through the application: found by what stands deep inside, on every node, while they are there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.search import SearchRequest
from hindsight_bus.domain.memory import Memory, Vector
from hindsight_bus.domain.pieces import pieces
from hindsight_bus.domain.query import Filter, SearchChannel
from hindsight_bus.domain.vectors import from_bytes
from hindsight_bus.ports import Candidate
from tests.unit.app_rig import FACTS, Node, running

DEEP = "Quilted jackets, six zinc buckets, two xylophones: Joaquín's flat, fifth floor, quiz at six."
QUESTION = DEEP.casefold()
WALLS = " ".join(
    f"On day {n} the crew painted wall number {n} in plain white and had lunch." for n in range(12)
)
LONG = f"{WALLS} {DEEP} {WALLS}"
OTHER = " ".join(f"Passenger {n} of the ferry had a quick coffee at the bar." for n in range(20))
ELSEWHERE = "A ferry sails at noon."
NOT_BY_MEANING = frozenset(SearchChannel) - {SearchChannel.DENSE}


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    async with running(Node()) as node:
        yield node


def told(outcome: Outcome) -> Memory:
    assert outcome.memory is not None
    return outcome.memory


async def stored(node: Node, memory: Memory, version: int) -> Vector | None:
    key = (memory.head.memory_id, version, node.embedder.profile)
    [found] = await node.records.many(node.records.partition(FACTS), Vector, [key])
    return found.record if found is not None else None


async def near(node: Node, question: str = QUESTION) -> dict[str, Candidate]:
    """Return what is found by meaning alone, best first, by memory id."""
    await node.catch_up()
    request = SearchRequest(
        (FACTS,), question, 10, None, "", "", Filter(), Freshness(), None, without=NOT_BY_MEANING
    )
    answer = await node.searcher.search(Caller(), request)
    return {hit.memory.head.memory_id: hit.candidate for hit in answer.hits}


async def test_a_long_text_is_found_by_a_sentence_deep_inside(node: Node) -> None:
    """It comes before a short text that is a little near; its closeness is that of its nearest piece; one batch."""
    long = told(await node.note(LONG))
    for text in (OTHER, ELSEWHERE):
        await node.note(text)
    await node.work()
    assert sorted(node.embedder.embedded) == sorted([LONG, OTHER, ELSEWHERE])
    found = await near(node)
    best = next(iter(found))
    assert best == long.head.memory_id
    asked = await node.embedder.embed_query(QUESTION)
    each = await node.embedder.embed_passages([LONG, *pieces(LONG)])
    assert found[best].dense == pytest.approx(float((each @ asked).max()), abs=2e-3)
    assert (each @ asked).argmax() > 0


async def test_every_node_sees_the_same(node: Node) -> None:
    """A node that loads the view from the store has what the one has that followed the log."""
    await near(node)  # so that its view is there before anything is written
    long = told(await node.note(LONG))
    await node.note(OTHER)
    await node.work()
    async with running(Node(store=node.store, clock=node.clock)) as later:
        assert await near(later) == await near(node)
        assert await later.digest() == await node.digest()
        assert next(iter(await near(later))) == long.head.memory_id


async def test_a_new_version_keeps_or_makes_pieces(node: Node) -> None:
    """With the same text they stay, without a call to the embedder; with a new one they are those of the new text."""
    long = told(await node.note(LONG))
    await node.work()
    first = await stored(node, long, 1)
    assert first is not None
    assert len(first.pieces) == len(pieces(LONG)) * len(first.values)
    calls = len(node.embedder.embedded)
    await node.update(long, importance=0.9)
    await node.work()
    second = await stored(node, long, 2)
    assert second is not None
    assert (second.values, second.pieces) == (first.values, first.pieces)
    assert len(node.embedder.embedded) == calls
    await node.update(long, text=ELSEWHERE)
    await node.work()
    third = await stored(node, long, 3)
    assert third is not None
    assert third.pieces == b""
    assert (await near(node))[long.head.memory_id].dense == pytest.approx(
        float(from_bytes(third.values) @ await node.embedder.embed_query(QUESTION)), abs=1e-3
    )


async def test_the_vector_of_a_caller_stands_alone(node: Node) -> None:
    """Who gives a vector has said what the text means as a whole."""
    given = np.eye(1, node.embedder.dimension, dtype=np.float32)[0]
    long = told(await node.note(LONG, vector=given))
    await node.work()
    found = await stored(node, long, 1)
    assert found is not None
    assert found.pieces == b""
    assert node.embedder.embedded == []


async def test_purging_leaves_nothing_to_be_found(node: Node) -> None:
    """Once a long memory is purged, its vectors are gone from the store and from the view."""
    long = told(await node.note(LONG))
    await node.note(OTHER)
    await node.work()
    assert long.head.memory_id in await near(node)
    await node.forget(long)
    node.clock.advance(31 * 24 * 3600)
    await node.work()
    assert await stored(node, long, 1) is None
    assert long.head.memory_id not in await near(node)
    async with running(Node(store=node.store, clock=node.clock)) as later:
        assert await later.digest() == await node.digest()
