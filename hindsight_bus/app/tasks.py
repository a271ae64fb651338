"""Tasks: start one with what was learnt from others before, record what happens in it, end it."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Sequence

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.indexing import one_by_one
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.reflections import Reflections
from hindsight_bus.app.search import Hit, Searcher, SearchRequest
from hindsight_bus.app.skill_search import FoundSkill, SkillSearch
from hindsight_bus.app.task_records import TaskRecords
from hindsight_bus.app.task_retention import TaskRetention, keep
from hindsight_bus.app.work import Handler
from hindsight_bus.app.working_memory import WorkingMemory
from hindsight_bus.domain.errors import RequestIdReused, TooLarge, WrongState
from hindsight_bus.domain.memory import MemoryType
from hindsight_bus.domain.names import Namespace, ResourceName, id_for_request, skill_name
from hindsight_bus.domain.policy import AutoReflection, Policy
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.sequences import count, holds, with_numbers
from hindsight_bus.domain.tasks import (
    Step,
    Task,
    TaskOutcome,
    TaskSteps,
    kind_tag,
    lessons_of,
    outcome_tag,
    procedures_of,
    tasks_of,
)
from hindsight_bus.domain.values import Value, field, replace
from hindsight_bus.ports import Committed, DueItem, Ids, Ref, Stored

MAX_STEPS = 10_000
MAX_STEP_BYTES = 8 * 1024 * 1024
"""Of all texts of a task's steps."""
MAX_LESSONS = 5
_MAX_QUERY_CHARS = 2048
_OF_FAILURES = outcome_tag(TaskOutcome.FAILURE)


class TaskDraft(Value):
    """A task to start, as decoded."""

    goal: str
    kind: str = ""
    user: str = ""
    request_id: str = ""
    payload: str = ""
    """Digest of the whole request."""
    freshness: Freshness = field(default_factory=Freshness)
    """Of the lessons."""


class StartedTask(Value):
    """A task, the lessons that match its goal or kind, those of failures first, and the skills to be relied on."""

    task: Stored[Task]
    lessons: list[Hit]
    skills: list[FoundSkill]
    positions: Positions


class ChangedTask(Value):
    """A task after a change, and how many steps the change brought and repeated."""

    task: Stored[Task]
    positions: Positions
    recorded: int = 0
    duplicates: int = 0


class Ending(Value):
    """How a task ended, and who says so."""

    outcome: TaskOutcome
    score: float | None = None
    judge: str = ""
    is_reflected: bool = True
    """Reflect on it by itself."""


def _stored(before: Stored[Task] | None, task: Task, committed: Committed) -> Stored[Task]:
    revision, time_ms = committed.position.revision, committed.time_ms
    created = (before.create_revision, before.create_time_ms) if before is not None else (revision, time_ms)
    return Stored(task, *created, revision, time_ms)


