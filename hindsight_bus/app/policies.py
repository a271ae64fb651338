"""Policies in force, from a copy that every node keeps of the control partition."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from hindsight_bus.app.tail import LogCommit, Tails
from hindsight_bus.domain.errors import StoreUnavailable
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.policy import Policy, PolicyRecord, resolve
from hindsight_bus.ports import Clock, MemoryLog, Stored

log = structlog.get_logger(__name__)

_RETRY_SECONDS = 1.0
_MAX_RESOLVED = 10_000


class PolicyBook:
    """Every stored policy; answers without I/O. Follows the control log, so other nodes' changes arrive in moments."""

    def __init__(self, store: MemoryLog, tails: Tails, clock: Clock) -> None:
        self._store = store
        self._tails = tails
        self._clock = clock
        self._records: dict[tuple[str, str], Stored[PolicyRecord]] = {}
        self._resolved: dict[str, tuple[Policy, list[PolicyRecord]]] = {}
        self._news = asyncio.Event()
        self._lock = asyncio.Lock()

    async def load(self) -> None:
        """Read every policy and follow the control log from there on."""
        await self._tails.control.follow()
        self._tails.control.listen(self._on_commits)
        await self.reload()

    async def run(self) -> None:
        """Keep the copy fresh until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self.reload()
            except StoreUnavailable as error:
                log.warning("policies.store_unavailable", problem=error.message)
                await self._clock.sleep(_RETRY_SECONDS)
                self._news.set()

    async def reload(self) -> None:
        """Read every policy anew."""
        async with self._lock:  # an older answer must not come last
            stored = await self._store.policies()
            self._records = {(s.record.pattern.tenant, str(s.record.pattern)): s for s in stored}
            self._resolved.clear()

    def in_force(self, namespace: Namespace) -> Policy:
        """Return the policy in force for a namespace."""
        return self.resolved(namespace)[0]

    def resolved(self, namespace: Namespace) -> tuple[Policy, list[PolicyRecord]]:
        """Return the policy in force for a namespace, and what it was put together from, most specific first."""
        known = self._resolved.get(namespace.id)
        if known is None:
            if len(self._resolved) >= _MAX_RESOLVED:
                self._resolved.clear()
            known = resolve((stored.record for stored in self._records.values()), namespace)
            self._resolved[namespace.id] = known
        return known

    def stored(self, pattern: Pattern) -> Stored[PolicyRecord] | None:
        """Return the policy stored for a pattern."""
        return self._records.get((pattern.tenant, str(pattern)))

    def embedding_profiles(self) -> set[str]:
        """Return the embedding profiles that policies ask for."""
        profiles = {stored.record.embedding_profile for stored in self._records.values()}
        return {profile for profile in profiles if profile}

    def _on_commits(self, commits: Sequence[LogCommit]) -> None:
        self._news.set()
