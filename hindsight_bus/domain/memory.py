"""The memory and its records. Numbers of the enums are those of ``hbus.v1``; times are Unix milliseconds, 0 = unset."""

from __future__ import annotations

from enum import IntEnum

from hindsight_bus.domain.names import Namespace, digest, memory_name
from hindsight_bus.domain.values import Storable, Value


class MemoryType(IntEnum):
    """What kind of thing a memory holds."""

    EPISODIC = 1
    SEMANTIC = 2
    PROCEDURAL = 3
    LESSON = 4

    @property
    def has_claims(self) -> bool:
        """Tell whether statements of this type compete and corroborate."""
        return self is not MemoryType.EPISODIC


class MemoryState(IntEnum):
    """Where a memory stands. NONE is the state before its first commit."""

    NONE = 0
    ACTIVE = 1
    CONTESTED = 2
    OVERRIDDEN = 3
    SUPERSEDED = 4
    QUARANTINED = 5
    ARCHIVED = 6
    FORGOTTEN = 7
    EXPIRED = 8

    @property
    def is_live(self) -> bool:
        """Tell whether a memory in this state is returned by default."""
        return self in (MemoryState.ACTIVE, MemoryState.CONTESTED)


class Cardinality(IntEnum):
    """How many statements about one subject may hold at once."""

    ONE = 1
    MANY = 2


class Channel(IntEnum):
    """Through what a claim reached its agent."""

    USER = 1
    AGENT = 2
    TOOL = 3
    INGEST = 4
    REFLECTION = 5

    @property
    def default_confidence(self) -> float:
        """Confidence of a claim that states none."""
        return _DEFAULT_CONFIDENCE[self]


_DEFAULT_CONFIDENCE = {
    Channel.USER: 0.9,
    Channel.TOOL: 0.8,
    Channel.AGENT: 0.7,
    Channel.INGEST: 0.6,
    Channel.REFLECTION: 0.6,
}


class Decision(IntEnum):
    """What became of a write."""

    STORED = 1
    CORROBORATED = 2
    DUPLICATE = 3
    ECHO = 4
    REJECTED_TRIVIAL = 5
    REJECTED_TOO_LONG = 6
    QUARANTINED = 7
    UPDATED = 8


DEFAULT_IMPORTANCE = 0.5


class Attachment(Value):
    """Something outside the store that a memory points at."""

    uri: str
    media_type: str = ""
    title: str = ""


class Version(Storable):
    """Text and fields of one version of a memory; immutable. Key: (memory_id, number)."""

    namespace: Namespace
    memory_id: str
    number: int
    type: MemoryType
    text: str
    subject: str = ""
    subject_derived: bool = False
    value: str = ""
    cardinality: Cardinality = Cardinality.ONE
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    attributes: bytes = b""
    """Serialised google.protobuf.Struct; opaque to the rules."""
    about: str = ""
    language: str = ""
    attachments: tuple[Attachment, ...] = ()
    confidence: float = 0.0
    """As stated, after the agent's ceiling."""
    importance: float = DEFAULT_IMPORTANCE
    explicit: bool = False
    pinned: bool = False
    event_time_ms: int = 0
    expire_time_ms: int = 0
    supersedes: tuple[str, ...] = ()
    """Ids of the memories that it deliberately replaces."""
    agent: str = ""
    channel: Channel = Channel.AGENT
    source: str = ""
    conversation: str = ""
    """The dialogue that it was said in; those told one after the other in it are neighbours."""
    task: str = ""
    """The task that it belongs to; neighbours like those of a conversation."""

    @property
    def named_subject(self) -> str:
        """The subject that its writer named; empty where none was, or the rules derived one."""
        return "" if self.subject_derived else self.subject


class Claim(Value):
    """One speaker's statement: what ``settle`` decides on. Its key is the speaker; with MANY, and the statement."""

    speaker: str
    """``user:<owner>`` where the channel is USER, else ``agent:<name>``."""
    agent: str
    channel: Channel
    memory_id: str
    statement: str
    """Statement key: ``v:`` + normalised value, else ``t:`` + normalised text."""
    confidence: float
    event_time_ms: int
    sequence: int
    """Sequence of the subject record at which the claim was made: the order of arrival."""
    version: int
    """Number of the version record that holds this speaker's wording."""
    source: str = ""
    many: bool = False
    """The claim was made with cardinality MANY."""


class Head(Storable):
    """The mutable part of a memory, one a memory."""

    namespace: Namespace
    memory_id: str
    type: MemoryType
    state: MemoryState
    version: int
    """Number of the current version."""
    last_version: int
    """Highest version number used; corroborating wordings take numbers too without becoming current."""
    effective_confidence: float
    subject_key: str = ""
    """Key of the subject record that holds its claims; empty for EPISODIC."""
    claims: tuple[Claim, ...] = ()
    """Every claim made for it, those replaced or covered since included; newest last, at most 64."""
    conflict_id: str = ""
    """The conflict to show: its subject's while it is contested, else the oldest suspicion."""
    superseded_by: str = ""
    """Id of the memory that replaced it."""
    purge_time_ms: int = 0
    agents: tuple[str, ...] = ()
    """Agents that claim it (its writer, where it has no claims), sorted."""
    suspicions: tuple[str, ...] = ()
    """Ids of the open suspicions that it is a side of, oldest first; none unless it is live."""


class Memory(Value):
    """A memory as a reader sees it: head and one version, with the store's times and revisions."""

    head: Head
    version: Version
    create_time_ms: int
    update_time_ms: int
    revision: int
    vector_pending: bool = False

    @property
    def namespace(self) -> Namespace:
        """Namespace of the memory."""
        return self.head.namespace

    @property
    def name(self) -> str:
        """Resource name."""
        return memory_name(self.head.namespace, self.head.memory_id)

    @property
    def etag(self) -> str:
        """Etag over the client-set fields: it changes with the version."""
        return etag_of(self.head.memory_id, self.version.number)


def etag_of(record_id: str, version: int) -> str:
    """Return the etag of one version of a record."""
    return digest("etag", record_id, str(version), size=8)


class Transition(Storable):
    """One step in how a memory came to its state; appended to its history in the commit that caused it."""

    memory_id: str
    kind: int
    """Number of the EventKind."""
    before: MemoryState
    after: MemoryState
    version: int
    """Number of the version that was current after it."""
    agent: str = ""
    reason: str = ""


class Vector(Value):
    """A memory version's vector in one profile. Key: (memory_id, version, profile)."""

    memory_id: str
    version: int
    profile: str
    values: bytes
    """float16, little endian, L2-normalised before rounding, shape (d,)."""
    pieces: bytes = b""
    """The same of the pieces of a text that is too long for one vector, shape (n, d); empty where it is not."""
