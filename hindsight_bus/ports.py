"""What the application needs from outside: the change log, views, embedders, time and ids.

Implementations live in ``adapters``; one contract suite under ``tests/contract`` runs against every adapter of a port.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain import temporal
from hindsight_bus.domain.events import Entry, Event
from hindsight_bus.domain.expense import ModelUsage as ModelUsage
from hindsight_bus.domain.groups import (
    Claim,
    DeadLetter,
    EventId,
    GroupProgress,
    GroupRecord,
    Settlement,
)
from hindsight_bus.domain.memory import Head, MemoryState, Transition, Vector, Version
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.policy import PolicyRecord, RankingWeights, RecencyShape
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.query import Filter, SearchChannel
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
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.domain.tasks import Insights, Reflection, Task, TaskSteps
from hindsight_bus.domain.trajectory import Case
from hindsight_bus.domain.values import Storable, Value, field

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


# --- the change log ------------------------------------------------------------------------------------------------


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

    def wakeups(self) -> AsyncIterator[tuple[int, int]]:
        """Yield (partition, revision) soon after a commit; revision 0: there may be news, nobody knows up to where.

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


# --- consumer groups -----------------------------------------------------------------------------------------------


class Span(Value):
    """A run of the log after a group's cursor, and the events in it that the group's filter wants."""

    after: int
    """Revision of the cursor that it follows."""
    upto: Position
    """Where the cursor goes."""
    events: tuple[EventId, ...]
    """In order."""
    owners: tuple[str, ...] = ()
    """Ordered groups: the owner of each event, hexadecimal digits."""
    limit: int = 10_000
    """Events pending in the partition at most."""


class GroupRefused(Exception):
    """A group is not in the state that the call assumed; nothing was changed. Never leaves the application."""


class GroupGone(GroupRefused):
    """The group was removed, or never was."""


class CursorMoved(GroupRefused):
    """Another member has moved the cursor; ``position`` is where it is now."""

    def __init__(self, position: Position) -> None:
        super().__init__(f"the cursor is at revision {position.revision}")
        self.position = position


class PartitionHeld(GroupRefused):
    """Another member holds this partition of the ordered group."""


class GroupFull(GroupRefused):
    """As many events as may be are pending in the partition."""


class LogChanged(GroupRefused):
    """The log does not hold what the caller has read of it: it was lost or restored since."""


