"""How memories leave and come back: forget, expire, restore."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.plan import (
    CommitPlan,
    SubjectChange,
    copy_wordings,
    settled_head,
    suspected_head,
)
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import StoredMemory
from hindsight_bus.app.revise import Reviser, alters_claim, blank_subject, competing_key
from hindsight_bus.app.target import GONE, ChangeRequest, Target, Targets
from hindsight_bus.domain.claims import (
    reinstate,
    withdraw,
)
from hindsight_bus.domain.consolidation import TAG
from hindsight_bus.domain.errors import NotFound, WrongState
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import (
    Channel,
    Claim,
    Decision,
    MemoryState,
    MemoryType,
    Version,
)
from hindsight_bus.domain.names import memory_name
from hindsight_bus.domain.statements import statement_key
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import DueItem

DAY_MS = 24 * 3600 * 1000


class Lifecycle:
    """Lets memories go, and brings them back."""

    def __init__(self, targets: Targets, policies: PolicyBook, reviser: Reviser) -> None:
        self._targets = targets
        self._policies = policies
        self._reviser = reviser

    async def leave(
        self, request: ChangeRequest, target: Target, plan: CommitPlan, state: MemoryState
    ) -> Outcome:
        """Withdraw a memory with its claims, as FORGOTTEN or EXPIRED; what it had overridden returns by the rules."""
        head, policy = target.head, self._policies.in_force(request.namespace)
        if head.state in (state, MemoryState.FORGOTTEN):
            raise WrongState(str(request.name), head.state.name, "it is gone already")
        now_ms = self._targets.reader.store.now_ms()
        purge_ms = now_ms + int(policy.purge_after_days * DAY_MS)
        after = replace(head, state=state, superseded_by="", purge_time_ms=purge_ms)
        after = suspected_head(after, ())
        kind = EventKind.FORGOTTEN if state is MemoryState.FORGOTTEN else EventKind.EXPIRED
        plan.change(target.memory, after, kind)
        plan.due(DueItem(f"purge:{head.memory_id}", "purge", (head.memory_id,), purge_ms))
        if (unfolding := unfolding_of(target.memory.version)) is not None:
            plan.due(unfolding)
        if target.subject is not None:
            subject = SubjectChange.of(
                target.subject, withdraw(target.subject.record, head.memory_id), policy
            )
            await self._targets.settle_rest(
                plan, subject, target, reason=f"{request.name} is {state.name.lower()}"
            )
        return await self._targets.finish(request, plan, head.memory_id, Decision.UPDATED)

    async def expire(
        self, request: ChangeRequest, target: Target, plan: CommitPlan, now_ms: int
    ) -> Outcome | None:
        """Let a memory go whose time is over by ``now_ms``; None where it is not, or is gone already."""
        expires = target.memory.version.expire_time_ms
        if not expires or expires > now_ms or target.head.state in GONE:
            return None
        return await self.leave(request, target, plan, MemoryState.EXPIRED)

    async def restore(self, request: ChangeRequest, target: Target, plan: CommitPlan, number: int) -> Outcome:
        """Bring back what is gone, or an earlier version of what is there."""
        head = target.head
        is_gone = head.state in GONE
        if not is_gone and number in (0, head.version):
            raise WrongState(str(request.name), head.state.name, "only what is gone can be restored")
        version = await self._restored_version(request, target, plan, number)
        if is_gone:
            return await self._bring_back(request, target, plan, version)
        if not head.subject_key or not alters_claim(target.memory.version, version):
            return await self._reviser.new_version(request, target, plan, version, EventKind.RESTORED)
        outcome = await self._reviser.revise(request, target, plan, version, EventKind.RESTORED)
        if outcome is None:
            raise WrongState(
                str(request.name), head.state.name, "others claim it too: write what you mean instead"
            )
        return outcome

    async def _restored_version(
        self, request: ChangeRequest, target: Target, plan: CommitPlan, number: int
    ) -> Version:
        """Return the version that comes back: a new one, unless it is the current one and its time is not over."""
        head, version = target.head, target.memory.version
        if number and number != head.version:
            past = await self._targets.reader.one(plan.partition, Version, head.memory_id, number)
            if past is None:
                raise NotFound(f"{request.name} version {number}")
            version = past.record
        is_over = 0 < version.expire_time_ms <= self._targets.reader.store.now_ms()
        if version.number == head.version and not is_over:
            return version
        expires = 0 if is_over else version.expire_time_ms
        return replace(version, number=head.last_version + 1, agent=request.agent, expire_time_ms=expires)

    async def _bring_back(
        self, request: ChangeRequest, target: Target, plan: CommitPlan, version: Version
    ) -> Outcome:
        head, memory_id = target.head, target.head.memory_id
        is_new = version.number != head.version
        last = max(head.last_version, version.number)
        blank = replace(head, version=version.number, last_version=last, superseded_by="", purge_time_ms=0)
        if not head.subject_key:
            after = replace(blank, state=MemoryState.ACTIVE)
            subject = None
        else:
            subject = await self._reinstated(request, target, plan, version, last + 1)
            after = settled_head(replace(blank, subject_key=subject.settled.record.key), subject)
            after = replace(after, last_version=last + len(subject.change.moved))
        plan.change(target.memory, after, EventKind.RESTORED, version=version if is_new else None)
        if is_new:
            self._targets.vector_for(plan, target, version)
        if subject is not None:
            await self._targets.settle_rest(plan, subject, target)
        return await self._targets.finish(request, plan, memory_id, Decision.UPDATED)

    async def _reinstated(
        self, request: ChangeRequest, target: Target, plan: CommitPlan, version: Version, next_version: int
    ) -> SubjectChange:
        head, stored = target.head, target.subject
        key = competing_key(version, head)
        if key != head.subject_key:
            stored = await self._targets.subject(request, key)
        record = stored.record if stored is not None else blank_subject(version, key)
        claims = _claims_behind(version, target.memory)
        change = reinstate(record, head.memory_id, claims, next_version=next_version)
        if head.memory_id in change.superseded:
            by = memory_name(head.namespace, change.superseded[head.memory_id])
            raise WrongState(
                str(request.name), head.state.name, f"every speaker has said otherwise since: {by}"
            )
        await copy_wordings(self._targets.reader, plan, change)
        return SubjectChange.of(stored, change, self._policies.in_force(request.namespace))


def unfolding_of(version: Version) -> DueItem | None:
    """Return the work of bringing back what a memory was merged from; None where it was not."""
    is_merged = version.type is MemoryType.EPISODIC and version.channel is Channel.REFLECTION
    if not (is_merged and version.supersedes and TAG in version.tags):
        return None
    return DueItem(f"unfold:{version.memory_id}", "unfold", (version.memory_id, version.number))


def _claims_behind(version: Version, memory: StoredMemory) -> Sequence[Claim]:
    """Return the claims that a version rests on: those of its statement, where the memory has changed that."""
    claims, current = memory.head.record.claims, memory.version
    statement = statement_key(version.text, version.value)
    if statement == statement_key(current.text, current.value):
        return claims
    return [claim for claim in claims if claim.statement == statement] or claims
