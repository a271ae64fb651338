"""Finding the task that makes another one instructive: of the same kind, near in its goal, and ended otherwise."""

from __future__ import annotations

import asyncio

from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.task_records import TaskRecords
from hindsight_bus.domain.alike import alikeness
from hindsight_bus.domain.tasks import Task, TaskOutcome
from hindsight_bus.domain.trajectory import LONG_TOKENS, Contrast, trim

_LOOKED_AT = 200
"""The newest tasks of the same owner."""
_LEAST_ALIKE = 0.25
_OPPOSITE = {TaskOutcome.SUCCESS: TaskOutcome.FAILURE, TaskOutcome.FAILURE: TaskOutcome.SUCCESS}


class Contrasts:
    """Looks among the tasks of the same owner."""

    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader
        self._records = TaskRecords(reader)

    async def of(self, task: Task) -> Contrast | None:
        """Return the nearest task of the same kind that ended the other way. Cost: O(tasks looked at)."""
        opposite = _OPPOSITE.get(task.outcome)
        if opposite is None:
            return None
        ids = await self._reader.store.task_ids(task.namespace, 0, _LOOKED_AT)
        partition = self._reader.partition(task.namespace)
        stored = await self._reader.many(partition, Task, [(task_id,) for task_id, _ in ids])
        others = [each.record for each in stored if each is not None]
        alike = [each for each in others if each.outcome is opposite and each.kind == task.kind]
        nearest = max(alike, key=lambda each: alikeness(task.goal, each.goal), default=None)
        if nearest is None or alikeness(task.goal, nearest.goal) < _LEAST_ALIKE:
            return None
        trajectory = await self._records.trajectory(nearest)
        trimmed = await asyncio.to_thread(trim, trajectory, LONG_TOKENS)
        return Contrast(nearest.id, trajectory, trimmed.steps) if trimmed.steps else None
