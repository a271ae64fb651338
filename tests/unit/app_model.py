"""What the store must hold, said as plainly as can be: speakers, what they claim, and which claims stand.

Written against the rules of the design, not against the code: no records, no versions, no log. Only ``settle`` is
shared, for it is the rule itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from hindsight_bus.domain.memory import Channel, Decision, MemoryState
from hindsight_bus.domain.memory import Claim as StoredClaim
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.settling import settle

GONE = (MemoryState.FORGOTTEN, MemoryState.SUPERSEDED, MemoryState.EXPIRED)


@dataclass(frozen=True)
class Said:
    """A speaker's statement."""

    speaker: str
    agent: str
    text: str
    confidence: float
    time_ms: int
    order: int
    memory: str

    @property
    def recency(self) -> tuple[int, int]:
        return (self.time_ms, self.order)


@dataclass
class Remembered:
    """A memory."""

    subject: str
    text: str
    state: MemoryState
    stated: float = 0.0
    """How sure its current version says it is."""
    expire_ms: int = 0
    ever_said: dict[tuple[str, int], Said] = field(default_factory=dict)
    """By speaker and order: all that was ever said for it."""


@dataclass
class Topic:
    """A subject."""

    said: list[Said] = field(default_factory=list)
    chosen: str = ""
    keeps_all: bool = False
    same: dict[str, str] = field(default_factory=dict)
    """Statement -> the one that it was decided to mean."""

    def meaning(self, text: str) -> str:
        while text in self.same:
            text = self.same[text]
        return text

    def saying(self, text: str) -> str:
        """Return the memory that says it, or nothing."""
        return next((s.memory for s in self.said if self.meaning(s.text) == self.meaning(text)), "")

    def replaced_by(self, new: Said) -> list[Said]:
        """Return what its speaker takes back by saying it."""
        own = [s for s in self.said if s.speaker == new.speaker]
        if self.keeps_all:
            return [s for s in own if self.meaning(s.text) == self.meaning(new.text)]
        return own

    def add(self, new: Said) -> None:
        """Let a statement take the place of what it replaces, unless its speaker has said otherwise since."""
        replaced = self.replaced_by(new)
        if all(s.recency <= new.recency for s in replaced):
            self.said = [s for s in self.said if s not in replaced] + [new]


