"""Working memory: what an agent notes during a task goes when the task ends."""

from __future__ import annotations

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.change import Changer
from hindsight_bus.app.records import RecordReader
from hindsight_bus.domain.memory import Head
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.ports import TakenItem


class WorkingMemory:
    """Forgets the working memory of tasks."""

    def __init__(self, reader: RecordReader, changer: Changer) -> None:
        self._reader = reader
        self._changer = changer

    async def dismiss(self, item: TakenItem) -> None:
        """Handle a `dismiss` item: forget all that is live in ``task:<id>:working``; for a while it can be restored."""
        tenant, task_id, agent = map(str, item.item.payload)
        working = Namespace(tenant, "task", task_id, "working")
        caller = Caller(tenant=tenant, agent=agent)
        for memory_id in await self._live(working):
            await self._changer.forget(caller, ResourceName(working, "memories", memory_id))
        await self._reader.store.finish_due([item])

    async def _live(self, namespace: Namespace) -> list[str]:
        partition, after = self._reader.partition(namespace), 0
        live: list[str] = []
        while page := await self._reader.store.memory_ids(namespace, after):
            after = page[-1][1]
            heads = await self._reader.many(partition, Head, [(memory_id,) for memory_id, _ in page])
            live += [h.record.memory_id for h in heads if h is not None and h.record.state.is_live]
        return live
