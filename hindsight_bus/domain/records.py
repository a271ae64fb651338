"""What the store keeps besides memories: subjects, conflicts, namespaces, receipts.

A record is immutable in hand; the store adds revision and times (``ports.Stored``). Ids within a record are ids, not
resource names.
"""

from __future__ import annotations

from enum import IntEnum

from hindsight_bus.domain.memory import Claim, MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.values import Storable, Value, field


class ConflictState(IntEnum):
    """Where a conflict stands. Numbers are those of ``hbus.v1``."""

    OPEN = 1
    SUSPECTED = 2
    RESOLVED = 3
    MOOT = 4
    SETTLED = 5

    @property
    def is_open(self) -> bool:
        """Tell whether somebody still has to look at it."""
        return self in (ConflictState.OPEN, ConflictState.SUSPECTED)


class ResolutionAction(IntEnum):
    """How a conflict is decided. Numbers are those of ``hbus.v1``."""

    CHOOSE = 1
    MERGE = 2
    KEEP_ALL = 3


class Standing(Value):
    """Where one group of equal statements, that is one memory, stands within its subject."""

    state: MemoryState
    score: float
    """0 to 0.99, rounded to 1e-6."""


class SubjectRecord(Storable):
    """The claims on one subject, and how they were last settled. Key: (namespace, key).

    A memory without a subject has a record of its own under the fingerprint of its statement, so equal texts meet
    in the same compare-and-set.
    """

    namespace: Namespace
    key: str
    """Digest of type and subject, or of type and statement where there is no subject."""
    subject: str
    type: MemoryType
    sequence: int = 0
    """Counts the changes of the set; the order of arrival of claims."""
    claims: tuple[Claim, ...] = ()
    """Each speaker's latest statement that nothing covers; at most 64."""
    standings: dict[str, Standing] = field(default_factory=dict)
    """Memory id -> where its group stood when last settled."""
    chosen: str = ""
    """Id of the memory that a resolution chose."""
    keep_all: bool = False
    """A resolution set the cardinality to MANY."""
    merged: tuple[tuple[str, str], ...] = ()
    """(statement, statement that it means) pairs of MERGE resolutions."""
    conflict_id: str = ""
    """Its open conflict."""
    archived: tuple[str, ...] = ()
    """Ids of members whose state is ARCHIVED whatever the standing."""


class Resolution(Value):
    """Who decided what, and why."""

    action: ResolutionAction
    memory_id: str
    agent: str
    rationale: str
    time_ms: int


class ConflictSide(Value):
    """One side of a conflict."""

    memory_id: str
    text: str
    score: float
    speakers: tuple[str, ...]


class SuspicionVerdict(IntEnum):
    """What a model makes of two memories that look contradictory. Numbers are those of ``hbus.v1``."""

    SAME = 1
    UPDATE = 2
    CONTRADICTION = 3
    UNRELATED = 4


class Judgement(Value):
    """What a model said of a suspicion, and why. It decides nothing but that there is nothing to decide."""

    verdict: SuspicionVerdict
    reason: str
    model: str
    time_ms: int


class Conflict(Storable):
    """A contradiction that somebody should see. Key: id."""

    namespace: Namespace
    id: str
    subject: str
    subject_key: str
    """Key of the subject record in dispute; empty for a suspicion across subjects."""
    type: MemoryType
    state: ConflictState
    sides: tuple[ConflictSide, ...]
    reason: str = ""
    resolution: Resolution | None = None
    judgement: Judgement | None = None


class NamespaceRecord(Storable):
    """A namespace that exists. Key: namespace."""

    namespace: Namespace
    profile: str
    dimension: int
    """0 until known."""


class Receipt(Storable):
    """The answer to a request_id. Key: (namespace, principal, request_id)."""

    namespace: Namespace
    principal: str
    request_id: str
    payload: str
    """Digest of the request."""
    decision: int
    memory_id: str
    conflict_id: str = ""
    reason: str = ""


class Usage(Storable):
    """How often a memory was given to an agent and how often the answer used it, as reported. Key: memory_id.

    Both only grow, so the greater of two values is the newer one.
    """

    namespace: Namespace
    memory_id: str
    retrieved: int = 0
    used: int = 0


class Fingerprint(Storable):
    """That an EPISODIC memory with this text, event time and source exists. Key: (namespace, digest)."""

    namespace: Namespace
    digest: str
    memory_id: str
