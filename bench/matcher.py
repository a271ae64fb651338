"""What a commit costs a node that has many subscribers, of whom few are concerned: in this process, without a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from time import perf_counter

import numpy as np

from bench.data import DIMENSION
from bench.load import Sample
from bench.report import Goal, Result
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.matching import Interest, Matcher
from hindsight_bus.app.selection import Selection
from hindsight_bus.app.tail import LogCommit, Tails
from hindsight_bus.domain import vectors
from hindsight_bus.domain.events import Entry, Event, EventKind
from hindsight_bus.domain.meaning import Meaning, MeaningQuery
from hindsight_bus.domain.memory import MemoryState, MemoryType, Vector, Version
from hindsight_bus.domain.names import Namespace, Pattern, partition_of
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.wiring import SystemClock

_SIZES = (10, 1_000, 10_000)
_CONCERNED = 10
_COMMITS = 300
_PARTITIONS = 16
_PROFILE = "e5"
_FLAT = Goal(must=1.5, aim=1.1, lower_is_better=True)
_ANYTHING = EventFilter()
_MEANING = EventFilter(meaning=Meaning("bench"))


class _Node:
    """A matcher and the tail that feeds it."""

    def __init__(self, kind: EventKind) -> None:
        self._kind = kind
        self._random = np.random.default_rng(2026)
        self.namespace = Namespace("default", "user", "busy", "facts")
        self._partition = partition_of(self.namespace.owner_id, _PARTITIONS)
        tails = Tails(FakeLog(lambda: 0, partitions=_PARTITIONS), SystemClock(), 1 << 20)
        self._tail = tails[self._partition]
        self._tail.is_following = True
        self._thread = ThreadPoolExecutor(1)
        self._matcher = Matcher(tails, self._thread)
        self.selections: list[Selection] = []
        self._interests: list[Interest] = []
        self._stack = ExitStack()

    def add(self, pattern: Pattern, direction: vectors.Vector | None = None) -> None:
        """Register a subscriber that has read everything."""
        query = None
        if direction is not None:
            query = MeaningQuery.of(direction, {_PROFILE: Closeness(0.9, 0.9)})
        filter = _ANYTHING if query is None else _MEANING
        selection = Selection([pattern], filter, query=query)
        interest = Interest(selection, selection.partitions(_PARTITIONS), lambda: None)
        interest.news.clear()
        self._stack.enter_context(self._matcher.registered(interest))
        self.selections.append(selection)
        if selection.concerns(self.namespace):
            self._interests.append(interest)

    def direction(self) -> vectors.Vector:
        """Return a random unit vector."""
        return vectors.normalise(self._random.standard_normal(DIMENSION))

    def commits(self, direction: vectors.Vector) -> Iterator[LogCommit]:
        """Yield commits that follow each other; each brings this vector, if it is of that kind."""
        live, type = MemoryState.ACTIVE, MemoryType.SEMANTIC
        values = vectors.to_bytes(direction)
        for revision in range(self._tail.position.revision + 1, self._tail.position.revision + 1 + _COMMITS):
            key = f"m{revision}", 1
            event = Event(self._kind, self.namespace, *key, type, live, live, 0.5, 0.5)
            entry = Entry(self._partition, revision, 1, 0, (event,))
            version = Version(self.namespace, *key, type, "")
            yield LogCommit(entry, {key: version}, {key: Vector(*key, _PROFILE, values)})

    async def measure(self, direction: vectors.Vector) -> Sample:
        """Offer commits one after the other; each is over when everybody concerned has been told."""
        latencies = []
        began = perf_counter()
        for commit in self.commits(direction):
            start = perf_counter()
            self._tail.offer(commit, self._tail.position.stamp)
            await self._matcher.compared()
            latencies.append(perf_counter() - start)
            told = [interest for interest in self._interests if interest.news.pop(self._partition, 0)]
            if len(told) != _CONCERNED:
                raise RuntimeError(f"{len(told)} were told")
        return Sample(perf_counter() - began, latencies)

    def ask_everybody(self, direction: vectors.Vector) -> Sample:
        """Do what the matcher saves."""
        latencies = []
        began = perf_counter()
        for _, commit in zip(range(5), self.commits(direction), strict=False):
            start = perf_counter()
            for selection in self.selections:
                selection.events(commit)
            latencies.append(perf_counter() - start)
        return Sample(perf_counter() - began, latencies)

    def close(self) -> None:
        """Let go of everybody."""
        self._stack.close()
        self._thread.shutdown()


def _elsewhere(node: _Node, count: int, *, by_meaning: bool) -> vectors.Vector:
    """Register a few for the namespace at hand, the rest each for another owner; return what the few are about."""
    wanted = node.direction()
    busy = Pattern("default", "user", "busy", "*")
    for n in range(count):
        pattern = busy if n < _CONCERNED else Pattern("default", "user", f"other{n}", "facts")
        node.add(pattern, wanted if by_meaning else None)
    return wanted


def _other_meanings(node: _Node, count: int) -> vectors.Vector:
    """Register everybody for the namespace at hand, but all except a few for what nothing is about."""
    wanted = node.direction()
    for n in range(count):
        node.add(Pattern("default", "user", "*", "facts"), wanted if n < _CONCERNED else node.direction())
    return wanted


_CASES: dict[str, tuple[EventKind, Callable[[_Node, int], vectors.Vector], Goal | None]] = {
    "matcher.by_namespace": (EventKind.WRITTEN, partial(_elsewhere, by_meaning=False), _FLAT),
    "matcher.by_meaning": (EventKind.INDEXED, partial(_elsewhere, by_meaning=True), _FLAT),
    "matcher.one_namespace_by_meaning": (EventKind.INDEXED, _other_meanings, None),
}


async def measure(rounds: int) -> list[Result]:
    """Measure 10, 1,000 and 10,000 subscribers of which 10 are concerned, beside 10; and asking everybody."""
    results = []
    for name, (kind, fill, goal) in _CASES.items():
        nodes = {size: _Node(kind) for size in _SIZES}
        wanted = {size: fill(node, size) for size, node in nodes.items()}
        runs: dict[int, list[Sample]] = {size: [] for size in _SIZES}
        for _ in range(rounds):
            for size, node in nodes.items():
                runs[size].append(await node.measure(wanted[size]))
        for size, node in nodes.items():
            asking = node.ask_everybody(wanted[size]).p50_ms
            flat = Result.latency(
                f"{name}.{size}", runs[size], runs[_SIZES[0]], f"of {_SIZES[0]} ms p50", goal
            )
            flat.facts["asking_everybody_ms"] = asking
            results.append(flat)
            node.close()
    return results
