"""Conditions on memories, shared by search, list, subscribe and consume."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

from hindsight_bus.domain.events import QUIET_KINDS, Event, EventKind
from hindsight_bus.domain.meaning import Meaning
from hindsight_bus.domain.memory import MemoryState, MemoryType, Version
from hindsight_bus.domain.values import Value


class SearchChannel(IntEnum):
    """A way in which a memory is found. Numbers are those of ``hbus.v1``."""

    DENSE = 1
    LEXICAL = 2
    TEMPORAL = 3
    SUBJECT = 4
    NEIGHBOURS = 5


LIVE_STATES = frozenset({MemoryState.ACTIVE, MemoryState.CONTESTED})


class Filter(Value):
    """All given conditions must hold; an empty one matches every live memory. Times in Unix milliseconds, 0 = unset."""

    types: frozenset[MemoryType] = frozenset()
    states: frozenset[MemoryState] = LIVE_STATES
    tags: frozenset[str] = frozenset()
    any_tags: frozenset[str] = frozenset()
    subject: str = ""
    subject_prefix: str = ""
    unnamed: bool = False
    """Only memories whose writer named no subject."""
    about: str = ""
    languages: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    min_confidence: float = 0.0
    min_importance: float = 0.0
    event_after_ms: int = 0
    event_before_ms: int = 0
    create_after_ms: int = 0
    create_before_ms: int = 0
    pinned: bool | None = None

    @property
    def is_default(self) -> bool:
        """Tell whether nothing was asked for beyond being live."""
        return self == _DEFAULT

    def matches(
        self,
        version: Version,
        state: MemoryState,
        effective_confidence: float,
        agents: Collection[str],
        create_time_ms: int,
        now_ms: int,
    ) -> bool:
        """Tell whether a memory matches. One past its expire_time does not, unless EXPIRED is asked for."""
        return (
            state in self.states
            and (not self.types or version.type in self.types)
            and self.tags.issubset(version.tags)
            and (not self.any_tags or not self.any_tags.isdisjoint(version.tags))
            and (not self.subject or version.subject == self.subject)
            and version.subject.startswith(self.subject_prefix)
            and not (self.unnamed and version.named_subject)
            and (not self.about or version.about == self.about)
            and (not self.languages or version.language in self.languages)
            and (not self.agents or not self.agents.isdisjoint(agents))
            and effective_confidence >= self.min_confidence
            and version.importance >= self.min_importance
            and (not self.event_after_ms or version.event_time_ms >= self.event_after_ms)
            and (not self.event_before_ms or version.event_time_ms < self.event_before_ms)
            and (not self.create_after_ms or create_time_ms >= self.create_after_ms)
            and (not self.create_before_ms or create_time_ms < self.create_before_ms)
            and (self.pinned is None or version.pinned == self.pinned)
            and (
                not version.expire_time_ms
                or version.expire_time_ms > now_ms
                or MemoryState.EXPIRED in self.states
            )
        )


_DEFAULT = Filter()


class EventFilter(Value):
    """Conditions on events. A memory that matches before or after the event will do."""

    types: frozenset[MemoryType] = frozenset()
    tags: frozenset[str] = frozenset()
    min_confidence: float = 0.0
    kinds: frozenset[EventKind] = frozenset()
    """Empty: all but the quiet ones; with a meaning, INDEXED."""
    subject_prefix: str = ""
    not_my_own: bool = False
    meaning: Meaning | None = None
    """What its memory must be about; asked when the vector arrives, so of INDEXED events alone."""

    @property
    def is_about_content(self) -> bool:
        """Tell whether it asks anything of the memory, beyond kind and author of the event."""
        return bool(self.types or self.tags or self.min_confidence or self.subject_prefix)

    def wants(self, event: Event, agent: str) -> bool:
        """Tell whether kind and author of an event are wanted."""
        return self.hears(event.kind) and not (self.not_my_own and agent and event.agent == agent)

    def hears(self, kind: EventKind) -> bool:
        """Tell whether events of a kind are wanted."""
        if self.kinds:
            return kind in self.kinds
        return kind is EventKind.INDEXED if self.meaning is not None else kind not in QUIET_KINDS

    def matches(self, version: Version, confidence: float) -> bool:
        """Tell whether a memory in one of its versions matches."""
        return (
            (not self.types or version.type in self.types)
            and self.tags.issubset(version.tags)
            and confidence >= self.min_confidence
            and version.subject.startswith(self.subject_prefix)
        )

    def may_have_matched(self, type: MemoryType, confidence: float) -> bool:
        """Tell whether a memory may have matched in a version that is purged: tags and subject are unknown by now."""
        return (not self.types or type in self.types) and confidence >= self.min_confidence
