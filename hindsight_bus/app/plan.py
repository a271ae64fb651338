"""Putting one commit together: from changed subjects and memories to records, events and history.

A plan is filled by a use case within one attempt. Whatever it read and decided on becomes a precondition; whatever
happens to a memory becomes one event, one step of its history and one new head, so that log, history and records
never tell different stories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.tail import LogCommit, own_commit
from hindsight_bus.domain.claims import Change, claims_of
from hindsight_bus.domain.events import Event, EventKind
from hindsight_bus.domain.memory import (
    Claim,
    Head,
    Memory,
    MemoryState,
    MemoryType,
    Transition,
    Vector,
    Version,
)
from hindsight_bus.domain.names import Namespace, memory_name
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.records import Conflict, ConflictState, SubjectRecord, Usage
from hindsight_bus.domain.settling import Settled, event_kind, evidence_of, resettle
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import (
    Commit,
    Committed,
    Count,
    Delete,
    DueItem,
    Expect,
    Put,
    Record,
    Ref,
    Stored,
    TakenItem,
)

MAX_HEAD_CLAIMS = 64


class SubjectChange(Value):
    """A subject as it was, as its claims were changed, and as the rules settle it now."""

    stored: Stored[SubjectRecord] | None
    change: Change
    settled: Settled

    @classmethod
    def of(
        cls, stored: Stored[SubjectRecord] | None, change: Change, policy: Policy, *, resolved: str = ""
    ) -> SubjectChange:
        """Settle a change; ``resolved`` is the conflict that it decides."""
        return cls(stored, change, resettle(change.record, policy, resolved=resolved))

    @property
    def before(self) -> SubjectRecord | None:
        """The record as it was stored."""
        return self.stored.record if self.stored is not None else None

    def affected(self) -> set[str]:
        """Return the ids of memories whose state, conflict or claims change."""
        record = self.settled.record
        changed = {memory_id for memory_id in record.standings if self._differs(memory_id)}
        return changed | set(self.change.superseded) | {claim.memory_id for claim in self.change.claims}

    def _differs(self, memory_id: str) -> bool:
        before, after = self.before, self.settled.record
        if before is None or memory_id not in before.standings:
            return True
        state = after.standings[memory_id].state
        return (
            before.standings[memory_id].state is not state
            or (state is MemoryState.CONTESTED and before.conflict_id != after.conflict_id)
            or claims_of(before, {memory_id}) != claims_of(after, {memory_id})
        )

    def sides(self) -> set[str]:
        """Return the ids of memories whose text a conflict record needs."""
        conflict = self.settled.conflict
        return {side.memory_id for side in conflict.sides} if conflict is not None else set()

    def reason_for(self, memory_id: str) -> str:
        """Say, for people, why a memory stands where it does."""
        standings = self.settled.record.standings
        if memory_id not in standings:
            by = self.change.superseded.get(memory_id, "")
            return f"replaced by {memory_name(self.settled.record.namespace, by)}" if by else ""
        own = standings[memory_id]
        rivals = [standing.score for other, standing in standings.items() if other != memory_id]
        if own.state is MemoryState.OVERRIDDEN:
            return f"weaker: {own.score:.2f} against {max(rivals):.2f}"
        if own.state is MemoryState.CONTESTED:
            return f"too close to call: {own.score:.2f} against {max(rivals):.2f}"
        return ""


class CommitPlan:
    """One commit in the making."""

    def __init__(self, partition: int, namespace: Namespace, agent: str) -> None:
        self.partition = partition
        self.namespace = namespace
        self.agent = agent
        self.memories: dict[str, StoredMemory] = {}
        """Memories as they will be; times and revision of those that change are not known yet."""
        self.conflict: Conflict | None = None
        """The conflict that the commit opened, joined or closed last."""
        self._known: list[Version] = []
        self._expects: dict[Ref, int] = {}
        self._puts: dict[Ref, Put] = {}
        self._deletes: list[Delete] = []
        self._counts: list[Count] = []
        self._due: list[DueItem] = []
        self._events: list[Event] = []
        self._transitions: list[Transition] = []
        self._finish: TakenItem | None = None

    # -- pieces

    def expect(self, ref: Ref, revision: int) -> None:
        """Require that a record was last changed by ``revision`` (0 = absent)."""
        self._expects[ref] = revision

    def put(self, ref: Ref, record: Record, ttl_ms: int = 0) -> None:
        """Write a record."""
        self._puts[ref] = Put(record, ttl_ms)

    def writes(self, ref: Ref) -> bool:
        """Tell whether a record is written."""
        return ref in self._puts

    def delete(self, ref: Ref, namespace: Namespace | None = None) -> None:
        """Remove a record, of the plan's namespace or of another one of its owner."""
        self._deletes.append(Delete(ref, namespace or self.namespace))

    def count(self, count: Count) -> None:
        """Require that a counter is below its limit, and count."""
        self._counts.append(count)

    def due(self, item: DueItem) -> None:
        """Queue work."""
        self._due.append(item)

    def finish(self, taken: TakenItem) -> None:
        """Complete a due item with this commit."""
        self._finish = taken

    def put_version(self, version: Version) -> None:
        """Write a version record."""
        self.put(Ref(Version, (version.memory_id, version.number)), version)

    # -- memories

    def create(self, head: Head, version: Version, vector: Vector | None, *, reason: str = "") -> None:
        """Make a memory: ``written``, and with it ``overridden`` and the like where it does not hold."""
        ref = Ref(Head, (head.memory_id,))
        self.expect(ref, 0)
        self.put(ref, head)
        self.put_version(version)
        self.memories[head.memory_id] = StoredMemory(Stored(head, 0, 0, 0, 0), version, None)
        self.tell(EventKind.WRITTEN, None, head, reason=reason)
        kind = event_kind(MemoryState.NONE, head.state)
        if kind is not None:
            self.tell(kind, None, head, reason=reason)
        if vector is not None:
            self.index(vector)

    def change(
        self,
        before: StoredMemory,
        head: Head,
        kind: EventKind,
        *,
        version: Version | None = None,
        reason: str = "",
        conflict_id: str = "",
    ) -> None:
        """Change a memory's head, and its current version where a new one is given.

        A change of standing that comes with it is told too. ``conflict_id`` names the conflict that is told of.
        """
        ref = Ref(Head, (head.memory_id,))
        self.expect(ref, before.head.revision)
        self.put(ref, head)
        if version is not None:
            self.put_version(version)
        vector = before.vector if version is None or version.number == before.version.number else None
        self.memories[head.memory_id] = StoredMemory(
            replace(before.head, record=head), version or before.version, vector
        )
        self._known.append(before.version)
        for suspicion in set(before.head.record.suspicions).difference(head.suspicions):
            self.due(DueItem(f"moot:{suspicion}", "moot", (suspicion,)))
        self.tell(kind, before.head, head, reason=reason, conflict_id=conflict_id)
        moved = event_kind(before.head.record.state, head.state)
        if moved is not None and moved is not kind:
            self.tell(moved, before.head, head, reason=reason)

    def tell(
        self,
        kind: EventKind,
        before: Stored[Head] | None,
        after: Head,
        *,
        reason: str = "",
        conflict_id: str = "",
    ) -> None:
        """Add an event and a step of history. INDEXED is no step: it changes nothing about the memory."""
        was = before.record if before is not None else None
        state_before = was.state if was is not None else MemoryState.NONE
        self._events.append(
            Event(
                kind=kind,
                namespace=after.namespace,
                memory_id=after.memory_id,
                version=after.version,
                type=after.type,
                before=after.state if kind is EventKind.INDEXED else state_before,
                after=after.state,
                confidence_before=was.effective_confidence if was is not None else 0.0,
                confidence_after=after.effective_confidence,
                version_before=was.version if was is not None else 0,
                create_time_ms=before.create_time_ms if before is not None else 0,
                create_revision=before.create_revision if before is not None else 0,
                agent=self.agent,
                reason=reason,
                conflict_id=conflict_id or after.conflict_id,
                superseded_by=after.superseded_by,
                subject_key=after.subject_key,
                agents=after.agents,
            )
        )
        if kind is not EventKind.INDEXED:
            step = Transition(
                after.memory_id, kind, state_before, after.state, after.version, self.agent, reason
            )
            self._transitions.append(step)

    def index(self, vector: Vector) -> None:
        """Give a memory of this plan its vector."""
        self.put(Ref(Vector, (vector.memory_id, vector.version, vector.profile)), vector)
        stored = replace(self.memories[vector.memory_id], vector=vector)
        self.memories[vector.memory_id] = stored
        self._known.append(stored.version)
        self.tell(EventKind.INDEXED, stored.head if stored.head.create_revision else None, stored.head.record)

    def count_use(self, head: Stored[Head], before: Stored[Usage] | None, after: Usage) -> None:
        """Write how often a memory was used, so long as it is there. It is no step of the memory's history."""
        memory = head.record
        ref = Ref(Usage, (memory.memory_id,))
        self.expect(Ref(Head, (memory.memory_id,)), head.revision)
        self.expect(ref, before.revision if before is not None else 0)
        self.put(ref, after)
        self._events.append(
            Event(
                kind=EventKind.USED,
                namespace=memory.namespace,
                memory_id=memory.memory_id,
                version=0,
                type=memory.type,
                before=memory.state,
                after=memory.state,
                confidence_before=memory.effective_confidence,
                confidence_after=memory.effective_confidence,
                agent=self.agent,
                retrieved=after.retrieved,
                used=after.used,
            )
        )

    def tell_policy(self, pattern: str) -> None:
        """Add the event that a policy changed."""
        self._tell_beside(EventKind.POLICY, "", MemoryType.EPISODIC, pattern)

    def tell_task(self, task_id: str, what: str) -> None:
        """Add the event that a task or its reflection changed; it makes the revision that others compare."""
        self._tell_beside(EventKind.TASK, task_id, MemoryType.LESSON, what)

    def tell_skill(self, skill_id: str, what: str) -> None:
        """Add the event that a skill changed, or how it does; its memory did not by this commit."""
        self._tell_beside(EventKind.SKILL, skill_id, MemoryType.PROCEDURAL, what)

    def _tell_beside(self, kind: EventKind, about: str, type: MemoryType, reason: str) -> None:
        """Add an event that no memory is changed by."""
        none = MemoryState.NONE
        event = Event(
            kind, self.namespace, about, 0, type, none, none, 0.0, 0.0, agent=self.agent, reason=reason
        )
        self._events.append(event)

    # -- subjects

    def put_subject(self, subject: SubjectChange) -> None:
        """Write a subject record under the precondition that nobody changed it meanwhile."""
        record = subject.settled.record
        ref = Ref(SubjectRecord, (record.namespace.id, record.key))
        self.expect(ref, subject.stored.revision if subject.stored is not None else 0)
        self.put(ref, record)

    def settle_others(
        self,
        subject: SubjectChange,
        memories: Mapping[str, StoredMemory],
        skip: Iterable[str],
        *,
        reason: str = "",
    ) -> None:
        """Give every affected memory of a subject its new standing, except those that the use case handles itself."""
        for memory_id in sorted(subject.affected() - set(skip)):
            stored = memories[memory_id]
            head = settled_head(stored.head.record, subject)
            kind = event_kind(stored.head.record.state, head.state)
            if kind is not None or head != stored.head.record:
                why = reason or subject.reason_for(memory_id)
                self.change(stored, head, kind or EventKind.UPDATED, reason=why)

    def put_conflict(
        self, subject: SubjectChange, known: Stored[Conflict] | None, texts: Mapping[str, str]
    ) -> None:
        """Write what becomes of the subject's conflict, if anything does."""
        change, record = subject.settled.conflict, subject.settled.record
        if change is None or (known is None and not change.is_new):
            return
        sides = tuple(replace(side, text=texts.get(side.memory_id, "")) for side in change.sides)
        if known is None:
            conflict = Conflict(
                record.namespace,
                change.conflict_id,
                record.subject,
                record.key,
                record.type,
                ConflictState.OPEN,
                sides,
                reason="statements about one subject are too close to choose between",
            )
        else:
            conflict = replace(known.record, state=change.state, sides=sides or known.record.sides)
        self.conflict = conflict
        if known is None or conflict != known.record:
            self.put(Ref(Conflict, (conflict.id,)), conflict)

    # -- the commit

    def build(self, now_ms: int, stamp: int) -> Commit:
        """Return the commit."""
        return Commit(
            partition=self.partition,
            now_ms=now_ms,
            stamp=stamp,
            expects=tuple(Expect(ref, revision) for ref, revision in self._expects.items()),
            counts=tuple(self._counts),
            puts=tuple(self._puts.values()),
            deletes=tuple(self._deletes),
            transitions=tuple(self._transitions),
            due=tuple(self._due),
            finish=self._finish,
            events=tuple(self._events),
        )

    def logged(self, commit: Commit, committed: Committed) -> LogCommit:
        """Return what the log holds of it now."""
        return own_commit(commit, committed, self._known)

    def memory_after(self, memory_id: str, committed: Committed) -> Memory:
        """Return a memory as it stands after the commit."""
        stored = self.memories[memory_id]
        memory = stored.memory
        if Ref(Head, (memory_id,)) not in self._puts:
            return memory
        created = stored.head.create_time_ms or committed.time_ms
        return replace(
            memory,
            create_time_ms=created,
            update_time_ms=committed.time_ms,
            revision=committed.position.revision,
        )

    def conflict_after(self, known: Stored[Conflict] | None, committed: Committed) -> Stored[Conflict] | None:
        """Return the plan's conflict with the times it has after the commit."""
        if self.conflict is None:
            return None
        if known is not None and known.record.id != self.conflict.id:
            known = None
        if known is not None and known.record == self.conflict:
            return known
        revision, time_ms = committed.position.revision, committed.time_ms
        created = (known.create_revision, known.create_time_ms) if known is not None else (revision, time_ms)
        return Stored(self.conflict, *created, revision, time_ms)


