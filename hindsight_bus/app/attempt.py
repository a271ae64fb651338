"""One try to write: reads what it depends on, decides, commits. What all kinds of memories have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from hindsight_bus.app.commit import Committer
from hindsight_bus.app.draft import JudgedDraft
from hindsight_bus.app.known import Known
from hindsight_bus.app.outcome import Outcome, Receipts
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.domain import vectors
from hindsight_bus.domain.errors import InvalidField, ProfileMismatch, QuotaExceeded
from hindsight_bus.domain.memory import DEFAULT_IMPORTANCE, Decision, Head, MemoryState, Vector, Version
from hindsight_bus.domain.names import id_for_request
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.profiles import external_dimension
from hindsight_bus.domain.records import Conflict, Fingerprint, NamespaceRecord, Receipt, SubjectRecord
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import CounterFull, DueItem, Embedder, Ids, Ref, Stored

DAY_MS = 24 * 3600 * 1000

Target = TypeVar("Target", SubjectRecord, Fingerprint)


@dataclass(frozen=True, slots=True)
class WriteTools:
    """What writing needs."""

    reader: RecordReader
    committer: Committer
    served: ServedNotes
    embedder: Embedder
    ids: Ids
    known: Known = field(default_factory=Known)


class WriteAttempt(ABC, Generic[Target]):
    """One try. A subclass names the record in which the memory meets its equals, and decides."""

    target_kind: ClassVar[type[SubjectRecord] | type[Fingerprint]]

    def __init__(self, tools: WriteTools, judged: JudgedDraft) -> None:
        self.reader = tools.reader
        self.served = tools.served
        self.judged = judged
        self.draft = judged.draft
        self.namespace = judged.draft.namespace
        self.partition = tools.reader.partition(self.namespace)
        self.plan = CommitPlan(self.partition, self.namespace, judged.agent)
        self.now_ms = tools.reader.store.now_ms()
        self.target = Ref(self.target_kind, (self.namespace.id, self.target_key()))
        self.profile = ""
        self._committer = tools.committer
        self._embedder = tools.embedder
        self._known = tools.known
        request_id = self.draft.request_id
        self.new_id = (
            id_for_request(self.namespace, judged.agent, request_id) if request_id else tools.ids.memory_id()
        )

    @abstractmethod
    def target_key(self) -> str:
        """Return the key of the record in which the memory meets its equals."""

    @abstractmethod
    async def decide(self, target: Stored[Target] | None) -> Outcome:
        """Decide on what was read, and finish."""

    async def run(self, *, may_guess: bool = False) -> Outcome:
        """Decide and commit: on a guess where this node knows enough for one, else on what the store says."""
        known = self._known.namespace(self.namespace) if may_guess and self._can_guess() else None
        if known is None:
            return await self._run_on_reading()
        self.plan.expect(Ref(NamespaceRecord, (self.namespace.id,)), known.revision)
        self.profile = self._enter_namespace(known)
        return await self.decide(None)

    def _can_guess(self) -> bool:
        """Tell whether nothing speaks against the guess that this is new: no such request, no equal to meet."""
        draft = self.draft
        return not (draft.supersedes or draft.expire_time_ms or self._known.has_met(self.target))

    async def _run_on_reading(self) -> Outcome:
        """Read in one round trip what every write depends on, then decide and commit."""
        draft = self.draft
        refs = [Ref(NamespaceRecord, (self.namespace.id,)), self.target]
        if draft.request_id:
            refs.append(Receipts.ref(self.namespace, self.judged.agent, draft.request_id))
        namespace, target, *receipt = await self.reader.store.read(self.partition, refs)
        if receipt and receipt[0] is not None:
            return await Receipts(self.reader).replay(receipt[0], draft.payload)  # type: ignore[arg-type]
        if draft.expire_time_ms and draft.expire_time_ms <= self.now_ms:
            raise InvalidField("memory.expire_time", "must lie in the future")
        if namespace is not None:
            self._known.remember(namespace)  # type: ignore[arg-type]
        if target is not None:
            self._known.meet(self.target)
        self.profile = self._enter_namespace(namespace)  # type: ignore[arg-type]
        return await self.decide(target)  # type: ignore[arg-type]

    def _enter_namespace(self, stored: Stored[NamespaceRecord] | None) -> str:
        """Return the namespace's profile, making the namespace if need be."""
        vector = self.draft.vector
        record = stored.record if stored is not None else self._new_namespace()
        if vector is not None and not record.dimension:
            record = replace(record, dimension=len(vector))
        if stored is None or record != stored.record:
            ref = Ref(NamespaceRecord, (self.namespace.id,))
            self.plan.expect(ref, stored.revision if stored is not None else 0)
            self.plan.put(ref, record)
        if vector is None and record.profile != self._embedder.profile:
            raise ProfileMismatch(str(self.namespace), record.profile, self._embedder.profile)
        if vector is not None and len(vector) != record.dimension:
            problem = (
                f"has {len(vector)} dimensions, {self.namespace} ({record.profile}) has {record.dimension}"
            )
            raise InvalidField("memory.vector", problem)
        return record.profile

    def _new_namespace(self) -> NamespaceRecord:
        profile = self.judged.policy.embedding_profile or self._embedder.profile
        return NamespaceRecord(
            self.namespace, profile, external_dimension(profile) or self._embedder.dimension
        )

    # -- pieces

    @property
    def event_time_ms(self) -> int:
        """When it was true or said: as given, but not after now."""
        return min(self.draft.event_time_ms or self.now_ms, self.now_ms)

    def version(self, memory_id: str, number: int) -> Version:
        """Return the draft as a version record."""
        draft, judged = self.draft, self.judged
        return Version(
            namespace=self.namespace,
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
            event_time_ms=self.event_time_ms,
            expire_time_ms=draft.expire_time_ms,
            supersedes=tuple(name.id for name in draft.supersedes),
            agent=judged.agent,
            channel=draft.channel,
            source=draft.source,
            conversation=draft.conversation,
            task=draft.task,
        )

    def head(self, version: Version, state: MemoryState) -> Head:
        """Return the head of a new memory."""
        return Head(
            namespace=self.namespace,
            memory_id=version.memory_id,
            type=version.type,
            state=state,
            version=version.number,
            last_version=version.number,
            effective_confidence=version.confidence,
            subject_key=self.judged.subject_key,
            agents=(self.judged.agent,),
        )

    def vector(self, version: Version) -> Vector | None:
        """Return the caller's vector, or queue the work of making one; queue the work that follows either."""
        memory_id, number = version.memory_id, version.number
        if version.expire_time_ms:
            self.plan.due(DueItem(f"expire:{memory_id}", "expire", (memory_id,), version.expire_time_ms))
        if self.draft.vector is None:
            self.plan.due(DueItem(f"embed:{memory_id}:{number}", "embed", (memory_id, number)))
            return None
        if version.type.has_claims:
            self.plan.due(DueItem(f"suspect:{memory_id}:{number}", "suspect", (memory_id, number)))
        return Vector(memory_id, number, self.profile, vectors.to_bytes(self.draft.vector))

    async def memories(self, memory_ids: Sequence[str]) -> dict[str, StoredMemory]:
        """Return the memories that are there, by id."""
        return await self.reader.by_id(self.partition, memory_ids, self.profile) if memory_ids else {}

    # -- answers

    async def nothing_new(self, decision: Decision, memory_id: str, reason: str) -> Outcome:
        """Answer a write that changes nothing; a request_id still leaves its receipt."""
        self.plan.memories |= await self.memories([memory_id])
        return await self.finish(decision, memory_id, reason)

    async def finish(
        self, decision: Decision, memory_id: str, reason: str, known: Stored[Conflict] | None = None
    ) -> Outcome:
        """Commit and answer; ``known`` is the conflict that the plan changes, as it was stored."""
        plan, draft = self.plan, self.draft
        if draft.request_id:
            conflict_id = plan.conflict.id if plan.conflict is not None else ""
            receipt = Receipt(
                self.namespace, self.judged.agent, draft.request_id, draft.payload,
                decision, memory_id, conflict_id, reason,
            )  # fmt: skip
            Receipts.add(plan, receipt, for_ever=decision is Decision.STORED)
        try:
            committed = await self._committer.commit(plan)
        except CounterFull:
            raise QuotaExceeded(self.judged.policy.daily_quota, DAY_MS - self.now_ms % DAY_MS) from None
        if plan.writes(self.target):
            self._known.meet(self.target)
        memory = plan.memory_after(memory_id, committed) if memory_id in plan.memories else None
        conflict = plan.conflict_after(known, committed)
        return Outcome(decision, memory, conflict, reason, Positions([committed.position]))
