"""What somebody wants to write, and what was worked out about it before the store is asked."""

from __future__ import annotations

from hindsight_bus.domain.derivation import Derivation
from hindsight_bus.domain.memory import Attachment, Cardinality, Channel, MemoryType
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.values import Value
from hindsight_bus.domain.vectors import StoredVector
from hindsight_bus.ports import Vectors


class WriteDraft(Value):
    """One write as decoded: well formed, but not yet judged. None = not given."""

    namespace: Namespace
    type: MemoryType
    text: str
    subject: str = ""
    value: str = ""
    cardinality: Cardinality = Cardinality.ONE
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    attributes: bytes = b""
    about: str = ""
    language: str = ""
    attachments: tuple[Attachment, ...] = ()
    vector: StoredVector | Vectors | None = None
    """Shape (d,), L2-normalised, in float16 as it is stored or in float32."""
    confidence: float | None = None
    importance: float | None = None
    explicit: bool = False
    pinned: bool = False
    event_time_ms: int = 0
    expire_time_ms: int = 0
    supersedes: tuple[ResourceName, ...] = ()
    request_id: str = ""
    channel: Channel = Channel.AGENT
    source: str = ""
    payload: str = ""
    """Digest of the whole request; the same request_id with another digest is refused."""
    conversation: str = ""
    task: str = ""


class JudgedDraft(Value):
    """A draft that has passed the gate, with what was worked out about it."""

    draft: WriteDraft
    agent: str
    policy: Policy
    language: str
    derivation: Derivation | None
    subject_key: str
    """Empty for EPISODIC."""
    statement: str

    @property
    def competes(self) -> bool:
        """Tell whether statements on its subject compete; a derived subject must have but one value for that."""
        return bool(self.draft.subject) or (self.derivation is not None and self.derivation.single_valued)

    @property
    def subject(self) -> str:
        """The subject as given, else as derived."""
        if self.draft.subject or self.derivation is None:
            return self.draft.subject
        return self.derivation.subject

    @property
    def value(self) -> str:
        """The value as given, else as derived for a subject that has but one."""
        if self.draft.value or self.derivation is None or not self.derivation.single_valued:
            return self.draft.value
        return self.derivation.value
