"""Reflections are done at least once and have one effect, whatever dies or fails; the task never notices."""

from __future__ import annotations

import asyncio
from unittest.mock import patch

import pytest

from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.lessons import Lessons
from hindsight_bus.app.reflections import MAX_ATTEMPTS, PATIENCE
from hindsight_bus.app.rule_reflector import RuleReflector
from hindsight_bus.domain.errors import NotFound, StoreUnavailable, WrongState
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Channel, Decision, MemoryType
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.tasks import Insights, ItemKind, Reflection, ReflectionState, TaskOutcome
from hindsight_bus.domain.trajectory import Case
from hindsight_bus.ports import Commit, Committed, DueItem
from tests.unit.task_rig import EXPIRED, GOAL, LESSONS, MENDED, TaskNode, call, name_of


class Failing(RuleReflector):
    """Fails so often, then reflects by the rules."""

    def __init__(self, times: int, version: int = RuleReflector.version) -> None:
        self.left = times
        self.version = version
        self.calls = 0

    async def reflect(self, case: Case) -> Insights:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise StoreUnavailable
        return await super().reflect(case)


class DyingLog(FakeLog):
    """A store whose node dies just before it commits that a reflection has reached a state."""

    dies_at: ReflectionState | None = None

    async def commit(self, commit: Commit) -> Committed:
        states = {put.record.state for put in commit.puts if isinstance(put.record, Reflection)}
        if self.dies_at in states:
            self.dies_at = None
            raise asyncio.CancelledError
        return await super().commit(commit)


async def through_attempts(node: TaskNode) -> None:
    for _ in range(MAX_ATTEMPTS + 2):
        await node.work()
        node.clock.advance(100)


async def test_a_failed_task_leaves_a_lesson() -> None:
    """By itself, in the user's lessons, through the reflection channel, with its source and its evidence."""
    node = TaskNode()
    task = (await node.start()).task
    await node.record(task, *EXPIRED)
    await node.finish(task, TaskOutcome.FAILURE, score=0.0, judge="user")
    assert (await node.reflection(task)).state is ReflectionState.PENDING
    await node.work()
    reflection = await node.reflection(task)
    assert (reflection.state, reflection.reflector, reflection.last_sequence) == (
        ReflectionState.SUCCEEDED,
        "rules",
        2,
    )
    assert {item.kind for item in reflection.items} == {ItemKind.INEFFECTIVE, ItemKind.NEXT_TIME}
    assert 0 < reflection.tokens_after <= reflection.tokens_before
    [memory] = await node.lessons()
    version = memory.version
    assert [learnt.memory_id for learnt in reflection.lessons] == [memory.head.memory_id]
    assert (version.type, version.channel, version.confidence) == (MemoryType.LESSON, Channel.REFLECTION, 0.6)
    assert version.source == str(name_of(task))
    assert set(version.tags) == {"failure", "reflector:rules", "kind:refund"}
    assert GOAL in version.text


async def test_an_agents_own_task_teaches_that_agent_alone() -> None:
    """Without a user the lesson goes to the agent's private namespace."""
    node = TaskNode()
    await node.failed(*EXPIRED, user="")
    assert await node.lessons() == []
    assert len(await node.lessons(Namespace("default", "agent", "support", "lessons"))) == 1


async def test_trust_never_rises_by_derivation() -> None:
    """A lesson is no surer than the weakest step it cites, nor than the one who recorded that may be."""
    node = TaskNode()
    task = (await node.start()).task
    await node.tasks.record(Caller(agent="support", ceiling=0.3), name_of(task), EXPIRED)
    await node.finish(task, TaskOutcome.FAILURE)
    await node.work()
    [memory] = await node.lessons()
    assert memory.version.confidence == memory.head.effective_confidence == 0.3


async def test_equal_lessons_are_one_memory() -> None:
    """Two tasks that failed in the same way: one memory, with the evidence of both."""
    node = TaskNode()
    first = await node.failed(*EXPIRED)
    node.clock.advance(60)
    second = await node.failed(call(1, "get_order", "HTTP 401: invalid token"), goal="Refund order 7, please")
    [memory] = await node.lessons()
    assert [claim.source for claim in memory.head.claims] == [str(name_of(first)), str(name_of(second))]
    one, two = await node.reflection(first), await node.reflection(second)
    assert one.lessons[0].memory_id == two.lessons[0].memory_id == memory.head.memory_id
    assert [r.lessons[0].decision for r in (one, two)] == [Decision.STORED, Decision.CORROBORATED]


async def test_a_job_done_twice_has_one_effect() -> None:
    """The same work again, from a lease that ran out: nothing is added, not even to the log."""
    node = TaskNode()
    task = await node.failed(*MENDED)
    partition = node.records.partition(LESSONS)
    before, reflection = await node.store.ends(partition), await node.reflection(task)
    place = task.record.namespace
    payload = (place.tenant, place.scope, place.owner, place.kind, task.record.id)
    await node.store.commit(Commit(partition, 0, 1, due=(DueItem("again", "reflect", payload),)))
    assert await node.work() == 1
    assert await node.store.ends(partition) == before
    assert await node.reflection(task) == reflection


