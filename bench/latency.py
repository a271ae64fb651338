"""How long a search takes within the server, one at a time, as a namespace grows; and what its index costs to build."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from bench.data import DIMENSION, Floats, Namespace
from bench.load import Sample
from bench.report import Goal, Result
from bench.rig import Rig
from hindsight_bus.adapters.index.dense import DenseIndex
from hindsight_bus.domain.vectors import to_bytes

_METHOD = "SearchMemories"
_QUESTIONS = 500
_WARM_UP = 50
_NEIGHBOURS = 50
_ASKED = 200
_PAGE = 2_000
_GROWTH = Goal(must=6, aim=3, lower_is_better=True)
_TAIL = Goal(must=5, aim=3, lower_is_better=True)
_RECALL = Goal(must=0.99, aim=0.999)


async def measure(rig: Rig, spaces: list[Namespace]) -> AsyncIterator[Result]:
    """Yield how searches of each namespace do, smallest first, then the index of each but the smallest by itself."""
    async for result in _searches(rig, spaces):
        yield result
    for space in spaces[1:]:
        for result in _indexed(space):
            yield result


async def _searches(rig: Rig, spaces: list[Namespace]) -> AsyncIterator[Result]:
    """Yield p50 against that of the smallest namespace, and p99 against p50, by the server's own clock."""
    first: Sample | None = None
    for space in spaces:
        taken = await _durations(rig, space)
        first = first or taken
        growth = _GROWTH if space is spaces[-1] else None
        facts = {"p99_ms": taken.p99_ms, "count": len(taken.latencies)}
        ratio = taken.p50_ms / first.p50_ms
        name, limit = f"latency.search.{space.size}", f"at {spaces[0].size:,} ms p50"
        yield Result(name, taken.p50_ms, "ms p50", limit, first.p50_ms, ratio, growth, facts)
        tail = taken.p99_ms / taken.p50_ms
        yield Result(f"{name}.tail", taken.p99_ms, "ms p99", "ms p50", taken.p50_ms, tail, _TAIL)


async def _durations(rig: Rig, space: Namespace) -> Sample:
    """Return how long the server says that searches took, asked one at a time."""
    questions = rig.source.searches(space)
    for _ in range(_WARM_UP):
        await rig.calling(rig.memory.SearchMemories, questions)()
    log = rig.socket.parent / "product.log"
    before = log.stat().st_size
    began = perf_counter()
    for _ in range(_QUESTIONS):
        await rig.calling(rig.memory.SearchMemories, questions)()
    seconds = perf_counter() - began
    return Sample(seconds, [ms / 1000 for ms in islice(_logged(log, before), _QUESTIONS)])


def _logged(log: Path, start: int) -> Iterator[float]:
    with log.open("rb") as lines:
        lines.seek(start)
        for line in lines:
            row = json.loads(line)
            if row.get("method", "").endswith(_METHOD):
                yield row["duration_ms"]


@dataclass(frozen=True, slots=True)
class _Index:
    """An index of a namespace's vectors, and what it took."""

    build_s: float
    nearest: list[NDArray[np.intp]]
    asked: Sample


def _indexed(space: Namespace) -> list[Result]:
    """Measure the index of a namespace's vectors by itself: building it, asking it, and what its codes miss."""
    random = np.random.default_rng(7)
    noise = random.standard_normal((_ASKED, DIMENSION)) / DIMENSION**0.5
    queries = (space.vectors[random.integers(space.size, size=_ASKED)] + 0.5 * noise).astype(np.float32)
    exact, coded = (_index(space.vectors, queries, coded_from) for coded_from in (space.size + 1, 1))
    found = [len(np.intersect1d(*pair)) for pair in zip(exact.nearest, coded.nearest, strict=True)]
    facts = {"recall": sum(found) / (_NEIGHBOURS * _ASKED)}
    name, build, asked = f"index.{space.size}", coded.build_s, coded.asked.p50_ms
    return [
        Result(f"{name}.build", build, "s", "exact s", exact.build_s, build / exact.build_s),
        Result(
            f"{name}.nearest",
            asked,
            "ms p50",
            "exact ms p50",
            exact.asked.p50_ms,
            asked / exact.asked.p50_ms,
            None,
            facts,
        ),
        Result(f"{name}.recall", facts["recall"], "of 50", "exact", 1.0, facts["recall"], _RECALL),
    ]


def _index(vectors: Floats, queries: Floats, coded_from: int) -> _Index:
    began = perf_counter()
    dense = DenseIndex(coded_from)
    dense.reserve(len(vectors))
    for start in range(0, len(vectors), _PAGE):
        page = dense.parse([to_bytes(vector) for vector in vectors[start : start + _PAGE]])
        dense.put(np.arange(start, start + len(page)), page, ["en"] * len(page), start + len(page))
    build_s = perf_counter() - began
    everything = np.ones(len(vectors), bool)
    nearest, latencies = [], []
    for query in queries:
        began = perf_counter()
        nearest += dense.nearest(query[None], _NEIGHBOURS, everything)
        latencies.append(perf_counter() - began)
    return _Index(build_s, nearest, Sample(sum(latencies), latencies))
