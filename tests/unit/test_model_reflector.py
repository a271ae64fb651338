"""The model reflects, rules stand in for it, and every reflection says which it was."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from hindsight_bus.adapters.memory.model import Reply, ScriptedModel
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.lessons import Lessons
from hindsight_bus.app.model_reflector import ModelReflector
from hindsight_bus.domain.memory import Channel, Decision, MemoryType
from hindsight_bus.domain.tasks import ItemKind, ReflectionState, TaskOutcome
from hindsight_bus.ports import Lane, ModelRequest
from tests.unit.app_rig import suspecting_from
from tests.unit.squeezed import SqueezedEmbedder
from tests.unit.task_rig import EXPIRED, GOAL, MENDED, TaskNode, call, name_of
from tests.unit.test_support import answer, item, lesson

ADVICE = "Call refresh_token before get_order"
GOOD = answer(
    ineffective=[item(1, quote="token expired", text="get_order was called with an expired token")],
    next_time=[item(1, quote="get_order", text=ADVICE)],
    lessons=[lesson(1, quote="token expired", text=ADVICE)],
)
INVENTED = answer(
    effective=[item(50, quote="all went well")],
    ineffective=[item(1, quote="the network was down")],
    lessons=[lesson(7, 8, quote="a solar flare")],
)


def node_with(*replies: Reply, **options: Any) -> tuple[TaskNode, ScriptedModel]:
    model = ScriptedModel(replies)
    return TaskNode(ModelReflector(model), **options), model


async def test_a_model_reflects_and_what_it_took_is_told() -> None:
    """One question; the lesson is marked and no surer than its evidence."""
    node, model = node_with(GOOD)
    task = await node.failed(*EXPIRED)
    reflection = await node.reflection(task)
    assert (reflection.state, reflection.reflector, reflection.model) == (
        ReflectionState.SUCCEEDED,
        "model",
        "fake/scripted",
    )
    assert (reflection.version, reflection.usage.calls, reflection.usage.cost) == (1, 1, 0.001)
    assert (reflection.dropped, reflection.remarks) == (0, ())
    assert {each.kind for each in reflection.items} == {ItemKind.INEFFECTIVE, ItemKind.NEXT_TIME}
    [memory] = await node.lessons()
    version = memory.version
    assert ADVICE in version.text
    assert (version.type, version.channel, version.confidence) == (MemoryType.LESSON, Channel.REFLECTION, 0.6)
    assert set(version.tags) == {"failure", "reflector:model", "kind:refund", "tool:get_order"}
    [request] = model.asked
    assert request.namespace == task.record.lessons
    assert GOAL in request.material


async def test_what_is_invented_is_dropped_and_rules_stand_in() -> None:
    """After a second question, which says what was wrong; a failed task has its lesson all the same."""
    node, model = node_with(INVENTED)
    task = await node.failed(*EXPIRED)
    reflection = await node.reflection(task)
    assert len(model.asked) == 2
    assert "0 items were supported" in model.asked[1].instructions
    assert (reflection.state, reflection.reflector, reflection.model) == (
        ReflectionState.SUCCEEDED,
        "rules",
        "",
    )
    assert reflection.dropped == 2 * (3 + 4)
    assert reflection.remarks[-1] == "rules took the model's place"
    assert {step for each in reflection.items for step in each.steps} <= {1, 2}
    [memory] = await node.lessons()
    assert "reflector:rules" in memory.version.tags


async def test_a_second_answer_that_is_better_counts() -> None:
    """What both took is added up, and so is what was dropped."""
    node, _ = node_with(INVENTED, GOOD)
    reflection = await node.reflection(await node.failed(*EXPIRED))
    assert (reflection.reflector, reflection.usage.calls, reflection.dropped) == ("model", 2, 7)


async def test_what_is_missing_is_filled_in_by_rules() -> None:
    """One supported item and no lesson: it stays, and the rest is what the rules say, marked."""
    node, _ = node_with(GOOD | {"lessons": [], "next_time": []})
    reflection = await node.reflection(await node.failed(*EXPIRED))
    assert reflection.reflector == "model"
    assert reflection.remarks[-1] == "rules filled in what was missing"
    assert "expired token" in reflection.items[0].text
    assert [learnt.lesson.reflector for learnt in reflection.lessons] == ["rules"]


async def test_without_an_answer_rules_reflect() -> None:
    """At once and marked, with the reason; asked for again, the model gets another chance."""
    node, model = node_with(None)
    task = await node.failed(*EXPIRED)
    reflection = await node.reflection(task)
    assert (reflection.state, reflection.reflector) == (ReflectionState.SUCCEEDED, "rules")
    assert reflection.remarks == ("no answer", "rules took the model's place")
    assert len(reflection.lessons) == 1
    model.replies = [GOOD]
    await node.reflections.request(Caller(agent="support"), name_of(task))
    await node.work()
    assert (await node.reflection(task)).reflector == "model"


async def test_the_language_of_the_task_is_asked_for() -> None:
    """And the lesson is rendered in it."""
    node, model = node_with(GOOD)
    await node.failed(*EXPIRED, goal="给客户办理退款")
    assert "in Chinese" in model.asked[0].instructions
    [memory] = await node.lessons()
    assert memory.version.language == "zh"


async def test_a_model_may_think_in_english() -> None:
    """In a field of its own that is thrown away; the texts are in the language of the task."""
    model = ScriptedModel([GOOD | {"thoughts": "The token had expired."}])
    node = TaskNode(ModelReflector(model, in_english=True))
    reflection = await node.reflection(await node.failed(*EXPIRED, goal="给客户办理退款"))
    [request] = model.asked
    assert next(iter(request.schema["properties"])) == "thoughts"
    assert "Think in English" in request.instructions
    assert "in Chinese" in request.instructions
    assert reflection.reflector == "model"
    assert "token had expired" not in "".join(item.text for item in reflection.items)


async def test_the_nearest_task_that_ended_otherwise_is_compared_with() -> None:
    """Of the same kind and the opposite outcome; what decided between them cites both."""
    node, model = node_with(GOOD)
    for goal, kind in (
        ("Refund order 77 for a customer", "refund"),
        ("Something else", "refund"),
        (GOAL, "parcel"),
    ):
        task = (await node.start(goal, kind=kind)).task
        await node.record(task, *MENDED)
        await node.finish(task, TaskOutcome.SUCCESS)
        await node.work()
    said = item(1, text="The other one called refresh_token, this one only get_order") | {"other_steps": [2]}
    model.replies = [GOOD | {"difference": [said]}]
    reflection = await node.reflection(await node.failed(*EXPIRED))
    assert "Refund order 77" in model.asked[-1].material
    assert "Something else" not in model.asked[-1].material
    [difference] = [each for each in reflection.items if each.kind is ItemKind.DIFFERENCE]
    assert (difference.steps, difference.contrast_steps) == ((1,), (2,))
    assert reflection.contrast
    assert not (await node.reflection(await node.failed(*EXPIRED, kind="other"))).contrast


async def test_near_twins_are_one_memory() -> None:
    """Two tasks, nearly the same lesson about the same tool: one memory, each wording kept, the evidence of both."""
    again = GOOD | {"lessons": [lesson(1, quote="token expired", text=ADVICE + ", please")]}
    node, _ = node_with(GOOD, again, calibrations=suspecting_from(0.7))
    first = await node.failed(*EXPIRED)
    node.clock.advance(60)
    second = await node.failed(*EXPIRED)
    [memory] = await node.lessons()
    assert [claim.source for claim in memory.head.claims] == [str(name_of(first)), str(name_of(second))]
    learnt = (await node.reflection(second)).lessons[0]
    assert (learnt.memory_id, learnt.decision) == (memory.head.memory_id, Decision.CORROBORATED)
    assert memory.head.last_version == 2


@pytest.mark.parametrize(
    "other", ["Do not call refresh_token before get_order", "Ask the customer for the receipt"]
)
async def test_what_says_another_thing_is_another_lesson(other: str) -> None:
    """However near: the opposite is not the same. Nor is what is far."""
    node, _ = node_with(
        GOOD,
        GOOD | {"lessons": [lesson(1, quote="token expired", text=other)]},
        calibrations=suspecting_from(0.7),
    )
    await node.failed(*EXPIRED)
    await node.failed(*EXPIRED)
    assert len(await node.lessons()) == 2


async def test_advice_is_compared_as_the_profile_has_it() -> None:
    """Most of what two vectors of e5 have in common says nothing: with it, these would be as near as twins."""
    other = lesson(1, quote="token expired", text="Get the order before the token")
    embedder = SqueezedEmbedder()
    one, two = await embedder.embed_passages([ADVICE, "Get the order before the token"])
    assert one @ two > 0.9
    node, _ = node_with(GOOD, GOOD | {"lessons": [other]}, embedder=embedder)
    await node.failed(*EXPIRED)
    await node.failed(*EXPIRED)
    assert len(await node.lessons()) == 2


async def test_lessons_about_other_tools_are_others() -> None:
    """Equal words about another tool are another lesson."""
    said = lesson(1, quote="token expired", text="Refresh the token first")
    node, _ = node_with(
        answer(ineffective=[item(1, quote="expired token"), *GOOD["ineffective"]], lessons=[said])
    )
    await node.failed(*EXPIRED)
    await node.failed(call(1, "get_parcel", "401 Unauthorized: token expired"))
    assert len(await node.lessons()) == 2


async def test_what_a_model_said_is_written_down_before_its_lessons() -> None:
    """A job that is done again from there asks nobody, although the model would say something else now."""

    def never_the_same(_: ModelRequest) -> dict[str, Any]:
        text = f"{ADVICE}, attempt {len(model.asked)}"
        return GOOD | {"lessons": [lesson(1, quote="token expired", text=text)]}

    node, model = node_with(never_the_same)
    task = (await node.start()).task
    await node.record(task, *EXPIRED)
    await node.finish(task, TaskOutcome.FAILURE)
    [taken] = await node.store.take_due(node.records.partition(task.record.namespace), 1000, 9, Lane.SLOW)
    with patch.object(Lessons, "learn", side_effect=RuntimeError), pytest.raises(RuntimeError):
        await node.reflections.reflect(taken)
    node.clock.advance(2)
    await node.work()
    reflection = await node.reflection(task)
    assert (len(model.asked), reflection.attempts) == (1, 2)
    [memory] = await node.lessons()
    assert "attempt 1" in memory.version.text
    assert [learnt.memory_id for learnt in reflection.lessons] == [memory.head.memory_id]
