"""Writes and searches, one call at a time and many, beside echoes of messages as large."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from bench.data import Namespace
from bench.load import Call, Sample, closed_loop
from bench.report import Goal, Result
from bench.rig import Rig
from bench.store import settle

IN_FLIGHT = (1, 32)
_WRITE = Goal(must=0.3, aim=0.6)
_SEARCH = Goal(must=0.1, aim=0.5)
_SEARCH_SIZE = 10_000
_WARM_UP_S = 0.3


async def measure(
    rig: Rig, read: list[Namespace], written: list[Namespace], rounds: int, seconds: float
) -> AsyncIterator[Result]:
    """Yield calls a second against the echo, the median of alternating runs.

    ``read`` are searched and stay as they are; ``written`` grow.
    """
    calls = _calls(rig, read, written)
    for in_flight in IN_FLIGHT:
        runs: dict[str, list[Sample]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                runs[name].append(await _steady(rig, call, in_flight, seconds))
        for result in _compared(runs, in_flight):
            yield result


async def _steady(rig: Rig, call: Call, in_flight: int, seconds: float) -> Sample:
    """Measure a kind of call while it pays for the work that it leaves behind, and for no other's."""
    await closed_loop(call, in_flight, _WARM_UP_S)
    sample = await closed_loop(call, in_flight, seconds)
    await settle(rig)
    return sample


def _calls(rig: Rig, read: list[Namespace], written: list[Namespace]) -> Mapping[str, Call]:
    memory, source = rig.memory, rig.source
    calls = {
        "echo.write": rig.calling(rig.bare.echo_write, source.writes(written[0].name, semantic=True)),
        "echo.search": rig.calling(rig.bare.echo_search, source.searches(read[0])),
    }
    for space in written:
        for kind, semantic in (("episodic", False), ("semantic", True)):
            writes = source.writes(space.name, semantic=semantic)
            calls[f"write.{kind}.{space.size}"] = rig.calling(memory.WriteMemory, writes)
    for space in read:
        calls[f"search.{space.size}"] = rig.calling(memory.SearchMemories, source.searches(space))
    return calls


def _compared(runs: Mapping[str, list[Sample]], in_flight: int) -> list[Result]:
    results = []
    for name, samples in runs.items():
        kind = name.partition(".")[0]
        echo = runs[name if kind == "echo" else f"echo.{kind}"]
        goal = _goal(name) if in_flight > 1 else None
        results.append(Result.rate(f"{name}.x{in_flight}", samples, echo, "echo/s", goal))
    return results


def _goal(name: str) -> Goal | None:
    if name.startswith("write."):
        return _WRITE
    return _SEARCH if name == f"search.{_SEARCH_SIZE}" else None
