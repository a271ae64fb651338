"""What every Groups does: one delivery an event, settled by its member, given out again until it is."""

from __future__ import annotations

import asyncio

import pytest

from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.groups import Claim, DeadLetter, EventId, GroupRecord
from hindsight_bus.domain.meaning import Meaning
from hindsight_bus.domain.memory import MemoryType
from hindsight_bus.domain.names import digest
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import CursorMoved, GroupFull, GroupGone, LogChanged
from tests.contract.groups_rig import (
    BASIS,
    DEAD_KEPT,
    LONG_MS,
    SHORT_MS,
    GroupsRig,
    extend,
    reject,
    retry,
    revisions,
)
from tests.contract.memory_log_rig import PARTITION, PARTITIONS

HASTY = replace(BASIS, lease_ms=SHORT_MS)


async def test_a_group_is_created_once(groups: GroupsRig) -> None:
    """The first definition stands, whole; a name belongs to a tenant."""
    full = replace(
        BASIS,
        filter=EventFilter(
            frozenset({MemoryType.SEMANTIC}),
            frozenset({"vip"}),
            0.5,
            frozenset({EventKind.INDEXED}),
            "a.",
            True,
            Meaning("refunds", b"\x00\x3c", 0.5),
        ),
        create_time_ms=5,
    )
    other = replace(BASIS, id=digest("other"), max_attempts=9)
    foreign = replace(other, tenant="umbrella")
    assert await groups.groups.create(full) == full
    assert await groups.groups.create(other) == full
    assert await groups.groups.create(foreign) == foreign
    assert await groups.groups.find("acme", "mailer") == full
    assert await groups.groups.find("acme", "other") is None
    assert {group.id for group in await groups.groups.listed()} == {full.id, foreign.id}


async def test_a_removed_group_makes_room_for_another(groups: GroupsRig) -> None:
    """Only the very group is removed, and its members know that it is gone."""
    group = await groups.start()
    stranger = replace(BASIS, id=digest("other"))
    assert not await groups.groups.remove(stranger)
    assert await groups.groups.remove(group)
    assert not await groups.groups.remove(group)
    with pytest.raises(GroupGone):
        await groups.groups.join(group, "m1", LONG_MS)
    assert (await groups.groups.create(stranger)).id == stranger.id


async def test_many_events_at_once_are_each_their_own(groups: GroupsRig) -> None:
    """Of a batch, each event is settled as it was asked to, the first and the last like any."""
    await groups.fill(40)
    group = await groups.start()
    first, second, *rest, last = await groups.take(group, "m1", 1, 40)
    asked = [retry(first), extend(second, LONG_MS), *rest, reject(last)]
    assert await groups.settle(group, "m1", *asked, first) == [True] * 40 + [False]
    progress = await groups.groups.progress(group.id, PARTITION)
    assert (progress.pending, progress.dead, progress.lowest_revision) == (2, 1, 1)
    claim = await groups.groups.claim(group, PARTITION, "m2", 100)
    assert [(each.event.revision, each.attempt) for each in claim.redeliveries] == [(1, 2)]
    await groups.groups.release(group, PARTITION, "m2")
    [again] = await groups.claim(group, "m2")
    assert await groups.settle(group, "m2", again) == [True]
    assert await groups.settle(group, "m1", second) == [True]
    assert (await groups.groups.progress(group.id, PARTITION)).pending == 0


async def test_a_group_outlives_its_lifetime_only_in_use(groups: GroupsRig) -> None:
    """Joining renews the lifetime; when it is over, the group may be removed as expired."""
    group = await groups.start(replace(BASIS, lifetime_ms=SHORT_MS))
    await groups.groups.join(group, "m1", LONG_MS)
    assert not await groups.groups.remove(group, only_expired=True)

    async def is_removed() -> bool:
        return await groups.groups.remove(group, only_expired=True)

    await groups.log.until(is_removed)


