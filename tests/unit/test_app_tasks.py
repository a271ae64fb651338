"""Tasks: what is recorded once, what is found before the next one, and when a task takes no more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hindsight_bus.app import tasks
from hindsight_bus.app.caller import Caller
from hindsight_bus.domain.errors import AgentRequired, NotFound, RequestIdReused, TooLarge, WrongState
from hindsight_bus.domain.names import Namespace, Pattern, ResourceName
from hindsight_bus.domain.policy import AutoReflection
from hindsight_bus.domain.sequences import gaps
from hindsight_bus.domain.tasks import Reflection, ReflectionState, TaskOutcome, TaskSteps
from tests.unit.app_rig import running
from tests.unit.task_rig import EXPIRED, MENDED, TaskNode, call, name_of


async def test_a_task_is_started_once_per_request() -> None:
    """The same request gives the same task; another payload under its id is refused."""
    node = TaskNode()
    first = await node.start(request_id="r", payload="p")
    again = await node.start(request_id="r", payload="p")
    assert first.task == again.task
    assert (await node.start()).task.record.id != first.task.record.id
    with pytest.raises(RequestIdReused):
        await node.start(request_id="r", payload="another")


async def test_a_task_needs_an_agent() -> None:
    """Whose experience would it be?"""
    with pytest.raises(AgentRequired):
        await TaskNode().start(agent="")


async def test_steps_are_recorded_once_and_gaps_are_reported() -> None:
    """Repetitions within a call and over calls change nothing; what is missing is told until it comes."""
    node = TaskNode()
    task = (await node.start()).task
    first = await node.record(task, call(1, "a"), call(4, "d"), call(1, "other"))
    assert (first.recorded, first.duplicates) == (2, 1)
    assert gaps(first.task.record.recorded) == ((2, 3),)
    again = await node.record(task, call(4, "other"))
    assert (again.recorded, again.duplicates) == (0, 1)
    assert again.task == first.task
    last = await node.record(task, call(3, "c"), call(2, "b"))
    assert gaps(last.task.record.recorded) == ()
    steps = await node.tasks.steps(last.task.record, after=1)
    assert [(step.sequence, step.tool) for step in steps] == [(2, "b"), (3, "c"), (4, "d")]


async def test_steps_recorded_side_by_side_are_all_kept() -> None:
    """On two nodes at once: nothing is lost and nothing counted twice."""
    node = TaskNode()
    other = TaskNode(store=node.store, clock=node.clock, ids=node.ids)
    task = (await node.start()).task
    calls = [(node if n % 2 else other).record(task, call(n, "a"), call(n + 1, "b")) for n in range(1, 5)]
    changed = await asyncio.gather(*calls)
    assert sum(each.recorded for each in changed) == 5
    final = await node.tasks.get(Caller(), name_of(task))
    assert final.record.recorded == ((1, 5),)
    assert [step.sequence for step in await node.tasks.steps(final.record, 0)] == [1, 2, 3, 4, 5]


async def test_a_task_that_has_ended_takes_no_more() -> None:
    """Repeated steps and the same ending are fine, new steps and another ending are not."""
    node = TaskNode()
    task = (await node.start()).task
    await node.record(task, call(1, "a"))
    ended = await node.finish(task, TaskOutcome.SUCCESS, score=0.9, judge="user")
    assert ended.task.record.finish_time_ms == node.clock.now_ms()
    assert (await node.finish(task, TaskOutcome.SUCCESS, score=0.9, judge="user")).task == ended.task
    assert (await node.record(task, call(1, "a"))).duplicates == 1
    with pytest.raises(WrongState, match="no more steps"):
        await node.record(task, call(2, "b"))
    with pytest.raises(WrongState, match="ended otherwise"):
        await node.finish(task, TaskOutcome.FAILURE)


async def test_a_task_holds_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """By steps and by bytes; what was refused left nothing behind."""
    node = TaskNode()
    task = (await node.start()).task
    monkeypatch.setattr(tasks, "MAX_STEPS", 2)
    with pytest.raises(TooLarge, match="3 steps, at most 2"):
        await node.record(task, call(1, "a"), call(2, "b"), call(3, "c"))
    monkeypatch.setattr(tasks, "MAX_STEP_BYTES", 10)
    with pytest.raises(TooLarge, match="bytes, at most 10"):
        await node.record(task, call(1, "a" * 20))
    assert (await node.record(task, call(1, "a"))).task.record.recorded == ((1, 1),)


async def test_tasks_are_listed_newest_first_by_owner() -> None:
    """Those for one user, page by page; an agent's own lie apart."""
    node = TaskNode()
    started = [(await node.start(f"goal {n}")).task for n in range(3)]
    own = (await node.start(user="")).task
    place = started[0].record.namespace
    page, before = await node.tasks.list(Caller(), place, 0, 2)
    assert [task.record.goal for task in page] == ["goal 2", "goal 1"]
    rest, end = await node.tasks.list(Caller(), place, before, 2)
    assert [task.record.goal for task in rest] == ["goal 0"]
    assert end == 0
    assert [t.record for t in (await node.tasks.list(Caller(), own.record.namespace, 0, 9))[0]] == [
        own.record
    ]


async def test_a_task_is_found_under_its_own_name_only() -> None:
    """Not under another owner's namespace or tenant."""
    node = TaskNode()
    task = (await node.start()).task
    for place in (
        Namespace("default", "user", "lisi", "tasks"),
        Namespace("other", "user", "zhangsan", "tasks"),
    ):
        with pytest.raises(NotFound):
            await node.tasks.get(Caller(), ResourceName(place, "tasks", task.record.id))


