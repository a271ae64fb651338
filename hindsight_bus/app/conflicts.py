"""Conflicts: listing what is contradictory, suspecting it, and deciding it in the open."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping
from functools import partial

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.outcome import Receipts
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
from hindsight_bus.domain.claims import Change, choose, claims_of, cover, keep_all, merge
from hindsight_bus.domain.errors import EtagMismatch, InvalidField, NotFound, WrongState
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Claim, Decision, Head, Memory, MemoryState, etag_of
from hindsight_bus.domain.names import Namespace, ResourceName, digest
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.records import (
    Conflict,
    ConflictSide,
    ConflictState,
    Receipt,
    Resolution,
    ResolutionAction,
    SubjectRecord,
)
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import DueItem, Lane, Ref, Stored

_OPEN = frozenset({ConflictState.OPEN, ConflictState.SUSPECTED})
MAX_OPEN_SUSPICIONS = 16
"""Open suspicions of one memory at most."""


class Resolved(Value):
    """A decided conflict and the memories concerned as they stand now."""

    conflict: Stored[Conflict]
    memories: list[Memory]
    positions: Positions


class Decide(Value):
    """What somebody decides."""

    action: ResolutionAction
    memory: ResourceName | None
    rationale: str = ""
    etag: str = ""
    request_id: str = ""
    payload: str = ""


def conflict_etag(stored: Stored[Conflict]) -> str:
    """Return the etag of a conflict: it changes whenever the conflict does."""
    return etag_of(stored.record.id, stored.revision)


class Conflicts:
    """Everything about conflicts but their opening by rule, which is part of writing."""

    def __init__(
        self, reader: RecordReader, committer: Committer, policies: PolicyBook, *, is_judged: bool = False
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._policies = policies
        self._is_judged = is_judged
        """A model looks at suspicions first."""
        self._receipts = Receipts(reader)

    async def list(
        self, caller: Caller, namespace: Namespace, states: Collection[ConflictState], before: int, limit: int
    ) -> tuple[builtins.list[Stored[Conflict]], int]:
        """Return ``limit`` conflicts, newest first, made before a revision (0 = all), and where to go on.

        Fewer on the last page; more where the last one's commit has opened others too.

        Cost: O(conflicts looked at).
        """
        wanted = frozenset(states) or _OPEN
        return await self._reader.newest(
            self._reader.partition(namespace),
            Conflict,
            partial(self._reader.store.conflict_ids, namespace),
            lambda conflict: conflict.state in wanted,
            before,
            limit,
        )

    async def get(self, caller: Caller, name: ResourceName) -> Stored[Conflict]:
        """Return one conflict."""
        stored = await self._reader.conflict(name.namespace, name.id)
        if stored is None:
            raise NotFound(str(name))
        return stored

    async def resolve(self, caller: Caller, name: ResourceName, decide: Decide) -> Resolved:
        """Decide a conflict; who and why are kept.

        Raises:
            WrongState: it is closed already.
        """
        agent = caller.require_agent()
        return await self._committer.attempt(lambda: self._resolve(agent, name, decide))

    async def _resolve(self, agent: str, name: ResourceName, decide: Decide) -> Resolved:
        receipt = await self._receipts.find(name.namespace, agent, decide.request_id)
        if receipt is not None:
            return await self._replay(receipt, name, decide)
        stored = await self.get(Caller(), name)
        _check(stored, name, decide)
        case = await self._case(agent, stored)
        if stored.record.state is ConflictState.SUSPECTED and not case.is_whole:
            raise WrongState(str(name), ConflictState.MOOT.name, "a side of it is not live any more")
        decided_by = _decided_by(case, decide)
        return await _Ruling(case, decide, decided_by).commit(self._reader, self._committer, self._policies)

    async def _replay(self, receipt: Stored[Receipt], name: ResourceName, decide: Decide) -> Resolved:
        outcome = await self._receipts.replay(receipt, decide.payload)
        stored = await self.get(Caller(), name)
        case = await self._case("", stored)
        return Resolved(stored, [m.memory for m in case.memories.values()], outcome.positions)

    async def _case(self, agent: str, stored: Stored[Conflict]) -> _Case:
        conflict = stored.record
        partition = self._reader.partition(conflict.namespace)
        record = await self._reader.namespace(conflict.namespace)
        profile = record.record.profile if record is not None else ""
        sides = [side.memory_id for side in conflict.sides]
        memories = await self._reader.by_id(partition, sides, profile)
        keys = sorted({m.head.record.subject_key for m in memories.values()})
        subjects = await self._reader.many(
            partition, SubjectRecord, [(conflict.namespace.id, k) for k in keys]
        )
        return _Case(
            agent, partition, profile, stored, memories, {s.record.key: s for s in subjects if s is not None}
        )

    # -- suspicion

    async def suspect(self, one: StoredMemory, other: StoredMemory, reason: str) -> Stored[Conflict] | None:
        """Open a suspicion between two memories, unless there was one before; their states stay as they are."""
        namespace = one.head.record.namespace
        pair = sorted((one.head.record.memory_id, other.head.record.memory_id))
        conflict_id = digest("suspected", namespace.id, *pair)
        partition = self._reader.partition(namespace)
        sides = tuple(
            ConflictSide(
                m.head.record.memory_id,
                m.version.text,
                m.head.record.effective_confidence,
                _speakers(m.head.record),
            )
            for m in (one, other)
        )
        subject = one.version.subject if one.version.subject == other.version.subject else ""
        conflict = Conflict(
            namespace, conflict_id, subject, "", one.head.record.type, ConflictState.SUSPECTED, sides, reason
        )  # fmt: skip
        is_full = any(len(m.head.record.suspicions) >= MAX_OPEN_SUSPICIONS for m in (one, other))
        if is_full or await self._reader.conflict(namespace, conflict_id) is not None:
            return None
        plan = CommitPlan(partition, namespace, "")
        ref = Ref(Conflict, (conflict_id,))
        plan.expect(ref, 0)
        plan.put(ref, conflict)
        if self._is_judged:
            plan.due(DueItem(f"judge:{conflict_id}", "judge", (conflict_id,), lane=Lane.SLOW))
        for memory in (one, other):
            head = memory.head.record
            marked = suspected_head(head, (*head.suspicions, conflict_id))
            plan.change(memory, marked, EventKind.SUSPECTED, reason=reason, conflict_id=conflict_id)
        committed = await self._committer.commit(plan)
        revision, time_ms = committed.position.revision, committed.time_ms
        return Stored(conflict, revision, time_ms, revision, time_ms)

    async def close_moot(self, namespace: Namespace, conflict_id: str) -> None:
        """Close a suspicion one of whose sides is not live any more."""
        stored = await self._reader.conflict(namespace, conflict_id)
        if stored is None or stored.record.state is not ConflictState.SUSPECTED:
            return
        case = await self._case("", stored)
        marked = [m for m in case.memories.values() if conflict_id in m.head.record.suspicions]
        if len(marked) == len(stored.record.sides):
            return
        plan = CommitPlan(case.partition, namespace, "")
        ref = Ref(Conflict, (conflict_id,))
        plan.expect(ref, stored.revision)
        plan.put(ref, replace(stored.record, state=ConflictState.MOOT))
        for memory in marked:
            unmarked = without_suspicion(memory.head.record, conflict_id)
            plan.change(memory, unmarked, EventKind.UPDATED, reason="the suspicion is moot")
        await self._committer.commit(plan)


def without_suspicion(head: Head, conflict_id: str) -> Head:
    """Return a memory's head without one of its suspicions."""
    return suspected_head(head, tuple(other for other in head.suspicions if other != conflict_id))


