"""Searching through the application: the pinned part, the token budget, dates, conversations, old terms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.search import SearchAnswer, SearchRequest
from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.tokens import estimated_tokens
from hindsight_bus.domain.values import replace
from tests.unit.app_rig import FACTS, Node, name_of, running

DAY_MS = 86_400_000


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    async with running(Node()) as node:
        yield node


async def ask(node: Node, query: str, **fields: Any) -> SearchAnswer:
    request = SearchRequest((FACTS,), query, 10, None, "", "", Filter(), Freshness(), None)
    return await node.searcher.search(Caller(agent=""), replace(request, **fields))


def texts(hits: list[Any]) -> list[str]:
    return [hit.memory.version.text for hit in hits]


async def test_pinned_memories_come_apart_whatever_is_asked(node: Node) -> None:
    """With a question, pinned memories that match the filter are a part of their own and never hits."""
    await node.write("drinks coffee", subject="drink", tags=("x",))
    await node.write("drives on the left", subject="rule", pinned=True)
    answer = await ask(node, "coffee")
    assert (texts(answer.hits), texts(answer.pinned)) == (["drinks coffee"], ["drives on the left"])
    named = await ask(node, "drives on the left")
    assert (texts(named.hits), texts(named.pinned)) == ([], ["drives on the left"])
    tagged = await ask(node, "coffee", filter=Filter(tags=frozenset({"x"})))
    assert texts(tagged.pinned) == []


async def test_pinned_memories_are_hits_where_nothing_else_is_asked(node: Node) -> None:
    """A search by filter alone, or one for pinned memories, has one part only."""
    await node.write("drives on the left", subject="rule", pinned=True)
    assert texts((await ask(node, "")).hits) == ["drives on the left"]
    only = await ask(node, "drives", filter=Filter(pinned=True))
    assert (texts(only.hits), texts(only.pinned)) == (["drives on the left"], [])


async def test_the_budget_holds_and_pinned_memories_go_first(node: Node) -> None:
    """The texts of an answer take at most the tokens asked for; what does not fit is left out."""
    for number in range(5):
        await node.note(f"film number {number} was a long one about the sea and its many ships")
    await node.note("film: short")
    await node.write("never mentions ships", subject="rule", pinned=True)
    answer = await ask(node, "film", max_tokens=30)
    shown = [*texts(answer.pinned), *texts(answer.hits)]
    assert texts(answer.pinned) == ["never mentions ships"]
    assert "film: short" in shown
    assert sum(map(estimated_tokens, shown)) <= 30
    assert len(texts((await ask(node, "film")).hits)) == 6


async def test_dates_are_counted_from_the_time_of_the_query(node: Node) -> None:
    """A relative date is seen from the query: yesterday is the day before it, by default before now."""
    now_ms = node.clock.now_ms()
    for days in (1, 40):
        await node.note(f"ate noodles {days}", event_time_ms=now_ms - days * DAY_MS)
    assert texts((await ask(node, "昨天聊了什么")).hits)[0] == "ate noodles 1"
    earlier = await ask(node, "昨天聊了什么", query_time_ms=now_ms - 39 * DAY_MS)
    assert texts(earlier.hits)[0] == "ate noodles 40"


async def test_a_named_conversation_brings_its_neighbours(node: Node) -> None:
    """What was said next to a hit in the same conversation is found, days apart or not."""
    now_ms = node.clock.now_ms()
    await node.note("which film did you see", conversation="c1", event_time_ms=now_ms - 9 * DAY_MS)
    await node.note("the silent one from Lisbon", conversation="c1", event_time_ms=now_ms)
    found = await ask(node, "which film was it")
    assert texts(found.hits) == ["which film did you see", "the silent one from Lisbon"]
    assert found.hits[1].candidate.neighbours is not None


async def test_a_rejected_term_finds_what_replaced_it(node: Node) -> None:
    """A memory that was deliberately replaced is found by nobody; its words find the one in its place."""
    old = await node.write("lints with TSLint", subject="linting.old")
    assert old.memory is not None
    await node.write("formats by Biome", subject="linting.new", supersedes=(name_of(old.memory),))
    assert (await node.get(old.memory)).head.state is MemoryState.SUPERSEDED
    assert texts((await ask(node, "TSLint")).hits) == ["formats by Biome"]


async def test_a_question_that_says_nothing_finds_nothing(node: Node) -> None:
    """White space is a question without words, not a request for everything."""
    await node.note("drinks coffee")
    assert (await ask(node, " ")).hits == []


async def test_a_question_in_another_language_is_answered_by_meaning(node: Node) -> None:
    """Where no memory is in the query's language, the view is told so, and one in its language is no hindrance."""
    await node.note("drinks coffee in the morning")
    await node.work()
    [hit] = (await ask(node, "早上喝什么")).hits
    assert hit.memory.version.text == "drinks coffee in the morning"