def settled_head(head: Head, subject: SubjectChange) -> Head:
    """Return a memory's head as its subject now stands; claims it has made so far are kept."""
    record = subject.settled.record
    live = claims_of(record, {head.memory_id})
    standing = record.standings.get(head.memory_id)
    if standing is None:
        by = subject.change.superseded.get(head.memory_id, "")
        gone = replace(head, state=MemoryState.SUPERSEDED, superseded_by=by)
        return suspected_head(gone, ())
    settled = replace(
        head,
        state=standing.state,
        effective_confidence=evidence_of(live),
        claims=_with_new_claims(head.claims, live),
        conflict_id=record.conflict_id,
        superseded_by="",
        agents=tuple(sorted({claim.agent for claim in live})),
    )
    return suspected_head(settled, head.suspicions if standing.state.is_live else ())


def suspected_head(head: Head, suspicions: tuple[str, ...]) -> Head:
    """Return a memory's head under these suspicions; the conflict of its subject is shown before any of them."""
    is_contested = head.state is MemoryState.CONTESTED
    shown = head.conflict_id if is_contested else next(iter(suspicions), "")
    return replace(head, suspicions=suspicions, conflict_id=shown)


def _with_new_claims(made: tuple[Claim, ...], live: Iterable[Claim]) -> tuple[Claim, ...]:
    merged = {(c.speaker, c.sequence): c for c in made} | {(c.speaker, c.sequence): c for c in live}
    return tuple(sorted(merged.values(), key=lambda c: c.sequence))[-MAX_HEAD_CLAIMS:]


async def copy_wordings(reader: RecordReader, plan: CommitPlan, change: Change) -> None:
    """Keep the wording of every claim that a change moves to another memory, as a version of that memory."""
    keys = [(move.before.memory_id, move.before.version) for move in change.moved]
    stored = await reader.many(plan.partition, Version, keys)
    for move, version in zip(change.moved, stored, strict=True):
        if version is not None:
            moved = replace(version.record, memory_id=move.after.memory_id, number=move.after.version)
            plan.put_version(moved)


def texts_of(memories: Mapping[str, StoredMemory]) -> dict[str, str]:
    """Return the current text of each memory."""
    return {memory_id: stored.version.text for memory_id, stored in memories.items()}
