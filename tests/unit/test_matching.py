"""Finding whom a commit concerns: by index exactly those whom asking everybody would find."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.matching import Interest, Matcher
from hindsight_bus.app.query_bank import QueryBank
from hindsight_bus.app.selection import Selection
from hindsight_bus.app.tail import LogCommit, Tails
from hindsight_bus.domain import vectors
from hindsight_bus.domain.common import NOTHING
from hindsight_bus.domain.events import QUIET_KINDS, Entry, Event, EventKind
from hindsight_bus.domain.meaning import MeaningQuery, cosine
from hindsight_bus.domain.memory import MemoryState, MemoryType, Vector, Version
from hindsight_bus.domain.names import Namespace, Pattern, partition_of
from hindsight_bus.domain.pattern_map import PatternMap
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.domain.values import replace
from tests.unit.app_rig import EventLoopClock, SameThread

PARTITIONS = 4
DIMENSION = 6
part = st.sampled_from(["a", "b", "c"])
maybe_part = st.sampled_from(["*", "a", "b", "c"])
namespaces = st.builds(Namespace, st.sampled_from(["t", "u"]), part, part, part)
patterns = st.builds(Pattern, st.sampled_from(["t", "u"]), maybe_part, maybe_part, maybe_part)
directions = st.lists(st.integers(-3, 3), min_size=DIMENSION, max_size=DIMENSION).filter(any)
kinds = st.sampled_from([EventKind.WRITTEN, EventKind.INDEXED, EventKind.FORGOTTEN, EventKind.USED])


def unit(direction: list[int]) -> vectors.Vector:
    return vectors.normalise([float(value) for value in direction])


@st.composite
def queries(draw: st.DrawFn) -> MeaningQuery | None:
    if draw(st.booleans()):
        return None
    profiles = draw(st.sets(st.sampled_from(["one", "two"]), min_size=1))
    threshold = draw(st.sampled_from([0.3, 0.5, 0.8, 1.0]))
    closeness = Closeness(threshold, threshold, {"zh": draw(st.sampled_from([0.2, 0.9]))})
    return MeaningQuery.of(unit(draw(directions)), dict.fromkeys(profiles, closeness))


@st.composite
def selections(draw: st.DrawFn) -> Selection:
    query = draw(queries())
    wanted = frozenset({EventKind.INDEXED}) if query else draw(st.frozensets(kinds, max_size=2))
    return Selection(draw(st.lists(patterns, min_size=1, max_size=3)), EventFilter(kinds=wanted), "", query)


@dataclass(frozen=True)
class Happening:
    """An event, with the vector that comes with it where it is INDEXED."""

    namespace: Namespace
    kind: EventKind
    language: str
    profile: str
    direction: list[int] = field(hash=False)


happenings = st.builds(
    Happening, namespaces, kinds, st.sampled_from(["en", "zh"]), st.sampled_from(["one", "two"]), directions
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("come"), selections()),
        st.tuples(st.just("go"), st.integers(0, 100)),
        st.tuples(st.just("commit"), st.lists(happenings, min_size=1, max_size=3)),
    ),
    max_size=25,
)


def commit_of(happened: list[Happening], partition: int, revision: int) -> LogCommit:
    """Return a commit of what happened to one memory each."""
    events, versions, found = [], {}, {}
    active, kind = MemoryState.ACTIVE, MemoryType.SEMANTIC
    for n, each in enumerate(happened):
        memory_id = f"m{n}"
        events.append(Event(each.kind, each.namespace, memory_id, 1, kind, active, active, 0.5, 0.5))
        versions[memory_id, 1] = Version(each.namespace, memory_id, 1, kind, "", language=each.language)
        if each.kind is EventKind.INDEXED:
            values = vectors.to_bytes(unit(each.direction))
            found[memory_id, 1] = Vector(memory_id, 1, each.profile, values)
    return LogCommit(Entry(partition, revision, 1, 0, tuple(events)), versions, found)


class Reader:
    """One that has read everything so far, and is told of what comes."""

    def __init__(self, selection: Selection) -> None:
        self.interest = Interest(selection, selection.partitions(PARTITIONS), lambda: None)
        self.interest.news.clear()
        self.stack = ExitStack()


@settings(max_examples=150, deadline=None)
@given(steps)
def test_the_index_finds_whom_asking_everybody_would_find(script: list[tuple[str, Any]]) -> None:
    """For any patterns, namespaces, kinds and meanings, while subscribers come and go.

    Everybody who wants an event is told of it; whoever is told has a pattern that fits and wants the kind, and, within
    rounding, the meaning.
    """
    asyncio.run(run(script))


async def run(script: list[tuple[str, Any]]) -> None:
    tails = Tails(FakeLog(lambda: 0, partitions=PARTITIONS), EventLoopClock(), 1 << 20)
    matcher = Matcher(tails, SameThread())
    readers: list[Reader] = []
    for revision, (step, given_) in enumerate(script, start=1):
        match step:
            case "come":
                reader = Reader(given_)
                reader.stack.enter_context(matcher.registered(reader.interest))
                readers.append(reader)
            case "go" if readers:
                readers.pop(given_ % len(readers)).stack.close()
            case "commit":
                await told_as_expected(tails, matcher, readers, given_, revision)
    for reader in readers:
        reader.stack.close()
    assert not matcher._buckets, "everybody has gone, and something of them is left"


async def told_as_expected(
    tails: Tails, matcher: Matcher, readers: list[Reader], happened: list[Happening], revision: int
) -> None:
    by_partition: dict[int, list[Happening]] = {}
    for each in happened:
        by_partition.setdefault(partition_of(each.namespace.owner_id, PARTITIONS), []).append(each)
    for partition, own in by_partition.items():
        commit = commit_of(own, partition, revision)
        tail = tails[partition]
        tail.position = replace(commit.position, revision=revision - 1)
        tail.is_following = True
        tail.offer(commit, tail.position.stamp)
        await matcher.compared()
        assert matcher.has_compared(partition)
        for reader in readers:
            wanted = bool(reader.interest.selection.events(commit))
            is_told = reader.interest.news.pop(partition, None) == revision
            assert is_told == wanted or (is_told and _nearly(reader.interest.selection, commit))


def _nearly(selection: Selection, commit: LogCommit) -> bool:
    """Tell whether a meaning would want the commit at the lowest threshold that any language has."""
    query = selection.query
    if query is None:
        return False
    lowest = {
        profile: Closeness(each.lowest - 1e-3, each.lowest - 1e-3)
        for profile, each in query.closeness.items()
    }
    wider = Selection(selection.patterns, selection.filter, "", replace(query, closeness=lowest))
    return bool(wider.events(commit))


@given(st.lists(happenings, min_size=1, max_size=8), st.lists(patterns, min_size=1, max_size=3))
def test_no_filter_hears_all_kinds_that_are_not_quiet(
    happened: list[Happening], wanted: list[Pattern]
) -> None:
    """What is chosen once for all readers without a filter is what naming each loud kind chooses, one by one."""
    commit = commit_of(happened, 0, 1)
    named = EventFilter(kinds=frozenset(EventKind) - set(QUIET_KINDS))
    for _ in range(2):
        assert Selection(wanted, EventFilter()).events(commit) == Selection(wanted, named).events(commit)


@given(st.lists(st.tuples(patterns, st.booleans()), max_size=30), st.lists(namespaces, max_size=10))
def test_a_pattern_map_finds_what_matches(
    changes: list[tuple[Pattern, bool]], asked: list[Namespace]
) -> None:
    """Exactly the patterns that match, whatever was put in and taken out."""
    held: dict[str, Pattern] = {}
    index: PatternMap[Pattern] = PatternMap()
    for pattern, is_put in changes:
        key = f"{pattern.tenant} {pattern}"
        if is_put:
            index.put(pattern, pattern)
            held[key] = pattern
        elif key in held:
            index.remove(held.pop(key))
        assert index.get(pattern) is held.get(key)
    assert bool(index) == bool(held)
    for namespace in asked:
        expected = [pattern for pattern in held.values() if pattern.matches(namespace)]
        assert sorted(map(repr, index.matching(namespace))) == sorted(map(repr, expected))


@given(directions, directions, st.sampled_from([0.5, 0.8, 1.0]))
def test_a_meaning_matches_by_cosine(one: list[int], other: list[int], threshold: float) -> None:
    """The threshold is inclusive, and a vector is as near to itself as can be."""
    query = MeaningQuery.of(unit(one), {"one": Closeness(threshold, threshold)})
    stored = Vector("m", 1, "one", vectors.to_bytes(unit(other)))
    exact = float(np.dot(unit(one), unit(other)))
    if abs(exact - threshold) > 1e-3:
        assert query.matches(stored, "en") == (exact > threshold)
    assert query.matches(replace(stored, values=vectors.to_bytes(unit(one))), "en")
    assert not query.matches(replace(stored, profile="two"), "en")
    assert not query.matches(None, "en")
    assert not query.matches(replace(stored, values=stored.values[:-2]), "en")


@given(
    st.lists(st.tuples(st.integers(0, 40), directions), min_size=20, max_size=80),
    st.lists(directions, min_size=1),
)
def test_a_bank_finds_what_comparing_one_by_one_finds(
    changes: list[tuple[int, list[int]]], arrived: list[list[int]]
) -> None:
    """However it has grown and shrunk; and a probe sees what was there when it was made."""
    bank: QueryBank[int] = QueryBank(DIMENSION, NOTHING)
    held: dict[int, vectors.Vector] = {}
    labelled = [(n, vectors.to_bytes(unit(each))) for n, each in enumerate(arrived)]
    early = bank.probe(labelled)
    for member, direction in changes:
        if member in held:
            bank.remove(member)
            del held[member]
        else:
            held[member] = unit(direction)
            bank.add(member, held[member], 0.75)
    expected = {
        (member, n)
        for member, query in held.items()
        for n, values in labelled
        if cosine(query, vectors.from_bytes(values)) >= 0.75
    }
    found = set(bank.probe(labelled).matches())
    assert len(bank) == len(held)
    assert found >= expected
    assert all(cosine(held[m], vectors.from_bytes(labelled[n][1])) > 0.749 for m, n in found)
    assert early.matches() == []


def test_the_first_revision_counts() -> None:
    """Whatever the order in which a reader is told: it reads from there on, and is woken once."""
    woken: list[int] = []
    selection = Selection([Pattern("t", "*", "*", "*")], EventFilter())
    interest = Interest(selection, [0], lambda: woken.append(1))
    interest.news.clear()
    for revision in (7, 9, 5, 6):
        interest.tell(0, revision)
    assert (interest.news, len(woken)) == ({0: 5}, 2)