async def test_members_count_while_they_are_there(groups: GroupsRig) -> None:
    """Sorted; who leaves or is not heard of any more is not among them."""
    group = await groups.start()
    for member in ("m2", "m1", "m3"):
        await groups.groups.join(group, member, LONG_MS)
    await groups.groups.leave(group, "m3")
    assert await groups.groups.join(group, "m0", SHORT_MS) == ["m0", "m1", "m2"]

    async def is_late() -> bool:
        return await groups.groups.members(group, await groups.log.store_ms()) == ["m1", "m2"]

    await groups.log.until(is_late)
    assert await groups.groups.join(group, "m1", LONG_MS) == ["m1", "m2"]


async def test_a_partition_begins_once(groups: GroupsRig) -> None:
    """A second beginning changes nothing and tells where the cursor is."""
    await groups.fill(2)
    group = await groups.start()
    await groups.take(group, "m1", 1, 2)
    assert await groups.groups.begin(group, Position(PARTITION, 0, 0)) == groups.done[1].position
    assert await groups.groups.begun(PARTITION) == [group.id]
    assert await groups.groups.begun(PARTITIONS) == []


async def test_each_event_goes_to_one_member(groups: GroupsRig) -> None:
    """Of members that take the same run at once one gets it; the others learn where the cursor is."""
    await groups.fill(3)
    group = await groups.start()
    takes = [groups.take(group, f"m{n}", 1, 3) for n in range(5)]
    results = await asyncio.gather(*takes, return_exceptions=True)
    given = [result for result in results if isinstance(result, list)]
    moved = [result for result in results if isinstance(result, CursorMoved)]
    assert [revisions(each) for each in given] == [[1, 2, 3]]
    assert [each.position for each in moved] == [groups.done[2].position] * 4


async def test_a_run_without_events_moves_the_cursor(groups: GroupsRig) -> None:
    """What the filter excludes is settled by moving past it."""
    await groups.fill(3)
    group = await groups.start()
    await groups.groups.take(group, "m1", groups.span(1, 2, events=()))
    progress = await groups.groups.progress(group.id, PARTITION)
    assert (progress.cursor, progress.pending) == (groups.done[1].position, 0)
    assert revisions(await groups.take(group, "m1", 3, 3)) == [3]


async def test_a_run_of_another_log_is_refused(groups: GroupsRig) -> None:
    """Neither a revision that the log does not have nor one with another stamp is moved to."""
    await groups.fill(2)
    group = await groups.start()
    for wrong in (Position(PARTITION, 2, 99), Position(PARTITION, 9, 1)):
        with pytest.raises(LogChanged):
            await groups.groups.take(group, "m1", groups.span(1, 2, upto=wrong))


async def test_a_partition_takes_no_more_than_its_limit(groups: GroupsRig) -> None:
    """Room comes back with each settlement."""
    await groups.fill(3)
    group = await groups.start()
    [first, _] = await groups.take(group, "m1", 1, 2)
    third = groups.span(3, 3, limit=2)
    with pytest.raises(GroupFull):
        await groups.groups.take(group, "m1", third)
    await groups.settle(group, "m1", first)
    assert await groups.groups.take(group, "m1", third) == {0: 3}


async def test_an_acknowledged_event_is_done(groups: GroupsRig) -> None:
    """It never comes again, and the log need not keep it."""
    await groups.fill(3)
    group = await groups.start(HASTY)
    acks = await groups.take(group, "m1", 1, 3)
    assert await groups.settle(group, "m1", *acks[:2]) == [True, True]
    assert revisions(await groups.claim_again(group, "m2")) == [3]
    assert (await groups.groups.progress(group.id, PARTITION)).lowest_revision == 3


async def test_events_of_one_commit_are_settled_apart(groups: GroupsRig) -> None:
    """The place within the commit tells them apart, in any number of digits."""
    await groups.fill(1, events=12)
    group = await groups.start()
    events = tuple(EventId(1, index) for index in range(12))
    await groups.groups.take(group, "m1", groups.span(1, 1, events=events))
    await groups.groups.release(group, PARTITION, "m1")
    found = (await groups.groups.claim(group, PARTITION, "m2", 100)).redeliveries
    assert {each.event for each in found} == set(events)
    assert {each.entry for each in found} == {(await groups.log.log.entries(PARTITION, 0))[0]}


