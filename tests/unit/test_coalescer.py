"""Calls that come while others are handled begin together; who comes alone, or behind a slow one, does not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from hindsight_bus.transport.coalescer import Batch, Coalescer

NEVER_S = 3600.0


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def gathered(coalescer: Coalescer, count: int) -> list[asyncio.Task[Batch]]:
    """Return calls that want to begin, each at the point where it begins or waits."""
    tasks = [asyncio.create_task(coalescer.join()) for _ in range(count)]
    await turns()
    return tasks


async def batch_of(coalescer: Coalescer, count: int) -> Batch:
    """Return a batch of so many calls that has begun, where no other is under way."""
    first = await coalescer.join()
    calls = await gathered(coalescer, count)
    coalescer.leave(first)
    return (await asyncio.gather(*calls))[0]


async def test_a_call_that_comes_alone_begins_at_once() -> None:
    coalescer = Coalescer(NEVER_S)
    for _ in range(3):
        [call] = await gathered(coalescer, 1)
        coalescer.leave(call.result())


async def test_what_comes_while_a_call_is_handled_begins_together_when_it_ends() -> None:
    coalescer = Coalescer(NEVER_S)
    first = await coalescer.join()
    waiting = await gathered(coalescer, 3)
    assert not any(call.done() for call in waiting)

    coalescer.leave(first)
    await turns()

    batch = {id(call.result()) for call in waiting}
    assert len(batch) == 1


async def test_the_next_batch_waits_for_every_call_of_the_one_before() -> None:
    coalescer = Coalescer(NEVER_S)
    coalescer.leave(await coalescer.join())
    first = await coalescer.join()
    two = await gathered(coalescer, 2)
    coalescer.leave(first)
    await turns()
    [third] = await gathered(coalescer, 1)

    coalescer.leave(two[0].result())
    await turns()
    assert not third.done()

    coalescer.leave(two[1].result())
    await turns()
    assert third.done()


async def test_a_slow_call_holds_others_up_for_a_moment_only() -> None:
    coalescer = Coalescer(longest_s=0.002)
    slow = await coalescer.join()
    [waiting] = await gathered(coalescer, 1)
    batch = await asyncio.wait_for(waiting, 5.0)  # though the slow one never ends
    coalescer.leave(batch)

    [later] = await gathered(coalescer, 1)  # no batch is under way that counts
    coalescer.leave(later.result())
    coalescer.leave(slow)
    assert (await gathered(coalescer, 1))[0].done()


async def test_behind_a_call_that_is_old_already_nobody_waits_at_all() -> None:
    coalescer = Coalescer(longest_s=0.0)
    await coalescer.join()
    assert all(call.done() for call in await gathered(coalescer, 3))


async def test_a_full_batch_begins_while_another_is_under_way() -> None:
    coalescer = Coalescer(NEVER_S, most=4)
    await coalescer.join()
    *full, beyond = await gathered(coalescer, 5)
    assert all(call.done() for call in full)
    assert not beyond.done()


async def test_when_several_are_over_others_are_waited_for_to_begin_together() -> None:
    coalescer = Coalescer(NEVER_S, NEVER_S, most=6)
    several = await batch_of(coalescer, 4)
    for _ in range(4):
        coalescer.leave(several)

    waiting = await gathered(coalescer, 5)
    assert not any(call.done() for call in waiting)

    await coalescer.join()
    await turns()
    assert all(call.done() for call in waiting)


async def test_who_is_waited_for_and_does_not_come_holds_nobody_up() -> None:
    coalescer = Coalescer(longest_s=0.002, moment_s=0.001)
    several = await batch_of(coalescer, 4)
    for _ in range(4):
        coalescer.leave(several)

    await asyncio.wait_for(coalescer.join(), 5.0)  # alone, after a moment


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_whoever_comes_begins_on_either_event_loop(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Timers of uvloop count whole milliseconds, and are none where nothing is left to wait for."""

    async def calls() -> None:
        coalescer = Coalescer(longest_s=0.004, moment_s=0.001)
        for _ in range(5):
            several = await batch_of(coalescer, 4)
            for _ in range(4):
                coalescer.leave(several)
            waiting = []
            for _ in range(20):
                waiting += await gathered(coalescer, 1)
            for batch in await asyncio.wait_for(asyncio.gather(*waiting), 5.0):
                coalescer.leave(batch)

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(calls())


async def test_a_call_cancelled_while_it_waits_is_waited_for_by_nobody() -> None:
    coalescer = Coalescer(NEVER_S)
    first = await coalescer.join()
    cancelled, kept = await gathered(coalescer, 2)
    cancelled.cancel()
    await turns()
    coalescer.leave(first)
    await turns()
    [behind] = await gathered(coalescer, 1)

    coalescer.leave(kept.result())
    await turns()

    assert cancelled.cancelled()
    assert behind.done()


async def test_a_batch_whose_calls_are_all_cancelled_leaves_the_way_free() -> None:
    coalescer = Coalescer(NEVER_S)
    first = await coalescer.join()
    for call in await gathered(coalescer, 2):
        call.cancel()
    await turns()

    coalescer.leave(first)

    assert (await gathered(coalescer, 1))[0].done()


async def test_a_call_cancelled_just_as_it_may_begin_counts_no_more() -> None:
    coalescer = Coalescer(NEVER_S)
    first = await coalescer.join()
    [call] = await gathered(coalescer, 1)
    coalescer.leave(first)  # it may begin, and has not yet heard of it
    call.cancel()
    await turns()
    assert (await gathered(coalescer, 1))[0].done()