class Model:
    """The whole store."""

    def __init__(self) -> None:
        self.policy = Policy()
        self.memories: dict[str, Remembered] = {}
        self.topics: dict[str, Topic] = {}
        self._order = 0

    # -- what can be asked

    def said_for(self, memory: str) -> list[Said]:
        """Return the statements that stand for a memory."""
        return [s for topic in self.topics.values() for s in topic.said if s.memory == memory]

    def evidence(self, memory: str) -> float:
        """Return how sure all its speakers are together."""
        doubt = math.prod(sorted(1 - s.confidence for s in self.said_for(memory)))
        return round(min(0.99, 1 - doubt), 6)

    def agents(self, memory: str) -> tuple[str, ...]:
        return tuple(sorted({s.agent for s in self.said_for(memory)}))

    def live(self) -> set[str]:
        return {m for m, r in self.memories.items() if r.state.is_live}

    def live_on(self, subject: str) -> set[str]:
        return {m for m in self.live() if self.memories[m].subject == subject}

    def contested(self) -> dict[str, set[str]]:
        """Return subject -> the memories that contest each other."""
        found: dict[str, set[str]] = {}
        for memory, remembered in self.memories.items():
            if remembered.state is MemoryState.CONTESTED:
                found.setdefault(remembered.subject, set()).add(memory)
        return found

    # -- what can be done

    def write(
        self, memory: str, subject: str, new: Said, *, is_timed: bool, expire_ms: int = 0
    ) -> tuple[Decision, str]:
        """Say something; ``memory`` is the id that it gets if it is news."""
        topic = self.topics.setdefault(subject, Topic())
        said_by = topic.saying(new.text)
        new = replace(new, memory=said_by or memory, order=self._next())
        latest = max(topic.replaced_by(new), key=lambda s: s.recency, default=None)
        if latest and latest.memory == said_by and not _is_news(latest, new, is_timed):
            return Decision.DUPLICATE, said_by
        if latest and latest.recency > new.recency:
            if said_by:
                return Decision.DUPLICATE, said_by
            self._remember(memory, subject, new, expire_ms)
            return Decision.STORED, memory
        before = list(topic.said)
        topic.add(new)
        return self._settled(subject, before, new, expire_ms)

    def supersede(self, memory: str, subject: str, new: Said, named: set[str]) -> tuple[Decision, str] | None:
        """Say something in place of others; None where one that lives is left out."""
        topic = self.topics.setdefault(subject, Topic())
        said_by = topic.saying(new.text)
        if self.live_on(subject) - named - {said_by}:
            return None
        new = replace(new, memory=said_by or memory, order=self._next())
        before = list(topic.said)
        kept = [s for s in topic.said if s.memory == said_by and s.speaker != new.speaker]
        topic.said = [*kept, new]
        answer = self._settled(subject, before, new, 0)
        for other in {self.memories[m].subject for m in named} - {subject}:
            elsewhere = self.topics[other]
            covered = list(elsewhere.said)
            elsewhere.said = [s for s in elsewhere.said if s.memory not in named]
            self._settle(other, covered, new.memory)
        return answer

    def revise(self, memory: str, agent: str, text: str, confidence: float | None) -> bool:
        """Change what a memory says; False unless the agent alone says it and nobody else says the new words."""
        topic = self.topics[self.memories[memory].subject]
        own = self.said_for(memory)
        if {s.speaker for s in own} != {f"agent:{agent}"} or topic.saying(text) not in ("", memory):
            return False
        stated = own[0].confidence if confidence is None else confidence
        self.memories[memory].stated = stated
        if (text, stated) != (self.memories[memory].text, own[0].confidence):
            before = list(topic.said)
            new = replace(own[0], agent=agent, text=text, confidence=stated, order=self._next())
            topic.said = [s for s in topic.said if s.memory != memory] + [new]
            self.memories[memory].text = text
            self._settle(self.memories[memory].subject, before, memory)
        return True

    def leave(self, memory: str, state: MemoryState) -> None:
        """Forget or expire a memory."""
        remembered = self.memories[memory]
        topic = self.topics[remembered.subject]
        topic.said = [s for s in topic.said if s.memory != memory]
        remembered.state = state
        self._settle(remembered.subject, [], "")

    def restore(self, memory: str, now_ms: int) -> bool:
        """Bring a memory back; False where every speaker has said otherwise since."""
        remembered = self.memories[memory]
        topic = self.topics[remembered.subject]
        ever = sorted(remembered.ever_said.values(), key=lambda s: s.order)
        latest = {s.speaker: s for s in ever if s.text == ever[-1].text}
        before, after = list(topic.said), Topic(list(topic.said), topic.chosen, topic.keeps_all, topic.same)
        for same in [s for s in before if s.text == ever[-1].text]:
            after.said.remove(same)
            after.add(replace(same, memory=memory))
        for said in latest.values():
            after.add(said)
        if not any(s.memory == memory for s in after.said):
            return False
        topic.said = after.said
        if 0 < remembered.expire_ms <= now_ms:
            remembered.expire_ms = 0
        self._settle(remembered.subject, before, memory)
        return True

    def choose(self, memory: str) -> None:
        """Decide for one side."""
        subject = self.memories[memory].subject
        topic = self.topics[subject]
        before = list(topic.said)
        topic.said = self.said_for(memory)
        topic.chosen = memory
        self._settle(subject, before, memory)

    def merge(self, memory: str, others: set[str]) -> None:
        """Decide that others say the same."""
        subject = self.memories[memory].subject
        topic = self.topics[subject]
        before, meaning = list(topic.said), topic.meaning(self.memories[memory].text)
        for other in [s for s in before if s.memory in others]:
            if topic.meaning(other.text) != meaning:
                topic.same[topic.meaning(other.text)] = meaning
            topic.said.remove(other)
            topic.said.append(replace(other, memory=memory))
        self._settle(subject, before, memory)

    def keep_all(self, subject: str) -> None:
        """Decide that all sides hold."""
        self.topics[subject].keeps_all = True
        self.settle(subject)

    def settle(self, subject: str) -> None:
        """Give every memory of a subject the state that the rule says."""
        topic = self.topics[subject]
        claims = [
            StoredClaim(
                s.speaker, s.agent, Channel.AGENT, s.memory, s.text, s.confidence, s.time_ms, s.order, 1
            )
            for s in topic.said
        ]
        standings = settle(claims, self.policy, chosen=topic.chosen, keep_all=topic.keeps_all)
        for memory, standing in standings.items():
            self.memories[memory].state = standing.state

    # -- in common

    def _settled(self, subject: str, before: list[Said], new: Said, expire_ms: int) -> tuple[Decision, str]:
        is_new = new.memory not in self.memories
        if is_new:
            self._remember(new.memory, subject, new, expire_ms)
        self._settle(subject, before, new.memory)
        return Decision.STORED if is_new else Decision.CORROBORATED, new.memory

    def _remember(self, memory: str, subject: str, new: Said, expire_ms: int) -> None:
        remembered = Remembered(subject, new.text, MemoryState.SUPERSEDED, new.confidence, expire_ms)
        remembered.ever_said[new.speaker, new.order] = new
        self.memories[memory] = remembered

    def _settle(self, subject: str, before: list[Said], by: str) -> None:
        """Supersede what lost its last statement, and settle the rest."""
        topic = self.topics[subject]
        for memory in {s.memory for s in before} - {s.memory for s in topic.said}:
            self.memories[memory].state = MemoryState.SUPERSEDED
            if by and topic.chosen == memory:
                topic.chosen = ""
        for said in topic.said:
            self.memories[said.memory].ever_said[said.speaker, said.order] = said
        self.settle(subject)

    def _next(self) -> int:
        self._order += 1
        return self._order


def _is_news(held: Said, new: Said, is_timed: bool) -> bool:
    if new.time_ms < held.time_ms:
        return False
    return new.confidence != held.confidence or (is_timed and new.time_ms > held.time_ms)