async def test_a_lease_that_runs_out_gives_the_event_to_another(groups: GroupsRig) -> None:
    """The number of a delivery grows, the attempts are counted, and the old delivery is stale."""
    await groups.fill(1)
    group = await groups.start(HASTY)
    [stale] = await groups.take(group, "m1", 1, 1)
    [fresh] = await groups.claim_again(group, "m2")
    assert fresh.delivery > stale.delivery
    assert await groups.settle(group, "m1", stale) == [False]
    assert await groups.settle(group, "m2", fresh) == [True]
    assert await groups.settle(group, "m2", fresh) == [False]


async def test_only_the_member_itself_settles(groups: GroupsRig) -> None:
    """A right number from another member is as stale as a wrong one, whatever is asked for."""
    await groups.fill(1)
    group = await groups.start()
    [ack] = await groups.take(group, "m1", 1, 1)
    for wrong in (ack, retry(ack), extend(ack, 1), reject(ack)):
        assert await groups.settle(group, "m2", wrong) == [False]
        assert await groups.settle(group, "m1", replace(wrong, delivery=ack.delivery + 1)) == [False]
        assert await groups.settle(group, "m1", replace(wrong, event=EventId(1, 1))) == [False]
    assert await groups.settle(group, "m1", ack) == [True]


async def test_the_same_id_twice_in_one_call_counts_once(groups: GroupsRig) -> None:
    """Outcomes come in the order of the settlements."""
    await groups.fill(2)
    group = await groups.start()
    first, second = await groups.take(group, "m1", 1, 2)
    assert await groups.settle(group, "m1", first, first, second) == [True, False, True]


async def test_any_number_may_be_settled_at_once(groups: GroupsRig) -> None:
    """Answers stay in order."""
    await groups.fill(2)
    group = await groups.start()
    first, second = await groups.take(group, "m1", 1, 2)
    outcomes = await groups.settle(group, "m1", *[first] * 9000, second)
    assert [n for n, outcome in enumerate(outcomes) if outcome] == [0, 9000]
    assert await groups.settle(group, "m1") == []


async def test_a_retried_event_comes_again_after_its_delay(groups: GroupsRig) -> None:
    """Not before, and then to anybody; the claim says when the next one is due."""
    await groups.fill(1)
    group = await groups.start()
    [ack] = await groups.take(group, "m1", 1, 1)
    asked_ms = await groups.log.store_ms()
    await groups.settle(group, "m1", retry(ack, delay_ms=SHORT_MS))
    claim = await groups.groups.claim(group, PARTITION, "m2", 10)
    assert claim.redeliveries == []
    assert asked_ms + SHORT_MS <= claim.due_ms
    [again] = await groups.claim_again(group, "m2")
    assert await groups.log.store_ms() >= asked_ms + SHORT_MS
    await groups.settle(group, "m2", again)
    last = await groups.groups.claim(group, PARTITION, "m2", 10)
    assert last == Claim([], -1, groups.done[0].position)


async def test_an_extended_lease_lasts(groups: GroupsRig) -> None:
    """The delivery stays the same, so whoever has it can settle it later."""
    await groups.fill(2)
    group = await groups.start(HASTY)
    kept, left = await groups.take(group, "m1", 1, 2)
    assert await groups.settle(group, "m1", extend(kept, LONG_MS)) == [True]
    assert revisions(await groups.claim_again(group, "m2")) == revisions([left])
    assert await groups.settle(group, "m1", kept) == [True]


