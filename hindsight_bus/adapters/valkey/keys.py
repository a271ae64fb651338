"""Names of keys. Every key of a partition carries its hash tag, so a partition is one slot of a cluster.

No text of a user ever stands in a key: names are hashed, so braces and globs in them mean nothing here.
"""

from __future__ import annotations

from hindsight_bus.domain.memory import Head, Vector, Version
from hindsight_bus.domain.names import Namespace, digest
from hindsight_bus.domain.policy import PolicyRecord
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
from hindsight_bus.ports import Lane, Record, Ref

META = b"hb:{p0}:meta"
"""Hash: number of partitions and schema, written once."""

_LETTERS: dict[type[Record], str] = {
    Head: "h",
    Version: "v",
    Vector: "e",
    SubjectRecord: "s",
    Conflict: "c",
    NamespaceRecord: "n",
    Receipt: "r",
    Fingerprint: "f",
    Usage: "u",
    PolicyRecord: "y",
    Task: "t",
    TaskSteps: "p",
    Reflection: "l",
    Skill: "k",
    SkillVersion: "w",
    ReviewItem: "i",
}


class PartitionKeys:
    """Keys of one partition."""

    __slots__ = ("_due", "_prefix", "_records", "channel", "ends", "log", "namespaces", "policies")

    def __init__(self, partition: int) -> None:
        self._prefix = prefix = f"hb:{{p{partition}}}:"
        self._records = {kind: f"{prefix}{letter}:" for kind, letter in _LETTERS.items()}
        self.ends = f"{prefix}ends".encode()
        self.log = f"{prefix}log".encode()
        self._due = {
            lane: (f"{prefix}due{suffix}".encode(), f"{prefix}work{suffix}".encode())
            for lane, suffix in ((Lane.QUICK, ""), (Lane.SLOW, ":slow"))
        }
        self.namespaces = f"{prefix}namespaces".encode()
        self.policies = f"{prefix}policies".encode()
        self.channel = f"{prefix}news".encode()

    def due(self, lane: Lane) -> tuple[bytes, bytes]:
        """Return the keys of the work that is due in a lane: times, items."""
        return self._due[lane]

    def record(self, ref: Ref) -> bytes:
        """Return the key of a record."""
        return f"{self._records[ref.kind]}{digest(*map(str, ref.key))}".encode()

    def memories(self, namespace: Namespace) -> bytes:
        """Return the key of a namespace's memories by creation revision."""
        return f"{self._prefix}memories:{namespace.id}".encode()

    def conflicts(self, namespace: Namespace) -> bytes:
        """Return the key of a namespace's conflicts by creation revision."""
        return f"{self._prefix}conflicts:{namespace.id}".encode()

    def reviews(self, namespace: Namespace) -> bytes:
        """Return the key of a namespace's review items by creation revision."""
        return f"{self._prefix}reviews:{namespace.id}".encode()

    def tasks(self, namespace: Namespace) -> bytes:
        """Return the key of a namespace's tasks by creation revision."""
        return f"{self._prefix}tasks:{namespace.id}".encode()

    def owner(self, owner_id: str) -> bytes:
        """Return the key of the ids of an owner's namespaces."""
        return f"{self._prefix}owner:{digest(owner_id)}".encode()

    def history(self, memory_id: str) -> bytes:
        """Return the key of a memory's transitions."""
        return f"{self._prefix}history:{digest(memory_id)}".encode()

    def counter(self, key: tuple[str, ...]) -> bytes:
        """Return the key of a counter."""
        return f"{self._prefix}count:{digest(*key)}".encode()

    def answers(self, namespace: Namespace, day: int) -> bytes:
        """Return the key of what models answered about a namespace on a day (number since 1970)."""
        return f"{self._prefix}answers:{namespace.id}:{day}".encode()

    def spent(self, namespace: Namespace) -> bytes:
        """Return the key of what a namespace has spent on models."""
        return f"{self._prefix}spent:{namespace.id}".encode()

    def served(self, agent: str, namespace: Namespace) -> bytes:
        """Return the key of the statements that an agent was served from a namespace."""
        return f"{self._prefix}served:{digest(agent, namespace.id)}".encode()
