"""Many small memories that say nearly the same become one that is no surer than any of them, and that can be undone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.consolidate import Consolidator, consolidation_handlers
from hindsight_bus.domain.consolidation import Grown, clusters, merged
from hindsight_bus.domain.memory import Channel, Memory, MemoryState, MemoryType, Version
from hindsight_bus.domain.names import Pattern, digest
from tests.unit.app_rig import FACTS, Node

DAY_MS = 24 * 3600 * 1000


def grown(text: str, day: int = 0, sure: float = 0.6, **fields: Any) -> Grown:
    version = Version(
        FACTS, f"m{day:03}{digest(text, size=4)}", 1, MemoryType.EPISODIC, text,
        event_time_ms=day * DAY_MS + 1, **fields,
    )  # fmt: skip
    return Grown(version, sure)


def texts(found: list[list[Grown]]) -> list[list[str]]:
    return [[each.version.text for each in group] for group in found]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Refund order 1001", "Refund order 1002"),
        ("The user likes tea", "The user does not like tea"),
        ("用户喜欢喝茶", "用户不喜欢喝茶"),
        ("The lights are on", "The lights are off"),
        ("The user asked about shipping", "The user asked about a refund for the blue lamp"),
    ],
)
def test_what_differs_in_a_word_that_counts_is_not_the_same(one: str, other: str) -> None:
    """A number, a negation, or one word of a few."""
    assert clusters([grown(one, 1), grown(other, 2)], 2) == []


def test_what_says_the_same_is_one_group() -> None:
    """Whatever the order, the case and the punctuation; others stay out, and small groups are none."""
    memories = [
        grown("the user asked for the shipping status of the parcel!", 3),
        grown("The user asked for the shipping status of the parcel", 1),
        grown("用户询问了快递的状态", 2),
        grown("The user asked for the shipping status of the parcel.", 2),
    ]
    [group] = clusters(memories, 3)
    assert [each.version.event_time_ms // DAY_MS for each in group] == [1, 2, 3]
    assert clusters(memories, 4) == []


_TEXTS = st.sampled_from(
    ("the parcel is late", "The parcel is late.", "no parcel", "包裹晚了", "包裹晚了。", "x 1", "x 2")
)


@settings(max_examples=60)
@given(st.lists(st.tuples(_TEXTS, st.integers(0, 30), st.floats(0.0, 1.0)), max_size=80), st.integers(2, 6))
def test_a_merged_memory_is_no_surer_than_any_of_its_parents(
    given_ones: list[tuple[str, int, float]], at_least: int
) -> None:
    """No memory is in two groups, none is lost, and what stands for them names them all."""
    memories = [grown(text, day, sure, tags=("a", text[:1])) for text, day, sure in given_ones]
    found = clusters(memories, at_least)
    assert sum(map(len, found)) <= len(memories)
    for group in found:
        assert at_least <= len(group) <= 64
        one = merged(group, "new")
        assert one.confidence <= min(0.6, *(each.effective_confidence for each in group))
        assert one.channel is Channel.REFLECTION
        assert one.supersedes == tuple(each.version.memory_id for each in group)
        assert set(one.tags) - {"consolidated"} == set.intersection(
            *(set(each.version.tags) for each in group)
        )


# --- as a job ------------------------------------------------------------------------------------------------------


class ConsolidatingNode(Node):
    """A node that merges, and whose policies are read."""

    def __init__(self) -> None:
        super().__init__()
        self.consolidator = Consolidator(self.records, self.committer, self.policies, self.changer)
        self.handlers = self.handlers | consolidation_handlers(self.consolidator)
        self.workers = self._make_workers()

    async def wants(self, at_least: int, pattern: str = "user:*:facts") -> None:
        parsed = Pattern.parse(pattern, "default")
        await self.namespaces.update_policy(Caller(agent="admin"), parsed, {"consolidate_from": at_least})

    async def live(self) -> list[Memory]:
        return await self.listed(FACTS, frozenset({MemoryState.ACTIVE}))


async def parcels(node: Node, count: int = 4) -> list[Memory]:
    made = []
    for n in range(count):
        outcome = await node.note(
            f"The parcel is late{'!' * n}", channel=Channel.INGEST, agent=f"agent-{n % 2}"
        )
        assert outcome.memory is not None
        made.append(outcome.memory)
        node.clock.advance(3600)
    return made


async def test_small_memories_become_one_when_they_are_a_day_old() -> None:
    """The parents are kept, superseded by it; what differs stays as it is; a second run changes nothing."""
    node = ConsolidatingNode()
    parents = await parcels(node)
    other = (await node.note("The lamp is blue")).memory
    assert other is not None
    await node.wants(3)
    await node.work()
    assert len(await node.live()) == 5
    node.clock.advance(2 * DAY_MS / 1000)
    await node.work()
    left, one = await node.live()
    assert left.head.memory_id == other.head.memory_id
    assert one.version.text.startswith("The parcel is late!!! (4 times, ")
    assert one.head.effective_confidence == 0.6
    assert one.head.agents == ("agent-0", "agent-1")
    for parent in parents:
        now = await node.get(parent)
        assert (now.head.state, now.head.superseded_by) == (MemoryState.SUPERSEDED, one.head.memory_id)
    node.clock.advance(2 * DAY_MS / 1000)
    await node.work()
    assert {memory.head.memory_id for memory in await node.live()} == {
        other.head.memory_id,
        one.head.memory_id,
    }


async def test_what_is_forgotten_gives_its_parents_back_for_good() -> None:
    """They are live again, and not merged again as they were."""
    node = ConsolidatingNode()
    parents = await parcels(node)
    await node.wants(3)
    node.clock.advance(2 * DAY_MS / 1000)
    await node.work()
    [one] = await node.live()
    await node.forget(one)
    await node.work()
    node.clock.advance(2 * DAY_MS / 1000)
    await node.work()
    assert {memory.head.memory_id for memory in await node.live()} == {
        each.head.memory_id for each in parents
    }


async def test_without_a_policy_nothing_is_merged() -> None:
    """By default, elsewhere, and after the policy was taken back."""
    node = ConsolidatingNode()
    await parcels(node)
    await node.wants(3, "user:lisi:facts")
    await node.wants(3)
    await node.wants(0)
    for _ in range(2):
        node.clock.advance(2 * DAY_MS / 1000)
        await node.work()
    assert len(await node.live()) == 4


async def test_what_somebody_has_set_apart_is_not_merged() -> None:
    """Pinned memories, those to be remembered, and those that end by themselves."""
    node = ConsolidatingNode()
    for fields in (
        {"pinned": True},
        {"explicit": True},
        {"expire_time_ms": node.clock.now_ms() + 90 * DAY_MS},
    ):
        await node.note("The parcel is late", **fields)
    await node.wants(3)
    node.clock.advance(2 * DAY_MS / 1000)
    await node.work()
    assert len(await node.live()) == 3