def _fresh(task: Task, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that are not recorded yet, by sequence number; of equal numbers the first counts."""
    first = {step.sequence: step for step in reversed(steps) if not holds(task.recorded, step.sequence)}
    return tuple(sorted(first.values(), key=lambda step: step.sequence))


def _with_steps(task: Task, steps: Sequence[Step]) -> Task:
    """Return the task with one more batch; raise ``TooLarge`` where it would hold too much."""
    total, size = count(task.recorded) + len(steps), task.step_bytes + sum(step.size_bytes for step in steps)
    if total > MAX_STEPS:
        raise TooLarge("steps", total, MAX_STEPS, "steps")
    if size > MAX_STEP_BYTES:
        raise TooLarge("steps", size, MAX_STEP_BYTES)
    recorded = with_numbers(task.recorded, (step.sequence for step in steps))
    return replace(task, recorded=recorded, batches=task.batches + 1, step_bytes=size)


def _both(shared: Namespace, own: Namespace) -> tuple[Namespace, ...]:
    return tuple(dict.fromkeys((shared, own)))


def _search(
    places: tuple[Namespace, ...], query: str, tags: frozenset[str], freshness: Freshness
) -> SearchRequest:
    return SearchRequest(
        namespaces=places,
        query=query,
        top_k=MAX_LESSONS,
        vector=None,
        as_agent="",
        for_user="",
        filter=Filter(types=frozenset({MemoryType.LESSON}), tags=tags),
        freshness=freshness,
        weights=None,
    )


class Tasks:
    """The life of tasks."""

    def __init__(
        self,
        reader: RecordReader,
        committer: Committer,
        searcher: Searcher,
        reflections: Reflections,
        skills: SkillSearch,
        policies: PolicyBook,
        ids: Ids,
    ) -> None:
        self._records = TaskRecords(reader)
        self._reader = reader
        self._committer = committer
        self._searcher = searcher
        self._reflections = reflections
        self._skills = skills
        self._policies = policies
        self._ids = ids

    async def start(self, caller: Caller, draft: TaskDraft) -> StartedTask:
        """Start a task; return it with what was learnt from tasks like it, whether or not anybody asked.

        Raises:
            AgentRequired, RequestIdReused, Contended, StoreUnavailable, OutcomeUnknown, IndexBehind.
        """
        agent = caller.require_agent()
        namespace = tasks_of(caller.tenant, draft.user, agent)
        request_id = draft.request_id
        task_id = id_for_request(namespace, agent, request_id) if request_id else self._ids.memory_id()
        task = Task(namespace, task_id, draft.goal, draft.kind, draft.user, agent, draft.payload)
        own = tasks_of(caller.tenant, "", agent)
        (lessons, positions), skills = await asyncio.gather(
            self._lessons(caller, draft, _both(task.lessons, lessons_of(own))),
            self._skills.recommended(
                caller,
                _both(procedures_of(namespace), procedures_of(own)),
                draft.goal,
                draft.kind,
                draft.freshness,
            ),
        )
        told = [hit.memory.name for hit in lessons]
        told += [skill_name(each.version.namespace, each.version.skill_id) for each in skills]
        task = replace(task, told=tuple(told))
        stored = await self._committer.attempt(lambda: self._start(task, request_id))
        return StartedTask(stored, lessons, skills, positions)

    async def record(self, caller: Caller, name: ResourceName, steps: Sequence[Step]) -> ChangedTask:
        """Record steps. One whose sequence number is recorded already is a repetition and changes nothing.

        Raises:
            AgentRequired, NotFound, WrongState (it has ended), TooLarge, Contended, StoreUnavailable, OutcomeUnknown.
        """
        agent = caller.require_agent()
        steps = [replace(step, ceiling=caller.ceiling) for step in steps]
        async with self._committer.locks.holding(name.namespace.id, name.id):
            return await self._committer.attempt(lambda: self._record(agent, name, steps))

    async def finish(self, caller: Caller, name: ResourceName, ending: Ending) -> ChangedTask:
        """End a task; the reflection on it is queued by the same commit. Ending it again in the same way is fine.

        Raises:
            AgentRequired, NotFound, WrongState (it ended otherwise), Contended, StoreUnavailable, OutcomeUnknown.
        """
        agent = caller.require_agent()
        async with self._committer.locks.holding(name.namespace.id, name.id):
            return await self._committer.attempt(lambda: self._finish(agent, name, ending))

    async def get(self, caller: Caller, name: ResourceName) -> Stored[Task]:
        """Return a task; raise ``NotFound``."""
        return await self._records.task(name)

    async def steps(self, task: Task, after: int) -> Sequence[Step]:
        """Return a task's steps with a sequence number above ``after``, in order. Cost: O(its steps)."""
        return [step for step in await self._records.steps(task) if step.sequence > after]

    async def list(
        self, caller: Caller, namespace: Namespace, before: int, limit: int
    ) -> tuple[Sequence[Stored[Task]], int]:
        """Return at most ``limit`` tasks, newest first, and the revision to go on before; 0 = no more."""
        ids = await self._reader.store.task_ids(namespace, before, limit + 1)
        page = ids[:limit]
        partition = self._reader.partition(namespace)
        stored = await self._reader.many(partition, Task, [(task_id,) for task_id, _ in page])
        return [task for task in stored if task is not None], page[-1][1] if len(ids) > limit else 0

    # -- starting

    async def _start(self, task: Task, request_id: str) -> Stored[Task]:
        partition = self._reader.partition(task.namespace)
        known = await self._reader.one(partition, Task, task.id)
        if known is not None:
            if known.record.payload != task.payload:
                raise RequestIdReused(request_id)
            return known
        plan = self._plan(task.namespace, task.agent)
        keep(plan, task, self._policies.in_force(task.namespace), self._reader.store.now_ms())
        committed = await self._put(plan, None, task, "started")
        return _stored(None, task, committed)

    async def _lessons(
        self, caller: Caller, draft: TaskDraft, places: tuple[Namespace, ...]
    ) -> tuple[builtins.list[Hit], Positions]:
        """Return the lessons that match the goal, and those of the same kind of task."""
        searches = [_search(places, draft.goal[:_MAX_QUERY_CHARS], frozenset(), draft.freshness)]
        if draft.kind:
            for tags in ({kind_tag(draft.kind), _OF_FAILURES}, {kind_tag(draft.kind)}):
                searches.append(_search(places, "", frozenset(tags), draft.freshness))
        answers = await asyncio.gather(*(self._searcher.search(caller, each) for each in searches))
        found: dict[str, Hit] = {}
        for answer in answers:
            for hit in answer.hits:
                found.setdefault(hit.memory.name, hit)
        hits = sorted(found.values(), key=lambda hit: _OF_FAILURES not in hit.memory.version.tags)
        return hits[:MAX_LESSONS], answers[0].positions

    # -- changing

    async def _record(self, agent: str, name: ResourceName, steps: Sequence[Step]) -> ChangedTask:
        stored = await self._records.task(name)
        task = stored.record
        fresh = _fresh(task, steps)
        duplicates = len(steps) - len(fresh)
        if not fresh:
            return ChangedTask(stored, await self._now(name.namespace), 0, duplicates)
        if not task.is_open:
            raise WrongState(str(name), task.outcome.name, "it takes no more steps")
        changed = _with_steps(task, fresh)
        plan = self._plan(name.namespace, agent)
        ref = Ref(TaskSteps, (task.id, changed.batches))
        plan.expect(ref, 0)
        plan.put(ref, TaskSteps(task.namespace, task.id, changed.batches, agent, fresh))
        committed = await self._put(plan, stored, changed, "steps")
        after = _stored(stored, changed, committed)
        return ChangedTask(after, Positions([committed.position]), len(fresh), duplicates)

    async def _finish(self, agent: str, name: ResourceName, ending: Ending) -> ChangedTask:
        stored = await self._records.task(name)
        task = stored.record
        changed = replace(task, outcome=ending.outcome, score=ending.score, judge=ending.judge)
        if not task.is_open:
            if changed != task:
                raise WrongState(str(name), task.outcome.name, "it has ended otherwise")
            return ChangedTask(stored, await self._now(name.namespace))
        changed = replace(changed, finish_time_ms=self._reader.store.now_ms())
        plan = self._plan(name.namespace, agent)
        plan.due(DueItem(f"dismiss:{task.id}", "dismiss", (task.namespace.tenant, task.id, agent)))
        policy = self._policies.in_force(task.namespace)
        if ending.is_reflected and _is_reflected(policy, ending.outcome):
            self._reflections.queue(plan, changed, None)
        keep(plan, changed, policy, changed.finish_time_ms)
        committed = await self._put(plan, stored, changed, "finished")
        return ChangedTask(_stored(stored, changed, committed), Positions([committed.position]))

    def _plan(self, namespace: Namespace, agent: str) -> CommitPlan:
        return CommitPlan(self._reader.partition(namespace), namespace, agent)

    async def _put(self, plan: CommitPlan, before: Stored[Task] | None, task: Task, what: str) -> Committed:
        ref = Ref(Task, (task.id,))
        plan.expect(ref, before.revision if before is not None else 0)
        plan.put(ref, task)
        plan.tell_task(task.id, what)
        return await self._committer.commit(plan)

    async def _now(self, namespace: Namespace) -> Positions:
        return Positions([(await self._reader.store.ends(self._reader.partition(namespace))).newest])


def _is_reflected(policy: Policy, outcome: TaskOutcome) -> bool:
    """Tell whether the reflection on a task that ended so comes by itself."""
    match policy.auto_reflection:
        case AutoReflection.ALWAYS:
            return True
        case AutoReflection.FAILURES:
            return outcome is TaskOutcome.FAILURE
        case AutoReflection.NEVER:
            return False


def task_handlers(
    reflections: Reflections, working: WorkingMemory, retention: TaskRetention
) -> dict[str, Handler]:
    """Return the handlers of the work that tasks leave to do."""
    return {
        "reflect": one_by_one(reflections.reflect),
        "dismiss": one_by_one(working.dismiss),
        "drop_task": one_by_one(retention.drop),
    }
