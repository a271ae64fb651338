"""Names: namespaces, patterns, resources, ids and the partition they live in.

Namespaces are ``scope:owner:kind``. A part is 1 to 64 NFC letters, digits and ``. _ - @``; in a pattern ``*`` stands
for one whole part.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.values import Value

MAX_PART_CHARS = 64
_EXTRA = frozenset("._-@")
_REMEMBERED = 16_384
"""Parts and hashes of names kept at hand: the same few are asked for by every request and every event."""


def digest(*parts: str, size: int = 16) -> str:
    """Return a hex digest of ``size`` bytes over the parts, unambiguous about where one ends."""
    told_apart = ""
    for part in parts:
        told_apart += f"{len(part)}:{part}"
    return blake2b(told_apart.encode(), digest_size=size).hexdigest()


def is_part(text: str) -> bool:
    """Tell whether ``text`` is a legal name part."""
    return 1 <= len(text) <= MAX_PART_CHARS and _has_legal_characters(text)


@lru_cache(_REMEMBERED)
def _has_legal_characters(text: str) -> bool:
    legal = all(ch.isalnum() or ch in _EXTRA or unicodedata.combining(ch) for ch in text)
    return legal and unicodedata.is_normalized("NFC", text)


@lru_cache(_REMEMBERED)
def _name_digest(*parts: str) -> str:
    return digest(*parts)


def check_part(text: str, field: str) -> str:
    """Return ``text`` if it is a legal name part, else raise ``InvalidField``."""
    if not is_part(text):
        raise InvalidField(field, f"must be 1 to {MAX_PART_CHARS} NFC letters, digits or . _ - @")
    return text


def _parts(text: str, field: str) -> list[str]:
    parts = text.split(":")
    if len(parts) != 3:
        raise InvalidField(field, "must have the form scope:owner:kind")
    return parts


class Namespace(Value, cache_hash=True):
    """A set of memories under one name, within one tenant."""

    tenant: str
    scope: str
    owner: str
    kind: str

    @classmethod
    def parse(cls, text: str, tenant: str, field: str = "namespace") -> Namespace:
        """Parse ``scope:owner:kind``; raise ``InvalidField`` naming ``field``."""
        scope, owner, kind = (check_part(part, field) for part in _parts(text, field))
        return cls(tenant, scope, owner, kind)

    def __str__(self) -> str:
        return f"{self.scope}:{self.owner}:{self.kind}"

    @property
    def id(self) -> str:
        """Hash of tenant and name: what storage keys hold instead of user text."""
        return _name_digest(self.tenant, self.scope, self.owner, self.kind)

    @property
    def owner_id(self) -> str:
        """Hash of tenant, scope and owner; all namespaces of one owner share it, and so a partition."""
        return owner_id(self.tenant, self.scope, self.owner)

    @property
    def is_shared(self) -> bool:
        """Tell whether the namespace belongs to a user and so is shared by the user's agents."""
        return self.scope == "user"


def owner_id(tenant: str, scope: str, owner: str) -> str:
    """Return the hash under which one owner's namespaces are kept."""
    return _name_digest(tenant, scope, owner)


def partition_of(owner: str, partitions: int) -> int:
    """Return the partition, 0 to ``partitions - 1``, of an owner id."""
    return int(owner[:8], 16) % partitions


class Pattern(Value):
    """``scope:owner:kind`` where each part is a name or ``*``, within one tenant."""

    tenant: str
    scope: str
    owner: str
    kind: str

    @classmethod
    def parse(cls, text: str, tenant: str, field: str = "pattern") -> Pattern:
        """Parse a pattern; raise ``InvalidField`` naming ``field``."""
        scope, owner, kind = (
            part if part == "*" else check_part(part, field) for part in _parts(text, field)
        )
        return cls(tenant, scope, owner, kind)

    def __str__(self) -> str:
        return f"{self.scope}:{self.owner}:{self.kind}"

    def matches(self, name: Namespace) -> bool:
        """Tell whether the namespace falls under the pattern."""
        return (
            self.tenant == name.tenant
            and self.scope in ("*", name.scope)
            and self.owner in ("*", name.owner)
            and self.kind in ("*", name.kind)
        )

    @property
    def specificity(self) -> tuple[int, ...]:
        """Sort key: more named parts first wins, then owner before kind before scope."""
        named = [part != "*" for part in (self.owner, self.kind, self.scope)]
        return (sum(named), *named)

    @property
    def namespace(self) -> Namespace | None:
        """The only namespace that falls under it; None where a part is ``*``."""
        if "*" in (self.scope, self.owner, self.kind):
            return None
        return Namespace(self.tenant, self.scope, self.owner, self.kind)

    def partitions(self, total: int) -> Iterable[int]:
        """Return the partitions that a matching namespace can lie in."""
        if "*" in (self.scope, self.owner):
            return range(total)
        return (partition_of(owner_id(self.tenant, self.scope, self.owner), total),)


class ResourceName(Value):
    """``namespaces/{namespace}/{collection}/{id}``."""

    namespace: Namespace
    collection: str
    id: str

    @classmethod
    def parse(cls, text: str, collection: str, tenant: str, field: str = "name") -> ResourceName:
        """Parse the name of a member of ``collection``; raise ``InvalidField`` naming ``field``."""
        parts = text.split("/")
        if len(parts) != 4 or parts[0] != "namespaces" or parts[2] != collection or not _is_id(parts[3]):
            raise InvalidField(field, f"must have the form namespaces/{{namespace}}/{collection}/{{id}}")
        return cls(Namespace.parse(parts[1], tenant, field), collection, parts[3])

    def __str__(self) -> str:
        return f"namespaces/{self.namespace}/{self.collection}/{self.id}"


def _is_id(text: str) -> bool:
    return len(text) == 32 and all(ch in "0123456789abcdef" for ch in text)


def memory_name(namespace: Namespace | str, memory_id: str) -> str:
    """Return the resource name of a memory."""
    return f"namespaces/{namespace}/memories/{memory_id}"


def conflict_name(namespace: Namespace | str, conflict_id: str) -> str:
    """Return the resource name of a conflict."""
    return f"namespaces/{namespace}/conflicts/{conflict_id}"


def task_name(namespace: Namespace | str, task_id: str) -> str:
    """Return the resource name of a task."""
    return f"namespaces/{namespace}/tasks/{task_id}"


def skill_name(namespace: Namespace | str, skill_id: str) -> str:
    """Return the resource name of a skill; its memory has the same id."""
    return f"namespaces/{namespace}/skills/{skill_id}"


def review_name(namespace: Namespace | str, item_id: str) -> str:
    """Return the resource name of a review item."""
    return f"namespaces/{namespace}/reviews/{item_id}"


def id_for_request(namespace: Namespace, principal: str, request_id: str) -> str:
    """Return the memory id that a request_id stands for: the same request makes the same memory."""
    return digest("request", namespace.id, principal, request_id)
