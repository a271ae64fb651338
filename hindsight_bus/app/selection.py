"""Which events of the log somebody asked for, and the memory as it was at each of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hindsight_bus.app.tail import LogCommit
from hindsight_bus.domain.events import Entry, Event
from hindsight_bus.domain.meaning import MeaningQuery
from hindsight_bus.domain.memory import Head, Memory, MemoryState, Version
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.query import EventFilter

_MAX_KNOWN = 200
"""Namespaces of which a selection remembers whether they concern it: there may be thousands of selections."""


@dataclass(slots=True, eq=False)
class WatchEvent:
    """An event with the memory as it was then; one object for all subscribers."""

    event: Event
    entry: Entry
    index: int
    memory: Memory
    wire: bytes | None = None
    """What the transport has made of it: encoded once, sent to many."""


_PLAIN = EventFilter()


class Selection:
    """The events that some patterns and a filter choose, as seen by one agent.

    ``query`` is what the filter's meaning was found to be.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern],
        filter: EventFilter,
        agent: str = "",
        query: MeaningQuery | None = None,
    ) -> None:
        self.patterns = patterns
        self.filter = filter
        self.query = query
        self._agent = agent
        self._is_about_content = filter.is_about_content
        self._is_plain = filter == _PLAIN and query is None
        self._concerned: dict[Namespace, bool] = {}

    def partitions(self, total: int) -> list[int]:
        """Return the partitions, of ``total``, in which a matching event can lie."""
        return sorted({p for pattern in self.patterns for p in pattern.partitions(total)})

    def concerns(self, namespace: Namespace) -> bool:
        """Tell whether the namespace falls under a pattern."""
        known = self._concerned.get(namespace)
        if known is None:
            if len(self._concerned) >= _MAX_KNOWN:
                self._concerned.clear()
            known = any(pattern.matches(namespace) for pattern in self.patterns)
            self._concerned[namespace] = known
        return known

    def vector_profiles(self, namespace: Namespace) -> Collection[str]:
        """Return the profiles whose vectors are needed to choose among a namespace's events."""
        return self.query.closeness if self.query is not None and self.concerns(namespace) else ()

    def events(self, commit: LogCommit) -> Sequence[WatchEvent]:
        """Return the events of a commit that are wanted."""
        if self._is_plain:
            return self._loud(commit)
        return [
            watch_event(commit, index)
            for index, event in enumerate(commit.entry.events)
            if self.filter.wants(event, self._agent)
            and self.concerns(event.namespace)
            and self._wants_memory(commit, event)
        ]

    def _loud(self, commit: LogCommit) -> Sequence[WatchEvent]:
        """Return the loud events of namespaces that concern it: mostly all, as they are for every other reader."""
        loud = commit.loud
        if loud is None:
            numbered = enumerate(commit.entry.events)
            loud = [watch_event(commit, index) for index, event in numbered if _PLAIN.hears(event.kind)]
            commit.loud = loud
        for watched in loud:
            if not self._concerned.get(watched.event.namespace):
                return [each for each in loud if self.concerns(each.event.namespace)]
        return loud

    def first(self, commits: Sequence[LogCommit], most: int, most_bytes: int) -> tuple[list[WatchEvent], int]:
        """Return the events wanted of the first commits, and of how many: as many as fit, at least one with any."""
        events: list[WatchEvent] = []
        size = 0
        for taken, commit in enumerate(commits):
            if found := self.events(commit):
                size += commit.size_bytes
                if events and (len(events) + len(found) > most or size > most_bytes):
                    return events, taken
                events += found
        return events, len(commits)

    def _wants_memory(self, commit: LogCommit, event: Event) -> bool:
        return (
            not self._is_about_content
            or self._matches(commit, event, event.version, event.confidence_after)
            or self._matches(commit, event, event.version_before, event.confidence_before)
        ) and (self.query is None or self._is_meant(self.query, commit, event))

    def _is_meant(self, query: MeaningQuery, commit: LogCommit, event: Event) -> bool:
        key = (event.memory_id, event.version)
        version = commit.versions.get(key)
        return version is not None and query.matches(commit.vectors.get(key), version.language)

    def _matches(self, commit: LogCommit, event: Event, number: int, confidence: float) -> bool:
        version = commit.versions.get((event.memory_id, number))
        if version is None:
            return number > 0 and self.filter.may_have_matched(event.type, confidence)
        return self.filter.matches(version, confidence)


def watch_event(commit: LogCommit, index: int) -> WatchEvent:
    """Return an event with the memory as it was then; made once a commit."""
    made = commit.rendered.get(index)
    if not isinstance(made, WatchEvent):
        event = commit.entry.events[index]
        made = WatchEvent(event, commit.entry, index, _memory_then(commit, event))
        commit.rendered[index] = made
    return made


def _memory_then(commit: LogCommit, event: Event) -> Memory:
    entry = commit.entry
    version = commit.versions.get((event.memory_id, event.version))
    if version is None:
        version = Version(event.namespace, event.memory_id, event.version, event.type, text="")
    head = Head(
        namespace=event.namespace,
        memory_id=event.memory_id,
        type=event.type,
        state=event.after,
        version=event.version,
        last_version=event.version,
        effective_confidence=event.confidence_after,
        subject_key=event.subject_key,
        conflict_id=event.conflict_id if event.after is MemoryState.CONTESTED else "",
        superseded_by=event.superseded_by,
        agents=event.agents,
    )
    created = event.create_time_ms or entry.time_ms
    return Memory(head, version, created, entry.time_ms, entry.revision)
