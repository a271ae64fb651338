"""Writing what is claimed: statements that corroborate, replace and contest each other."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_bus.app.attempt import DAY_MS, WriteAttempt
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.plan import SubjectChange, settled_head, texts_of
from hindsight_bus.app.records import StoredMemory
from hindsight_bus.domain.claims import Asserted, Assertion, assert_claim, cover, memory_with, update_claim
from hindsight_bus.domain.errors import InvalidField, NotFound
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.gate import quota_applies
from hindsight_bus.domain.memory import Cardinality, Channel, Claim, Decision, MemoryState
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.statements import speaker_of
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import Count, Stored

_REASONS = {
    Assertion.NEW: "",
    Assertion.DUPLICATE: "its speaker had said so before",
    Assertion.STALE: "its speaker has said otherwise since",
    Assertion.CORROBORATED: "an equal statement was there: its speaker is counted as support",
    Assertion.RESTATED: "its speaker had said so before, with another confidence or time",
}


class ClaimAttempt(WriteAttempt[SubjectRecord]):
    """One try to write a memory that has claims."""

    target_kind = SubjectRecord

    def target_key(self) -> str:
        """Return the key of the subject that it is a statement on."""
        return self.judged.subject_key

    async def decide(self, target: Stored[SubjectRecord] | None) -> Outcome:
        """Settle the statement against those that are there."""
        record = target.record if target is not None else self._new_subject()
        joined = await self._joined(record)
        if joined is not None and await self._is_echo(record, joined):
            memory_id = joined.head.record.memory_id
            return await self.nothing_new(Decision.ECHO, memory_id, "it repeats what this agent was served")
        replaced = await self._replaced()
        asserted = self._assert(record, joined, replaced)
        if asserted.assertion is Assertion.DUPLICATE or (asserted.assertion is Assertion.STALE and joined):
            reason = _REASONS[asserted.assertion]
            return await self.nothing_new(Decision.DUPLICATE, asserted.memory_id, reason)
        subjects = [SubjectChange.of(target, asserted, self.judged.policy)]
        subjects += await self._covered_elsewhere(replaced, asserted.memory_id)
        return await self._settle(asserted, subjects, joined)

    def _new_subject(self) -> SubjectRecord:
        subject = self.judged.subject if self.judged.competes else ""
        return SubjectRecord(self.namespace, self.judged.subject_key, subject, self.draft.type)

    async def _joined(self, record: SubjectRecord) -> StoredMemory | None:
        """Return the memory that says the same already."""
        memory_id = memory_with(record, self.judged.statement)
        return (await self.memories([memory_id])).get(memory_id) if memory_id else None

    @property
    def _speaker(self) -> str:
        return speaker_of(self.draft.channel, self.judged.agent, self.namespace.owner)

    async def _is_echo(self, record: SubjectRecord, joined: StoredMemory) -> bool:
        """Tell whether the agent, without a source of its own, repeats what it was served."""
        memory_id = joined.head.record.memory_id
        is_its_own = any(c.speaker == self._speaker for c in record.claims if c.memory_id == memory_id)
        if is_its_own or self.draft.channel in (Channel.USER, Channel.TOOL):
            return False
        return await self.served.repeats(self.judged.agent, self.namespace, self.judged.statement)

    def _assert(
        self, record: SubjectRecord, joined: StoredMemory | None, replaced: Sequence[StoredMemory]
    ) -> Asserted:
        draft = self.draft
        claim = Claim(
            speaker=self._speaker,
            agent=self.judged.agent,
            channel=draft.channel,
            memory_id=self.new_id,
            statement=self.judged.statement,
            confidence=draft.confidence or 0.0,
            event_time_ms=self.event_time_ms,
            sequence=0,
            version=self._wording(joined),
            source=draft.source,
            many=draft.cardinality is Cardinality.MANY,
        )
        if replaced:
            return update_claim(record, claim, [memory.head.record.memory_id for memory in replaced])
        return assert_claim(record, claim, is_timed=bool(draft.event_time_ms))

    def _wording(self, joined: StoredMemory | None) -> int:
        """Return the number of the version that holds this wording: a new one only where the words differ."""
        if joined is None:
            return 1
        is_same = joined.version.text == self.draft.text
        return joined.version.number if is_same else joined.head.record.last_version + 1

    # -- deliberate updates

    async def _replaced(self) -> list[StoredMemory]:
        """Return the memories that the draft deliberately replaces."""
        names = self.draft.supersedes
        found = await self.memories([name.id for name in names])
        for name in names:
            if name.id not in found or found[name.id].head.record.namespace != self.namespace:
                raise NotFound(str(name))
            if not found[name.id].head.record.type.has_claims:
                raise InvalidField("memory.supersedes", f"{name} is EPISODIC")
        return list(found.values())

    async def _covered_elsewhere(self, replaced: Sequence[StoredMemory], by: str) -> list[SubjectChange]:
        """Cover the replaced memories that are statements on other subjects."""
        groups: dict[str, list[str]] = {}
        for memory in replaced:
            head = memory.head.record
            if head.subject_key != self.judged.subject_key:
                groups.setdefault(head.subject_key, []).append(head.memory_id)
        keys = [(self.namespace.id, key) for key in groups]
        stored = await self.reader.many(self.partition, SubjectRecord, keys)
        return [
            SubjectChange.of(s, cover(s.record, groups[s.record.key], by), self.judged.policy)
            for s in stored
            if s is not None
        ]

    # -- settling

    async def _settle(
        self, asserted: Asserted, subjects: Sequence[SubjectChange], joined: StoredMemory | None
    ) -> Outcome:
        """Give every memory of the subjects its standing, and commit."""
        memory_id = asserted.memory_id
        reason = _REASONS[asserted.assertion] or subjects[0].reason_for(memory_id)
        needed = set().union(*(subject.affected() | subject.sides() for subject in subjects)) - {memory_id}
        memories = await self.memories(sorted(needed))
        texts = texts_of(memories) | {memory_id: joined.version.text if joined else self.draft.text}
        if joined is None:
            self._create(asserted, subjects[0], reason)
        else:
            self._strengthen(asserted, subjects[0], joined, reason)
        known = None
        for subject in subjects:
            self.plan.put_subject(subject)
            self.plan.settle_others(subject, memories, skip=[memory_id])
            stored = await self.reader.conflict_of(subject.settled)
            self.plan.put_conflict(subject, stored, texts)
            known = stored or known
        self._count_quota()
        decision = Decision.STORED if joined is None else Decision.CORROBORATED
        return await self.finish(decision, memory_id, reason, known)

    def _create(self, asserted: Asserted, own: SubjectChange, reason: str) -> None:
        version = self.version(asserted.memory_id, 1)
        blank = replace(self.head(version, MemoryState.SUPERSEDED), claims=(asserted.claim,))
        head = settled_head(blank, own)
        self.plan.create(head, version, self.vector(version), reason=reason)

    def _strengthen(self, asserted: Asserted, own: SubjectChange, joined: StoredMemory, reason: str) -> None:
        number, last = asserted.claim.version, joined.head.record.last_version
        if number > last:
            self.plan.put_version(self.version(asserted.memory_id, number))
        head = replace(settled_head(joined.head.record, own), last_version=max(last, number))
        self.plan.change(joined, head, EventKind.CORROBORATED, reason=reason)

    def _count_quota(self) -> None:
        if quota_applies(self.draft.type, self.draft.channel):
            day = str(self.now_ms // DAY_MS)
            key = ("writes", self.judged.agent, self.namespace.owner_id, day)
            self.plan.count(Count(key, self.judged.policy.daily_quota, 2 * DAY_MS))
