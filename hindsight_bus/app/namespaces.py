"""Namespaces and the policies that rule them."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.consolidate import consolidation_of
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.outcome import RECEIPT_TTL_MS
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.views import Views
from hindsight_bus.domain.errors import EtagMismatch, NotFound, RequestIdReused
from hindsight_bus.domain.expense import ModelUsage
from hindsight_bus.domain.memory import Decision, etag_of
from hindsight_bus.domain.names import Namespace, Pattern, digest
from hindsight_bus.domain.policy import Policy, PolicyRecord
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.records import Conflict, NamespaceRecord, Receipt
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import DueItem, LanguageModel, Ref, Stored

_SETTLING_FIELDS = frozenset({"conflict_policy", "conflict_margin", "belief_half_life_days"})
_RECORD_BYTES = 1_500
"""Measured: keys, head, version, subject record, index and log entry of a short memory, without its vector."""
_NOISY_LIVE = 5_000


class Stats(Value):
    """What a namespace holds."""

    by_state: Mapping[str, int]
    by_type: Mapping[str, int]
    pending_vectors: int
    open_conflicts: int
    estimated_bytes: int
    revision: int
    warnings: list[str]
    spent: ModelUsage
    """What questions to language models have taken."""


def policy_etag(stored: Stored[PolicyRecord]) -> str:
    """Return the etag of a stored policy."""
    return etag_of(str(stored.record.pattern), stored.revision)


class Namespaces:
    """Reads namespaces; reads and changes policies."""

    def __init__(
        self,
        reader: RecordReader,
        committer: Committer,
        policies: PolicyBook,
        views: Views,
        default_profile: str,
        models: LanguageModel,
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._policies = policies
        self._views = views
        self._default_profile = default_profile
        self._models = models

    def partition_of(self, namespace: Namespace) -> int:
        """Return the partition that a namespace lies in."""
        return self._reader.partition(namespace)

    async def get(self, caller: Caller, namespace: Namespace) -> Stored[NamespaceRecord]:
        """Return a namespace."""
        stored = await self._reader.namespace(namespace)
        if stored is None:
            raise NotFound(str(namespace))
        return stored

    async def list(
        self, caller: Caller, pattern: Pattern, after: str, limit: int
    ) -> tuple[builtins.list[Stored[NamespaceRecord]], str]:
        """Return at most ``limit`` matching namespaces after a cursor (empty = first), and the next cursor.

        Cost: O(namespaces of the partitions that can match) a page.
        """
        partitions = sorted(pattern.partitions(self._reader.store.partitions))
        start, last = (int(after.split(".")[0]), after.split(".")[1]) if after else (0, "")
        found: builtins.list[Stored[NamespaceRecord]] = []
        for partition in (p for p in partitions if p >= start):
            ids = await self._reader.store.namespaces(partition)
            keys = [(i,) for i in ids if partition > start or i > last]
            stored = await self._reader.many(partition, NamespaceRecord, keys)
            found += [s for s in stored if s is not None and pattern.matches(s.record.namespace)]
            if len(found) > limit:
                break
        page = found[:limit]
        if len(found) <= limit:
            return page, ""
        namespace = page[-1].record.namespace
        return page, f"{self._reader.partition(namespace)}.{namespace.id}"

    async def stats(self, caller: Caller, namespace: Namespace, freshness: Freshness) -> Stats:
        """Count what a namespace holds. Cost: O(memories) where its view is not loaded yet, and O(conflicts)."""
        view = await self._views.open(namespace)
        if view is None:
            raise NotFound(str(namespace))
        await self._views.wait_until(view, freshness)
        revision = self._views.position(view).revision
        counted, size, dimension = await self._views.ask(view, lambda v: (v.stats(), len(v), v.dimension))
        estimated = size * (_RECORD_BYTES + 2 * dimension)
        warnings = []
        if counted.by_type.get("EPISODIC", 0) > _NOISY_LIVE:
            warnings.append(
                f"more than {_NOISY_LIVE} live EPISODIC memories: recall gets noisy; let old ones expire"
            )
        return Stats(
            counted.by_state,
            counted.by_type,
            counted.pending_vectors,
            await self._open_conflicts(namespace),
            estimated,
            revision,
            warnings,
            await self._models.spent(namespace),
        )

    async def _open_conflicts(self, namespace: Namespace) -> int:
        count, before, partition = 0, 0, self._reader.partition(namespace)
        while ids := await self._reader.store.conflict_ids(namespace, before, 1000):
            before = ids[-1][1]
            stored = await self._reader.many(partition, Conflict, [(conflict_id,) for conflict_id, _ in ids])
            count += sum(s is not None and s.record.state.is_open for s in stored)
        return count

    # -- policies

    async def policy_in_force(
        self, caller: Caller, namespace: Namespace
    ) -> tuple[Policy, builtins.list[PolicyRecord]]:
        """Return the policy in force for a namespace, and what it is put together from, most specific first."""
        policy, sources = self._policies.resolved(namespace)
        return replace(policy, embedding_profile=policy.embedding_profile or self._default_profile), sources

    async def stored_policy(self, caller: Caller, pattern: Pattern) -> Stored[PolicyRecord] | None:
        """Return the policy stored for a pattern."""
        control = self._reader.store.partitions
        return await self._reader.one(control, PolicyRecord, pattern.tenant, str(pattern))

    async def update_policy(
        self,
        caller: Caller,
        pattern: Pattern,
        fields: Mapping[str, Any],
        *,
        etag: str = "",
        request_id: str = "",
        payload: str = "",
    ) -> tuple[Stored[PolicyRecord], Positions]:
        """Set fields of the policy stored for a pattern (None = not set here); matching subjects are settled anew."""
        agent = caller.require_agent()

        async def attempt() -> tuple[Stored[PolicyRecord], Positions]:
            return await self._update_policy(agent, pattern, fields, etag, request_id, payload)

        result = await self._committer.attempt(attempt)
        await self._policies.reload()
        return result

    async def _update_policy(
        self,
        agent: str,
        pattern: Pattern,
        fields: Mapping[str, Any],
        etag: str,
        request_id: str,
        payload: str,
    ) -> tuple[Stored[PolicyRecord], Positions]:
        control = self._reader.store.partitions
        place = Namespace(pattern.tenant, pattern.scope, pattern.owner, pattern.kind)
        key = (pattern.tenant, str(pattern))
        receipt_ref = Ref(Receipt, (place.id, agent, request_id))
        stored = await self._reader.one(control, PolicyRecord, *key)
        if request_id:
            receipt = await self._reader.one(control, Receipt, *receipt_ref.key)
            if receipt is not None and stored is not None:
                if receipt.record.payload != payload:
                    raise RequestIdReused(request_id)
                return stored, Positions([(await self._reader.store.ends(control)).newest])
        if etag and (stored is None or policy_etag(stored) != etag):
            raise EtagMismatch(str(pattern), policy_etag(stored) if stored is not None else "none")
        record = replace(stored.record if stored is not None else PolicyRecord(pattern), **fields)
        plan = CommitPlan(control, place, agent)
        plan.expect(Ref(PolicyRecord, key), stored.revision if stored is not None else 0)
        plan.put(Ref(PolicyRecord, key), record)
        plan.tell_policy(str(pattern))
        if request_id:
            plan.expect(receipt_ref, 0)
            answer = Receipt(place, agent, request_id, payload, Decision.UPDATED, "")
            plan.put(receipt_ref, answer, RECEIPT_TTL_MS)
        if _SETTLING_FIELDS & set(fields):
            parts = (pattern.tenant, pattern.scope, pattern.owner, pattern.kind)
            plan.due(DueItem(f"resettle:{digest(*parts)}", "resettle", parts))
        if fields.get("consolidate_from"):
            plan.due(consolidation_of(pattern))
        committed = await self._committer.commit(plan)
        position, time_ms = committed.position, committed.time_ms
        created = (stored.create_revision, stored.create_time_ms) if stored else (position.revision, time_ms)
        return Stored(record, *created, position.revision, time_ms), Positions([position])
