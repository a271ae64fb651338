"""Consolidation: once a day, where a policy wants it, many small memories that say nearly the same become one.

The parents stay, SUPERSEDED by it; when it is forgotten they come back, and as they were they are not merged again.
"""

from __future__ import annotations

import asyncio

import structlog

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.change import Changer
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.indexing import one_by_one
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.work import Handler
from hindsight_bus.domain.consolidation import TAG, Grown, clusters, merged
from hindsight_bus.domain.errors import NotFound, WrongState
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Head, MemoryState, MemoryType, Version
from hindsight_bus.domain.names import Namespace, Pattern, ResourceName, digest, id_for_request, memory_name
from hindsight_bus.domain.policy import PolicyRecord
from hindsight_bus.domain.profiles import external_dimension
from hindsight_bus.domain.records import NamespaceRecord
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import CommitRefused, DueItem, Lane, TakenItem

log = structlog.get_logger(__name__)

DAY_MS = 24 * 3600 * 1000
_PAGE = 500


def consolidation_handlers(consolidator: Consolidator) -> dict[str, Handler]:
    """Return the handlers of the work of merging, and of taking it back."""
    return {
        "consolidate": one_by_one(consolidator.consolidate),
        "unfold": one_by_one(consolidator.unfold),
    }


def consolidation_of(pattern: Pattern) -> DueItem:
    """Return the work of consolidating what a pattern matches, which repeats itself."""
    parts = (pattern.tenant, pattern.scope, pattern.owner, pattern.kind)
    return DueItem(f"consolidate:{digest(*parts)}", "consolidate", parts, lane=Lane.SLOW)


class Consolidator:
    """Merges small memories, and takes that back."""

    def __init__(
        self, reader: RecordReader, committer: Committer, policies: PolicyBook, changer: Changer
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._policies = policies
        self._changer = changer

    async def consolidate(self, item: TakenItem) -> None:
        """Handle a `consolidate` item; it is due again a day later, so long as its policy wants it."""
        tenant, scope, owner, kind = map(str, item.item.payload)
        pattern = Pattern(tenant, scope, owner, kind)
        await self._policies.reload()
        store = self._reader.store
        stored = await self._reader.one(item.partition, PolicyRecord, tenant, str(pattern))
        if stored is None or not stored.record.consolidate_from:
            await store.finish_due([item])
            return
        for partition in pattern.partitions(store.partitions):
            ids = await store.namespaces(partition)
            records = await self._reader.many(partition, NamespaceRecord, [(i,) for i in ids])
            for record in [each.record for each in records if each is not None]:
                if pattern.matches(record.namespace) and not external_dimension(record.profile):
                    await self.consolidate_namespace(record.namespace)
        await store.retry_due(item, DAY_MS)

    async def consolidate_namespace(self, namespace: Namespace) -> int:
        """Merge what a namespace holds as its policy wants; return how many memories were made. Cost: O(memories)."""
        at_least = self._policies.in_force(namespace).consolidate_from
        if not at_least:
            return 0
        before_ms = self._reader.store.now_ms() - DAY_MS
        memories = {each.version.memory_id: each for each in await self._grown(namespace, before_ms)}
        grown = [Grown(each.version, each.head.record.effective_confidence) for each in memories.values()]
        made = 0
        for cluster in await asyncio.to_thread(clusters, grown, at_least):
            parents = [memories[each.version.memory_id] for each in cluster]
            made += await self._merge(namespace, cluster, parents)
        return made

    async def _grown(self, namespace: Namespace, before_ms: int) -> list[StoredMemory]:
        """Return the memories that may be merged: small, of some age, and nothing that somebody has set apart."""
        partition, after = self._reader.partition(namespace), 0
        found: list[StoredMemory] = []
        while page := await self._reader.store.memory_ids(namespace, after, _PAGE):
            after = page[-1][1]
            stored = await self._reader.memories(partition, [memory_id for memory_id, _ in page], "")
            found += [each for each in stored if each is not None and _may_merge(each, before_ms)]
        return found

    async def _merge(self, namespace: Namespace, cluster: list[Grown], parents: list[StoredMemory]) -> bool:
        """Commit one memory for several; tell whether it did. What has changed meanwhile waits for the next day."""
        ids = sorted(each.version.memory_id for each in parents)
        memory_id = id_for_request(namespace, "", f"consolidated:{digest(*ids)}")
        version = merged(cluster, memory_id)
        plan = CommitPlan(self._reader.partition(namespace), namespace, "")
        agents = {agent for each in parents for agent in each.head.record.agents}
        head = Head(
            namespace=namespace,
            memory_id=memory_id,
            type=version.type,
            state=MemoryState.ACTIVE,
            version=1,
            last_version=1,
            effective_confidence=version.confidence,
            agents=tuple(sorted(agents)),
        )
        reason = f"merged into {memory_name(namespace, memory_id)}"
        plan.create(head, version, None, reason=f"merged from {len(parents)} memories")
        plan.due(DueItem(f"embed:{memory_id}:1", "embed", (memory_id, 1)))
        for parent in parents:
            gone = replace(parent.head.record, state=MemoryState.SUPERSEDED, superseded_by=memory_id)
            plan.change(parent, gone, EventKind.SUPERSEDED, reason=reason)
        try:
            await self._committer.commit(plan)
        except CommitRefused as refusal:
            log.info("consolidation.refused", namespace=namespace.id, problem=str(refusal))
            return False
        return True

    async def unfold(self, item: TakenItem) -> None:
        """Handle an `unfold` item: bring back what a forgotten memory was merged from."""
        memory_id, number = str(item.item.payload[0]), int(item.item.payload[1])
        version = await self._reader.one(item.partition, Version, memory_id, number)
        for parent_id in version.record.supersedes if version is not None else ():
            head = await self._reader.one(item.partition, Head, parent_id)
            if head is not None and head.record.superseded_by == memory_id:
                await self._restore(head.record)
        await self._reader.store.finish_due([item])

    async def _restore(self, head: Head) -> None:
        caller = Caller(tenant=head.namespace.tenant, agent=head.agents[0] if head.agents else "")
        try:
            await self._changer.restore(caller, ResourceName(head.namespace, "memories", head.memory_id))
        except (NotFound, WrongState) as error:
            log.info("consolidation.not_restored", memory=head.memory_id, problem=error.message)


def _may_merge(memory: StoredMemory, before_ms: int) -> bool:
    head, version = memory.head.record, memory.version
    is_small = version.type is MemoryType.EPISODIC and head.state is MemoryState.ACTIVE
    is_set_apart = version.pinned or version.explicit or bool(version.attachments or head.suspicions)
    is_plain = not is_set_apart and TAG not in version.tags
    is_old = max(version.event_time_ms, memory.head.create_time_ms) <= before_ms
    return is_small and is_plain and is_old and not version.expire_time_ms
