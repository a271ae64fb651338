"""Echo: an agent that repeats what it was served adds no evidence."""

from contextlib import aclosing

import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.served import WINDOW_MS
from hindsight_bus.app.watch import Batch, Beginning, WatchRequest
from hindsight_bus.domain.memory import Channel, Decision
from hindsight_bus.domain.names import Pattern, ResourceName
from hindsight_bus.domain.query import EventFilter
from tests.unit.app_rig import FACTS, Node

READER = "reader"


async def _get(node: Node, memory_id: str) -> None:
    await node.reader.get(Caller(agent=READER), ResourceName(FACTS, "memories", memory_id), 0, Freshness())


async def _listen(node: Node) -> None:
    pattern = Pattern.parse(str(FACTS), FACTS.tenant)
    request = WatchRequest((pattern,), EventFilter(), Beginning())
    async with aclosing(node.watcher.subscribe(Caller(agent=READER), request)) as messages:
        async for message in messages:
            if isinstance(message, Batch):
                return


@pytest.mark.parametrize("serve", ["get", "stream"])
@pytest.mark.parametrize("flushed", [False, True])
async def test_repeating_what_was_served_is_an_echo(serve: str, flushed: bool) -> None:
    """Whether it was read or heard, and whether or not the note has been written down yet; nothing changes."""
    node = Node()
    await node.policies.load()
    first = await node.write("likes tea", agent="writer")
    assert first.memory is not None
    memory_id = first.memory.head.memory_id
    await (_get(node, memory_id) if serve == "get" else _listen(node))
    if flushed:
        await node.served.flush()
    again = await node.write("Likes tea.", agent=READER)
    assert again.decision is Decision.ECHO
    assert again.memory is not None
    assert again.memory.head == first.memory.head


async def test_a_source_of_its_own_is_evidence() -> None:
    """What the user says to an agent counts, although the agent had been served it before."""
    node = Node()
    await node.policies.load()
    first = await node.write("likes tea", agent="writer")
    assert first.memory is not None
    await _get(node, first.memory.head.memory_id)
    again = await node.write("likes tea", agent=READER, channel=Channel.USER)
    assert again.decision is Decision.CORROBORATED


async def test_who_was_not_served_corroborates() -> None:
    """Two agents that came to it on their own are two voices."""
    node = Node()
    await node.policies.load()
    await node.write("likes tea", agent="writer")
    assert (await node.write("likes tea", agent=READER)).decision is Decision.CORROBORATED


async def test_a_day_later_it_is_evidence_again() -> None:
    """The window is 24 hours."""
    node = Node()
    await node.policies.load()
    first = await node.write("likes tea", agent="writer")
    assert first.memory is not None
    await _get(node, first.memory.head.memory_id)
    await node.served.flush()
    node.clock.advance(WINDOW_MS / 1000 + 1)
    assert (await node.write("likes tea", agent=READER)).decision is Decision.CORROBORATED
