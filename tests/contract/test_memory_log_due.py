"""What every MemoryLog does with due items and with what agents were served."""

from __future__ import annotations

import asyncio

import pytest

from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import DueItem, Lane, LeaseLost, TakenItem
from tests.contract.memory_log_rig import NS, PARTITION, PARTITIONS, Rig, due, head, head_ref

LEASE_MS = 30
DAY_MS = 24 * 3600 * 1000
OTHER = Namespace("acme", "user", "lisi", "facts")


async def take_again(rig: Rig) -> list[TakenItem]:
    """Wait until something can be taken for long."""

    async def take() -> list[TakenItem]:
        return await rig.take()

    return await rig.until(take)


async def test_a_due_item_is_taken_once(rig: Rig) -> None:
    """Whoever takes it first has it: concurrent takers share the items without overlap."""
    items = [due(str(number)) for number in range(20)]
    await rig.commit(due=tuple(items))
    taken = await asyncio.gather(*(rig.take(limit=3) for _ in range(10)))
    flat = [each for share in taken for each in share]
    assert sorted(each.item.id for each in flat) == sorted(item.id for item in items)
    assert {(each.partition, each.attempt) for each in flat} == {(PARTITION, 1)}
    assert all(len(share) <= 3 for share in taken)


async def test_an_item_comes_back_as_it_was_given(rig: Rig) -> None:
    """Id, kind, payload and due time survive."""
    item = DueItem("id", "expire", ("用户", 2**40, "\x00"), due_ms=5)
    await rig.commit(due=(item,))
    [taken] = await rig.take()
    assert taken.item == item


async def test_items_come_in_order_of_their_time(rig: Rig) -> None:
    """The longest due first."""
    await rig.commit(due=(due("b", 2), due("c", 3), due("a", 1)))
    assert [each.item for each in await rig.take(limit=2)] == [due("a", 1), due("b", 2)]


async def test_an_item_is_not_taken_before_its_time(rig: Rig) -> None:
    """A later due time is waited for, by the store's clock."""
    due_ms = await rig.store_ms() + 60
    await rig.commit(due=(due("w", due_ms),))
    assert await rig.take() == []
    await take_again(rig)
    assert await rig.store_ms() >= due_ms


async def test_a_lease_that_ran_out_gives_the_item_to_the_next(rig: Rig) -> None:
    """Each taking counts one more attempt."""
    await rig.commit(due=(due(),))
    [first] = await rig.take(lease_ms=LEASE_MS)
    [second] = await take_again(rig)
    assert (first.attempt, second.attempt) == (1, 2)
    assert second.item == first.item


async def test_a_finished_item_is_gone(rig: Rig) -> None:
    """Finishing removes it for good; finishing it twice or finishing nothing does no harm."""
    await rig.commit(due=(due("a"), due("b")))
    taken = await rig.take()
    await rig.log.finish_due(taken[:1])
    await rig.log.finish_due(taken)
    await rig.log.finish_due([])
    await rig.commit(due=(due("c"),))
    assert [each.item for each in await rig.take()] == [due("c")]


async def test_only_the_last_taker_finishes(rig: Rig) -> None:
    """The attempt fences: who lost the lease to another removes nothing, alone or with a commit."""
    await rig.commit(due=(due(),))
    [stale] = await rig.take(lease_ms=LEASE_MS)
    [fresh] = await take_again(rig)
    await rig.log.finish_due([stale])
    with pytest.raises(LeaseLost):
        await rig.commit(head("stale"), finish=stale)
    await rig.commit(head("fresh"), finish=fresh)
    assert [found is not None for found in await rig.read(head_ref("stale"), head_ref("fresh"))] == [
        False,
        True,
    ]


async def test_an_item_is_finished_with_its_commit(rig: Rig) -> None:
    """Work and its removal are one: a second commit for it is refused."""
    await rig.commit(due=(due(),))
    [taken] = await rig.take()
    await rig.commit(head("m"), finish=taken)
    with pytest.raises(LeaseLost):
        await rig.commit(head("m"), finish=taken)


async def test_a_commit_may_finish_an_item_and_add_the_next(rig: Rig) -> None:
    """Also one of the same id: it starts afresh."""
    await rig.commit(due=(due("a"),))
    [taken] = await rig.take()
    await rig.commit(finish=taken, due=(due("a"), due("b")))
    again = await rig.take()
    assert {(each.item.id, each.attempt) for each in again} == {("embed:a", 1), ("embed:b", 1)}


async def test_an_item_given_back_is_due_after_its_delay(rig: Rig) -> None:
    """It is not leased meanwhile, and the next taking is the next attempt."""
    await rig.commit(due=(due(),))
    [taken] = await rig.take()
    await rig.log.retry_due(taken, 40)
    assert await rig.take() == []
    await rig.log.finish_due([taken])
    [again] = await take_again(rig)
    assert again.attempt == 2


async def test_a_stale_taker_cannot_give_back(rig: Rig) -> None:
    """Giving back under an old attempt leaves the item with its new holder."""
    await rig.commit(due=(due(),))
    [stale] = await rig.take(lease_ms=LEASE_MS)
    [fresh] = await take_again(rig)
    await rig.log.retry_due(stale, 0)
    assert await rig.take() == []
    await rig.commit(finish=fresh)


