"""Who is to be told of a commit: found by namespace and meaning, without asking those whom it does not concern.

Readers of the log (subscriptions, feeds of groups) register what they are interested in, by pattern. A commit then
costs a few look-ups and the telling of those whom it concerns. Vectors that have arrived are compared with all queries
of a pattern and a profile at once, on a thread; that tells whom to wake, and the reader itself has the last word.

What concerns a reader is told as one number: the first revision of a partition that does, until the reader has read up
to there. Nothing piles up for a reader that is stuck, and one that was idle skips what did not concern it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from hindsight_bus.app.background import in_background
from hindsight_bus.app.query_bank import Probe, QueryBank
from hindsight_bus.app.selection import Selection
from hindsight_bus.app.tail import LogCommit, Tails
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.events import Event, EventKind
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.pattern_map import PatternMap
from hindsight_bus.domain.values import Value
from hindsight_bus.domain.vectors import dimension_of


class Interest:
    """What one reader of the log is interested in, and where the next news for it lie."""

    def __init__(
        self, selection: Selection, partitions: Collection[int], on_news: Callable[[], None]
    ) -> None:
        self.selection = selection
        self.partitions = partitions
        self.news: dict[int, int] = dict.fromkeys(partitions, 0)
        """Partition -> the first revision that may concern the reader of all that it has not read.

        A partition without an entry has nothing for it. At first every one has: the reader begins anywhere in the log.
        It drops an entry once it has read to the end.
        """
        self._on_news = on_news

    def tell(self, partition: int, revision: int) -> None:
        """Note that a revision may concern the reader."""
        known = self.news.get(partition)
        if known is None or revision < known:
            self.news[partition] = revision
            self._on_news()


_Space = tuple[str, int]
"""Profile and dimension: the vectors of one space may be compared with each other."""


@dataclass(slots=True)
class _Bucket:
    """The interests under one pattern."""

    plain: dict[Interest, None] = field(default_factory=dict)
    """Those without a meaning."""
    banks: dict[_Space, QueryBank[Interest]] = field(default_factory=dict)
    """Those with one, by the vectors that they are compared with."""

    def add(self, interest: Interest) -> None:
        query = interest.selection.query
        if query is None:
            self.plain[interest] = None
            return
        for profile, closeness in query.closeness.items():
            vector = query.directions[profile]
            bank = self.banks.get((profile, len(vector)))
            if bank is None:
                bank = QueryBank(len(vector), calibration_of(profile).common)
                self.banks[profile, len(vector)] = bank
            bank.add(interest, vector, closeness.lowest)

    def remove(self, interest: Interest) -> None:
        query = interest.selection.query
        if query is None:
            del self.plain[interest]
            return
        for profile, vector in query.directions.items():
            space = profile, len(vector)
            self.banks[space].remove(interest)
            if not len(self.banks[space]):
                del self.banks[space]

    @property
    def is_empty(self) -> bool:
        return not (self.plain or self.banks)


class _Arrival(Value, eq=False):
    """A vector that has arrived."""

    partition: int
    revision: int
    namespace: Namespace
    space: _Space
    values: bytes


class Matcher:
    """Every interest of this node."""

    def __init__(self, tails: Tails, match_thread: Executor) -> None:
        self._thread = match_thread
        self._interests: dict[Interest, None] = {}
        self._buckets: PatternMap[_Bucket] = PatternMap()
        self._inbox: list[_Arrival] = []
        self._unmatched: dict[int, int] = defaultdict(int)
        """Partition -> vectors that have arrived and are not compared yet."""
        self._comparing: asyncio.Task[None] | None = None
        tails.want_vectors(self.vector_profiles)
        for partition in range(tails.store.partitions):
            tails[partition].listen(partial(self._on_commits, partition))

    @contextmanager
    def registered(self, interest: Interest) -> Iterator[None]:
        """Tell an interest of news while this lasts. Follow its partitions only then, so that nothing is missed."""
        self._interests[interest] = None
        patterns = frozenset(interest.selection.patterns)
        for pattern in patterns:
            self._add(pattern, interest)
        try:
            yield
        finally:
            del self._interests[interest]
            for pattern in patterns:
                self._remove(pattern, interest)

    def _add(self, pattern: Pattern, interest: Interest) -> None:
        bucket = self._buckets.get(pattern)
        if bucket is None:
            self._buckets.put(pattern, bucket := _Bucket())
        bucket.add(interest)

    def _remove(self, pattern: Pattern, interest: Interest) -> None:
        bucket = self._buckets.get(pattern)
        assert bucket is not None
        bucket.remove(interest)
        if bucket.is_empty:
            self._buckets.remove(pattern)

    def has_compared(self, partition: int) -> bool:
        """Tell whether everybody was told of every vector that has arrived in a partition."""
        return not self._unmatched.get(partition)

    async def compared(self) -> None:
        """Return once everybody was told of every vector that has arrived by now."""
        if self._comparing is not None:
            await asyncio.shield(self._comparing)

    def vector_profiles(self, namespace: Namespace) -> Collection[str]:
        """Return the profiles whose vectors are compared with queries under a namespace."""
        return {profile for bucket in self._buckets.matching(namespace) for profile, _ in bucket.banks}

    async def close(self) -> None:
        """Stop comparing."""
        if self._comparing is not None:
            self._comparing.cancel()
            await asyncio.gather(self._comparing, return_exceptions=True)

    # -- telling

    def _on_commits(self, partition: int, commits: Sequence[LogCommit]) -> None:
        if not commits:
            self._tell_of_divergence(partition)
        elif self._interests:
            for commit in commits:
                self._on_commit(partition, commit)
            if self._inbox and self._comparing is None:
                self._comparing = in_background(self._compare())

    def _tell_of_divergence(self, partition: int) -> None:
        for interest in tuple(self._interests):
            if partition in interest.partitions:
                interest.tell(partition, 0)

    def _on_commit(self, partition: int, commit: LogCommit) -> None:
        by_namespace: dict[Namespace, list[Event]] = {}
        for event in commit.entry.events:
            by_namespace.setdefault(event.namespace, []).append(event)
        for namespace, events in by_namespace.items():
            kinds = {event.kind for event in events}
            for bucket in self._buckets.matching(namespace):
                for interest in bucket.plain:
                    if any(map(interest.selection.filter.hears, kinds)):
                        interest.tell(partition, commit.revision)
            if EventKind.INDEXED in kinds and self.vector_profiles(namespace):
                self._note_arrivals(partition, commit, events)

    def _note_arrivals(self, partition: int, commit: LogCommit, events: Sequence[Event]) -> None:
        for event in events:
            vector = commit.vectors.get((event.memory_id, event.version))
            if event.kind is EventKind.INDEXED and vector is not None:
                space = vector.profile, dimension_of(vector.values)
                self._inbox.append(
                    _Arrival(partition, commit.revision, event.namespace, space, vector.values)
                )
                self._unmatched[partition] += 1

    async def _compare(self) -> None:
        """Compare what has arrived with the queries that concern it, as much at a time as has gathered meanwhile."""
        loop = asyncio.get_running_loop()
        try:
            while self._inbox:
                arrivals, self._inbox = self._inbox, []
                for matches in await loop.run_in_executor(self._thread, _found, self._probes(arrivals)):
                    for interest, arrival in matches:
                        interest.tell(arrival.partition, arrival.revision)
                for arrival in arrivals:
                    self._unmatched[arrival.partition] -= 1
        finally:
            self._comparing = None

    def _probes(self, arrivals: Sequence[_Arrival]) -> list[Probe[Interest, _Arrival]]:
        """Return what is to be compared: one bank with all the vectors that concern it."""
        concerned: dict[QueryBank[Interest], dict[_Arrival, None]] = {}
        for arrival in arrivals:
            for bucket in self._buckets.matching(arrival.namespace):
                bank = bucket.banks.get(arrival.space)
                if bank is not None:
                    concerned.setdefault(bank, {})[arrival] = None
        return [bank.probe([(each, each.values) for each in theirs]) for bank, theirs in concerned.items()]


def _found(probes: Sequence[Probe[Interest, _Arrival]]) -> list[list[tuple[Interest, _Arrival]]]:
    """Return the likely matches of each probe. Runs on the match thread."""
    return [probe.matches() for probe in probes]
