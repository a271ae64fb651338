"""Changing memories that are there: update, forget, restore, expire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.outcome import Outcome, Receipts
from hindsight_bus.app.plan import (
    CommitPlan,
    SubjectChange,
    copy_wordings,
    settled_head,
    suspected_head,
    texts_of,
)
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.write import Writer
from hindsight_bus.domain import vectors
from hindsight_bus.domain.claims import (
    Asserted,
    assert_claim,
    claims_of,
    reinstate,
    revise_claim,
    sole_speaker,
    withdraw,
)
from hindsight_bus.domain.errors import EtagMismatch, InvalidField, NotFound, WrongState
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import (
    Cardinality,
    Channel,
    Claim,
    Decision,
    Head,
    MemoryState,
    Vector,
    Version,
)
from hindsight_bus.domain.names import Namespace, ResourceName, memory_name
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.records import NamespaceRecord, Receipt, SubjectRecord
from hindsight_bus.domain.statements import speaker_of, statement_key, subject_key
from hindsight_bus.ports import DueItem, Stored

DAY_MS = 24 * 3600 * 1000
CLAIM_FIELDS = frozenset({"text", "value", "subject", "cardinality", "confidence", "event_time_ms"})
"""Fields that alter what is claimed."""
_GONE = frozenset({MemoryState.FORGOTTEN, MemoryState.SUPERSEDED, MemoryState.EXPIRED})


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """New values by field name, as in ``WriteDraft``; the keys are the update mask."""

    fields: Mapping[str, Any]
    etag: str = ""
    request_id: str = ""
    payload: str = ""
    channel: Channel = Channel.AGENT
    source: str = ""


@dataclass(frozen=True, slots=True)
class _Request:
    """What every change has in common."""

    agent: str
    name: ResourceName
    etag: str
    request_id: str
    payload: str

    @property
    def namespace(self) -> Namespace:
        """Namespace of the memory."""
        return self.name.namespace


@dataclass(frozen=True, slots=True)
class _Target:
    """A memory as found, with what its change depends on."""

    memory: StoredMemory
    namespace: NamespaceRecord
    subject: Stored[SubjectRecord] | None

    @property
    def head(self) -> Head:
        """Its head."""
        return self.memory.head.record


class Changer:
    """Changes memories."""

    def __init__(
        self, reader: RecordReader, committer: Committer, policies: PolicyBook, writer: Writer
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._policies = policies
        self._writer = writer
        self._receipts = Receipts(reader)

    async def update(self, caller: Caller, name: ResourceName, change: MemoryChange) -> Outcome:
        """Make a new version, or, where others claim the memory too, write what the caller says instead."""
        request = _Request(caller.require_agent(), name, change.etag, change.request_id, change.payload)
        if "confidence" in change.fields and change.fields["confidence"] is not None:
            stated = min(change.fields["confidence"], caller.ceiling)
            change = replace(change, fields={**change.fields, "confidence": stated})
        caller.require_channel(change.channel)
        outcome = await self._run(request, lambda target, plan: self._update(request, change, target, plan))
        if outcome is not None:
            return outcome
        target = await self._target(request)
        return await self._writer.write(caller, _draft_of(target.memory.version, change))

    async def forget(
        self, caller: Caller, name: ResourceName, *, etag: str = "", request_id: str = "", payload: str = ""
    ) -> Outcome:
        """Forget a memory with all its claims; what it had overridden returns by the rules."""
        request = _Request(caller.require_agent(), name, etag, request_id, payload)
        outcome = await self._run(
            request, lambda target, plan: self._leave(request, target, plan, MemoryState.FORGOTTEN)
        )
        assert outcome is not None
        return outcome

    async def restore(
        self,
        caller: Caller,
        name: ResourceName,
        *,
        version: int = 0,
        etag: str = "",
        request_id: str = "",
        payload: str = "",
    ) -> Outcome:
        """Bring a memory back, or an earlier version of it.

        Raises:
            WrongState: it is there already, or every speaker has said otherwise since.
        """
        request = _Request(caller.require_agent(), name, etag, request_id, payload)
        outcome = await self._run(request, lambda target, plan: self._restore(request, target, plan, version))
        assert outcome is not None
        return outcome

    async def expire(self, namespace: Namespace, memory_id: str, now_ms: int) -> None:
        """End a memory whose time is over; one that has been given more time, or is gone, is left alone."""
        request = _Request("", ResourceName(namespace, "memories", memory_id), "", "", "")
        try:
            await self._run(request, lambda target, plan: self._expire(request, target, plan, now_ms))
        except (NotFound, WrongState):
            return

    # -- every change

    async def _run(
        self, request: _Request, decide: Callable[[_Target, CommitPlan], Awaitable[Outcome | None]]
    ) -> Outcome | None:
        """Find the memory, check what was asked, decide and commit; again where somebody was faster."""

        async def attempt() -> Outcome | None:
            receipt = await self._receipts.find(request.namespace, request.agent, request.request_id)
            if receipt is not None:
                return await self._receipts.replay(receipt, request.payload)
            target = await self._target(request)
            memory = target.memory.memory
            if request.etag and request.etag != memory.etag:
                raise EtagMismatch(memory.name, memory.etag)
            plan = CommitPlan(self._partition(request), request.namespace, request.agent)
            return await decide(target, plan)

        found = await self._target(request)
        async with self._committer.locks.holding(
            request.namespace.id, found.head.subject_key or request.name.id
        ):
            return await self._committer.attempt(attempt)

    def _partition(self, request: _Request) -> int:
        return self._reader.partition(request.namespace)

    async def _target(self, request: _Request) -> _Target:
        namespace = await self._reader.namespace(request.namespace)
        if namespace is None:
            raise NotFound(str(request.name))
        memory = await self._reader.memory(request.namespace, request.name.id, namespace.record.profile)
        if memory is None:
            raise NotFound(str(request.name))
        subject = await self._subject(request, memory.head.record.subject_key)
        return _Target(memory, namespace.record, subject)

    async def _subject(self, request: _Request, key: str) -> Stored[SubjectRecord] | None:
        if not key:
            return None
        return await self._reader.one(self._partition(request), SubjectRecord, request.namespace.id, key)

    async def _settle_rest(
        self, plan: CommitPlan, subject: SubjectChange, target: _Target, *, reason: str = ""
    ) -> None:
        """Write the subject, and the new standing of every memory in it but the target."""
        memory_id = target.head.memory_id
        wanted = sorted((subject.affected() | subject.sides()) - {memory_id})
        found = await self._reader.memories(plan.partition, wanted, target.namespace.profile)
        memories = {m.head.record.memory_id: m for m in found if m is not None}
        plan.put_subject(subject)
        plan.settle_others(subject, memories, skip=[memory_id], reason=reason)
        texts = texts_of(memories | {memory_id: target.memory})
        plan.put_conflict(subject, await self._reader.conflict_of(subject.settled), texts)

    async def _finish(
        self, request: _Request, plan: CommitPlan, memory_id: str, decision: Decision, reason: str = ""
    ) -> Outcome:
        if request.request_id:
            conflict_id = plan.conflict.id if plan.conflict is not None else ""
            receipt = Receipt(
                request.namespace, request.agent, request.request_id, request.payload,
                decision, memory_id, conflict_id, reason,
            )  # fmt: skip
            Receipts.add(plan, receipt)
        committed = await self._committer.commit(plan)
        memory = plan.memory_after(memory_id, committed)
        conflict = None
        if memory.head.conflict_id:
            conflict = await self._reader.conflict(request.namespace, memory.head.conflict_id)
        return Outcome(decision, memory, conflict, reason, Positions([committed.position]))

    # -- forget and expire

    async def _leave(
        self, request: _Request, target: _Target, plan: CommitPlan, state: MemoryState
    ) -> Outcome:
        head, policy = target.head, self._policies.in_force(request.namespace)
        if head.state in (state, MemoryState.FORGOTTEN):
            raise WrongState(str(request.name), head.state.name, "it is gone already")
        now_ms = self._reader.store.now_ms()
        purge_ms = now_ms + int(policy.purge_after_days * DAY_MS)
        after = replace(head, state=state, superseded_by="", purge_time_ms=purge_ms)
        after = suspected_head(after, ())
        kind = EventKind.FORGOTTEN if state is MemoryState.FORGOTTEN else EventKind.EXPIRED
        plan.change(target.memory, after, kind)
        plan.due(DueItem(f"purge:{head.memory_id}", "purge", (head.memory_id,), purge_ms))
        if target.subject is not None:
            subject = SubjectChange.of(
                target.subject, withdraw(target.subject.record, head.memory_id), policy
            )
            await self._settle_rest(plan, subject, target, reason=f"{request.name} is {state.name.lower()}")
        return await self._finish(request, plan, head.memory_id, Decision.UPDATED)

    async def _expire(
        self, request: _Request, target: _Target, plan: CommitPlan, now_ms: int
    ) -> Outcome | None:
        expires = target.memory.version.expire_time_ms
        if not expires or expires > now_ms or target.head.state in _GONE:
            return None
        return await self._leave(request, target, plan, MemoryState.EXPIRED)

    # -- restore

    async def _restore(self, request: _Request, target: _Target, plan: CommitPlan, number: int) -> Outcome:
        head = target.head
        is_gone = head.state in _GONE
        if not is_gone and number in (0, head.version):
            raise WrongState(str(request.name), head.state.name, "only what is gone can be restored")
        version = await self._restored_version(request, target, plan, number)
        if is_gone:
            return await self._bring_back(request, target, plan, version)
        if not head.subject_key or not _alters_claim(target.memory.version, version):
            return await self._new_version(request, target, plan, version, EventKind.RESTORED)
        outcome = await self._revise(request, target, plan, version, EventKind.RESTORED)
        if outcome is None:
            raise WrongState(
                str(request.name), head.state.name, "others claim it too: write what you mean instead"
            )
        return outcome

    async def _restored_version(
        self, request: _Request, target: _Target, plan: CommitPlan, number: int
    ) -> Version:
        """Return the version that comes back: a new one, unless it is the current one and its time is not over."""
        head, version = target.head, target.memory.version
        if number and number != head.version:
            past = await self._reader.one(plan.partition, Version, head.memory_id, number)
            if past is None:
                raise NotFound(f"{request.name} version {number}")
            version = past.record
        is_over = 0 < version.expire_time_ms <= self._reader.store.now_ms()
        if version.number == head.version and not is_over:
            return version
        expires = 0 if is_over else version.expire_time_ms
        return replace(version, number=head.last_version + 1, agent=request.agent, expire_time_ms=expires)

    async def _bring_back(
        self, request: _Request, target: _Target, plan: CommitPlan, version: Version
    ) -> Outcome:
        head, memory_id = target.head, target.head.memory_id
        is_new = version.number != head.version
        last = max(head.last_version, version.number)
        blank = replace(head, version=version.number, last_version=last, superseded_by="", purge_time_ms=0)
        if not head.subject_key:
            after = replace(blank, state=MemoryState.ACTIVE)
            subject = None
        else:
            subject = await self._reinstated(request, target, plan, version, last + 1)
            after = settled_head(replace(blank, subject_key=subject.settled.record.key), subject)
            after = replace(after, last_version=last + len(subject.change.moved))
        plan.change(target.memory, after, EventKind.RESTORED, version=version if is_new else None)
        if is_new:
            self._vector_for(plan, target, version)
        if subject is not None:
            await self._settle_rest(plan, subject, target)
        return await self._finish(request, plan, memory_id, Decision.UPDATED)

    async def _reinstated(
        self, request: _Request, target: _Target, plan: CommitPlan, version: Version, next_version: int
    ) -> SubjectChange:
        head, stored = target.head, target.subject
        key = _subject_key(version, head)
        if key != head.subject_key:
            stored = await self._subject(request, key)
        record = stored.record if stored is not None else _blank_subject(version, key)
        claims = _claims_behind(version, target.memory)
        change = reinstate(record, head.memory_id, claims, next_version=next_version)
        if head.memory_id in change.superseded:
            by = memory_name(head.namespace, change.superseded[head.memory_id])
            raise WrongState(
                str(request.name), head.state.name, f"every speaker has said otherwise since: {by}"
            )
        await copy_wordings(self._reader, plan, change)
        return SubjectChange.of(stored, change, self._policies.in_force(request.namespace))

    # -- update

    async def _update(
        self, request: _Request, change: MemoryChange, target: _Target, plan: CommitPlan
    ) -> Outcome | None:
        """Return None where the change is a write by the caller."""
        head = target.head
        if head.state in _GONE:
            raise WrongState(str(request.name), head.state.name, "restore it first")
        now_ms = self._reader.store.now_ms()
        expires = change.fields.get("expire_time_ms", 0)
        if expires and expires <= now_ms:
            raise InvalidField("memory.expire_time", "must lie in the future")
        target = _as_claimed(target, speaker_of(change.channel, request.agent, request.namespace.owner))
        version = _revised(target.memory.version, change, request.agent, head.last_version + 1, now_ms)
        vector = change.fields.get("vector")
        if vector is not None and target.namespace.dimension and len(vector) != target.namespace.dimension:
            problem = f"has {len(vector)} dimensions, the namespace has {target.namespace.dimension}"
            raise InvalidField("memory.vector", problem)
        if not _alters_claim(target.memory.version, version) or not head.subject_key:
            return await self._new_version(request, target, plan, version, EventKind.UPDATED, vector)
        return await self._revise(request, target, plan, version, EventKind.UPDATED, vector)

    async def _new_version(
        self,
        request: _Request,
        target: _Target,
        plan: CommitPlan,
        version: Version,
        kind: EventKind,
        vector: Any = None,
    ) -> Outcome:
        after = replace(target.head, version=version.number, last_version=version.number)
        if not target.head.subject_key:
            after = replace(after, effective_confidence=version.confidence)
        plan.change(target.memory, after, kind, version=version)
        self._vector_for(plan, target, version, vector)
        return await self._finish(request, plan, after.memory_id, Decision.UPDATED)

    async def _revise(
        self,
        request: _Request,
        target: _Target,
        plan: CommitPlan,
        version: Version,
        kind: EventKind,
        vector: Any = None,
    ) -> Outcome | None:
        """Make a new version that claims something else; None unless the caller is the sole claimant."""
        head, stored = target.head, target.subject
        if stored is None or not head.claims:
            return None
        speaker = speaker_of(version.channel, request.agent, request.namespace.owner)
        if sole_speaker(stored.record, head.memory_id) != speaker:
            return None
        subjects, asserted = await self._moved(request, stored, head, version)
        if asserted.memory_id != head.memory_id:
            return None
        own = subjects[-1]
        blank = replace(
            head, version=version.number, last_version=version.number, subject_key=own.settled.record.key
        )
        plan.change(target.memory, settled_head(blank, own), kind, version=version)
        self._vector_for(plan, target, version, vector)
        for subject in subjects:
            await self._settle_rest(
                plan, subject, replace(target, memory=replace(target.memory, version=version))
            )
        return await self._finish(request, plan, head.memory_id, Decision.UPDATED)

    async def _moved(
        self, request: _Request, stored: Stored[SubjectRecord], head: Head, version: Version
    ) -> tuple[list[SubjectChange], Asserted]:
        """Return the subjects that a revised claim leaves and enters (one, if it stays), the entered one last."""
        policy = self._policies.in_force(request.namespace)
        key = _subject_key(version, head)
        claim = replace(
            claims_of(stored.record, {head.memory_id})[0],
            agent=request.agent,
            channel=version.channel,
            statement=statement_key(version.text, version.value),
            confidence=version.confidence,
            event_time_ms=version.event_time_ms,
            version=version.number,
            source=version.source,
            many=version.cardinality is Cardinality.MANY,
        )
        if key == stored.record.key:
            asserted = revise_claim(stored.record, claim)
            return [SubjectChange.of(stored, asserted, policy)], asserted
        left = SubjectChange.of(stored, withdraw(stored.record, head.memory_id), policy)
        entered = await self._subject(request, key)
        record = entered.record if entered is not None else _blank_subject(version, key)
        asserted = assert_claim(record, claim, is_timed=True)
        return [left, SubjectChange.of(entered, asserted, policy)], asserted

    def _vector_for(self, plan: CommitPlan, target: _Target, version: Version, given: Any = None) -> None:
        """Give a new version its vector: the one given, that of the same text, or one that is still to be made."""
        before, memory_id = target.memory, version.memory_id
        if given is not None:
            values: bytes | None = vectors.to_bytes(given)
        else:
            same = before.vector is not None and before.version.text == version.text
            values = before.vector.values if same and before.vector is not None else None
        if values is None:
            plan.due(DueItem(f"embed:{memory_id}:{version.number}", "embed", (memory_id, version.number)))
        else:
            plan.index(Vector(memory_id, version.number, target.namespace.profile, values))
        if version.expire_time_ms:
            plan.due(DueItem(f"expire:{memory_id}", "expire", (memory_id,), version.expire_time_ms))


def _subject_key(version: Version, head: Head) -> str:
    """Return the key of the subject that a version is a statement on; where it was derived, it competes as before."""
    statement = statement_key(version.text, version.value)
    if version.subject:
        key = subject_key(version.type, version.subject, statement)
        if not version.subject_derived or key == head.subject_key:
            return key
    return subject_key(version.type, "", statement)


def _blank_subject(version: Version, key: str) -> SubjectRecord:
    competes = key == subject_key(version.type, version.subject, "")
    return SubjectRecord(version.namespace, key, version.subject if competes else "", version.type)


def _as_claimed(target: _Target, speaker: str) -> _Target:
    """Return the target as its only speaker claims it by now: maybe surer, or of late, than when it was worded."""
    if target.subject is None or sole_speaker(target.subject.record, target.head.memory_id) != speaker:
        return target
    [claim] = claims_of(target.subject.record, {target.head.memory_id})
    version = replace(target.memory.version, confidence=claim.confidence, event_time_ms=claim.event_time_ms)
    return replace(target, memory=replace(target.memory, version=version))


def _claims_behind(version: Version, memory: StoredMemory) -> Sequence[Claim]:
    """Return the claims that a version rests on: those of its statement, where the memory has changed that."""
    claims, current = memory.head.record.claims, memory.version
    statement = statement_key(version.text, version.value)
    if statement == statement_key(current.text, current.value):
        return claims
    return [claim for claim in claims if claim.statement == statement] or claims


def _revised(version: Version, change: MemoryChange, agent: str, number: int, now_ms: int) -> Version:
    fields = {name: value for name, value in change.fields.items() if name != "vector"}
    if fields.get("confidence", 0.0) is None:
        fields["confidence"] = change.channel.default_confidence
    if "event_time_ms" in fields:
        fields["event_time_ms"] = min(fields["event_time_ms"] or now_ms, now_ms)
    if "subject" in fields:
        fields["subject_derived"] = False
    said = replace(version, number=number, agent=agent, channel=change.channel, source=change.source)
    return replace(said, **fields)


def _alters_claim(before: Version, after: Version) -> bool:
    return any(getattr(before, name) != getattr(after, name) for name in CLAIM_FIELDS)


def _draft_of(version: Version, change: MemoryChange) -> WriteDraft:
    """Return what the caller would have written instead of updating somebody else's memory."""
    subject = "" if version.subject_derived else version.subject
    kept: dict[str, Any] = {
        name: getattr(version, name)
        for name in (
            "text", "value", "cardinality", "aliases", "tags", "attributes",
            "about", "language", "attachments", "importance", "explicit", "pinned",
            "conversation", "task",
        )
    }  # fmt: skip
    if "text" in change.fields and "value" not in change.fields:
        kept["value"] = ""
    return WriteDraft(
        namespace=version.namespace,
        type=version.type,
        **{**kept, "subject": subject, "confidence": None, **change.fields},
        request_id=change.request_id,
        channel=change.channel,
        source=change.source,
        payload=change.payload,
    )
