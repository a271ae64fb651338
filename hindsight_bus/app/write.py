"""Writing memories: validate -> gate -> settle -> commit -> ack."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.outcome import Outcome, Receipts
from hindsight_bus.app.plan import CommitPlan, SubjectChange, settled_head, texts_of
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.views import Views
from hindsight_bus.domain import vectors
from hindsight_bus.domain.claims import Asserted, Assertion, assert_claim, cover, memory_with, update_claim
from hindsight_bus.domain.derivation import Derivation, derive_subject
from hindsight_bus.domain.errors import HbusError, InvalidField, NotFound, ProfileMismatch, QuotaExceeded
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.gate import admit, quota_applies
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import (
    DEFAULT_IMPORTANCE,
    Attachment,
    Cardinality,
    Channel,
    Claim,
    Decision,
    Head,
    MemoryState,
    MemoryType,
    Vector,
    Version,
)
from hindsight_bus.domain.names import Namespace, ResourceName, digest, id_for_request
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.profiles import external_dimension
from hindsight_bus.domain.records import Conflict, Fingerprint, NamespaceRecord, Receipt, SubjectRecord
from hindsight_bus.domain.statements import speaker_of, statement_key, subject_key
from hindsight_bus.ports import (
    Committed,
    Count,
    CounterFull,
    DueItem,
    Embedder,
    Ids,
    Ref,
    Stored,
    Vectors,
)

_DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class WriteDraft:
    """One write as decoded: well formed, but not yet judged. None = not given."""

    namespace: Namespace
    type: MemoryType
    text: str
    subject: str = ""
    value: str = ""
    cardinality: Cardinality = Cardinality.ONE
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    attributes: bytes = b""
    about: str = ""
    language: str = ""
    attachments: tuple[Attachment, ...] = ()
    vector: Vectors | None = None
    """float32, shape (d,), L2-normalised."""
    confidence: float | None = None
    importance: float | None = None
    explicit: bool = False
    pinned: bool = False
    event_time_ms: int = 0
    expire_time_ms: int = 0
    supersedes: tuple[ResourceName, ...] = ()
    request_id: str = ""
    channel: Channel = Channel.AGENT
    source: str = ""
    payload: str = ""
    """Digest of the whole request; the same request_id with another digest is refused."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """A draft that has passed the gate, with what was worked out about it."""

    draft: WriteDraft
    agent: str
    policy: Policy
    language: str
    derivation: Derivation | None
    subject_key: str
    """Empty for EPISODIC."""
    statement: str

    @property
    def subject(self) -> str:
        """The subject as given, else as derived."""
        if self.draft.subject or self.derivation is None:
            return self.draft.subject
        return self.derivation.subject

    @property
    def value(self) -> str:
        """The value as given, else as derived for a subject that has but one."""
        if self.draft.value or self.derivation is None or not self.derivation.single_valued:
            return self.draft.value
        return self.derivation.value


class Writer:
    """Writes memories."""

    def __init__(
        self,
        reader: RecordReader,
        committer: Committer,
        policies: PolicyBook,
        views: Views,
        served: ServedNotes,
        embedder: Embedder,
        ids: Ids,
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._policies = policies
        self._views = views
        self._served = served
        self._embedder = embedder
        self._ids = ids
        self._receipts = Receipts(reader)

    async def write(self, caller: Caller, draft: WriteDraft) -> Outcome:
        """Write one memory; the answer comes when it is durable.

        Raises:
            AgentRequired, InvalidField, SupersedesIncomplete, ProfileMismatch, RequestIdReused, SubjectFull,
            QuotaExceeded, Contended, StoreUnavailable, OutcomeUnknown.
        """
        agent = caller.require_agent()
        caller.require_channel(draft.channel)
        policy = self._policies.in_force(draft.namespace)
        verdict = admit(
            draft.text,
            type=draft.type,
            channel=draft.channel,
            policy=policy,
            subject=draft.subject,
            value=draft.value,
            explicit=draft.explicit,
        )
        if verdict.rejection is not None:
            return Outcome(verdict.rejection, None, None, verdict.reason, Positions())
        confidence = draft.channel.default_confidence if draft.confidence is None else draft.confidence
        draft = replace(draft, confidence=min(confidence, caller.ceiling))
        judged = await self._judge(draft, agent, policy)
        lock = judged.subject_key or draft.request_id or self._ids.memory_id()
        async with self._committer.locks.holding(draft.namespace.id, lock):
            return await self._committer.attempt(lambda: _Attempt(self, judged).run())

    async def write_many(self, caller: Caller, drafts: Sequence[WriteDraft]) -> list[Outcome | HbusError]:
        """Write many memories side by side, those on one subject in order; each succeeds or fails on its own."""

        async def one(draft: WriteDraft) -> Outcome | HbusError:
            try:
                return await self.write(caller, draft)
            except HbusError as error:
                return error

        return await asyncio.gather(*map(one, drafts))

    async def _judge(self, draft: WriteDraft, agent: str, policy: Policy) -> _Judged:
        language = draft.language or detect(draft.text)
        if not draft.type.has_claims:
            if draft.supersedes:
                raise InvalidField("memory.supersedes", "EPISODIC memories compete with nothing")
            return _Judged(draft, agent, policy, language, None, "", "")
        derivation = None if draft.subject else await self._derive(draft, language)
        judged = _Judged(draft, agent, policy, language, derivation, "", "")
        statement = statement_key(draft.text, judged.value)
        competes = bool(draft.subject) or (derivation is not None and derivation.single_valued)
        key = subject_key(draft.type, judged.subject if competes else "", statement)
        return replace(judged, subject_key=key, statement=statement)

    async def _derive(self, draft: WriteDraft, language: str) -> Derivation | None:
        view = await self._views.open(draft.namespace)
        known = await self._views.ask(view, lambda v: v.subjects()) if view is not None else {}
        derivation = derive_subject(
            draft.text, language, known, speaker_is_user=draft.channel is Channel.USER
        )
        concerns_owner = draft.namespace.scope == "user" and draft.about in ("", draft.namespace.owner)
        if derivation is not None and derivation.single_valued and not concerns_owner:
            return replace(derivation, single_valued=False)
        return derivation


class _Attempt:
    """One try to write: reads what it depends on, decides, commits."""

    def __init__(self, writer: Writer, judged: _Judged) -> None:
        self._reader = writer._reader
        self._committer = writer._committer
        self._served = writer._served
        self._embedder = writer._embedder
        self._receipts = writer._receipts
        self._judged = judged
        self._draft = judged.draft
        self._namespace = judged.draft.namespace
        self._partition = self._reader.partition(self._namespace)
        self._plan = CommitPlan(self._partition, self._namespace, judged.agent)
        self._now_ms = self._reader.store.now_ms()
        self._new_id = (
            id_for_request(self._namespace, judged.agent, self._draft.request_id)
            if self._draft.request_id
            else writer._ids.memory_id()
        )

    async def run(self) -> Outcome:
        """Read, decide, commit."""
        draft, judged = self._draft, self._judged
        if draft.expire_time_ms and draft.expire_time_ms <= self._now_ms:
            raise InvalidField("memory.expire_time", "must lie in the future")
        namespace, receipt, target = await self._read()
        if receipt is not None:
            return await self._receipts.replay(receipt, draft.payload)
        self._profile = self._enter_namespace(namespace)
        if not draft.type.has_claims:
            return await self._write_episode(target)
        return await self._write_claim(target, judged)  # type: ignore[arg-type]

    async def _read(
        self,
    ) -> tuple[
        Stored[NamespaceRecord] | None,
        Stored[Receipt] | None,
        Stored[SubjectRecord] | Stored[Fingerprint] | None,
    ]:
        """Read in one round trip what every write depends on."""
        space, draft = self._namespace.id, self._draft
        refs = [Ref(NamespaceRecord, (space,))]
        if draft.type.has_claims:
            self._target = Ref(SubjectRecord, (space, self._judged.subject_key))
        else:
            self._target = Ref(Fingerprint, (space, _episode_fingerprint(draft)))
        refs.append(self._target)
        if draft.request_id:
            refs.append(Receipts.ref(self._namespace, self._judged.agent, draft.request_id))
        found = await self._reader.store.read(self._partition, refs)
        return found[0], found[2] if draft.request_id else None, found[1]  # type: ignore[return-value]

    def _enter_namespace(self, stored: Stored[NamespaceRecord] | None) -> str:
        """Return the namespace's profile, making the namespace if need be."""
        vector = self._draft.vector
        if stored is None:
            profile = self._judged.policy.embedding_profile or self._embedder.profile
            dimension = external_dimension(profile) or self._embedder.dimension
            record = NamespaceRecord(self._namespace, profile, dimension)
            ref = Ref(NamespaceRecord, (self._namespace.id,))
            self._plan.expect(ref, 0)
            self._plan.put(ref, record)
        else:
            record = stored.record
        if vector is None and record.profile != self._embedder.profile:
            raise ProfileMismatch(str(self._namespace), record.profile, self._embedder.profile)
        if vector is not None and record.dimension and len(vector) != record.dimension:
            problem = (
                f"has {len(vector)} dimensions, {self._namespace} ({record.profile}) has {record.dimension}"
            )
            raise InvalidField("memory.vector", problem)
        return record.profile

    # -- EPISODIC

    async def _write_episode(self, known: Stored[Fingerprint] | Stored[SubjectRecord] | None) -> Outcome:
        if known is not None and isinstance(known.record, Fingerprint):
            return await self._nothing_new(
                Decision.DUPLICATE, known.record.memory_id, "said before, word for word"
            )
        version = self._version(self._new_id, 1)
        head = self._head(version, state=MemoryState.ACTIVE, confidence=version.confidence)
        self._plan.create(head, version, self._vector(version))
        if self._draft.event_time_ms:
            self._plan.expect(self._target, 0)
            self._plan.put(self._target, Fingerprint(self._namespace, str(self._target.key[1]), self._new_id))
        return await self._finish(Decision.STORED, self._new_id, "", None)

    # -- what has claims

    async def _write_claim(self, stored: Stored[SubjectRecord] | None, judged: _Judged) -> Outcome:
        record = stored.record if stored is not None else self._new_subject()
        joined_id = memory_with(record, judged.statement)
        joined = await self._memory(joined_id) if joined_id else None
        if joined is not None and await self._is_echo(record, judged, joined):
            return await self._nothing_new(
                Decision.ECHO, joined.head.record.memory_id, "it repeats what this agent was served"
            )
        superseded = await self._superseded_by_draft()
        asserted = self._assert(record, joined, [m.head.record for m in superseded])
        if asserted.assertion is Assertion.DUPLICATE:
            return await self._nothing_new(
                Decision.DUPLICATE, asserted.memory_id, "its speaker had said so before"
            )
        if asserted.assertion is Assertion.STALE and joined is not None:
            return await self._nothing_new(Decision.DUPLICATE, asserted.memory_id, _REASONS[Assertion.STALE])
        subjects = [SubjectChange.of(stored, asserted, judged.policy)]
        subjects += await self._covered_elsewhere(superseded, asserted.memory_id)
        return await self._settle(asserted, subjects, joined)

    def _new_subject(self) -> SubjectRecord:
        competes = bool(self._draft.subject) or (
            self._judged.derivation is not None and self._judged.derivation.single_valued
        )
        subject = self._judged.subject if competes else ""
        return SubjectRecord(self._namespace, self._judged.subject_key, subject, self._draft.type)

    def _assert(
        self, record: SubjectRecord, joined: StoredMemory | None, superseded: Sequence[Head]
    ) -> Asserted:
        draft, judged = self._draft, self._judged
        claim = Claim(
            speaker=speaker_of(draft.channel, judged.agent, self._namespace.owner),
            agent=judged.agent,
            channel=draft.channel,
            memory_id=self._new_id,
            statement=judged.statement,
            confidence=draft.confidence or 0.0,
            event_time_ms=self._event_time_ms,
            sequence=0,
            version=self._wording(joined),
            source=draft.source,
            many=draft.cardinality is Cardinality.MANY,
        )
        if superseded:
            return update_claim(record, claim, [head.memory_id for head in superseded])
        return assert_claim(record, claim, is_timed=bool(draft.event_time_ms))

    def _wording(self, joined: StoredMemory | None) -> int:
        """Return the number of the version that holds this wording: a new one only where the words differ."""
        if joined is None:
            return 1
        same = joined.version.text == self._draft.text
        return joined.version.number if same else joined.head.record.last_version + 1

    async def _is_echo(self, record: SubjectRecord, judged: _Judged, joined: StoredMemory) -> bool:
        draft = self._draft
        has_own_source = draft.channel in (Channel.USER, Channel.TOOL)
        speaker = speaker_of(draft.channel, judged.agent, self._namespace.owner)
        mine = any(c.speaker == speaker for c in record.claims if c.memory_id == joined.head.record.memory_id)
        if has_own_source or mine:
            return False
        return await self._served.repeats(judged.agent, self._namespace, judged.statement)

    # -- deliberate updates

    async def _superseded_by_draft(self) -> list[StoredMemory]:
        names = self._draft.supersedes
        found = await self._memories([name.id for name in names])
        for name in names:
            if name.id not in found or found[name.id].head.record.namespace != self._namespace:
                raise NotFound(str(name))
        for memory in found.values():
            if not memory.head.record.type.has_claims:
                raise InvalidField("memory.supersedes", f"{memory.memory.name} is EPISODIC")
        return list(found.values())

    async def _covered_elsewhere(self, superseded: Sequence[StoredMemory], by: str) -> list[SubjectChange]:
        """Cover the named memories that lie in other subjects."""
        groups: dict[str, list[str]] = {}
        for memory in superseded:
            head = memory.head.record
            if head.subject_key != self._judged.subject_key:
                groups.setdefault(head.subject_key, []).append(head.memory_id)
        keys = [(self._namespace.id, key) for key in groups]
        stored = await self._reader.many(self._partition, SubjectRecord, keys)
        return [
            SubjectChange.of(s, cover(s.record, groups[s.record.key], by), self._judged.policy)
            for s in stored
            if s is not None
        ]

    # -- settling

    async def _settle(
        self, asserted: Asserted, subjects: Sequence[SubjectChange], joined: StoredMemory | None
    ) -> Outcome:
        own, memory_id = subjects[0], asserted.memory_id
        needed = set().union(*(subject.affected() | subject.sides() for subject in subjects)) - {memory_id}
        memories = await self._memories(sorted(needed))
        if joined is not None:
            memories[memory_id] = joined
        reason = _REASONS[asserted.assertion]
        if joined is None:
            self._create(asserted, own)
        else:
            self._strengthen(asserted, own, joined, reason)
        texts = texts_of(memories) | {memory_id: self._draft.text if joined is None else joined.version.text}
        known = None
        for subject in subjects:
            self._plan.put_subject(subject)
            self._plan.settle_others(subject, memories, skip=[memory_id])
            joined_conflict = await self._reader.conflict_of(subject.settled)
            self._plan.put_conflict(subject, joined_conflict, texts)
            known = joined_conflict or known
        self._count_quota()
        decision = Decision.STORED if joined is None else Decision.CORROBORATED
        return await self._finish(decision, memory_id, reason, known)

    def _create(self, asserted: Asserted, own: SubjectChange) -> None:
        version = self._version(asserted.memory_id, 1)
        blank = self._head(version, state=MemoryState.SUPERSEDED, confidence=version.confidence)
        head = settled_head(blank, own)
        self._plan.create(head, version, self._vector(version))

    def _strengthen(self, asserted: Asserted, own: SubjectChange, joined: StoredMemory, reason: str) -> None:
        number = asserted.claim.version
        if number != joined.version.number and number > joined.head.record.last_version:
            self._plan.put_version(self._version(asserted.memory_id, number))
        head = settled_head(joined.head.record, own)
        head = replace(head, last_version=max(head.last_version, number))
        self._plan.change(joined, head, EventKind.CORROBORATED, reason=reason)

    def _count_quota(self) -> None:
        draft, judged = self._draft, self._judged
        if quota_applies(draft.type, draft.channel):
            day = self._now_ms // _DAY_MS
            key = ("writes", judged.agent, self._namespace.owner_id, str(day))
            self._plan.count(Count(key, judged.policy.daily_quota, 2 * _DAY_MS))

    # -- pieces

    @property
    def _event_time_ms(self) -> int:
        return min(self._draft.event_time_ms or self._now_ms, self._now_ms)

    def _version(self, memory_id: str, number: int) -> Version:
        draft, judged = self._draft, self._judged
        return Version(
            namespace=self._namespace,
            memory_id=memory_id,
            number=number,
            type=draft.type,
            text=draft.text,
            subject=judged.subject,
            subject_derived=not draft.subject and bool(judged.subject),
            value=judged.value,
            cardinality=draft.cardinality,
            aliases=draft.aliases,
            tags=draft.tags,
            attributes=draft.attributes,
            about=draft.about,
            language=judged.language,
            attachments=draft.attachments,
            confidence=draft.confidence or 0.0,
            importance=DEFAULT_IMPORTANCE if draft.importance is None else draft.importance,
            explicit=draft.explicit,
            pinned=draft.pinned,
            event_time_ms=self._event_time_ms,
            expire_time_ms=draft.expire_time_ms,
            supersedes=tuple(name.id for name in draft.supersedes),
            agent=judged.agent,
            channel=draft.channel,
            source=draft.source,
        )

    def _head(self, version: Version, *, state: MemoryState, confidence: float) -> Head:
        return Head(
            namespace=self._namespace,
            memory_id=version.memory_id,
            type=version.type,
            state=state,
            version=version.number,
            last_version=version.number,
            effective_confidence=confidence,
            subject_key=self._judged.subject_key,
            agents=(self._judged.agent,),
        )

    def _vector(self, version: Version) -> Vector | None:
        """Return the caller's vector, or queue the work of making one; queue what looks for contradictions."""
        number = version.number
        if self._draft.vector is None:
            self._plan.due(
                DueItem(f"embed:{version.memory_id}:{number}", "embed", (version.memory_id, number))
            )
        elif version.type.has_claims:
            self._plan.due(
                DueItem(f"suspect:{version.memory_id}:{number}", "suspect", (version.memory_id, number))
            )
        if version.expire_time_ms:
            item = DueItem(
                f"expire:{version.memory_id}", "expire", (version.memory_id,), version.expire_time_ms
            )
            self._plan.due(item)
        if self._draft.vector is None:
            return None
        return Vector(version.memory_id, number, self._profile, vectors.to_bytes(self._draft.vector))

    async def _memories(self, memory_ids: Sequence[str]) -> dict[str, StoredMemory]:
        found = await self._reader.memories(self._partition, memory_ids, self._profile) if memory_ids else []
        return {m.head.record.memory_id: m for m in found if m is not None}

    async def _memory(self, memory_id: str) -> StoredMemory | None:
        return (await self._memories([memory_id])).get(memory_id)

    # -- answers

    async def _nothing_new(self, decision: Decision, memory_id: str, reason: str) -> Outcome:
        memory = await self._memory(memory_id)
        if memory is not None:
            self._plan.memories[memory_id] = memory
        return await self._finish(decision, memory_id if memory is not None else "", reason, None)

    async def _finish(
        self, decision: Decision, memory_id: str, reason: str, known: Stored[Conflict] | None
    ) -> Outcome:
        plan, draft = self._plan, self._draft
        created = decision is Decision.STORED
        if draft.request_id:
            conflict_id = plan.conflict.id if plan.conflict is not None else ""
            receipt = Receipt(
                self._namespace, self._judged.agent, draft.request_id, draft.payload,
                decision, memory_id, conflict_id, reason,
            )  # fmt: skip
            Receipts.add(plan, receipt, for_ever=created)
        try:
            committed = await self._committer.commit(plan)
        except CounterFull:
            quota = self._judged.policy.daily_quota
            raise QuotaExceeded(quota, _DAY_MS - self._now_ms % _DAY_MS) from None
        return _outcome(plan, committed, decision, memory_id, reason, known)


_REASONS = {
    Assertion.NEW: "",
    Assertion.STALE: "its speaker has said otherwise since",
    Assertion.CORROBORATED: "an equal statement was there: its speaker is counted as support",
    Assertion.RESTATED: "its speaker had said so before, with another confidence or time",
}


def _outcome(
    plan: CommitPlan,
    committed: Committed,
    decision: Decision,
    memory_id: str,
    reason: str,
    known: Stored[Conflict] | None,
) -> Outcome:
    memory = plan.memory_after(memory_id, committed) if memory_id else None
    conflict = plan.conflict_after(known, committed)
    return Outcome(decision, memory, conflict, reason, Positions([committed.position]))


def _episode_fingerprint(draft: WriteDraft) -> str:
    """An episode said twice: equal text, event time and source. Without a time each saying is another one."""
    return digest("episode", draft.text, str(draft.event_time_ms), draft.source)
