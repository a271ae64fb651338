"""The change log: records, commits and what reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Generic, Protocol, TypeVar

from hindsight_bus.domain.events import Entry, Event
from hindsight_bus.domain.memory import Head, Transition, Vector, Version
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.policy import PolicyRecord
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.records import (
    Conflict,
    Fingerprint,
    NamespaceRecord,
    Receipt,
    SubjectRecord,
    Usage,
)
from hindsight_bus.domain.reviews import ReviewItem
from hindsight_bus.domain.skills import Skill, SkillVersion
from hindsight_bus.domain.tasks import Reflection, Task, TaskSteps
from hindsight_bus.domain.values import Storable, Value

Record = (
    Head
    | Version
    | Vector
    | SubjectRecord
    | Conflict
    | NamespaceRecord
    | Receipt
    | Fingerprint
    | Usage
    | PolicyRecord
    | Task
    | TaskSteps
    | Reflection
    | Skill
    | SkillVersion
    | ReviewItem
)
R = TypeVar("R", bound=Record, covariant=True)


class Ref(Value):
    """Names one record within a partition: its class and its key parts, for example ``Ref(Head, (memory_id,))``.

    Key parts: Head (memory_id), Version (memory_id, number), Vector (memory_id, version, profile), SubjectRecord
    (namespace.id, key), Conflict (id), NamespaceRecord (namespace.id), Receipt (namespace.id, principal, request_id),
    Fingerprint (namespace.id, digest), Usage (memory_id,), PolicyRecord (tenant, pattern text),
    Task (id,), TaskSteps (task_id, number), Reflection (task_id,), Skill (id,),
    SkillVersion (skill_id, number), ReviewItem (id,).
    """

    kind: type[Record]
    key: tuple[str | int, ...]


_KEYS: Mapping[type[Record], Callable[[Any], tuple[str | int, ...]]] = {
    Head: lambda head: (head.memory_id,),
    Version: lambda version: (version.memory_id, version.number),
    Vector: lambda vector: (vector.memory_id, vector.version, vector.profile),
    SubjectRecord: lambda subject: (subject.namespace.id, subject.key),
    Conflict: lambda conflict: (conflict.id,),
    NamespaceRecord: lambda record: (record.namespace.id,),
    Receipt: lambda receipt: (receipt.namespace.id, receipt.principal, receipt.request_id),
    Fingerprint: lambda fingerprint: (fingerprint.namespace.id, fingerprint.digest),
    Usage: lambda usage: (usage.memory_id,),
    PolicyRecord: lambda policy: (policy.pattern.tenant, str(policy.pattern)),
    Task: lambda task: (task.id,),
    TaskSteps: lambda steps: (steps.task_id, steps.number),
    Reflection: lambda reflection: (reflection.task_id,),
    Skill: lambda skill: (skill.id,),
    SkillVersion: lambda version: (version.skill_id, version.number),
    ReviewItem: lambda item: (item.id,),
}


def ref_of(record: Record) -> Ref:
    """Return the name of a record."""
    return Ref(type(record), _KEYS[type(record)](record))


class Stored(Value, Generic[R]):
    """A record as the store holds it."""

    record: R
    create_revision: int
    create_time_ms: int
    revision: int
    """Revision of its last change: what ``Expect`` compares."""
    update_time_ms: int


class Expect(Value):
    """Precondition: the record was last changed by ``revision``; 0 = it does not exist."""

    ref: Ref
    revision: int


class Put(Value):
    """Write a record. ``ttl_ms`` 0 = for ever.

    Side effects by class: a new Head enters its namespace's index (by creation revision); a new NamespaceRecord enters
    the lists of its partition and its owner; a new Conflict, Task or ReviewItem enters its namespace's index of those;
    a PolicyRecord enters the list of policies.
    """

    record: Record
    ttl_ms: int = 0


class Delete(Value):
    """Remove a record, and its place in the indexes that ``Put`` entered it in."""

    ref: Ref
    namespace: Namespace


class Count(Value):
    """Precondition and mutation: the counter ``key`` is below ``limit``; then it grows by 1. It lives ``ttl_ms``."""

    key: tuple[str, ...]
    limit: int
    ttl_ms: int


class Lane(IntEnum):
    """In which queue due work waits; what waits in one lane never delays the other."""

    QUICK = 0
    """It takes what this machine takes for it: vectors, expiry, ..."""
    SLOW = 1
    """It waits for others: models."""


class DueItem(Storable):
    """Work that somebody alive must do at ``due_ms`` or later (store time; 0 = now). Same id and lane = same work."""

    id: str
    kind: str
    """`embed`, `expire`, `purge`, `resettle`, `reflect`, ..."""
    payload: tuple[str | int, ...]
    due_ms: int = 0
    lane: Lane = Lane.QUICK


class TakenItem(Value):
    """A due item that this node has leased. ``attempt`` counts from 1 and fences ``finish``."""

    item: DueItem
    partition: int
    attempt: int


class Commit(Value):
    """All or nothing: every expectation holds, then everything is written, then one log entry follows.

    At most 256 puts, deletes and transitions together. Without events no entry is appended and no revision is used
    (receipts of writes that changed nothing).
    """

    partition: int
    now_ms: int
    """The node's estimate of store time that the decision was made with; 0 = it did not matter. More than 2 s off,
    the store refuses with ``ClockSkewed``."""
    stamp: int
    """Random 32-bit number drawn by the node."""
    expects: tuple[Expect, ...] = ()
    counts: tuple[Count, ...] = ()
    puts: tuple[Put, ...] = ()
    deletes: tuple[Delete, ...] = ()
    transitions: tuple[Transition, ...] = ()
    due: tuple[DueItem, ...] = ()
    finish: TakenItem | None = None
    """Due item that this commit completes; it must still be leased under its attempt."""
    events: tuple[Event, ...] = ()


class Committed(Value):
    """The commit is durable."""

    position: Position
    time_ms: int
    previous_stamp: int
    """Stamp of the entry before it; 0 where it is the first."""


class CommitRefused(Exception):
    """A precondition did not hold; nothing was changed. Never leaves the application."""


class LeaseLost(CommitRefused):
    """The due item that the commit finishes is not leased any more: it is somebody else's now, or done."""


