"""Finding a memory that is to be changed, and what every change of one has in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from hindsight_bus.app.commit import Committer
from hindsight_bus.app.outcome import Outcome, Receipts
from hindsight_bus.app.plan import (
    CommitPlan,
    SubjectChange,
    texts_of,
)
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.domain import vectors
from hindsight_bus.domain.errors import EtagMismatch, NotFound
from hindsight_bus.domain.memory import (
    Decision,
    Head,
    MemoryState,
    Vector,
    Version,
)
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.records import NamespaceRecord, Receipt, SubjectRecord
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import DueItem, Stored

GONE = frozenset({MemoryState.FORGOTTEN, MemoryState.SUPERSEDED, MemoryState.EXPIRED})
"""States of a memory that only a restore brings back."""


class ChangeRequest(Value):
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


class Target(Value):
    """A memory as found, with what its change depends on."""

    memory: StoredMemory
    namespace: NamespaceRecord
    subject: Stored[SubjectRecord] | None

    @property
    def head(self) -> Head:
        """Its head."""
        return self.memory.head.record


class Targets:
    """Finds memories, runs changes of them, and answers."""

    def __init__(self, reader: RecordReader, committer: Committer) -> None:
        self.reader = reader
        self._committer = committer
        self._receipts = Receipts(reader)

    async def run(
        self, request: ChangeRequest, decide: Callable[[Target, CommitPlan], Awaitable[Outcome | None]]
    ) -> Outcome | None:
        """Find the memory, check what was asked, decide and commit; again where somebody was faster."""

        async def attempt() -> Outcome | None:
            receipt = await self._receipts.find(request.namespace, request.agent, request.request_id)
            if receipt is not None:
                return await self._receipts.replay(receipt, request.payload)
            target = await self.find(request)
            memory = target.memory.memory
            if request.etag and request.etag != memory.etag:
                raise EtagMismatch(memory.name, memory.etag)
            plan = CommitPlan(self.reader.partition(request.namespace), request.namespace, request.agent)
            return await decide(target, plan)

        found = await self.find(request)
        async with self._committer.locks.holding(
            request.namespace.id, found.head.subject_key or request.name.id
        ):
            return await self._committer.attempt(attempt)

    async def find(self, request: ChangeRequest) -> Target:
        """Return the memory that is named; raise ``NotFound``."""
        namespace = await self.reader.namespace(request.namespace)
        if namespace is None:
            raise NotFound(str(request.name))
        memory = await self.reader.memory(request.namespace, request.name.id, namespace.record.profile)
        if memory is None:
            raise NotFound(str(request.name))
        subject = await self.subject(request, memory.head.record.subject_key)
        return Target(memory, namespace.record, subject)

    async def subject(self, request: ChangeRequest, key: str) -> Stored[SubjectRecord] | None:
        """Return a subject of the namespace; None for no key, or where there is none."""
        if not key:
            return None
        return await self.reader.one(
            self.reader.partition(request.namespace), SubjectRecord, request.namespace.id, key
        )

    async def settle_rest(
        self, plan: CommitPlan, subject: SubjectChange, target: Target, *, reason: str = ""
    ) -> None:
        """Write the subject, and the new standing of every memory in it but the target."""
        memory_id = target.head.memory_id
        wanted = (subject.affected() | subject.sides()) - {memory_id}
        memories = await self.reader.by_id(plan.partition, wanted, target.namespace.profile)
        plan.put_subject(subject)
        plan.settle_others(subject, memories, skip=[memory_id], reason=reason)
        texts = texts_of(memories | {memory_id: target.memory})
        plan.put_conflict(subject, await self.reader.conflict_of(subject.settled), texts)

    async def finish(
        self, request: ChangeRequest, plan: CommitPlan, memory_id: str, decision: Decision, reason: str = ""
    ) -> Outcome:
        """Commit the plan with its receipt, and answer with the memory as it stands then."""
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
            conflict = await self.reader.conflict(request.namespace, memory.head.conflict_id)
        return Outcome(decision, memory, conflict, reason, Positions([committed.position]))

    def vector_for(self, plan: CommitPlan, target: Target, version: Version, given: Any = None) -> None:
        """Give a new version its vector: the one given, that of the same text, or one that is still to be made."""
        before, memory_id = target.memory, version.memory_id
        vector: Vector | None = None
        if given is not None:
            profile = target.namespace.profile
            vector = Vector(memory_id, version.number, profile, vectors.to_bytes(given))
        elif before.vector is not None and before.version.text == version.text:
            vector = replace(before.vector, version=version.number)
        if vector is None:
            plan.due(DueItem(f"embed:{memory_id}:{version.number}", "embed", (memory_id, version.number)))
        else:
            plan.index(vector)
        if version.expire_time_ms:
            plan.due(DueItem(f"expire:{memory_id}", "expire", (memory_id,), version.expire_time_ms))
