"""Reviewing what reflections found: a queue with leases, and decisions that reach the lesson drawn from it."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from functools import partial

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.change import Changer
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.skills import Skills
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.errors import InvalidField, NotFound, WrongState
from hindsight_bus.domain.memory import Head, Version
from hindsight_bus.domain.names import Namespace, ResourceName, digest, task_name
from hindsight_bus.domain.reviews import ReviewDecision, ReviewItem, ReviewState, review_items
from hindsight_bus.domain.tasks import Reflection, procedures_of, tasks_beside
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import Conflicted, Ref, Stored

_WAITING = frozenset({ReviewState.PENDING})


class Verdict(Value):
    """What a reviewer decides."""

    state: ReviewState
    rationale: str
    text: str = ""
    """AMENDED: what the lesson should say."""


class Reviews:
    """Lists, leases and decides review items."""

    def __init__(
        self, reader: RecordReader, committer: Committer, writer: Writer, changer: Changer, skills: Skills
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._writer = writer
        self._changer = changer
        self._skills = skills

    async def propose(self, plan: CommitPlan, reflection: Reflection) -> None:
        """Have a commit queue what of a reflection should be looked at; what was queued before stays as it is."""
        items = review_items(reflection)
        known = await self._reader.many(plan.partition, ReviewItem, [(item.id,) for item in items])
        for item, stored in zip(items, known, strict=True):
            if stored is None:
                ref = Ref(ReviewItem, (item.id,))
                plan.expect(ref, 0)
                plan.put(ref, item)

    async def list(
        self,
        caller: Caller,
        namespace: Namespace,
        states: Collection[ReviewState],
        before: int,
        limit: int,
        lease_ms: int,
    ) -> tuple[builtins.list[Stored[ReviewItem]], int]:
        """Return ``limit`` items, newest first, and where to go on; 0 = no more. Cost: O(items looked at).

        With ``lease_ms`` those that wait are leased to the caller, and those that another reviewer has are left out.

        Raises:
            AgentRequired (with a lease), StoreUnavailable, OutcomeUnknown.
        """
        agent = caller.require_agent() if lease_ms else caller.agent
        wanted = frozenset(states) or _WAITING
        found, next_before = await self._reader.newest(
            self._reader.partition(namespace),
            ReviewItem,
            partial(self._reader.store.review_ids, namespace),
            lambda item: item.state in wanted,
            before,
            limit,
        )
        if lease_ms:
            leased = [await self._leased(agent, item, lease_ms) for item in found]
            found = [item for item in leased if item is not None]
        return found, next_before

    async def decide(self, caller: Caller, name: ResourceName, verdict: Verdict) -> Stored[ReviewItem]:
        """Decide an item: the lesson drawn from it stays, says something else, or is forgotten.

        Deciding it again in the same way is fine.

        Raises:
            AgentRequired, NotFound, InvalidField, WrongState (decided otherwise, or with another reviewer), Contended,
            and what a write raises.
        """
        agent = caller.require_agent()
        stored = await self._get(name)
        item = stored.record
        if item.state is not ReviewState.PENDING:
            if item.state is verdict.state and item.decision is not None and item.decision.agent == agent:
                return stored
            raise WrongState(str(name), item.state.name, "it is decided")
        if item.is_held(agent, self._reader.store.now_ms()):
            raise WrongState(str(name), "LEASED", f"{item.reviewer} is looking at it")
        memory_id = await self._carry_out(caller, item, verdict)
        decision = ReviewDecision(agent, verdict.rationale, self._reader.store.now_ms())

        async def attempt() -> Stored[ReviewItem]:
            now = await self._get(name)
            decided = replace(
                now.record, state=verdict.state, decision=decision, memory_id=memory_id, leased_until_ms=0
            )
            return await self._put(agent, now, decided, f"review {verdict.state.name.lower()}")

        return await self._committer.attempt(attempt)

    async def _get(self, name: ResourceName) -> Stored[ReviewItem]:
        partition = self._reader.partition(name.namespace)
        stored = await self._reader.one(partition, ReviewItem, name.id)
        if stored is None or stored.record.namespace != name.namespace:
            raise NotFound(str(name))
        return stored

    async def _leased(
        self, agent: str, stored: Stored[ReviewItem], lease_ms: int
    ) -> Stored[ReviewItem] | None:
        """Lease an item that waits; None where another reviewer has it, or was quicker."""
        now_ms = self._reader.store.now_ms()
        if stored.record.state is not ReviewState.PENDING:
            return stored
        if stored.record.is_held(agent, now_ms):
            return None
        leased = replace(stored.record, reviewer=agent, leased_until_ms=now_ms + lease_ms)
        try:
            return await self._put(agent, stored, leased, "review begun")
        except Conflicted:
            return None

    async def _put(
        self, agent: str, before: Stored[ReviewItem], after: ReviewItem, what: str
    ) -> Stored[ReviewItem]:
        plan = CommitPlan(self._reader.partition(after.namespace), after.namespace, agent)
        ref = Ref(ReviewItem, (after.id,))
        plan.expect(ref, before.revision)
        plan.put(ref, after)
        if after.skill_id:
            plan.tell_skill(after.skill_id, what)
        else:
            plan.tell_task(after.task_id, what)
        committed = await self._committer.commit(plan)
        return replace(
            before, record=after, revision=committed.position.revision, update_time_ms=committed.time_ms
        )

    # -- what a verdict does to the lesson

    async def _carry_out(self, caller: Caller, item: ReviewItem, verdict: Verdict) -> str:
        """Do to the lesson what was decided; return the id of the memory that holds it then.

        Done again after a crash, it changes nothing more.
        """
        if item.skill_id:
            return await self._carry_out_on_skill(caller, item, verdict)
        if verdict.state is ReviewState.APPROVED:
            return item.memory_id
        partition = self._reader.partition(item.namespace)
        head = await self._reader.one(partition, Head, item.memory_id) if item.memory_id else None
        if verdict.state is ReviewState.AMENDED:
            return await self._amend(caller, item, head, verdict.text)
        if head is not None and head.record.state.is_live:
            name = ResourceName(item.namespace, "memories", item.memory_id)
            await self._changer.forget(caller, name)
        return item.memory_id

    async def _carry_out_on_skill(self, caller: Caller, item: ReviewItem, verdict: Verdict) -> str:
        place = procedures_of(item.namespace)
        if verdict.state is ReviewState.AMENDED:
            raise InvalidField(
                "decision", "a skill is APPROVED or REJECTED: it is learnt anew from what works"
            )
        if verdict.state is ReviewState.APPROVED:
            await self._skills.reinstate(caller, ResourceName(place, "skills", item.skill_id))
            return ""
        head = await self._reader.one(self._reader.partition(place), Head, item.skill_id)
        if head is not None and head.record.state.is_live:
            await self._changer.forget(caller, ResourceName(place, "memories", item.skill_id))
        return ""

    async def _amend(self, caller: Caller, item: ReviewItem, head: Stored[Head] | None, text: str) -> str:
        """Have the reviewer say it better, in place of the lesson."""
        if head is None:
            raise InvalidField("text", "there is no lesson to amend: approve or reject it")
        key = (item.memory_id, head.record.version)
        version = await self._reader.one(self._reader.partition(item.namespace), Version, *key)
        assert version is not None  # a head's current version is there
        old = version.record
        memory = ResourceName(item.namespace, "memories", item.memory_id)
        draft = WriteDraft(
            namespace=item.namespace,
            type=old.type,
            text=text,
            subject=old.subject,
            tags=old.tags,
            supersedes=(memory,) if head.record.state.is_live else (),
            request_id=f"review:{item.id}:{digest(text, size=8)}",
            source=task_name(tasks_beside(item.namespace), item.task_id),
            payload=digest(text),
        )
        outcome = await self._writer.write(caller, draft)
        return outcome.memory.head.memory_id if outcome.memory is not None else item.memory_id
