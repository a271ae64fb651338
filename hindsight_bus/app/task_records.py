"""Reading tasks, their steps and their reflections."""

from __future__ import annotations

from itertools import chain

from hindsight_bus.app.records import RecordReader
from hindsight_bus.domain.errors import NotFound
from hindsight_bus.domain.names import ResourceName
from hindsight_bus.domain.sequences import gaps
from hindsight_bus.domain.tasks import Reflection, Step, Task, TaskSteps
from hindsight_bus.domain.trajectory import Trajectory
from hindsight_bus.ports import Stored

_BATCHES = 64
"""Step records read in one round trip."""


class TaskRecords:
    """Reads what is recorded of tasks."""

    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader

    async def task(self, name: ResourceName) -> Stored[Task]:
        """Return a task; raise ``NotFound``."""
        partition = self._reader.partition(name.namespace)
        stored = await self._reader.one(partition, Task, name.id)
        if stored is None or stored.record.namespace != name.namespace:
            raise NotFound(str(name))
        return stored

    async def reflection(self, task: Task) -> Stored[Reflection] | None:
        """Return the reflection on a task, if one was asked for."""
        return await self._reader.one(self._reader.partition(task.namespace), Reflection, task.id)

    async def steps(self, task: Task) -> list[Step]:
        """Return every step of a task by sequence number. Cost: O(steps)."""
        partition = self._reader.partition(task.namespace)
        batches: list[TaskSteps] = []
        for start in range(1, task.batches + 1, _BATCHES):
            numbers = range(start, min(start + _BATCHES, task.batches + 1))
            stored = await self._reader.many(partition, TaskSteps, [(task.id, number) for number in numbers])
            batches += [batch.record for batch in stored if batch is not None]
        steps = chain.from_iterable(batch.steps for batch in batches)
        return sorted(steps, key=lambda step: step.sequence)

    async def trajectory(self, task: Task) -> Trajectory:
        """Return what a reflector sees of a task. Cost: O(its steps)."""
        steps = tuple(await self.steps(task))
        return Trajectory(task.goal, task.kind, task.outcome, steps, task.score, gaps(task.recorded))