class Groups(Protocol):
    """Where consumer groups stand. All state of a group in a partition changes atomically.

    Constraints: a delivery MUST be settled by the member that it was given to, under its number, and by nobody else;
    every event of a span MUST be given out again until it is settled or a dead letter; only the newest dead letters may
    be kept, and dropped ones MUST be counted; in an ordered group no event
    MUST be given out before the one before it of the same owner is settled. Errors are those of ``MemoryLog``.
    """

    async def create(self, group: GroupRecord) -> GroupRecord:
        """Create a group unless there is one of that tenant and name; return the one there is."""
        ...

    async def find(self, tenant: str, name: str) -> GroupRecord | None:
        """Return a group."""
        ...

    async def listed(self) -> list[GroupRecord]:
        """Return the groups of all tenants."""
        ...

    async def remove(self, group: GroupRecord, *, only_expired: bool = False) -> bool:
        """Remove a group, or only if its lifetime is over; tell whether it was there. ``drop`` its state then."""
        ...

    async def join(self, group: GroupRecord, member: str, ttl_ms: int) -> list[str]:
        """Note that a member is there for ``ttl_ms``, and that the group is in use; return all members, sorted.

        Raises ``GroupGone``.
        """
        ...

    async def leave(self, group: GroupRecord, member: str) -> None:
        """Strike a member off."""
        ...

    async def members(self, group: GroupRecord, now_ms: int) -> list[str]:
        """Return the members that are there, sorted."""
        ...

    async def begin(self, group: GroupRecord, start: Position) -> Position:
        """Start in a partition unless the group has; return its cursor."""
        ...

    async def hold(self, group: GroupRecord, partition: int, member: str) -> None:
        """Hold a partition of an ordered group for its lease; raise ``PartitionHeld``.

        Whoever had events of another holder, whose lease must have run out, has them no more.
        """
        ...

    async def take(self, group: GroupRecord, member: str, span: Span) -> dict[int, int]:
        """Give events to a member and move the cursor: (place in the span -> number of the delivery).

        In an ordered group the others wait behind an event of their owner. Raises ``GroupGone``, ``CursorMoved``,
        ``PartitionHeld``, ``GroupFull`` or ``LogChanged``.
        """
        ...

    async def claim(self, group: GroupRecord, partition: int, member: str, limit: int) -> Claim:
        """Give a member events that are due again; those out of attempts become dead letters instead.

        Raises ``GroupGone`` or ``PartitionHeld``.
        """
        ...

    async def settle(
        self, group: GroupRecord, partition: int, member: str, settlements: Sequence[Settlement]
    ) -> list[bool]:
        """Settle deliveries, in order; False where the member has it no more. A retry out of attempts rejects."""
        ...

    async def release(self, group: GroupRecord, partition: int, member: str) -> None:
        """Give back whatever a member has; it is due at once and does not count as an attempt."""
        ...

    async def yield_hold(self, group: GroupRecord, partition: int, member: str) -> bool:
        """Let a partition of an ordered group go, unless the member still has events of it; tell whether."""
        ...

    async def seek(self, group: GroupRecord, position: Position) -> None:
        """Go on from another position: nothing is pending any more, deliveries under way are stale."""
        ...

    async def progress(self, group_id: str, partition: int) -> GroupProgress:
        """Tell where a group stands in a partition; raise ``GroupGone``."""
        ...

    async def begun(self, partition: int) -> list[str]:
        """Return the ids of all groups that have state in a partition, sorted."""
        ...

    async def drop(self, group_id: str, partition: int) -> None:
        """Remove the state of a group from a partition."""
        ...

    async def dead_letters(
        self, group: GroupRecord, partition: int, after: int, limit: int
    ) -> list[DeadLetter]:
        """Return dead letters with a number above ``after``, in order."""
        ...

    async def redrive(self, group: GroupRecord, partition: int, sequences: Sequence[int]) -> int:
        """Give dead letters another run of attempts, outside of any order; return how many there were."""
        ...


# --- views ---------------------------------------------------------------------------------------------------------

Vectors = NDArray[np.float32]


class Row(Value):
    """What a view knows of one memory: enough to filter, score and match it."""

    memory_id: str
    create_revision: int
    create_time_ms: int
    revision: int
    """Revision of the last change that the row reflects (``indexed`` not counted)."""
    state: MemoryState
    effective_confidence: float
    version: Version
    """Current version."""
    agents: tuple[str, ...] = ()
    """Agents that claim it, or that wrote it where it has no claims."""
    vector: bytes | None = None
    """float16, shape (d,), of the current version; None = pending."""
    retrieved: int = 0
    """How often it was given to an agent, as reported."""
    used: int = 0
    """How often an answer used it, as reported."""
    superseded_by: str = ""
    """Id of the memory that replaced it."""
    pieces: bytes = b""
    """float16, shape (n, d), of the pieces of a long text; it is as near to a query as the nearest of them."""


class ViewQuery(Value):
    """One search against one view."""

    text: str
    vector: Vectors | None
    """float32, shape (d,), L2-normalised."""
    filter: Filter
    top_k: int
    now_ms: int
    weights: RankingWeights
    recency_half_life_days: float
    recency_shape: RecencyShape = RecencyShape.EXPONENTIAL
    spans: tuple[temporal.Span, ...] = ()
    """Event times that the query names."""
    edge: temporal.Edge | None = None
    """The query asks for the first or the last conversation."""
    without: frozenset[SearchChannel] = frozenset()
    """Channels that must not find or score anything."""
    language: str = "und"
    """Language of the text; see ``domain.language.detect``."""
    among: int = 0
    """How many memories are asked at once, over all namespaces."""
    is_foreign: bool = False
    """No memory of any of them is in the query's language, so that cosines are of another scale."""
    pinned_apart: int = 0
    """How many pinned memories that match to add behind the hits, whatever the query; 0 = they are hits like others."""


