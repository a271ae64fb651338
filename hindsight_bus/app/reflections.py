"""Reflecting on tasks that have ended: due work that is done at least once and has one effect.

The reflection record says how far the work is; every commit on it compares what the one before has left. What was made
of a task is written down before its lessons are, and those under request ids that follow from task, reflector and text:
a job that died half way and is done again asks no model twice, finds its own lessons and adds none.
"""

from __future__ import annotations

import asyncio

import structlog

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.contrasts import Contrasts
from hindsight_bus.app.lessons import Lessons
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.reviews import Reviews
from hindsight_bus.app.rule_reflector import RuleReflector
from hindsight_bus.app.skills import Skills
from hindsight_bus.app.task_records import TaskRecords
from hindsight_bus.domain.errors import InvalidRequest, NotFound, Refused, WrongState
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.tasks import LearntLesson, Reflection, ReflectionState, Task
from hindsight_bus.domain.trajectory import Case, Trajectory, trim
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import DueItem, Lane, Ref, Reflector, Stored, TakenItem

log = structlog.get_logger(__name__)

PATIENCE = 5
"""Attempts of a reflector that did not come to an end, or died with its node, before rules take its place."""
MAX_ATTEMPTS = 8
_ENDED = frozenset({ReflectionState.SUCCEEDED, ReflectionState.FAILED})


