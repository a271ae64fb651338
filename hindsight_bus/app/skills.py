"""Skills: learnt from what worked, recommended before the next such task, and judged by how they do since.

A skill is a PROCEDURAL memory, so it is found, forgotten and told of like any other; beside it lie what it consists of,
version by version, and how it has done. Its id follows from its namespace, its agent and the kind of task, so whoever
learns it again finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.change import Changer
from hindsight_bus.app.commit import Committer
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.outcome import Receipts
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.revise import MemoryChange
from hindsight_bus.app.skill_search import SKILL_TAG, FoundSkill, SkillSearch
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.errors import RequestIdReused
from hindsight_bus.domain.failures import ErrorClass
from hindsight_bus.domain.generalising import generalised
from hindsight_bus.domain.language import detect, fold
from hindsight_bus.domain.memory import Cardinality, Channel, Decision, Head, MemoryType, Version
from hindsight_bus.domain.names import Namespace, ResourceName, digest, id_for_request, task_name
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.records import Receipt
from hindsight_bus.domain.reviews import ReviewItem, skill_review
from hindsight_bus.domain.skill_words import text_of, title_of
from hindsight_bus.domain.skills import (
    KEPT_VERSIONS,
    KnownFailure,
    Skill,
    SkillState,
    SkillVersion,
    Trial,
    Way,
    after_trial,
    makes_a_skill,
    reinstated,
    trial_of,
    way_of,
    with_known,
)
from hindsight_bus.domain.tasks import Task, TaskOutcome, kind_tag, procedures_of, tasks_of
from hindsight_bus.domain.trajectory import Trajectory
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import Ref, Stored

T = TypeVar("T")

_FAILURES_TOLD = frozenset({"failed", "recovered"})
"""Rules whose lessons name a tool and the class of its failure."""
_CLASSES = frozenset(each.value for each in ErrorClass)


class OutcomeReport(Value):
    """How one use of a skill went, as its user says."""

    is_success: bool
    request_id: str
    payload: str
    task: ResourceName | None = None
    """The task that it was used in: counted once, by whomever."""
    failed: KnownFailure | None = None


class Skills:
    """Learns skills, finds them and keeps count of how they do."""

    def __init__(
        self,
        reader: RecordReader,
        committer: Committer,
        writer: Writer,
        changer: Changer,
        search: SkillSearch,
    ) -> None:
        self._reader = reader
        self._receipts = Receipts(reader)
        self._committer = committer
        self._writer = writer
        self._changer = changer
        self._search = search

    # -- keeping count

    async def record_outcome(
        self, caller: Caller, name: ResourceName, report: OutcomeReport
    ) -> tuple[FoundSkill, Positions]:
        """Count how a use of a skill went; the same request, and the same task, count once.

        Raises:
            AgentRequired, NotFound, RequestIdReused, Contended, StoreUnavailable, OutcomeUnknown.
        """
        agent = caller.require_agent()
        trial = Trial(report.is_success, caller.ceiling, self._reader.store.now_ms(), report.failed)

        async def attempt() -> tuple[FoundSkill, Positions]:
            found = await self._search.get(name)
            receipt = await self._receipts.find(name.namespace, agent, report.request_id)
            if receipt is not None and receipt.record.payload != report.payload:
                raise RequestIdReused(report.request_id)
            task_id = report.task.id if report.task is not None else ""
            if receipt is not None or await self._has_counted(name, task_id):
                return found, await self._now(name.namespace)
            plan = self._plan(name.namespace, agent)
            if report.request_id:
                Receipts.add(plan, _receipt(name, agent, report.request_id, report.payload))
            return await self._count(plan, found, trial, task_id)

        return await self._holding(name, attempt)

    async def _count(
        self, plan: CommitPlan, found: FoundSkill, trial: Trial, task_id: str
    ) -> tuple[FoundSkill, Positions]:
        skill = found.skill.record
        name = ResourceName(skill.namespace, "skills", skill.id)
        if task_id:
            Receipts.add(plan, _receipt(name, "", _task_request(name, task_id), ""), for_ever=True)
        after = after_trial(skill, trial)
        what = "worked" if trial.is_success else "failed"
        if after.state is not skill.state:
            item = skill_review(after, title_of(after, found.version))
            plan.put(Ref(ReviewItem, (item.id,)), item)
            what = "demoted into review"
        return await self._put(plan, found, after, found.version, what)

    async def _has_counted(self, name: ResourceName, task_id: str) -> bool:
        if not task_id:
            return False
        return await self._receipts.find(name.namespace, "", _task_request(name, task_id)) is not None

    async def reinstate(self, caller: Caller, name: ResourceName) -> None:
        """Have a skill recommended again that somebody has looked at; one that is gone is left alone."""
        agent = caller.require_agent()

        async def attempt() -> None:
            found = await self._search.find(name)
            if found is not None and (after := reinstated(found.skill.record)) != found.skill.record:
                plan = self._plan(name.namespace, agent)
                await self._put(plan, found, after, found.version, "reinstated")

        await self._holding(name, attempt)

    # -- learning

    async def learn(self, task: Task, trajectory: Trajectory) -> tuple[str, ...]:
        """Count how the skills that a task was started with did in it, and learn from it if it reached its goal.

        Returns the names of the skills that it tried or taught; once for a task, however often it is asked.
        """
        way = await asyncio.to_thread(way_of, trajectory)
        own = _own_skill(task, way)
        told = [_parsed(name, task) for name in task.told if "/skills/" in name]
        names = []
        for name in dict.fromkeys(told):
            if name != own and await self._holding(name, partial(self._try, name, task, trajectory)):
                names.append(name)
        if await self._holding(own, partial(self._try_and_learn, own, task, trajectory, way)):
            names.append(own)
        return tuple(map(str, names))

    async def _try_and_learn(self, own: ResourceName, task: Task, trajectory: Trajectory, way: Way) -> bool:
        """Do both in one go: of tasks that end together one makes the skill, and the others count for it."""
        was_tried = await self._try(own, task, trajectory)
        teaches = trajectory.outcome is TaskOutcome.SUCCESS and makes_a_skill(way, task.kind)
        return (teaches and await self._learn(own, task, trajectory, way)) or was_tried

    async def _try(self, name: ResourceName, task: Task, trajectory: Trajectory) -> bool:
        """Count how a skill did in a task that went its way; tell whether it did."""
        found = await self._search.find(name)
        if found is None or await self._has_counted(name, task.id):
            return found is not None
        result = trial_of(found.version, trajectory)
        if result is None:
            return False
        is_success, failed = result
        weight = min((step.ceiling for step in trajectory.steps), default=1.0)
        trial = Trial(is_success, weight, task.finish_time_ms, failed)
        await self._count(self._plan(name.namespace, task.agent), found, trial, task.id)
        return True

    async def _learn(self, name: ResourceName, task: Task, trajectory: Trajectory, way: Way) -> bool:
        """Make a skill of a task, or a new version of the one there is; tell whether it did."""
        partition = self._reader.partition(name.namespace)
        known = await self._reader.one(partition, Skill, name.id)
        if known is None:
            return await self._learn_new(name, task, trajectory, way)
        found = await self._search.find(name)
        if found is None or found.version.task == task_name(task.namespace, task.id):
            return False
        steps, parameters = await asyncio.to_thread(generalised, way, found.version)
        same_way = found.version.path == way.path
        if same_way and steps == found.version.steps:
            return False
        if not same_way and known.record.is_recommended:
            return False  # the known way works: another one is no reason to leave it
        changed = replace(
            known.record,
            version=known.record.version + 1,
            trust=min(known.record.trust, _trust(trajectory, way)) if same_way else _trust(trajectory, way),
        )
        if not same_way:
            first = Trial(True, min(step.ceiling for step in trajectory.steps), task.finish_time_ms)
            blank = replace(changed, won=0.0, lost=0.0, state=SkillState.ACTIVE, problem="")
            changed = after_trial(blank, first)
        version = SkillVersion(
            name.namespace,
            name.id,
            changed.version,
            task.goal,
            task_name(task.namespace, task.id),
            steps,
            parameters,
        )
        await self._put(self._plan(name.namespace, task.agent), found, changed, version, "new version")
        await self._retell(changed, version)
        return True

    async def _learn_new(self, name: ResourceName, task: Task, trajectory: Trajectory, way: Way) -> bool:
        steps, parameters = await asyncio.to_thread(generalised, way)
        skill = Skill(
            name.namespace, name.id, task.kind, task.agent, detect(task.goal), _trust(trajectory, way)
        )
        own_names = {fold(tool): tool for tool in way.path}
        known = [
            replace(each, tool=own_names[fold(each.tool)])
            for each in (*way.failed, *await self._warned(task))
            if fold(each.tool) in own_names
        ]
        first = Trial(True, min(step.ceiling for step in trajectory.steps), task.finish_time_ms)
        skill = after_trial(with_known(skill, tuple(known)), first)
        source = task_name(task.namespace, task.id)
        version = SkillVersion(name.namespace, name.id, 1, task.goal, source, steps, parameters)
        outcome = await self._writer.write(
            Caller(tenant=name.namespace.tenant, agent=task.agent),
            skill_draft(skill, version, _key(task, way)),
        )
        if outcome.memory is None or outcome.decision is not Decision.STORED:
            return False
        plan = self._plan(name.namespace, task.agent)
        Receipts.add(plan, _receipt(name, "", _task_request(name, task.id), ""), for_ever=True)
        await self._put(plan, None, skill, version, "learnt")
        return True

    async def _warned(self, task: Task) -> list[KnownFailure]:
        """Return the failures that the lessons which a task was started with warn of."""
        names = [_parsed(name, task, "memories") for name in task.told if "/memories/" in name]
        warned = []
        for name in names:
            partition = self._reader.partition(name.namespace)
            head = await self._reader.one(partition, Head, name.id)
            if head is None:
                continue
            version = await self._reader.one(partition, Version, name.id, head.record.version)
            failure = _failure_in(version.record.value) if version is not None else None
            if failure is not None:
                warned.append(failure)
        return warned

    async def _retell(self, skill: Skill, version: SkillVersion) -> None:
        """Have the memory of a skill tell of its new version."""
        text = text_of(skill, version)
        change = MemoryChange({"text": text}, channel=Channel.REFLECTION, source=version.task)
        caller = Caller(tenant=skill.namespace.tenant, agent=skill.agent)
        await self._changer.update(caller, ResourceName(skill.namespace, "memories", skill.id), change)

    # -- committing

    async def adopt(self, skill: Skill, version: SkillVersion, agent: str) -> FoundSkill:
        """Put a skill beside a memory that tells of it already; one that is there keeps its count."""
        name = ResourceName(skill.namespace, "skills", skill.id)

        async def attempt() -> FoundSkill:
            found = await self._search.find(name)
            if found is not None and found.version.steps == version.steps:
                return found
            number = found.skill.record.version + 1 if found is not None else 1
            base = found.skill.record if found is not None else skill
            after = replace(base, version=number)
            plan = self._plan(skill.namespace, agent)
            return (await self._put(plan, found, after, replace(version, number=number), "promoted"))[0]

        return await self._holding(name, attempt)

    async def _put(
        self, plan: CommitPlan, before: FoundSkill | None, after: Skill, version: SkillVersion, what: str
    ) -> tuple[FoundSkill, Positions]:
        stored = before.skill if before is not None else None
        ref = Ref(Skill, (after.id,))
        plan.expect(ref, stored.revision if stored is not None else 0)
        plan.put(ref, after)
        if before is None or before.version != version:
            plan.put(Ref(SkillVersion, (after.id, version.number)), version)
            if version.number > KEPT_VERSIONS:
                plan.delete(Ref(SkillVersion, (after.id, version.number - KEPT_VERSIONS)))
        plan.tell_skill(after.id, what)
        committed = await self._committer.commit(plan)
        revision, time_ms = committed.position.revision, committed.time_ms
        created = (
            (stored.create_revision, stored.create_time_ms) if stored is not None else (revision, time_ms)
        )
        found = FoundSkill(Stored(after, *created, revision, time_ms), version)
        return found, Positions([committed.position])

    async def _holding(self, name: ResourceName, attempt: Callable[[], Awaitable[T]]) -> T:
        async with self._committer.locks.holding("skill", name.namespace.id, name.id):
            return await self._committer.attempt(attempt)

    def _plan(self, namespace: Namespace, agent: str) -> CommitPlan:
        return CommitPlan(self._reader.partition(namespace), namespace, agent)

    async def _now(self, namespace: Namespace) -> Positions:
        return Positions([(await self._reader.store.ends(self._reader.partition(namespace))).newest])


def skill_draft(skill: Skill, version: SkillVersion, statement: str) -> WriteDraft:
    """Return the write of a skill's memory; two skills for one kind of task stand side by side."""
    text = text_of(skill, version)
    tags = (SKILL_TAG, kind_tag(skill.kind)) if skill.kind else (SKILL_TAG,)
    return WriteDraft(
        namespace=skill.namespace,
        type=MemoryType.PROCEDURAL,
        text=text,
        subject=f"skill.{statement}",
        value=f"skill/{statement}/{skill.agent}",
        cardinality=Cardinality.MANY,
        tags=tags,
        language="zh" if skill.language == "zh" else "en",
        confidence=min(Channel.REFLECTION.default_confidence, skill.trust),
        request_id=_learnt(statement),
        channel=Channel.REFLECTION,
        source=version.task,
        payload=digest("skill", statement),
    )


