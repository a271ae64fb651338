"""Having a model look at suspicions before a person does, within a budget.

A model dismisses a suspicion that is none, and else leaves its opinion with it. It settles nothing: memories are what
others wrote, and a text must not be able to talk its way past another.
"""

from __future__ import annotations

import structlog

from hindsight_bus.app.commit import Committer
from hindsight_bus.app.conflicts import without_suspicion
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.domain.context import date_of
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.judging import INSTRUCTIONS, SCHEMA, VERSION, material, verdict_of
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.records import Conflict, ConflictState, Judgement, SuspicionVerdict
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import Count, CounterFull, LanguageModel, ModelRequest, Ref, Stored, TakenItem

log = structlog.get_logger(__name__)

_DAY_MS = 24 * 3600 * 1000
_TIMEOUT_S = 30.0
_MAX_TOKENS = 1_000


class Judge:
    """Asks a model about suspicions, at most so often a namespace and day."""

    def __init__(self, reader: RecordReader, committer: Committer, model: LanguageModel, a_day: int) -> None:
        self._reader = reader
        self._committer = committer
        self._model = model
        self._a_day = a_day

    async def judge(self, item: TakenItem) -> None:
        """Handle a `judge` item. What cannot be judged stays suspected, as it does without a model."""
        stored = await self._open(item)
        if stored is not None and await self._may_spend(item.partition, stored.record.namespace):
            sides = await self._sides(item.partition, stored.record)
            judgement = await self._asked(stored.record.namespace, sides) if sides else None
            if judgement is not None:
                await self._committer.attempt(lambda: self._note(item, judgement))
        await self._reader.store.finish_due([item])

    async def _open(self, item: TakenItem) -> Stored[Conflict] | None:
        """Return the suspicion, if it still is one and nobody has judged it."""
        stored = await self._reader.one(item.partition, Conflict, str(item.item.payload[0]))
        if stored is None or stored.record.judgement is not None:
            return None
        return stored if stored.record.state is ConflictState.SUSPECTED else None

    async def _may_spend(self, partition: int, namespace: Namespace) -> bool:
        """Count one question; False where today's are used up."""
        day = self._reader.store.now_ms() // _DAY_MS
        plan = CommitPlan(partition, namespace, "")
        plan.count(Count(("judge", namespace.id, str(day)), self._a_day, 2 * _DAY_MS))
        try:
            await self._committer.commit(plan)
        except CounterFull:
            log.info("judge.budget_used_up", namespace=str(namespace))
            return False
        return True

    async def _sides(self, partition: int, conflict: Conflict) -> list[StoredMemory]:
        """Return the memories in question; none where not all of them are live."""
        ids = [side.memory_id for side in conflict.sides]
        found = await self._reader.by_id(partition, ids, "")
        live = [memory for memory in found.values() if memory.head.record.state.is_live]
        return live if len(live) == len(ids) else []

    async def _asked(self, namespace: Namespace, sides: list[StoredMemory]) -> Judgement | None:
        times = [side.version.event_time_ms or side.head.create_time_ms for side in sides]
        answer = await self._model.answer(
            ModelRequest(
                purpose="judge",
                version=VERSION,
                instructions=INSTRUCTIONS,
                material=material([side.version for side in sides], map(date_of, times)),
                schema=SCHEMA,
                namespace=namespace,
                timeout_s=_TIMEOUT_S,
                max_tokens=_MAX_TOKENS,
            )
        )
        if answer.value is None:
            return None
        verdict, reason = verdict_of(answer.value)
        return Judgement(verdict, reason, answer.model, self._reader.store.now_ms())

    async def _note(self, item: TakenItem, judgement: Judgement) -> None:
        """Keep an opinion with its suspicion, and close the suspicion where that is that there is nothing to it."""
        stored = await self._open(item)
        if stored is None:
            return
        conflict = stored.record
        sides = await self._sides(item.partition, conflict)
        if not sides:
            return  # one has gone meanwhile: the suspicion becomes moot by itself
        is_dismissed = judgement.verdict is SuspicionVerdict.UNRELATED
        state = ConflictState.SETTLED if is_dismissed else conflict.state
        plan = CommitPlan(item.partition, conflict.namespace, "")
        ref = Ref(Conflict, (conflict.id,))
        plan.expect(ref, stored.revision)
        plan.put(ref, replace(conflict, state=state, judgement=judgement))
        told = f"{judgement.model} holds them for {judgement.verdict.name.lower()}: {judgement.reason}"
        for side in sides:
            head = side.head.record
            after = without_suspicion(head, conflict.id) if is_dismissed else head
            kind = EventKind.UPDATED if is_dismissed else EventKind.SUSPECTED
            plan.change(side, after, kind, reason=told, conflict_id="" if is_dismissed else conflict.id)
        await self._committer.commit(plan)