class Reflections:
    """Asks for reflections, tells how far they are, and does them."""

    def __init__(
        self,
        reader: RecordReader,
        committer: Committer,
        lessons: Lessons,
        reflector: Reflector,
        skills: Skills,
        reviews: Reviews,
    ) -> None:
        self._reader = reader
        self._records = TaskRecords(reader)
        self._committer = committer
        self._lessons = lessons
        self._reflector = reflector
        self._skills = skills
        self._reviews = reviews
        self._last_resort = RuleReflector()
        self._contrasts = Contrasts(reader)

    # -- asking

    async def request(self, caller: Caller, name: ResourceName) -> tuple[Stored[Reflection], Positions]:
        """Ask for the reflection on a task that has ended; one that is under way, or done, is asked for once.

        Raises:
            AgentRequired, NotFound, WrongState (it goes on), Contended, StoreUnavailable, OutcomeUnknown.
        """
        agent = caller.require_agent()
        return await self._committer.attempt(lambda: self._request(agent, name))

    async def get(self, caller: Caller, name: ResourceName) -> tuple[Stored[Reflection], Positions]:
        """Return how far the reflection on a task is; raise ``NotFound`` where none was asked for."""
        task = await self._records.task(name)
        stored = await self._records.reflection(task.record)
        if stored is None:
            raise NotFound(f"{name}/reflection")
        skills = [ResourceName.parse(each, "skills", caller.tenant) for each in stored.record.skills]
        return stored, await self._now(name.namespace, *(skill.namespace for skill in skills))

    def queue(self, plan: CommitPlan, task: Task, before: Stored[Reflection] | None) -> Reflection:
        """Have a commit ask for the reflection on a task; ``before`` is the one that it replaces."""
        ref = Ref(Reflection, (task.id,))
        pending = Reflection(
            namespace=task.namespace,
            task_id=task.id,
            state=ReflectionState.PENDING,
            last_sequence=task.last_sequence,
            reflector=self._reflector.name,
            version=self._reflector.version,
        )
        plan.expect(ref, before.revision if before is not None else 0)
        plan.put(ref, pending)
        place = task.namespace
        payload = (place.tenant, place.scope, place.owner, place.kind, task.id)
        plan.due(DueItem(f"reflect:{task.id}", "reflect", payload, lane=Lane.SLOW))
        return pending

    async def _request(self, agent: str, name: ResourceName) -> tuple[Stored[Reflection], Positions]:
        task = (await self._records.task(name)).record
        if task.is_open:
            raise WrongState(str(name), task.outcome.name, "reflect on it when it has ended")
        known = await self._records.reflection(task)
        if known is not None and self._answers(known.record, task):
            return known, await self._now(name.namespace)
        plan = CommitPlan(self._reader.partition(name.namespace), name.namespace, agent)
        pending = self.queue(plan, task, known)
        plan.tell_task(task.id, "reflection asked for")
        committed = await self._committer.commit(plan)
        revision, time_ms = committed.position.revision, committed.time_ms
        created = (known.create_revision, known.create_time_ms) if known is not None else (revision, time_ms)
        return Stored(pending, *created, revision, time_ms), Positions([committed.position])

    def _answers(self, reflection: Reflection, task: Task) -> bool:
        """Tell whether a reflection is the one that would be made now, and has not failed."""
        made_by = (reflection.reflector, reflection.version, reflection.last_sequence)
        wanted = (self._reflector.name, self._reflector.version, task.last_sequence)
        return made_by == wanted and reflection.state is not ReflectionState.FAILED

    async def _now(self, *namespaces: Namespace) -> Positions:
        partitions = dict.fromkeys(map(self._reader.partition, namespaces))
        ends = await asyncio.gather(*map(self._reader.store.ends, partitions))
        return Positions(each.newest for each in ends)

    # -- doing

    async def reflect(self, item: TakenItem) -> None:
        """Handle a `reflect` item. What fails for a reason that will pass is tried again, at most 8 times in all."""
        *_, task_id = map(str, item.item.payload)
        task = await self._reader.one(item.partition, Task, task_id)
        known = await self._reader.one(item.partition, Reflection, task_id)
        if task is None or known is None or known.record.state in _ENDED:
            await self._reader.store.finish_due([item])
        elif item.attempt > MAX_ATTEMPTS:
            await self._give_up(item, known, f"gave up after {MAX_ATTEMPTS} attempts")
        else:
            running = replace(known.record, state=ReflectionState.RUNNING, attempts=item.attempt)
            await self._try(item, task.record, await self._put(known, running))

    async def _try(self, item: TakenItem, task: Task, running: Stored[Reflection]) -> None:
        """Reflect, write that down, then write the lessons: whoever goes on from there asks nobody again."""
        try:
            if not running.record.is_made:
                reflector = self._reflector if item.attempt <= PATIENCE else self._last_resort
                running = await self._put(running, await self._made(task, running.record, reflector))
            lessons = await self._lessons.learn(task, running.record)
        except (Refused, InvalidRequest) as error:  # the same would be refused again
            await self._give_up(item, running, error.message)
        else:
            done = replace(running.record, state=ReflectionState.SUCCEEDED, lessons=lessons)
            await self._put(running, done, item)

    async def _give_up(self, item: TakenItem, known: Stored[Reflection], problem: str) -> None:
        log.warning("reflection.failed", task=known.record.task_id, problem=problem)
        await self._put(known, replace(known.record, state=ReflectionState.FAILED, problem=problem), item)

    async def _made(self, task: Task, running: Reflection, reflector: Reflector) -> Reflection:
        """Return the reflection with all that it says; its lessons are not written yet."""
        trajectory = await self._records.trajectory(task)
        skills, remarks = await self._learnt_skills(task, trajectory)
        trimmed = await asyncio.to_thread(trim, trajectory)
        contrast = await self._contrasts.of(task) if reflector.contrasts else None
        insights = await reflector.reflect(Case(trajectory, trimmed.steps, task.lessons, contrast))
        return replace(
            running,
            reflector=insights.reflector,
            items=insights.items,
            lessons=tuple(LearntLesson("", 0, lesson) for lesson in insights.lessons),
            tokens_before=trimmed.tokens_before,
            tokens_after=trimmed.tokens_after,
            model=insights.model,
            usage=running.usage + insights.usage,
            dropped=insights.dropped,
            contrast=insights.contrast,
            remarks=(*insights.remarks, *remarks),
            skills=skills,
            is_made=True,
        )

    async def _learnt_skills(
        self, task: Task, trajectory: Trajectory
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the skills that a task taught or tried, or why it could teach none: its lessons need not miss them."""
        try:
            return await self._skills.learn(task, trajectory), ()
        except (Refused, InvalidRequest) as error:
            log.warning("reflection.no_skill", task=task.id, problem=error.message)
            return (), (f"no skill: {error.message}",)

    async def _put(
        self, before: Stored[Reflection], after: Reflection, item: TakenItem | None = None
    ) -> Stored[Reflection]:
        """Commit how far a reflection is, and with ``item`` that nothing is left to do."""
        plan = CommitPlan(self._reader.partition(after.namespace), after.namespace, "")
        ref = Ref(Reflection, (after.task_id,))
        plan.expect(ref, before.revision)
        plan.put(ref, after)
        plan.tell_task(after.task_id, f"reflection {_stage(after)}")
        if after.state is ReflectionState.SUCCEEDED:
            await self._reviews.propose(plan, after)
        if item is not None:
            plan.finish(item)
        committed = await self._committer.commit(plan)
        return replace(
            before, record=after, revision=committed.position.revision, update_time_ms=committed.time_ms
        )


def _stage(reflection: Reflection) -> str:
    """Return how far a reflection is, in a word."""
    if reflection.state is ReflectionState.RUNNING and reflection.is_made:
        return "made"
    return reflection.state.name.lower()