def _learnt(statement: str) -> str:
    return f"skill:{statement}"


def _key(task: Task, way: Way) -> str:
    """Return what tells a skill of an agent from its others: the kind of task, or the way where it has none."""
    return f"kind.{task.kind}" if task.kind else f"way.{digest(*way.path, size=8)}"


def _own_skill(task: Task, way: Way) -> ResourceName:
    place = procedures_of(tasks_of(task.namespace.tenant, "", task.agent))
    return ResourceName(place, "skills", id_for_request(place, task.agent, _learnt(_key(task, way))))


def _parsed(name: str, task: Task, collection: str = "skills") -> ResourceName:
    return ResourceName.parse(name, collection, task.namespace.tenant)


def _trust(trajectory: Trajectory, way: Way) -> float:
    """Return the confidence of the weakest step that a way rests on."""
    cited = set(way.steps)
    return min((step.confidence for step in trajectory.steps if step.sequence in cited), default=1.0)


def _failure_in(statement: str) -> KnownFailure | None:
    """Return what a lesson of the rule reflector warns of, by its normal form."""
    rule, *parts = statement.split("/")
    if rule not in _FAILURES_TOLD or len(parts) < 2 or parts[1] not in _CLASSES:
        return None
    return KnownFailure(parts[0], ErrorClass(parts[1]))


def _receipt(name: ResourceName, principal: str, request_id: str, payload: str) -> Receipt:
    return Receipt(name.namespace, principal, request_id, payload, Decision.UPDATED, name.id)


def _task_request(name: ResourceName, task_id: str) -> str:
    return f"skill:{name.id}:{task_id}"
