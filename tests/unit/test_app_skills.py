"""Skills come from what worked, are put before whoever starts such a task, and are judged by how they do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.skill_search import FoundSkill, SkillQuery
from hindsight_bus.app.skills import OutcomeReport
from hindsight_bus.app.task_records import TaskRecords
from hindsight_bus.domain.errors import InvalidField, NotFound, RequestIdReused, WrongState
from hindsight_bus.domain.failures import ErrorClass
from hindsight_bus.domain.memory import Channel, Memory, MemoryState
from hindsight_bus.domain.names import Namespace, Pattern, ResourceName
from hindsight_bus.domain.skills import KnownFailure, SkillState
from hindsight_bus.domain.tasks import ReflectionState, Step, Task, TaskOutcome
from hindsight_bus.ports import Stored
from tests.trajectories import step_of
from tests.unit.task_rig import EXPIRED, TaskNode, call, name_of

OWN = Namespace("default", "agent", "aftersales", "procedures")
SHARED = Namespace("default", "user", "zhangsan", "procedures")


def steps(order: int, *, fails: str = "") -> tuple[Step, ...]:
    """Return the calls of a refund; the last one fails with a report where one is given."""
    given = json.dumps({"id": order})
    return (
        call(1, "refresh_token"),
        step_of(2, "call", "get_order", given, "1 order", "", 0),
        step_of(3, "call", "refund", given, "" if fails else "done", fails, 0),
    )


async def done(
    node: TaskNode, order: int, *, agent: str = "aftersales", fails: str = "", **fields: Any
) -> Stored[Task]:
    """Have an agent refund an order, or fail to, and do the work that it leaves."""
    task = (await node.start(f"Refund order {order} for the customer", agent, **fields)).task
    await node.record(task, *steps(order, fails=fails), agent=agent)
    await node.finish(task, TaskOutcome.FAILURE if fails else TaskOutcome.SUCCESS)
    await node.work()
    return task


async def found(node: TaskNode, *places: Namespace, **fields: Any) -> list[FoundSkill]:
    skills, _ = await node.skill_search.search(Caller(), SkillQuery(places or (OWN,), **fields))
    return skills


def name(skill: FoundSkill) -> ResourceName:
    return ResourceName(skill.version.namespace, "skills", skill.version.skill_id)


async def report(
    node: TaskNode, skill: FoundSkill, *, agent: str = "aftersales", **fields: Any
) -> FoundSkill:
    given: dict[str, Any] = {"is_success": False, "request_id": "", "payload": ""} | fields
    ceiling = given.pop("ceiling", 1.0)
    caller = Caller(agent=agent, ceiling=ceiling)
    return (await node.skills.record_outcome(caller, name(skill), OutcomeReport(**given)))[0]


async def test_from_a_failure_to_a_skill() -> None:
    """The lesson of one agent comes first for the next, who succeeds by it; the skill that it leaves knows of it."""
    node = TaskNode()
    await node.failed(*EXPIRED)
    begun = await node.start("Refund order 1002 for the customer", "aftersales")
    assert "get_order" in begun.lessons[0].memory.version.text
    assert begun.skills == []
    await node.record(begun.task, *steps(1002), agent="aftersales")
    await node.finish(begun.task, TaskOutcome.SUCCESS)
    await node.work()

    [learnt] = await found(node)
    skill = learnt.skill.record
    assert (await node.reflection(begun.task)).skills == (str(name(learnt)),)
    assert (skill.successes, skill.failures, skill.version) == (1, 0, 1)
    assert learnt.version.path == ("refresh_token", "get_order", "refund")
    assert learnt.version.steps[1].arguments == '{"id": "{{id}}"}'
    assert skill.known_failures == (KnownFailure("get_order", ErrorClass.AUTHENTICATION),)

    again = await node.start("Refund order 1003 for the customer", "aftersales")
    assert [each.skill.record.id for each in again.skills] == [skill.id]
    await node.record(again.task, *steps(1003), agent="aftersales")
    await node.finish(again.task, TaskOutcome.SUCCESS)
    await node.work()
    [risen] = await found(node)
    assert (risen.skill.record.successes, risen.skill.record.version) == (2, 1)
    assert risen.skill.record.confidence > skill.confidence


async def test_a_task_counts_once_however_often_it_is_reflected_on() -> None:
    """By the job, by the job again, and by whoever reports it."""
    node = TaskNode()
    task = await done(node, 1001)
    [skill] = await found(node)
    await node.skills.learn(task.record, await TaskRecords(node.records).trajectory(task.record))
    after = await report(node, skill, is_success=True, task=name_of(task), request_id="r1", payload="p")
    assert after.skill.record.successes == 1


async def test_a_report_is_counted_once_and_no_other_may_have_its_id() -> None:
    """The same request again changes nothing; another one under its id is refused."""
    node = TaskNode()
    await done(node, 1001)
    [skill] = await found(node)
    failed = KnownFailure("refund", ErrorClass.TIMEOUT)
    for _ in range(2):
        after = await report(node, skill, request_id="r1", payload="p", failed=failed)
        assert (after.skill.record.successes, after.skill.record.failures) == (1, 1)
        assert after.skill.record.known_failures == (failed,)
    with pytest.raises(RequestIdReused):
        await report(node, skill, request_id="r1", payload="another")


async def test_a_failing_skill_is_not_recommended_any_more_until_another_way_works() -> None:
    """It goes into review with the reason; a way that works becomes its next version, the old one stays readable."""
    node = TaskNode()
    await done(node, 1001)
    for order in (1002, 1003):
        await done(node, order, fails="HTTP 503 refund service unavailable")
    assert await found(node) == []
    [demoted] = await found(node, with_reviewed=True)
    skill = demoted.skill.record
    assert (skill.state, skill.successes, skill.failures) == (SkillState.IN_REVIEW, 1, 2)
    assert "failed 2 of 3" in skill.problem
    assert skill.known_failures[0] == KnownFailure("refund", ErrorClass.UNAVAILABLE, 2)

    task = (await node.start("Refund order 1004 for the customer", "aftersales")).task
    await node.record(task, call(1, "get_order"), call(2, "refund_by_mail"), agent="aftersales")
    await node.finish(task, TaskOutcome.SUCCESS)
    await node.work()
    [renewed] = await found(node)
    assert renewed.version.path == ("get_order", "refund_by_mail")
    assert (renewed.skill.record.version, renewed.skill.record.successes) == (2, 2)
    assert renewed.skill.record.is_recommended
    assert (await node.skill_search.get(name(renewed), 1)).version.path == (
        "refresh_token",
        "get_order",
        "refund",
    )
    [memory] = await node.listed(OWN, frozenset({MemoryState.ACTIVE}))
    assert "refund_by_mail" in memory.version.text


async def test_a_skill_that_works_is_not_left_for_another_way() -> None:
    """A second way to the same end is no reason to change."""
    node = TaskNode()
    await done(node, 1001)
    task = (await node.start("Refund order 1004", "aftersales")).task
    await node.record(task, call(1, "refund_by_mail"), agent="aftersales")
    await node.finish(task, TaskOutcome.SUCCESS)
    await node.work()
    [skill] = await found(node)
    assert (skill.skill.record.version, skill.skill.record.successes) == (1, 1)


async def test_a_skill_whose_memory_is_forgotten_is_gone() -> None:
    """It is not found, not recommended, and not learnt again by itself; restored, it is back with its count."""
    node = TaskNode()
    await done(node, 1001)
    [skill] = await found(node)
    [memory] = await node.listed(OWN)
    await node.forget(memory, "aftersales")
    await done(node, 1002)
    assert await found(node) == []
    assert (await node.start("Refund order 1003", "aftersales")).skills == []
    with pytest.raises(NotFound):
        await node.skill_search.get(name(skill))
    await node.restore(memory, "aftersales")
    assert [each.skill.record.successes for each in await found(node)] == [1]


async def test_what_is_purged_leaves_no_skill() -> None:
    """Nor a version of it."""
    node = TaskNode()
    await done(node, 1001)
    [skill] = await found(node)
    [memory] = await node.listed(OWN)
    await node.forget(memory, "aftersales")
    node.clock.advance(31 * 24 * 3600)
    await node.work()
    partition = node.records.partition(OWN)
    assert await node.records.one(partition, type(skill.skill.record), skill.version.skill_id) is None
    assert await node.records.one(partition, type(skill.version), skill.version.skill_id, 1) is None


# --- promotion -----------------------------------------------------------------------------------------------------


async def promoted(node: TaskNode, memory: Memory, agent: str = "aftersales", user: str = "zhangsan") -> Any:
    resource = ResourceName(memory.namespace, "memories", memory.head.memory_id)
    return await node.promoter.promote(Caller(agent=agent), resource, user)


async def test_a_promoted_skill_is_recommended_to_every_agent_of_the_user() -> None:
    """With the count that it had; promoting it again keeps what it has counted since."""
    node = TaskNode()
    await done(node, 1001)
    [memory] = await node.listed(OWN)
    assert (await node.start("Refund order 7", "support")).skills == []
    shared = (await promoted(node, memory)).skill
    assert shared.skill.record.source == f"namespaces/{OWN}/skills/{memory.head.memory_id}"
    assert [
        each.skill.record.successes for each in (await node.start("Refund order 7", "support")).skills
    ] == [1]

    task = await done(node, 1002, agent="support")
    assert str(name(shared)) in (await node.reflection(task)).skills
    await promoted(node, memory)
    [copy] = await found(node, SHARED)
    assert copy.skill.record.successes == 2
    assert len(await node.listed(SHARED)) == 1


async def test_promotion_by_many_adds_no_evidence() -> None:
    """Every claim stays that of the agent that made it, and the shared lesson is as sure as the private one."""
    node = TaskNode()
    await node.failed(*EXPIRED, user="")
    [lesson] = await node.lessons(Namespace("default", "agent", "support", "lessons"))
    outcomes = [(await promoted(node, lesson, agent)).outcome for agent in ("support", "aftersales", "sales")]
    for shared in (outcome.memory for outcome in outcomes):
        assert shared.head.effective_confidence == lesson.head.effective_confidence
        assert {claim.agent for claim in shared.head.claims} == {"support"}
        assert shared.version.channel is Channel.REFLECTION
        assert shared.version.source == lesson.name


async def test_only_what_is_private_and_live_is_promoted() -> None:
    """And only lessons and procedures."""
    node = TaskNode()
    await node.failed(*EXPIRED)
    [shared] = await node.lessons()
    with pytest.raises(InvalidField, match="private"):
        await promoted(node, shared)
    await node.failed(*EXPIRED, user="")
    own = Namespace("default", "agent", "support", "lessons")
    [lesson] = await node.lessons(own)
    await node.forget(lesson)
    with pytest.raises(WrongState):
        await promoted(node, lesson)
    noted = (await node.note("It rains", namespace=own)).memory
    assert noted is not None
    with pytest.raises(InvalidField, match="LESSON or PROCEDURAL"):
        await promoted(node, noted)
    with pytest.raises(NotFound):
        await node.promoter.promote(Caller(agent="support"), ResourceName(own, "memories", "0" * 32), "lisi")


async def test_an_agent_of_little_trust_cannot_talk_a_skill_up() -> None:
    """However often it reports success, its skill is no surer than what its key may state."""
    node = TaskNode()
    task = (await node.start("Refund order 1001", "aftersales")).task
    await node.tasks.record(Caller(agent="aftersales", ceiling=0.3), name_of(task), steps(1001))
    await node.finish(task, TaskOutcome.SUCCESS)
    await node.work()
    [skill] = await found(node)
    for _ in range(20):
        skill = await report(node, skill, is_success=True, ceiling=0.3)
    assert skill.skill.record.confidence <= 0.3
    assert (await node.start("Refund order 1002", "aftersales")).skills == []


async def test_tasks_that_end_together_count_for_one_skill() -> None:
    """One of them makes it, wherever its reflection is done; all count."""
    node = TaskNode()
    tasks = []
    for n in range(1001, 1007):
        task = (await node.start(f"Refund order {n}", "aftersales")).task
        await node.record(task, *steps(n), agent="aftersales")
        tasks.append((await node.finish(task, TaskOutcome.SUCCESS)).task)
    other = TaskNode(store=node.store, clock=node.clock, ids=node.ids)
    trajectories = [await TaskRecords(node.records).trajectory(task.record) for task in tasks]
    taught = await asyncio.gather(
        *(
            (node, other)[n % 2].skills.learn(task.record, trajectory)
            for n, (task, trajectory) in enumerate(zip(tasks, trajectories, strict=True))
        )
    )
    [only] = {name for names in taught for name in names}
    skill = await node.skill_search.get(ResourceName.parse(only, "skills", "default"))
    assert (skill.skill.record.successes, skill.skill.record.version) == (6, 1)


async def test_a_skill_that_cannot_be_written_costs_no_lesson() -> None:
    """The reflection says why there is none, and all else is as it would be."""
    node = TaskNode()
    pattern = Pattern.parse("agent:*:procedures", "default")
    await node.namespaces.update_policy(Caller(agent="admin"), pattern, {"embedding_profile": "external(4)"})
    task = await done(node, 1001)
    reflection = await node.reflection(task)
    assert (reflection.state, reflection.skills) == (ReflectionState.SUCCEEDED, ())
    assert "no skill" in reflection.remarks[-1]
    assert reflection.items
