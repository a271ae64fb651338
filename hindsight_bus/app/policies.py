"""Policies in force, from a copy that every node keeps of the control partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.tail import LogCommit, Tails, own_commit
from hindsight_bus.domain.errors import EtagMismatch
from hindsight_bus.domain.events import Event, EventKind
from hindsight_bus.domain.memory import MemoryState, MemoryType, etag_of
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.policy import POLICY_FIELDS, Policy, PolicyRecord, resolve
from hindsight_bus.domain.position import Positions
from hindsight_bus.ports import Commit, Conflicted, DueItem, Expect, Ids, MemoryLog, Put, Ref, Stored


class PolicyBook:
    """Every stored policy, kept current by the control tail; answers without I/O."""

    def __init__(self, store: MemoryLog, tails: Tails) -> None:
        self._store = store
        self._tails = tails
        self._records: dict[tuple[str, str], Stored[PolicyRecord]] = {}
        self._in_force: dict[str, tuple[Policy, list[PolicyRecord]]] = {}
        self._stale = False

    async def load(self) -> None:
        """Read every policy and follow the control partition from there on."""
        await self._tails.control.follow()
        self._tails.control.listen(self._on_commits)
        await self._reload()

    async def refresh(self) -> None:
        """Read the policies again if the control log has moved."""
        if self._stale:
            await self._reload()

    def in_force(self, namespace: Namespace) -> tuple[Policy, list[PolicyRecord]]:
        """Return the policy in force for a namespace and the records it is put together from."""
        known = self._in_force.get(namespace.id)
        if known is None:
            known = resolve((stored.record for stored in self._records.values()), namespace)
            if self._records:
                self._in_force[namespace.id] = known
        return known

    def stored(self, pattern: Pattern) -> Stored[PolicyRecord] | None:
        """Return the policy stored for a pattern."""
        return self._records.get((pattern.tenant, str(pattern)))

    def _on_commits(self, commits: Sequence[LogCommit]) -> None:
        self._stale = True

    async def _reload(self) -> None:
        self._stale = False
        stored = await self._store.policies()
        self._records = {(s.record.pattern.tenant, str(s.record.pattern)): s for s in stored}
        self._in_force.clear()