class Candidate(Value):
    """One memory found by a view, scored."""

    memory_id: str
    create_revision: int
    score: float
    relevance: float
    recency: float
    importance: float
    dense: float | None
    lexical: float | None
    subject: float | None
    subject_key: str
    """Subject of the memory, for showing one subject once over shared and private namespaces; may be empty."""
    contested: bool
    temporal: float | None = None
    """0 to 1: how well its event time fits what the query names; None where it does not."""
    neighbours: float | None = None
    """How much its neighbours in a conversation add to its strength; None where they add nothing."""
    row: Row | None = None
    """What the view knows of the memory, so that it need not be read again; None: nothing to rely on."""


class ViewStats(Value):
    """Counts over a view's rows."""

    by_state: Mapping[str, int]
    by_type: Mapping[str, int]
    """Live ones only."""
    pending_vectors: int
    """Live ones only."""


class NamespaceView(Protocol):
    """An in-memory index over one namespace. Not thread-safe: one thread at a time calls it.

    Constraints: ``upsert`` MUST leave the view equal to one that is built afresh from the same rows, whatever the
    order; MUST NOT keep anything that only it knows.
    """

    @property
    def size_bytes(self) -> int:
        """Estimated memory held."""
        ...

    @property
    def dimension(self) -> int:
        """Dimension of the vectors held; 0 before the first one."""
        ...

    def __len__(self) -> int: ...

    def get(self, memory_id: str) -> Row | None:
        """Return the row of a memory."""
        ...

    def upsert(self, rows: Iterable[Row]) -> None:
        """Insert or replace rows by memory id."""
        ...

    def remove(self, memory_ids: Iterable[str]) -> None:
        """Drop rows; unknown ids are ignored."""
        ...

    def search(self, queries: Sequence[ViewQuery]) -> list[list[Candidate]]:
        """Answer queries, best first, each at most its ``top_k``, and behind those its pinned memories."""
        ...

    def nearest(self, vector: Vectors, k: int, filter: Filter) -> list[tuple[str, float]]:
        """Return the ``k`` memories that match whose whole texts are nearest (id, cosine), nearest first."""
        ...

    def matching(self, filter: Filter, limit: int) -> list[Row]:
        """Return at most ``limit`` rows that match, newest first."""
        ...

    def speaks(self, language: str) -> bool:
        """Tell whether any memory is in a language; may be called from any thread."""
        ...

    def subjects(self) -> Mapping[str, str]:
        """Return known surface forms (subjects' last parts and aliases, folded) -> subject, of live memories."""
        ...

    def has_pending_vectors(self, revision: int) -> bool:
        """Tell whether a live memory made at or before ``revision`` has no vector yet."""
        ...

    def stats(self) -> ViewStats:
        """Count rows."""
        ...

    def digest(self) -> str:
        """Return a hash over ids, columns, vectors and terms; equal views have equal digests."""
        ...


# --- embedding -----------------------------------------------------------------------------------------------------


class Embedder(Protocol):
    """Turns text into vectors. No call blocks the event loop."""

    @property
    def profile(self) -> str:
        """Name of the embedding profile, for example ``e5``; stored with every vector."""
        ...

    @property
    def dimension(self) -> int:
        """Dimension of its vectors; 0 while unknown (a remote model before its first answer)."""
        ...

    @property
    def closeness(self) -> Closeness:
        """From which cosines two statements are close enough to be suspected of contradiction."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32, shape (n, d), L2-normalised; raise ``EmbedderUnavailable``. Long texts are cut and pooled."""
        ...

    async def embed_pieces(self, texts: Sequence[str]) -> list[Vectors]:
        """Return for each text float32, shape (1 + n, d): its vector as ``embed_passages`` has it, then its n pieces'.

        n is 0 for a text that one vector can stand for, and at most ``domain.pieces.MOST_PIECES``.
        """
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return float32, shape (d,), L2-normalised; raise ``EmbedderUnavailable``."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...


# --- language models -----------------------------------------------------------------------------------------------

JsonObject = Mapping[str, Any]


