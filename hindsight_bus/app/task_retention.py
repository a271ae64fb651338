"""Removing tasks that are old enough: their steps are what tools returned, which nobody shall keep for ever unasked."""

from __future__ import annotations

from hindsight_bus.app.commit import Committer
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.reviews import ReviewItem, review_items
from hindsight_bus.domain.tasks import Reflection, Task, TaskSteps
from hindsight_bus.ports import DueItem, Ref, Stored, TakenItem

DAY_MS = 24 * 3600 * 1000
_DELETED = 200
"""Records that one commit removes at most."""


def keep(plan: CommitPlan, task: Task, policy: Policy, since_ms: int) -> None:
    """Have a commit see to it that a task goes when it has been kept long enough."""
    if policy.task_retention_days:
        due_ms = since_ms + int(policy.task_retention_days * DAY_MS)
        plan.due(DueItem(f"drop_task:{task.id}", "drop_task", (task.id,), due_ms))


class TaskRetention:
    """Removes tasks."""

    def __init__(self, reader: RecordReader, committer: Committer, policies: PolicyBook) -> None:
        self._reader = reader
        self._committer = committer
        self._policies = policies

    async def drop(self, item: TakenItem) -> None:
        """Handle a `drop_task` item: remove a task, unless the policy now gives it more time."""
        stored = await self._reader.one(item.partition, Task, str(item.item.payload[0]))
        store = self._reader.store
        if stored is None:
            await store.finish_due([item])
            return
        left_ms = self._left_ms(stored, max(store.now_ms(), item.item.due_ms))
        if left_ms is None:
            await store.finish_due([item])
        elif left_ms > 0:
            await store.retry_due(item, left_ms)
        else:
            await self._drop(item, stored)

    def _left_ms(self, stored: Stored[Task], now_ms: int) -> int | None:
        """Return how long a task is kept from now on; None = for ever."""
        days = self._policies.in_force(stored.record.namespace).task_retention_days
        if not days:
            return None
        return (stored.record.finish_time_ms or stored.create_time_ms) + int(days * DAY_MS) - now_ms

    async def _drop(self, item: TakenItem, stored: Stored[Task]) -> None:
        task = stored.record
        steps = [Ref(TaskSteps, (task.id, number)) for number in range(1, task.batches + 1)]
        while len(steps) > _DELETED:
            await self._committer.commit(self._plan(item, stored, steps[:_DELETED]))
            del steps[:_DELETED]
        plan = self._plan(item, stored, [*steps, Ref(Reflection, (task.id,)), Ref(Task, (task.id,))])
        reflection = await self._reader.one(item.partition, Reflection, task.id)
        for review in review_items(reflection.record) if reflection is not None else ():
            plan.delete(Ref(ReviewItem, (review.id,)), review.namespace)
        plan.finish(item)
        plan.tell_task(task.id, "removed")
        await self._committer.commit(plan)

    def _plan(self, item: TakenItem, stored: Stored[Task], refs: list[Ref]) -> CommitPlan:
        """Return a plan that removes records, so long as nobody changes the task meanwhile."""
        plan = CommitPlan(item.partition, stored.record.namespace, "")
        plan.expect(Ref(Task, (stored.record.id,)), stored.revision)
        for ref in refs:
            plan.delete(ref)
        return plan
