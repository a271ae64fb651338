"""What this node remembers of the store: good for a first guess, which the commit then checks."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.records import NamespaceRecord
from hindsight_bus.ports import Ref, Stored

K = TypeVar("K")
V = TypeVar("V")


class _Recent(Generic[K, V]):
    """The entries used last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)


class Known:
    """Namespaces as they were last read, and records in which memories meet that are known to be there.

    A write to a namespace at hand, whose equals this node has not met, is decided without asking the store. Where the
    guess is wrong a precondition fails, nothing is changed, and the next attempt reads.
    """

    def __init__(self, namespaces: int = 10_000, meeting_places: int = 100_000) -> None:
        self._namespaces: _Recent[str, Stored[NamespaceRecord]] = _Recent(namespaces)
        self._meeting_places: _Recent[Ref, bool] = _Recent(meeting_places)

    def namespace(self, namespace: Namespace) -> Stored[NamespaceRecord] | None:
        """Return a namespace as it was last read."""
        return self._namespaces.get(namespace.id)

    def remember(self, stored: Stored[NamespaceRecord]) -> None:
        """Keep a namespace that was read."""
        self._namespaces.put(stored.record.namespace.id, stored)

    def has_met(self, target: Ref) -> bool:
        """Tell whether a record in which memories meet is known to be there."""
        return self._meeting_places.get(target) is not None

    def meet(self, target: Ref) -> None:
        """Note that such a record is there."""
        self._meeting_places.put(target, True)
