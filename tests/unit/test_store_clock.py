"""The estimate of store time: as good as the answers allow, whatever this node's own clock says."""

from __future__ import annotations

from typing import cast

import pytest

from hindsight_bus.adapters.valkey.client import Client
from hindsight_bus.adapters.valkey.clock import StoreClock


class World:
    """The passing of time, and a store that tells it."""

    def __init__(self) -> None:
        self.elapsed_ms = 5_000.0
        self.way_there_ms = self.way_back_ms = 0.5

    @property
    def store_ms(self) -> float:
        return 1_767_225_600_000 + self.elapsed_ms

    async def read(self, *command: bytes) -> list[bytes]:
        assert command == (b"TIME",)
        self.elapsed_ms += self.way_there_ms
        seconds, ms = divmod(self.store_ms, 1000)
        self.elapsed_ms += self.way_back_ms
        return [b"%d" % seconds, b"%d" % (ms * 1000)]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr("hindsight_bus.adapters.valkey.clock._monotonic_ms", lambda: world.elapsed_ms)
    return world


@pytest.mark.parametrize("off_s", [-3600, 0, 3600])
async def test_this_nodes_clock_does_not_matter(
    world: World, monkeypatch: pytest.MonkeyPatch, off_s: int
) -> None:
    """After one answer the estimate is off by no more than the round trip, wherever it began."""
    monkeypatch.setattr("time.time", lambda: world.store_ms / 1000 + off_s)
    clock = StoreClock(cast(Client, world))
    await clock.refresh()
    assert clock.now_ms() == pytest.approx(world.store_ms, abs=1.5)


@pytest.mark.parametrize(("there_ms", "back_ms"), [(9_000.0, 0.5), (0.5, 9_000.0), (4_500.0, 4_500.0)])
async def test_an_answer_that_took_long_spoils_nothing(world: World, there_ms: float, back_ms: float) -> None:
    """The store was stopped, or the network was: the estimate stays as good as it was."""
    clock = StoreClock(cast(Client, world))
    await clock.refresh()
    world.way_there_ms, world.way_back_ms = there_ms, back_ms
    await clock.refresh()
    assert clock.now_ms() == pytest.approx(world.store_ms, abs=1.5)