async def test_a_rejected_event_is_a_dead_letter(groups: GroupsRig) -> None:
    """With its reason, its attempts and its whole entry, though the log be trimmed."""
    await groups.fill(2)
    group = await groups.start()
    [entry, _] = await groups.log.log.entries(PARTITION, 0)
    [ack, _] = await groups.take(group, "m1", 1, 2)
    await groups.settle(group, "m1", reject(ack, "坏 \x00 data"))
    await groups.log.log.trim(PARTITION, 2)
    [letter] = await groups.groups.dead_letters(group, PARTITION, 0, 10)
    assert (letter.sequence, letter.event, letter.attempts) == (1, ack.event, 1)
    assert (letter.reason, letter.entry) == ("坏 \x00 data", entry)
    assert letter.time_ms >= entry.time_ms


async def test_attempts_come_to_an_end(groups: GroupsRig) -> None:
    """After the last attempt a retry, or a lease that runs out, makes a dead letter."""
    await groups.fill(2)
    group = await groups.start(replace(HASTY, max_attempts=2))
    failing, _ = await groups.take(group, "m1", 1, 2)
    await groups.settle(group, "m1", retry(failing))
    await groups.settle(
        group, "m2", *(retry(a) for a in await groups.claim_again(group, "m2") if a.event == failing.event)
    )
    letters: list[DeadLetter] = []

    async def both_dead() -> bool:
        await groups.claim(group, "m2")
        letters[:] = await groups.groups.dead_letters(group, PARTITION, 0, 10)
        return len(letters) == 2

    await groups.log.until(both_dead)
    assert [(letter.event.revision, letter.attempts) for letter in letters] == [(1, 2), (2, 2)]
    assert [letter.reason for letter in letters] == ["busy", "no answer before the lease ran out"]


async def test_dead_letters_come_in_pages(groups: GroupsRig) -> None:
    """In the order in which they died."""
    await groups.fill(3)
    group = await groups.start()
    acks = await groups.take(group, "m1", 1, 3)
    await groups.settle(group, "m1", *map(reject, reversed(acks)))
    first = await groups.groups.dead_letters(group, PARTITION, 0, 2)
    rest = await groups.groups.dead_letters(group, PARTITION, first[-1].sequence, 2)
    assert [letter.event.revision for letter in [*first, *rest]] == [3, 2, 1]


async def test_the_newest_dead_letters_are_kept(groups: GroupsRig) -> None:
    """However they came to be; the others are counted, redriving makes room, and a seek changes nothing of it."""
    total = DEAD_KEPT + 3
    await groups.fill(total)
    group = await groups.start(replace(HASTY, max_attempts=1))
    acks = await groups.take(group, "m1", 1, total)
    await groups.settle(group, "m1", *map(reject, acks[:-1]))
    assert await _kept(groups, group) == list(range(3, total))

    async def all_dead() -> bool:
        await groups.claim(group, "m2")
        return (await groups.groups.progress(group.id, PARTITION)).pending == 0

    await groups.log.until(all_dead)
    assert await _kept(groups, group) == list(range(4, total + 1))
    assert await groups.groups.redrive(group, PARTITION, [1, 4]) == 1
    await groups.groups.seek(group, groups.done[-1].position)
    progress = await groups.groups.progress(group.id, PARTITION)
    assert (progress.dead, progress.dropped) == (DEAD_KEPT - 1, 3)


async def _kept(groups: GroupsRig, group: GroupRecord) -> list[int]:
    letters = await groups.groups.dead_letters(group, PARTITION, 0, 100)
    return [letter.event.revision for letter in letters]


async def test_a_redriven_event_starts_over(groups: GroupsRig) -> None:
    """It has all its attempts again, even where the log was trimmed; each letter is redriven once."""
    await groups.fill(2)
    group = await groups.start()
    acks = await groups.take(group, "m1", 1, 2)
    await groups.settle(group, "m1", *map(reject, acks))
    await groups.log.log.trim(PARTITION, 2)
    assert await groups.groups.redrive(group, PARTITION, [1, 7]) == 1
    assert await groups.groups.redrive(group, PARTITION, [1]) == 0
    assert (await groups.groups.progress(group.id, PARTITION)).lowest_revision == 3
    for attempt in (1, 2, 3):
        [again] = (await groups.groups.claim(group, PARTITION, "m1", 10)).redeliveries
        assert (again.event.revision, again.attempt, again.entry.revision) == (1, attempt, 1)
        assert await groups.settle(group, "m1", acks[0]) == [False]
        ack = replace(acks[0], delivery=again.delivery)
        assert await groups.settle(group, "m1", retry(ack)) == [True]
    letters = await groups.groups.dead_letters(group, PARTITION, 0, 10)
    assert [letter.event.revision for letter in letters] == [2, 1]