@pytest.mark.parametrize("moment", [ReflectionState.RUNNING, ReflectionState.SUCCEEDED])
async def test_a_job_that_died_half_way_is_done_by_another_node(moment: ReflectionState) -> None:
    """Before it began, or with its lessons written and nobody told: the other node finds them and adds none."""
    clock = FakeClock()
    store = DyingLog(clock.now_ms, partitions=4)
    node = TaskNode(store=store, clock=clock)
    task = (await node.start()).task
    await node.record(task, *EXPIRED)
    await node.finish(task, TaskOutcome.FAILURE)
    store.dies_at = moment
    with pytest.raises(asyncio.CancelledError):
        await node.work()
    assert (await node.reflection(task)).state is not ReflectionState.SUCCEEDED
    clock.advance(31)
    other = TaskNode(store=store, clock=clock, ids=node.ids)
    await other.work()
    reflection = await other.reflection(task)
    assert (reflection.state, reflection.attempts) == (ReflectionState.SUCCEEDED, 2)
    [memory] = await other.lessons()
    assert [learnt.memory_id for learnt in reflection.lessons] == [memory.head.memory_id]


async def test_a_reflector_that_never_comes_to_an_end_gives_way_to_rules() -> None:
    """After so many attempts, so that a task has its lesson whatever becomes of a model."""
    reflector = Failing(100)
    node = TaskNode(reflector)
    task = await node.failed(*EXPIRED)
    await through_attempts(node)
    reflection = await node.reflection(task)
    assert (reflection.state, reflection.reflector) == (ReflectionState.SUCCEEDED, "rules")
    assert reflector.calls == PATIENCE
    assert len(reflection.lessons) == 1


async def test_what_fails_is_tried_again_and_given_up_in_the_end() -> None:
    """Attempts are bounded; the reflection says that it failed and why, and the task stays as it ended."""
    node = TaskNode()
    with patch.object(Lessons, "learn", side_effect=StoreUnavailable):
        task = await node.failed(*EXPIRED)
        await through_attempts(node)
    reflection = await node.reflection(task)
    assert (reflection.state, reflection.problem) == (ReflectionState.FAILED, "gave up after 8 attempts")
    assert (await node.tasks.get(Caller(), name_of(task))).record.outcome is TaskOutcome.FAILURE
    asked, _ = await node.reflections.request(Caller(agent="support"), name_of(task))
    assert asked.record.state is ReflectionState.PENDING
    await node.work()
    assert (await node.reflection(task)).state is ReflectionState.SUCCEEDED


async def test_what_passes_is_survived() -> None:
    """Two failures, then it goes through."""
    node = TaskNode(Failing(2))
    task = await node.failed(*EXPIRED)
    await through_attempts(node)
    reflection = await node.reflection(task)
    assert (reflection.state, reflection.attempts) == (ReflectionState.SUCCEEDED, 3)


async def test_a_reflection_is_asked_for_once_per_reflector() -> None:
    """Asking again changes nothing; a newer version of the reflector reflects anew, and its equal lesson joins."""
    node = TaskNode()
    task = await node.failed(*EXPIRED)
    before = await node.reflection(task)
    asked, _ = await node.reflections.request(Caller(agent="support"), name_of(task))
    assert asked.record == before
    assert await node.work() == 0
    newer = TaskNode(Failing(0, version=2), store=node.store, clock=node.clock, ids=node.ids)
    await newer.reflections.request(Caller(agent="support"), name_of(task))
    await newer.work()
    after = await newer.reflection(task)
    assert (after.version, after.state) == (2, ReflectionState.SUCCEEDED)
    assert len(await newer.lessons()) == 1


async def test_only_what_has_ended_is_reflected_on() -> None:
    """And by itself only where the one who ended it did not say otherwise."""
    node = TaskNode()
    task = (await node.start()).task
    with pytest.raises(WrongState):
        await node.reflections.request(Caller(agent="support"), name_of(task))
    await node.finish(task, TaskOutcome.FAILURE, is_reflected=False)
    with pytest.raises(NotFound):
        await node.reflection(task)
    await node.reflections.request(Caller(agent="support"), name_of(task))
    await node.work()
    assert (await node.reflection(task)).state is ReflectionState.SUCCEEDED


async def test_subscribers_hear_of_lessons_and_not_of_bookkeeping() -> None:
    """A lesson is an event as any memory is; how far a task is concerns nobody else."""
    node = TaskNode()
    await node.failed(*EXPIRED)
    partition = node.records.partition(LESSONS)
    kinds = [event.kind for entry in await node.store.entries(partition, 0) for event in entry.events]
    assert EventKind.TASK in kinds
    subscription = node.watch("user:*:*")
    heard = []
    await node.policies.load()
    async for message in subscription:
        events = getattr(message, "events", None)
        if events:
            heard += [(watched.event.kind, str(watched.event.namespace)) for watched in events]
            break
    await subscription.aclose()
    assert heard == [(EventKind.WRITTEN, "user:zhangsan:lessons")]