def _speakers(head: Head) -> tuple[str, ...]:
    return tuple(sorted({claim.speaker for claim in head.claims}))


def _check(stored: Stored[Conflict], name: ResourceName, decide: Decide) -> None:
    etag = conflict_etag(stored)
    if decide.etag and decide.etag != etag:
        raise EtagMismatch(str(name), etag)
    if not stored.record.state.is_open:
        raise WrongState(str(name), stored.record.state.name, "it is closed")
    if decide.action is ResolutionAction.CHOOSE and decide.memory is None:
        raise InvalidField("memory", "CHOOSE needs the side that holds")
    sides = {side.memory_id for side in stored.record.sides}
    if decide.memory is not None and (
        decide.memory.id not in sides or decide.memory.namespace != name.namespace
    ):
        raise InvalidField("memory", "is not a side of this conflict")


class _Case(Value):
    """A conflict with everything that deciding it depends on."""

    agent: str
    partition: int
    profile: str
    conflict: Stored[Conflict]
    memories: Mapping[str, StoredMemory]
    subjects: Mapping[str, Stored[SubjectRecord]]

    @property
    def is_whole(self) -> bool:
        """Tell whether every side is still live."""
        live = {memory_id for memory_id, m in self.memories.items() if m.head.record.state.is_live}
        return live.issuperset(side.memory_id for side in self.conflict.record.sides)

    def head(self, memory_id: str) -> Head:
        """Return the head of a side."""
        return self.memories[memory_id].head.record


def _decided_by(case: _Case, decide: Decide) -> str:
    """Return the id of the side that holds, or keeps its name: the one given, else the best."""
    if decide.memory is not None:
        return decide.memory.id
    return case.conflict.record.sides[0].memory_id


