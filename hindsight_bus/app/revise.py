"""Making new versions of memories, and moving claims with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.plan import (
    CommitPlan,
    SubjectChange,
    settled_head,
)
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.target import GONE, ChangeRequest, Target, Targets
from hindsight_bus.domain.claims import (
    Asserted,
    assert_claim,
    claims_of,
    revise_claim,
    sole_speaker,
    withdraw,
)
from hindsight_bus.domain.errors import InvalidField, WrongState
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import (
    Cardinality,
    Channel,
    Decision,
    Head,
    Version,
)
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.statements import speaker_of, statement_key, subject_key
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import Stored

CLAIM_FIELDS = frozenset({"text", "value", "subject", "cardinality", "confidence", "event_time_ms"})
"""Fields that alter what is claimed."""


class MemoryChange(Value):
    """New values by field name, as in ``WriteDraft``; the keys are the update mask."""

    fields: Mapping[str, Any]
    etag: str = ""
    request_id: str = ""
    payload: str = ""
    channel: Channel = Channel.AGENT
    source: str = ""


class Reviser:
    """Makes new versions."""

    def __init__(self, targets: Targets, policies: PolicyBook) -> None:
        self._targets = targets
        self._policies = policies

    async def update(
        self, request: ChangeRequest, change: MemoryChange, target: Target, plan: CommitPlan
    ) -> Outcome | None:
        """Return None where the change is a write by the caller."""
        head = target.head
        if head.state in GONE:
            raise WrongState(str(request.name), head.state.name, "restore it first")
        now_ms = self._targets.reader.store.now_ms()
        expires = change.fields.get("expire_time_ms", 0)
        if expires and expires <= now_ms:
            raise InvalidField("memory.expire_time", "must lie in the future")
        target = _as_claimed(target, speaker_of(change.channel, request.agent, request.namespace.owner))
        version = _revised(target.memory.version, change, request.agent, head.last_version + 1, now_ms)
        vector = change.fields.get("vector")
        if vector is not None and target.namespace.dimension and len(vector) != target.namespace.dimension:
            problem = f"has {len(vector)} dimensions, the namespace has {target.namespace.dimension}"
            raise InvalidField("memory.vector", problem)
        if not alters_claim(target.memory.version, version) or not head.subject_key:
            return await self.new_version(request, target, plan, version, EventKind.UPDATED, vector)
        return await self.revise(request, target, plan, version, EventKind.UPDATED, vector)

    async def new_version(
        self,
        request: ChangeRequest,
        target: Target,
        plan: CommitPlan,
        version: Version,
        kind: EventKind,
        vector: Any = None,
    ) -> Outcome:
        """Make a version that claims nothing else."""
        after = replace(target.head, version=version.number, last_version=version.number)
        if not target.head.subject_key:
            after = replace(after, effective_confidence=version.confidence)
        plan.change(target.memory, after, kind, version=version)
        self._targets.vector_for(plan, target, version, vector)
        return await self._targets.finish(request, plan, after.memory_id, Decision.UPDATED)

    async def revise(
        self,
        request: ChangeRequest,
        target: Target,
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
        self._targets.vector_for(plan, target, version, vector)
        for subject in subjects:
            await self._targets.settle_rest(
                plan, subject, replace(target, memory=replace(target.memory, version=version))
            )
        return await self._targets.finish(request, plan, head.memory_id, Decision.UPDATED)

    async def _moved(
        self, request: ChangeRequest, stored: Stored[SubjectRecord], head: Head, version: Version
    ) -> tuple[list[SubjectChange], Asserted]:
        """Return the subjects that a revised claim leaves and enters (one, if it stays), the entered one last."""
        policy = self._policies.in_force(request.namespace)
        key = competing_key(version, head)
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
        entered = await self._targets.subject(request, key)
        record = entered.record if entered is not None else blank_subject(version, key)
        asserted = assert_claim(record, claim, is_timed=True)
        return [left, SubjectChange.of(entered, asserted, policy)], asserted


def competing_key(version: Version, head: Head) -> str:
    """Return the key of the subject that a version is a statement on; where it was derived, it competes as before."""
    statement = statement_key(version.text, version.value)
    if version.subject:
        key = subject_key(version.type, version.subject, statement)
        if not version.subject_derived or key == head.subject_key:
            return key
    return subject_key(version.type, "", statement)


def blank_subject(version: Version, key: str) -> SubjectRecord:
    """Return the record of a subject on which nothing was said yet."""
    competes = key == subject_key(version.type, version.subject, "")
    return SubjectRecord(version.namespace, key, version.subject if competes else "", version.type)


def _as_claimed(target: Target, speaker: str) -> Target:
    """Return the target as its only speaker claims it by now: maybe surer, or of late, than when it was worded."""
    if target.subject is None or sole_speaker(target.subject.record, target.head.memory_id) != speaker:
        return target
    [claim] = claims_of(target.subject.record, {target.head.memory_id})
    version = replace(target.memory.version, confidence=claim.confidence, event_time_ms=claim.event_time_ms)
    return replace(target, memory=replace(target.memory, version=version))


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


def alters_claim(before: Version, after: Version) -> bool:
    """Tell whether two versions of a memory claim different things."""
    return any(getattr(before, name) != getattr(after, name) for name in CLAIM_FIELDS)