async def test_adding_an_item_again_replaces_it(rig: Rig) -> None:
    """Same id, same work: there is one item, with the latest payload and time."""
    await rig.commit(due=(due("w", await rig.store_ms() + DAY_MS),))
    await rig.commit(due=(DueItem(due("w").id, "embed", ("new",)),))
    [taken] = await rig.take()
    assert taken.item.payload == ("new",)


async def test_adding_an_item_again_takes_it_from_its_holder(rig: Rig) -> None:
    """The work has changed since it was taken, so the holder cannot finish it; the next one can."""
    await rig.commit(due=(due(),))
    [stale] = await rig.take()
    await rig.commit(due=(due(),))
    with pytest.raises(LeaseLost):
        await rig.commit(finish=stale)
    [fresh] = await rig.take()
    assert fresh.attempt == 2
    await rig.commit(finish=fresh)


async def test_due_items_are_apart_by_partition(rig: Rig) -> None:
    """Items of every partition, the control partition included, are taken and finished there."""
    await rig.commit(due=(due("a"),))
    await rig.commit(due=(due("a"),), partition=PARTITIONS)
    taken = [*await rig.take(), *await rig.log.take_due(PARTITIONS, 60_000, 10)]
    assert [each.partition for each in taken] == [PARTITION, PARTITIONS]
    await rig.log.finish_due(taken)
    for each in taken:
        with pytest.raises(LeaseLost):
            await rig.commit(finish=each, partition=each.partition)


async def test_lanes_are_apart(rig: Rig) -> None:
    """An item waits in its lane alone, comes back with it, and is finished there; equal ids are two items."""
    slow = replace(due("a"), lane=Lane.SLOW)
    await rig.commit(due=(due("a"), slow))
    [quick_one] = await rig.take()
    [slow_one] = await rig.log.take_due(PARTITION, 60_000, 10, Lane.SLOW)
    assert (quick_one.item, slow_one.item) == (due("a"), slow)
    await rig.log.finish_due([quick_one])
    await rig.commit(finish=slow_one)
    for gone in (quick_one, slow_one):
        with pytest.raises(LeaseLost):
            await rig.commit(finish=gone)


async def test_a_lease_can_be_extended_by_its_holder_alone(rig: Rig) -> None:
    """The item stays taken for as long, under the same attempt; one that lost it extends nothing."""
    await rig.commit(due=(due(),))
    [stale] = await rig.take(lease_ms=LEASE_MS)
    [fresh] = await take_again(rig)
    await rig.log.extend_due(stale, 0)
    assert await rig.take() == []
    await rig.log.extend_due(fresh, LEASE_MS)
    [next_one] = await take_again(rig)
    assert next_one.attempt == fresh.attempt + 1
    with pytest.raises(LeaseLost):
        await rig.commit(finish=fresh)


# --- what agents were served


async def test_a_served_statement_is_remembered(rig: Rig) -> None:
    """By agent, namespace and statement, from the time it was noted."""
    await rig.log.note_served("a", {NS: ["s1", "s2"], OTHER: ["s3"]}, 1000 + DAY_MS)

    async def was(agent: str, namespace: Namespace, statement: str, since_ms: int) -> bool:
        return await rig.log.was_served(agent, namespace, statement, since_ms + DAY_MS)

    assert await was("a", NS, "s1", 1000)
    assert await was("a", NS, "s2", 999)
    assert await was("a", OTHER, "s3", 0)
    assert not await was("a", NS, "s1", 1001)
    assert not await was("a", NS, "s3", 0)
    assert not await was("a", OTHER, "s1", 0)
    assert not await was("b", NS, "s1", 0)


async def test_serving_again_renews(rig: Rig) -> None:
    """The latest time counts; noting nothing is harmless."""
    await rig.log.note_served("a", {NS: ["s"]}, DAY_MS)
    await rig.log.note_served("a", {NS: ["s"], OTHER: []}, DAY_MS + 500)
    await rig.log.note_served("a", {}, DAY_MS + 900)
    assert await rig.log.was_served("a", NS, "s", DAY_MS + 500)


async def test_served_statements_are_kept_for_a_day(rig: Rig) -> None:
    """What is older than 24 h at the next note is forgotten."""
    await rig.log.note_served("a", {NS: ["old"]}, DAY_MS)
    await rig.log.note_served("a", {NS: ["young"]}, DAY_MS + 2)
    await rig.log.note_served("a", {NS: ["new"]}, 2 * DAY_MS + 1)
    served = [await rig.log.was_served("a", NS, name, 0) for name in ("old", "young", "new")]
    assert served == [False, True, True]


async def test_the_newest_4096_served_statements_are_kept(rig: Rig) -> None:
    """The oldest go first."""
    await rig.log.note_served("a", {NS: [f"a{n}" for n in range(3000)]}, DAY_MS)
    await rig.log.note_served("a", {NS: [f"b{n}" for n in range(4096)]}, DAY_MS + 1)
    assert not await rig.log.was_served("a", NS, "a2999", 0)
    assert await rig.log.was_served("a", NS, "b0", 0)
    assert await rig.log.was_served("a", NS, "b4095", 0)


async def test_serving_is_not_logged(rig: Rig) -> None:
    """It uses no revision."""
    await rig.log.note_served("a", {NS: ["s"]}, DAY_MS)
    for partition in range(PARTITIONS + 1):
        assert (await rig.log.ends(partition)).newest.revision == 0