def _changes(case: _Case, action: ResolutionAction, holder: str) -> dict[str, Change]:
    """Return what the decision changes, by subject key. Pure."""
    own = case.head(holder).subject_key
    others = [
        s.memory_id
        for s in case.conflict.record.sides
        if s.memory_id != holder and s.memory_id in case.memories
    ]
    foreign: dict[str, list[str]] = {}
    for memory_id in others:
        if case.head(memory_id).subject_key != own:
            foreign.setdefault(case.head(memory_id).subject_key, []).append(memory_id)
    record = case.subjects[own].record
    if action is ResolutionAction.KEEP_ALL:
        return {} if foreign else {own: keep_all(record)}
    changes = {key: cover(case.subjects[key].record, ids, holder) for key, ids in foreign.items()}
    if action is ResolutionAction.CHOOSE:
        return changes if foreign else {own: choose(record, holder)}
    claims: list[Claim] = [*claims_of(record, set(others) - {holder})]
    for key, ids in foreign.items():
        claims += claims_of(case.subjects[key].record, ids)
    merged = merge(record, holder, claims, next_version=case.head(holder).last_version + 1)
    return changes | {own: merged}


class _Ruling:
    """One decision on its way into the store."""

    def __init__(self, case: _Case, decide: Decide, holder: str) -> None:
        self._case = case
        self._decide = decide
        self._holder = holder

    async def commit(self, reader: RecordReader, committer: Committer, policies: PolicyBook) -> Resolved:
        """Put the commit together and make it."""
        case, decide = self._case, self._decide
        conflict = case.conflict.record
        policy = policies.in_force(conflict.namespace)
        plan = CommitPlan(case.partition, conflict.namespace, case.agent)
        changes = _changes(case, decide.action, self._holder)
        subjects = {
            key: SubjectChange.of(case.subjects[key], change, policy, resolved=conflict.id)
            for key, change in changes.items()
        }
        for change in changes.values():
            await copy_wordings(reader, plan, change)
        memories = await self._affected(reader, subjects.values())
        for memory_id in case.memories:
            self._tell_side(plan, memory_id, subjects, changes)
        for subject in subjects.values():
            plan.put_subject(subject)
            plan.settle_others(subject, memories, skip=case.memories)
            plan.put_conflict(subject, await reader.conflict_of(subject.settled), texts_of(memories))
        decided = self._resolution(reader.store.now_ms())
        ref = Ref(Conflict, (conflict.id,))
        plan.expect(ref, case.conflict.revision)
        plan.put(ref, decided)
        if decide.request_id:
            receipt = Receipt(
                conflict.namespace, case.agent, decide.request_id, decide.payload,
                Decision.UPDATED, self._holder, conflict.id,
            )  # fmt: skip
            Receipts.add(plan, receipt)
        committed = await committer.commit(plan)
        stored = Stored(
            decided, case.conflict.create_revision, case.conflict.create_time_ms,
            committed.position.revision, committed.time_ms,
        )  # fmt: skip
        after = [plan.memory_after(memory_id, committed) for memory_id in case.memories]
        return Resolved(stored, after, Positions([committed.position]))

    def _tell_side(
        self,
        plan: CommitPlan,
        memory_id: str,
        subjects: Mapping[str, SubjectChange],
        changes: Mapping[str, Change],
    ) -> None:
        stored = self._case.memories[memory_id]
        head = stored.head.record
        subject = subjects.get(head.subject_key)
        after = settled_head(head, subject) if subject is not None and head.state in _SETTLED else head
        after = without_suspicion(after, self._case.conflict.record.id)
        if memory_id == self._holder:
            moved = sum(len(change.moved) for change in changes.values())
            after = replace(after, last_version=after.last_version + moved)
        reason = f"{self._decide.action.name}: {self._decide.rationale}".rstrip(": ")
        plan.change(
            stored, after, EventKind.RESOLVED, reason=reason, conflict_id=self._case.conflict.record.id
        )

    def _resolution(self, now_ms: int) -> Conflict:
        decide, conflict = self._decide, self._case.conflict.record
        holder = "" if decide.action is ResolutionAction.KEEP_ALL else self._holder
        resolution = Resolution(decide.action, holder, self._case.agent, decide.rationale, now_ms)
        return replace(conflict, state=ConflictState.RESOLVED, resolution=resolution)

    async def _affected(
        self, reader: RecordReader, subjects: Collection[SubjectChange]
    ) -> dict[str, StoredMemory]:
        wanted = set().union(*(s.affected() | s.sides() for s in subjects)) - set(self._case.memories)
        others = await reader.by_id(self._case.partition, sorted(wanted), self._case.profile)
        return dict(self._case.memories) | others


_SETTLED = frozenset(
    {MemoryState.ACTIVE, MemoryState.CONTESTED, MemoryState.OVERRIDDEN, MemoryState.ARCHIVED}
)
