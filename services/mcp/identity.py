"""Whose memory this is. It comes from the launch alone: no argument of a model reaches beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote

MemoryType = Literal["semantic", "procedural", "episodic", "lesson"]
Scope = Literal["shared", "private"]

_KINDS: dict[MemoryType, str] = {
    "semantic": "facts",
    "procedural": "procedures",
    "episodic": "episodes",
    "lesson": "lessons",
}
_SCHEME = "memory://"


class Foreign(ValueError):
    """A name lies outside the memory of this user and agent, or is none."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The user whose agents share a memory, and the agent that this shim acts as."""

    user: str
    agent: str

    @property
    def patterns(self) -> list[str]:
        """Patterns of every namespace that is theirs."""
        return [f"user:{self.user}:*", f"agent:{self.agent}:*"]

    def namespace(self, type: MemoryType, scope: Scope) -> str:
        """Return the namespace that holds memories of a type."""
        owner = f"user:{self.user}" if scope == "shared" else f"agent:{self.agent}"
        return f"{owner}:{_KINDS[type]}"

    def resource_name(self, reference: str) -> str:
        """Return the resource name of a memory given by name or URI; raise ``Foreign`` where it is not theirs."""
        name = reference.strip()
        if name.startswith(_SCHEME):
            namespace, _, id = name.removeprefix(_SCHEME).partition("/")
            name = f"namespaces/{unquote(namespace)}/memories/{unquote(id)}"
        return self._owned(name, "memories")

    def task_name(self, reference: str) -> str:
        """Return the resource name of a task; raise ``Foreign`` where it is not theirs."""
        return self._owned(reference.strip(), "tasks")

    def _owned(self, name: str, collection: str) -> str:
        parts = name.split("/")
        if len(parts) != 4 or (parts[0], parts[2]) != ("namespaces", collection):
            raise Foreign("give the whole name, as another tool returned it")
        if not parts[1].startswith((f"user:{self.user}:", f"agent:{self.agent}:")):
            raise Foreign("is not of this user or agent")
        return name


def uri(name: str) -> str:
    """Return ``memory://{namespace}/{id}`` for the resource name of a memory."""
    _, namespace, _, id = name.split("/")
    return f"{_SCHEME}{quote(namespace, safe='')}/{quote(id, safe='')}"
