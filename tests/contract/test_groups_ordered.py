"""What every Groups does for ordered groups: one member a partition, one event of an owner at a time."""

from __future__ import annotations

import pytest

from hindsight_bus.domain.values import replace
from hindsight_bus.ports import PartitionHeld
from tests.contract.groups_rig import (
    ORDERED,
    SHORT_MS,
    GroupsRig,
    reject,
    retry,
    revisions,
)
from tests.contract.memory_log_rig import PARTITION

HASTY = replace(ORDERED, lease_ms=SHORT_MS)


async def test_a_partition_has_one_holder(groups: GroupsRig) -> None:
    """Only the holder takes and claims; it may hold on as often as it likes."""
    await groups.fill(1)
    group = await groups.start(ORDERED)
    await groups.groups.hold(group, PARTITION, "m1")
    await groups.groups.hold(group, PARTITION, "m1")
    with pytest.raises(PartitionHeld):
        await groups.groups.hold(group, PARTITION, "m2")
    with pytest.raises(PartitionHeld):
        await groups.take(group, "m2", 1, 1, "a")
    with pytest.raises(PartitionHeld):
        await groups.claim(group, "m2")
    assert (await groups.groups.progress(group.id, PARTITION)).holder == "m1"


async def test_nothing_is_given_out_without_holding(groups: GroupsRig) -> None:
    """Also where nobody holds the partition."""
    await groups.fill(1)
    group = await groups.start(ORDERED)
    with pytest.raises(PartitionHeld):
        await groups.take(group, "m1", 1, 1, "a")
    with pytest.raises(PartitionHeld):
        await groups.claim(group, "m1")


async def test_events_of_an_owner_come_one_after_the_other(groups: GroupsRig) -> None:
    """The next one is due once the one before is settled, in order of the log; owners do not wait for each other."""
    await groups.fill(12)
    group = await groups.start(ORDERED)
    await groups.groups.hold(group, PARTITION, "m1")
    acks = await groups.take(group, "m1", 1, 12, "abaaaaaaaaaa")
    assert revisions(acks) == [1, 2]
    assert await groups.claim(group, "m1") == []
    seen = []
    ack = acks[0]
    for _ in range(10):
        await groups.settle(group, "m1", ack)
        [ack] = await groups.claim(group, "m1")
        seen.append(ack.event.revision)
    assert seen == list(range(3, 13))
    assert (await groups.groups.progress(group.id, PARTITION)).pending == 2


async def test_a_delayed_event_blocks_its_owner_only(groups: GroupsRig) -> None:
    """Later events of the owner wait behind it, taken before or after; a dead letter lets them go."""
    await groups.fill(5)
    group = await groups.start(ORDERED)
    await groups.groups.hold(group, PARTITION, "m1")
    blocked, _ = await groups.take(group, "m1", 1, 3, "aba")
    await groups.settle(group, "m1", retry(blocked, delay_ms=SHORT_MS))
    assert revisions(await groups.take(group, "m1", 4, 5, "ac")) == [5]
    [again] = await groups.claim_again(group, "m1")
    assert again.event == blocked.event
    await groups.settle(group, "m1", reject(again))
    assert revisions(await groups.claim(group, "m1")) == [3]


async def test_the_next_holder_gets_all_that_is_not_settled(groups: GroupsRig) -> None:
    """When the lease runs out whatever was given out comes again, and the former holder settles nothing."""
    await groups.fill(3)
    group = await groups.start(HASTY)
    await groups.groups.hold(group, PARTITION, "m1")
    acks = await groups.take(group, "m1", 1, 3, "aab")

    async def takes_over() -> bool:
        try:
            await groups.groups.hold(group, PARTITION, "m2")
        except PartitionHeld:
            return False
        return True

    await groups.log.until(takes_over)
    assert await groups.settle(group, "m1", *acks) == [False, False]
    again = await groups.claim(group, "m2")
    assert sorted(revisions(again)) == [1, 3]
    assert min(each.delivery for each in again) > max(each.delivery for each in acks)


async def test_a_partition_is_let_go_when_idle(groups: GroupsRig) -> None:
    """A busy holder keeps it; an idle one passes it on at once."""
    await groups.fill(1)
    group = await groups.start(ORDERED)
    await groups.groups.hold(group, PARTITION, "m1")
    [ack] = await groups.take(group, "m1", 1, 1, "a")
    assert not await groups.groups.yield_hold(group, PARTITION, "m1")
    await groups.settle(group, "m1", ack)
    assert await groups.groups.yield_hold(group, PARTITION, "m1")
    await groups.groups.hold(group, PARTITION, "m2")
    assert await groups.groups.yield_hold(group, PARTITION, "m1")
    assert (await groups.groups.progress(group.id, PARTITION)).holder == "m2"


async def test_a_leaving_holder_leaves_nothing_behind(groups: GroupsRig) -> None:
    """What it had is due at once, in order, for the next holder."""
    await groups.fill(2)
    group = await groups.start(ORDERED)
    await groups.groups.hold(group, PARTITION, "m1")
    await groups.take(group, "m1", 1, 2, "aa")
    await groups.groups.release(group, PARTITION, "m1")
    await groups.groups.hold(group, PARTITION, "m2")
    [first] = await groups.claim(group, "m2")
    await groups.settle(group, "m2", first)
    assert revisions([first, *await groups.claim(group, "m2")]) == [1, 2]


async def test_a_redriven_event_stands_outside_of_the_order(groups: GroupsRig) -> None:
    """It comes beside another event of its owner, and settling it lets nothing else go."""
    await groups.fill(3)
    group = await groups.start(ORDERED)
    await groups.groups.hold(group, PARTITION, "m1")
    [first] = await groups.take(group, "m1", 1, 3, "aaa")
    await groups.settle(group, "m1", reject(first))
    [second] = await groups.claim(group, "m1")
    await groups.groups.redrive(group, PARTITION, [1])
    [redriven] = await groups.claim(group, "m1")
    assert revisions([second, redriven]) == [2, 1]
    await groups.settle(group, "m1", redriven)
    assert await groups.claim(group, "m1") == []
    await groups.settle(group, "m1", second)
    assert revisions(await groups.claim(group, "m1")) == [3]