class Conflicted(CommitRefused):
    """An expectation failed: ``ref`` was changed by somebody else."""

    def __init__(self, ref: Ref) -> None:
        super().__init__(f"changed by another commit: {ref}")
        self.ref = ref


class CounterFull(CommitRefused):
    """A counter is at its limit."""

    def __init__(self, key: tuple[str, ...]) -> None:
        super().__init__(f"counter at its limit: {key}")
        self.key = key


class ClockSkewed(CommitRefused):
    """The node's estimate of store time was off by more than 2 s; it has been refreshed since."""


class LogEnds(Value):
    """Both ends of one partition's log. Entries ``trimmed.revision + 1`` to ``newest.revision`` are retained."""

    newest: Position
    trimmed: Position


class HistoryStep(Value):
    """A transition with the store's time and revision."""

    transition: Transition
    revision: int
    time_ms: int


class MemoryLog(Protocol):
    """The only truth: records plus one change log a partition. Partitions 0 .. ``partitions`` - 1 hold namespaces; the
    partition ``partitions`` is the control partition and holds policies.

    Constraints: every implementation MUST be linearizable per partition; MUST raise ``StoreUnavailable`` when it is
    certain that nothing was changed and ``OutcomeUnknown`` when it is not; MUST keep ``read`` safe to retry.
    """

    @property
    def partitions(self) -> int:
        """Number of namespace partitions, fixed when the store was first used."""
        ...

    @property
    def is_fsynced(self) -> bool:
        """Tell whether a commit is on disk before its acknowledgement."""
        ...

    def now_ms(self) -> int:
        """Return the node's estimate of store time, refreshed each second."""
        ...

    async def read(self, partition: int, refs: Sequence[Ref]) -> list[Stored[Record] | None]:
        """Return the records in the order of ``refs``, in one round trip; None where there is none."""
        ...

    async def commit(self, commit: Commit) -> Committed:
        """Apply a commit; raise ``CommitRefused`` when a precondition fails. Concurrent calls are pipelined."""
        ...

    async def ends(self, partition: int) -> LogEnds:
        """Return both ends of a partition's log."""
        ...

    async def entries(self, partition: int, after: int, limit: int = 1000) -> list[Entry]:
        """Return at most ``limit`` entries with a revision above ``after``, oldest first.

        A gap (``after`` below the trim floor) is the caller's to check against ``ends``.
        """
        ...

    async def trim(self, partition: int, below: int) -> None:
        """Drop entries with a revision below ``below``; remember revision and stamp of the newest one dropped."""
        ...

    def wakeups(self) -> AsyncIterator[Position]:
        """Yield the position after a commit soon after it; revision 0: there may be news, nobody knows up to where.

        Best effort, so poll as well.
        """
        ...

    async def memory_ids(
        self, namespace: Namespace, after: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return (memory id, creation revision) with a creation revision above ``after``, in order of creation.

        ``limit`` may be exceeded by the members of the last revision, so that it is never split.
        """
        ...

    async def conflict_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return (conflict id, creation revision), newest first, those with a revision below ``before`` (0 = all)."""
        ...

    async def task_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return (task id, creation revision), newest first, those with a revision below ``before`` (0 = all)."""
        ...

    async def review_ids(
        self, namespace: Namespace, before: int = 0, limit: int = 1000
    ) -> list[tuple[str, int]]:
        """Return (review item id, creation revision), newest first, those below ``before`` (0 = all)."""
        ...

    async def namespaces(self, partition: int) -> list[str]:
        """Return the ids of the partition's namespaces, sorted."""
        ...

    async def owner_namespaces(self, partition: int, owner_id: str) -> list[str]:
        """Return the ids of one owner's namespaces, sorted."""
        ...

    async def policies(self) -> list[Stored[PolicyRecord]]:
        """Return every stored policy."""
        ...

    async def history(self, partition: int, memory_id: str) -> list[HistoryStep]:
        """Return a memory's transitions, oldest first; the newest 256 are kept."""
        ...

    async def take_due(
        self, partition: int, lease_ms: int, limit: int, lane: Lane = Lane.QUICK
    ) -> list[TakenItem]:
        """Lease items of a lane that are due and not leased; each counts one more attempt. Atomic."""
        ...

    async def extend_due(self, taken: TakenItem, lease_ms: int) -> None:
        """Lease an item for ``lease_ms`` from now on, if still leased under its attempt."""
        ...

    async def finish_due(self, taken: Sequence[TakenItem]) -> None:
        """Remove items still leased under their attempt; others are left alone."""
        ...

    async def retry_due(self, taken: TakenItem, delay_ms: int) -> None:
        """Give an item back, due again after ``delay_ms``, if still leased under its attempt."""
        ...

    async def note_served(self, agent: str, served: Mapping[Namespace, Sequence[str]], now_ms: int) -> None:
        """Remember that ``agent`` was served statements (statement keys' digests); newest 4,096 for 24 h. Unlogged."""
        ...

    async def was_served(self, agent: str, namespace: Namespace, statement: str, since_ms: int) -> bool:
        """Tell whether ``agent`` was served that statement at or after ``since_ms``."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
