"""The clock that tests move by hand."""

from __future__ import annotations

import asyncio

from hindsight_bus.adapters.memory.clock import START_MS, FakeClock


async def test_sleepers_wake_when_their_time_has_come() -> None:
    """In order of their times, and not before."""
    clock = FakeClock()
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    sleepers = [asyncio.create_task(sleep(seconds)) for seconds in (3, 1, 2)]
    await asyncio.sleep(0)
    clock.advance(2)
    await asyncio.gather(*sleepers[1:])
    assert woken == [1, 2]
    assert (clock.monotonic(), clock.now_ms()) == (2, START_MS + 2000)
    clock.advance(1)
    await sleepers[0]
    assert woken == [1, 2, 3]


async def test_a_cancelled_sleeper_is_passed_over() -> None:
    """Others wake all the same."""
    clock = FakeClock()
    cancelled, other = (asyncio.create_task(clock.sleep(1)) for _ in range(2))
    await asyncio.sleep(0)
    cancelled.cancel()
    clock.advance(1)
    await other
    assert cancelled.cancelled() or cancelled.cancelling()
