"""What was ineffective waits for a reviewer, one at a time, whose decision reaches the lesson and is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.plan import CommitPlan
from hindsight_bus.app.reviews import Verdict
from hindsight_bus.app.skill_search import SkillQuery
from hindsight_bus.domain.errors import AgentRequired, InvalidField, NotFound, WrongState
from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.reviews import ReviewItem, ReviewState
from hindsight_bus.domain.skills import SkillState
from hindsight_bus.domain.tasks import Task, TaskOutcome
from hindsight_bus.ports import Stored
from tests.unit.task_rig import EXPIRED, LESSONS, TaskNode, call

ANN, BOB = Caller(agent="ann"), Caller(agent="bob")
APPROVED = Verdict(ReviewState.APPROVED, "seen it myself")
REJECTED = Verdict(ReviewState.REJECTED, "the service was down")
AMENDED = Verdict(ReviewState.AMENDED, "more exactly", "Refresh the token when it is older than an hour")


async def waiting(node: TaskNode, caller: Caller = ANN, **asked: Any) -> list[Stored[ReviewItem]]:
    given: dict[str, Any] = {"states": (), "before": 0, "limit": 100, "lease_ms": 0} | asked
    found, _ = await node.reviews.list(caller, LESSONS, **given)
    return found


async def decide(node: TaskNode, item: Stored[ReviewItem], verdict: Verdict, by: Caller = ANN) -> ReviewItem:
    name = ResourceName(item.record.namespace, "reviews", item.record.id)
    return (await node.reviews.decide(by, name, verdict)).record


async def node_with_one() -> tuple[TaskNode, Stored[ReviewItem]]:
    node = TaskNode()
    await node.failed(*EXPIRED)
    [item] = await waiting(node)
    return node, item


async def test_what_was_ineffective_waits_with_the_lesson_drawn_from_it() -> None:
    """By itself, once, with the steps that show it; what helped needs no review."""
    node, item = await node_with_one()
    [memory] = await node.lessons()
    record = item.record
    assert (record.state, record.steps, record.memory_id) == (
        ReviewState.PENDING,
        (1,),
        memory.head.memory_id,
    )
    task = (await node.start()).task
    await node.record(task, call(1, "get_order"))
    await node.finish(task, TaskOutcome.SUCCESS)
    await node.work()
    assert await waiting(node) == [item]


async def test_an_approved_lesson_stays() -> None:
    """Who and why are kept; the item waits no more."""
    node, item = await node_with_one()
    before = await node.lessons()
    decided = await decide(node, item, APPROVED)
    assert decided.decision is not None
    assert (decided.state, decided.decision.agent, decided.decision.rationale) == (
        ReviewState.APPROVED,
        "ann",
        "seen it myself",
    )
    assert await node.lessons() == before
    assert await waiting(node) == []
    assert [each.record for each in await waiting(node, states=list(ReviewState))] == [decided]


async def test_a_rejected_lesson_is_forgotten_and_can_be_restored() -> None:
    """As any memory can."""
    node, item = await node_with_one()
    [memory] = await node.lessons()
    await decide(node, item, REJECTED)
    assert await node.lessons() == []
    await node.restore(memory)
    assert (await node.get(memory)).head.state is MemoryState.ACTIVE


async def test_an_amended_lesson_says_what_the_reviewer_says() -> None:
    """In place of what was there, with the same subject and tags; the old one is in the history."""
    node, item = await node_with_one()
    [old] = await node.lessons()
    decided = await decide(node, item, AMENDED)
    [new] = await node.lessons()
    assert (new.version.text, new.version.subject) == (AMENDED.text, old.version.subject)
    assert set(new.version.tags) == set(old.version.tags)
    assert decided.memory_id == new.head.memory_id != old.head.memory_id
    assert (await node.get(old)).head.state is MemoryState.SUPERSEDED


@pytest.mark.parametrize("verdict", [APPROVED, REJECTED, AMENDED])
async def test_deciding_again_in_the_same_way_changes_nothing(verdict: Verdict) -> None:
    """In another way, or by another reviewer, it is refused."""
    node, item = await node_with_one()
    decided, lessons = await decide(node, item, verdict), await node.lessons()
    assert await decide(node, item, verdict) == decided
    with pytest.raises(WrongState):
        await decide(node, item, verdict, BOB)
    assert await node.lessons() == lessons


async def test_two_reviewers_do_not_look_at_the_same() -> None:
    """A lease keeps the other one away from list and decision, until it is over."""
    node, item = await node_with_one()
    first, second = await asyncio.gather(
        waiting(node, ANN, lease_ms=60_000), waiting(node, BOB, lease_ms=60_000)
    )
    assert sorted([len(first), len(second)]) == [0, 1]
    holder, other = (ANN, BOB) if first else (BOB, ANN)
    with pytest.raises(WrongState, match="is looking at it"):
        await decide(node, item, APPROVED, other)
    assert len(await waiting(node, holder, lease_ms=60_000)) == 1
    assert len(await waiting(node, other)) == 1
    node.clock.advance(61)
    assert len(await waiting(node, other, lease_ms=60_000)) == 1
    await decide(node, item, APPROVED, other)


async def test_pages_are_whole_and_newest_first() -> None:
    """What one reflection found stays on one page."""
    node = TaskNode()
    for number in range(3):
        await node.failed(call(1, f"a{number}", "boom"), call(2, f"b{number}", "boom"))
    seen: list[str] = []
    before = 0
    while True:
        page, before = await node.reviews.list(ANN, LESSONS, (), before, 1, 0)
        assert len(page) == 2
        seen += [each.record.id for each in page]
        if not before:
            break
    assert len(set(seen)) == len(seen) == 6
    assert [each.record.id for each in await waiting(node)] == seen


async def test_what_cannot_be_decided_is_refused() -> None:
    """A lease without a name, an item that is not there, an amendment of nothing."""
    node, item = await node_with_one()
    with pytest.raises(AgentRequired):
        await waiting(node, Caller(), lease_ms=1000)
    with pytest.raises(NotFound):
        await node.reviews.decide(ANN, ResourceName(LESSONS, "reviews", "0" * 32), APPROVED)
    lonely = ReviewItem(LESSONS, "1" * 32, item.record.task_id, "it failed", (1,))
    stored = Stored(lonely, 1, 1, 1, 1)
    with pytest.raises(InvalidField, match="no lesson to amend"):
        await node.reviews._amend(ANN, stored.record, None, "x")


async def test_what_was_decided_is_not_asked_again() -> None:
    """A reflection that finds the same again leaves the decision alone."""
    node, item = await node_with_one()
    decided = await decide(node, item, APPROVED)
    task = await node.records.one(node.records.partition(LESSONS), Task, item.record.task_id)
    assert task is not None
    reflection = await node.reflection(task)
    plan = CommitPlan(node.records.partition(LESSONS), LESSONS, "")
    await node.reviews.propose(plan, reflection)
    assert not plan.build(0, 1).puts
    assert [each.record for each in await waiting(node, states=list(ReviewState))] == [decided]


# --- skills --------------------------------------------------------------------------------------------------------

OWN = Namespace("default", "agent", "support", "lessons")


async def node_with_failing_skill() -> tuple[TaskNode, Stored[ReviewItem]]:
    node = TaskNode()
    for outcome in (TaskOutcome.SUCCESS, TaskOutcome.FAILURE, TaskOutcome.FAILURE):
        task = (await node.start()).task
        await node.record(task, call(1, "get_order"), call(2, "refund"))
        await node.finish(task, outcome)
        await node.work()
    [item], _ = await node.reviews.list(ANN, OWN, (), 0, 10, 0)
    return node, item


async def skills(node: TaskNode) -> list[SkillState]:
    place = Namespace("default", "agent", "support", "procedures")
    found, _ = await node.skill_search.search(Caller(), SkillQuery((place,), with_reviewed=True))
    return [each.skill.record.state for each in found]


async def test_a_failing_skill_waits_beside_the_lessons_of_its_agent() -> None:
    """Once, with the reason; approved, it is recommended again and starts anew."""
    node, item = await node_with_failing_skill()
    assert "refund: it has failed 2 of 3 times" in item.record.text
    assert (item.record.task_id, await skills(node)) == ("", [SkillState.IN_REVIEW])
    assert (await node.start()).skills == []
    decided = await decide(node, item, APPROVED)
    assert (decided.state, await skills(node)) == (ReviewState.APPROVED, [SkillState.ACTIVE])
    assert len((await node.start()).skills) == 1


async def test_a_rejected_skill_is_forgotten() -> None:
    """As a lesson is; and it cannot be amended, for nobody has tried what a reviewer would write."""
    node, item = await node_with_failing_skill()
    with pytest.raises(InvalidField, match="learnt anew"):
        await decide(node, item, AMENDED)
    await decide(node, item, REJECTED)
    assert await skills(node) == []