async def test_the_next_task_starts_with_what_was_learnt() -> None:
    """Another agent of the user gets the lesson with its task, those of failures first; a stranger's agent does not."""
    async with running(TaskNode()) as node:
        assert isinstance(node, TaskNode)
        assert (await node.start()).lessons == []
        mended = (await node.start("Refund order 7 for the customer")).task
        await node.record(mended, *MENDED)
        await node.finish(mended, TaskOutcome.SUCCESS)
        await node.failed(*EXPIRED)
        found = (await node.start("Refund order 1002 for the customer", agent="after-sales")).lessons
        assert ["failure" in hit.memory.version.tags for hit in found] == [True, False]
        assert "token" in found[0].memory.version.text
        assert (await node.start(user="lisi", agent="other")).lessons == []


async def test_lessons_of_the_same_kind_come_whatever_the_goal_says() -> None:
    """Retrieval is forced: words need not match where the kind does."""
    async with running(TaskNode()) as node:
        assert isinstance(node, TaskNode)
        await node.failed(*EXPIRED)
        node.embedder.is_down = True
        assert (await node.start("zzz qqq")).lessons
        assert not (await node.start("zzz qqq", kind="invoice")).lessons


async def test_failures_are_not_crowded_out() -> None:
    """However many lessons of successes are newer, the one failure of that kind comes first."""
    async with running(TaskNode()) as node:
        assert isinstance(node, TaskNode)
        await node.failed(*EXPIRED)
        for n in range(8):
            mended = (await node.start(f"goal {n}")).task
            await node.record(mended, call(1, f"tool{n}", "timeout"), call(2, f"tool{n}"))
            await node.finish(mended, TaskOutcome.SUCCESS)
            await node.work()
        found = (await node.start("zzz qqq")).lessons
        assert ["failure" in hit.memory.version.tags for hit in found] == [True, False, False, False, False]


async def test_working_memory_goes_when_the_task_ends() -> None:
    """What was noted for the task alone is forgotten with its end, and nothing else is."""
    node = TaskNode()
    task = (await node.start()).task
    await node.note("the order has two items", namespace=task.record.working)
    await node.write("tables")
    await node.finish(task, TaskOutcome.ABANDONED)
    await node.work()
    assert await node.lessons(task.record.working) == []
    assert len(await node.listed()) == 1


# --- by policy -----------------------------------------------------------------------------------------------------


async def with_policy(node: TaskNode, **fields: Any) -> None:
    pattern = Pattern.parse("user:*:tasks", "default")
    await node.namespaces.update_policy(Caller(agent="admin"), pattern, fields)


@pytest.mark.parametrize(
    ("policy", "outcome", "is_reflected"),
    [
        (AutoReflection.ALWAYS, TaskOutcome.SUCCESS, True),
        (AutoReflection.FAILURES, TaskOutcome.SUCCESS, False),
        (AutoReflection.FAILURES, TaskOutcome.FAILURE, True),
        (AutoReflection.NEVER, TaskOutcome.FAILURE, False),
    ],
)
async def test_the_policy_says_after_which_tasks_reflection_comes(
    policy: AutoReflection, outcome: TaskOutcome, is_reflected: bool
) -> None:
    """By itself; it can be asked for after any."""
    node = TaskNode()
    await with_policy(node, auto_reflection=policy)
    task = (await node.start()).task
    await node.record(task, *EXPIRED)
    await node.finish(task, outcome)
    await node.work()
    if is_reflected:
        assert (await node.reflection(task)).state is ReflectionState.SUCCEEDED
        return
    with pytest.raises(NotFound):
        await node.reflection(task)
    await node.reflections.request(Caller(agent="support"), name_of(task))
    await node.work()
    assert (await node.reflection(task)).state is ReflectionState.SUCCEEDED


DAY_S = 24 * 3600


async def test_a_task_goes_when_it_has_been_kept_long_enough() -> None:
    """With all that was recorded of it; what was learnt from it stays. One that was never ended goes too."""
    node = TaskNode()
    task = await node.failed(*EXPIRED)
    never_ended = (await node.start("Another")).task
    assert len(await node.store.review_ids(task.record.lessons)) == 1
    node.clock.advance(89 * DAY_S)
    await node.work()
    assert (await node.tasks.get(Caller(), name_of(task))).record.id == task.record.id
    node.clock.advance(2 * DAY_S)
    await node.work()
    for gone in (task, never_ended):
        with pytest.raises(NotFound):
            await node.tasks.get(Caller(), name_of(gone))
    partition = node.records.partition(task.record.namespace)
    assert await node.records.one(partition, TaskSteps, task.record.id, 1) is None
    assert await node.records.one(partition, Reflection, task.record.id) is None
    assert (await node.tasks.list(Caller(), task.record.namespace, 0, 10))[0] == []
    assert await node.store.review_ids(task.record.lessons) == []
    assert len(await node.lessons()) == 1


async def test_a_longer_policy_holds_for_tasks_before_it() -> None:
    """Whatever held when they ended."""
    node = TaskNode()
    task = await node.failed(*EXPIRED)
    await with_policy(node, task_retention_days=200.0)
    node.clock.advance(100 * DAY_S)
    await node.work()
    assert (await node.tasks.get(Caller(), name_of(task))).record.id == task.record.id
    node.clock.advance(101 * DAY_S)
    await node.work()
    with pytest.raises(NotFound):
        await node.tasks.get(Caller(), name_of(task))


async def test_a_task_can_be_kept_for_ever() -> None:
    """By a policy of 0 days, for those before it too."""
    node = TaskNode()
    task = await node.failed(*EXPIRED)
    await with_policy(node, task_retention_days=0.0)
    node.clock.advance(4000 * DAY_S)
    await node.work()
    assert (await node.tasks.get(Caller(), name_of(task))).record.id == task.record.id