async def test_a_lost_event_is_counted(groups: GroupsRig) -> None:
    """A pending event whose entry the log has no more is dropped, and its loss shows."""
    await groups.fill(2)
    group = await groups.start()
    await groups.take(group, "m1", 1, 2)
    await groups.groups.release(group, PARTITION, "m1")
    await groups.log.log.trim(PARTITION, 2)
    assert revisions(await groups.claim(group, "m2")) == [2]
    assert (await groups.groups.progress(group.id, PARTITION)).lost == 1


async def test_what_a_member_gives_back_costs_no_attempt(groups: GroupsRig) -> None:
    """A stop is nobody's fault; what others have is left to them."""
    await groups.fill(2)
    group = await groups.start()
    [ack] = await groups.take(group, "m1", 1, 1)
    await groups.take(group, "m2", 2, 2)
    await groups.groups.release(group, PARTITION, "m1")
    [again] = (await groups.groups.claim(group, PARTITION, "m3", 10)).redeliveries
    assert (again.event, again.attempt) == (ack.event, 1)
    assert await groups.settle(group, "m1", ack) == [False]


async def test_seeking_starts_from_another_place(groups: GroupsRig) -> None:
    """Nothing is pending any more, old deliveries are stale for ever, dead letters stay."""
    await groups.fill(3)
    group = await groups.start()
    old, dead, _ = await groups.take(group, "m1", 1, 3)
    await groups.settle(group, "m1", reject(dead))
    await groups.groups.seek(group, Position(PARTITION, 0, 0))
    again = await groups.take(group, "m1", 1, 3)
    assert revisions(again) == [1, 2, 3]
    assert await groups.settle(group, "m1", old) == [False]
    assert await groups.settle(group, "m1", *again) == [True] * 3
    assert len(await groups.groups.dead_letters(group, PARTITION, 0, 10)) == 1


async def test_progress_tells_what_is_left(groups: GroupsRig) -> None:
    """Cursor, pending, dead, and what the group still needs of the log."""
    await groups.fill(4)
    group = await groups.start()
    acks = await groups.take(group, "m1", 1, 3)
    await groups.settle(group, "m1", acks[0], reject(acks[2]))
    progress = await groups.groups.progress(group.id, PARTITION)
    assert (progress.cursor, progress.pending, progress.dead) == (groups.done[2].position, 1, 1)
    assert (progress.lowest_revision, progress.oldest_time_ms) == (2, groups.done[1].time_ms)
    await groups.settle(group, "m1", acks[1])
    progress = await groups.groups.progress(group.id, PARTITION)
    assert (progress.lowest_revision, progress.oldest_time_ms) == (4, groups.done[3].time_ms)


@pytest.mark.parametrize("is_dropped", [False, True])
async def test_a_group_without_state_is_gone(groups: GroupsRig, is_dropped: bool) -> None:
    """Whatever is asked of a partition in which the group never began, or from which it was dropped."""
    await groups.fill(1)
    group = await groups.groups.create(BASIS)
    if is_dropped:
        await groups.start()
        await groups.groups.drop(group.id, PARTITION)
        assert await groups.groups.begun(PARTITION) == []
    await _all_say_gone(groups, group)


async def _all_say_gone(groups: GroupsRig, group: GroupRecord) -> None:
    port = groups.groups
    for call in (
        port.take(group, "m1", groups.span(1, 1)),
        port.claim(group, PARTITION, "m1", 1),
        port.hold(group, PARTITION, "m1"),
        port.progress(group.id, PARTITION),
        port.seek(group, Position(PARTITION, 0, 0)),
    ):
        with pytest.raises(GroupGone):
            await call
