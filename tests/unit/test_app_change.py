"""Forgetting, restoring, updating: what comes back, and as what."""

from __future__ import annotations

import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.revise import MemoryChange
from hindsight_bus.domain.errors import WrongState
from hindsight_bus.domain.memory import Channel, Decision, Memory, MemoryState
from tests.unit.app_rig import Node, name_of

DAY_MS = 24 * 3600 * 1000


def stored(outcome: object) -> Memory:
    memory = getattr(outcome, "memory", None)
    assert isinstance(memory, Memory)
    return memory


async def test_a_stale_statement_cannot_be_restored() -> None:
    """Its speaker has said otherwise since, and the refusal says so."""
    node = Node()
    now = node.clock.now_ms()
    await node.write("tables", event_time_ms=now)
    stale = stored(await node.write("bars", event_time_ms=now - DAY_MS))
    assert stale.head.state is MemoryState.SUPERSEDED
    with pytest.raises(WrongState, match="said otherwise"):
        await node.restore(stale)


async def test_what_covered_a_stale_statement_is_forgotten_and_the_statement_comes_back_by_restore() -> None:
    """A statement that came late keeps its claim, for the day that the later one is taken back."""
    node = Node()
    now = node.clock.now_ms()
    later = stored(await node.write("tables", event_time_ms=now))
    stale = stored(await node.write("bars", event_time_ms=now - DAY_MS))
    await node.forget(later)
    assert (await node.get(stale)).head.state is MemoryState.SUPERSEDED
    assert stored(await node.restore(stale)).head.state is MemoryState.ACTIVE


async def test_an_episode_goes_back_to_an_earlier_version() -> None:
    """Nobody else claims an episode, so any of its versions can come back."""
    node = Node()
    first = stored(await node.note("the parcel left"))
    await node.update(first, text="the parcel left on Monday")
    restored = stored(await node.restore(first, version=1))
    assert (restored.version.text, restored.version.number) == ("the parcel left", 3)


async def test_a_version_that_claims_the_same_comes_back_although_others_claim_it_too() -> None:
    """Tags are nobody's claim."""
    node = Node()
    first = stored(await node.write("tables", tags=("old",)))
    await node.write("tables", agent="orders")
    await node.update(first, tags=("new",))
    assert stored(await node.restore(first, version=1)).version.tags == ("old",)


async def test_a_forgotten_memory_comes_back_in_an_earlier_version_with_what_that_claimed() -> None:
    """Its claim is that of the restored wording: an equal statement meets it, the later one does not."""
    node = Node()
    first = stored(await node.write("tables"))
    await node.update(first, text="bars")
    await node.forget(first)
    restored = stored(await node.restore(first, version=1))
    assert restored.version.text == "tables"
    again = await node.write("tables", agent="orders")
    assert (again.decision, stored(again).head.memory_id) == (Decision.CORROBORATED, first.head.memory_id)
    other = await node.write("bars", agent="sales")
    assert other.decision is Decision.STORED


async def test_an_expired_version_comes_back_without_its_end() -> None:
    """What is restored after its time was over stays."""
    node = Node()
    until = node.clock.now_ms() + 1000
    first = stored(await node.note("the parcel left", expire_time_ms=until))
    await node.update(first, expire_time_ms=0)
    node.clock.advance(10)
    restored = stored(await node.restore(first, version=1))
    assert restored.version.expire_time_ms == 0
    await node.work()
    assert (await node.get(first)).head.state is MemoryState.ACTIVE


async def test_updating_a_memory_whose_subject_was_derived_keeps_it_on_that_subject() -> None:
    """A new confidence is no reason to stop competing."""
    node = Node()
    first = stored(await node.write("我叫张三", subject="", channel=Channel.USER, confidence=0.5))
    assert first.version.subject_derived
    change = MemoryChange({"confidence": 0.6}, channel=Channel.USER)
    updated = stored(await node.changer.update(Caller(agent="support"), name_of(first), change))
    assert (updated.name, updated.version.confidence) == (first.name, 0.6)
    assert updated.head.subject_key == first.head.subject_key


async def test_a_forgotten_episode_may_be_written_again() -> None:
    """An episode that is gone is no reason to drop the one who tells it again."""
    node = Node()
    told = node.clock.now_ms() - DAY_MS
    first = stored(await node.note("the parcel left", event_time_ms=told))
    await node.forget(first)
    again = await node.note("the parcel left", event_time_ms=told)
    assert again.decision is Decision.STORED
    third = await node.note("the parcel left", event_time_ms=told)
    assert (third.decision, stored(third).name) == (Decision.DUPLICATE, stored(again).name)


async def test_a_memory_with_many_versions_is_purged() -> None:
    """However many versions there are, purging removes all of them."""
    node = Node()
    first = stored(await node.note("version 1"))
    for n in range(2, 150):
        await node.update(first, text=f"version {n}")
    await node.forget(first)
    node.clock.advance(31 * 24 * 3600)
    await node.work()
    assert await node.listed() == []


async def test_work_that_comes_a_moment_early_is_not_dropped() -> None:
    """The store's time decides what is due; a node whose estimate lags behind it tries again."""
    node = Node()
    first = stored(await node.write("tables", expire_time_ms=node.clock.now_ms() + 10_000))
    await node.work()
    node.clock.advance(10)
    node.store.skew_ms = -500  # type: ignore[attr-defined]
    await node.work()
    node.store.skew_ms = 0  # type: ignore[attr-defined]
    node.clock.advance(600)
    await node.work()
    assert (await node.get(first)).head.state is MemoryState.EXPIRED