class ModelRequest(Value):
    """One question to a language model; the answer is an object of a JSON schema."""

    purpose: str
    """What it is for: ``reflect``, ``extract``, ``judge``, ...; names the schema and labels the metrics."""
    version: int
    """Of the prompt; grows when its words change."""
    instructions: str
    """The system prompt. Nothing that others wrote goes in here."""
    material: str
    """What it is about, as data that cannot pose as instructions: see ``domain.fencing``."""
    schema: JsonObject
    """JSON Schema (2020-12) of an object. For strict providers: ``additionalProperties: false``, all is required."""
    namespace: Namespace
    """Whose tokens it spends."""
    timeout_s: float = 25.0
    """Seconds for everything: every provider, every repetition."""
    max_tokens: int = 4096
    """Of the answer."""


class ModelAnswer(Value):
    """What came of a question."""

    value: JsonObject | None
    """An object that satisfies the schema. None = no model gave one: take your default, and mark it as one."""
    model: str = ""
    """``<provider>/<model>`` that answered; empty where none did."""
    usage: ModelUsage = field(default_factory=ModelUsage)
    """Of this question alone, attempts that came to nothing included; nothing where the cache answered."""
    is_cached: bool = False
    problems: tuple[str, ...] = ()
    """What went wrong on the way, for people: provider and kind of failure, never content."""


class ModelStatus(Value):
    """How a model is."""

    name: str
    """``<provider>/<model>``."""
    base_url: str
    mode: str
    """What it is held to: ``json_schema``, ``json_object`` or ``text``."""
    problem: str
    """Why the last call to it failed; empty if it did not, or there was none."""
    pause_s: float
    """For how long it is left alone; 0 = it may be asked."""


class LanguageModel(Protocol):
    """Answers questions by schema. No call blocks the event loop.

    Constraints: MUST NOT raise for anything that a provider does or fails to do; MUST be done within ``timeout_s``; a
    ``value`` MUST satisfy the schema; an equal request MAY be answered from a cache.
    """

    @property
    def names(self) -> Sequence[str]:
        """``<provider>/<model>``, preferred first; empty: none is configured, no question is worth asking."""
        ...

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask; ``ValueError`` only for a request whose schema is no JSON Schema."""
        ...

    async def statuses(self, *, probe: bool) -> Sequence[ModelStatus]:
        """Return how each model is, preferred first; ``probe`` asks each one something small before."""
        ...

    async def spent(self, namespace: Namespace) -> ModelUsage:
        """Return what questions for a namespace have taken so far; raise ``StoreUnavailable``."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class ModelLedger(Protocol):
    """What is remembered of questions to models, by namespace. Unlogged; errors are those of ``MemoryLog``."""

    async def recall(self, namespace: Namespace, key: str) -> bytes | None:
        """Return what was remembered under a key, so long as it lasts."""
        ...

    async def remember(self, namespace: Namespace, key: str, answer: bytes) -> None:
        """Remember an answer for a day at least and two at most."""
        ...

    async def charge(self, namespace: Namespace, usage: ModelUsage) -> None:
        """Add to what a namespace has spent."""
        ...

    async def spent(self, namespace: Namespace) -> ModelUsage:
        """Return what a namespace has spent in all."""
        ...


# --- reflecting ----------------------------------------------------------------------------------------------------


class Reflector(Protocol):
    """Makes lessons of what happened in a task. No call blocks the event loop.

    Constraints: everything said MUST cite steps that exist; a failed task MUST yield a lesson; no lesson may be surer
    than the weakest step it cites. One that depends on others MUST fall back on rules rather than fail for good.
    """

    @property
    def name(self) -> str:
        """What reflects: ``rules`` or ``model``."""
        ...

    @property
    def version(self) -> int:
        """Grows when the same steps may give something else."""
        ...

    @property
    def contrasts(self) -> bool:
        """Tell whether it makes use of a task that ended otherwise."""
        ...

    async def reflect(self, case: Case) -> Insights:
        """Return what is to be learnt."""
        ...


# --- time and ids --------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Time of this node, for deadlines and intervals only; stored times are the store's."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Ids(Protocol):
    """Randomness."""

    def memory_id(self) -> str:
        """Return 32 hex digits."""
        ...

    def stamp(self) -> int:
        """Return a random number, 1 to 2**32 - 1."""
        ...
