"""From a failure to the success of the next task: a real server, both clients, and the command line."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from typer.testing import CliRunner

import hbus
import hbus.aio
from hbus import errors, steps
from hindsight_bus.cli.app import app
from tests.e2e.scripted_bus import Threaded
from tests.faults.processes import ServerProcess

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

Connect = Callable[[str], Any]
NO_SKILL = "namespaces/agent:support:procedures/skills/" + "0" * 32


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="hbus-") as place:
        process = ServerProcess(Path(place), embedder="use")
        await process.start()
        yield process
        await process.close()


@pytest.fixture(params=["threads", "asyncio"])
def connect(request: pytest.FixtureRequest, server: ServerProcess) -> Connect:
    """Return a function that makes one of the two clients for an agent."""

    def make(agent: str) -> Any:
        if request.param == "asyncio":
            return hbus.aio.connect(server.target, agent=agent)
        return Threaded(hbus.connect(server.target, agent=agent))

    return make


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    """Return a user of the test's own."""
    return f"zhangsan-{request.node.callspec.id if hasattr(request.node, 'callspec') else 'alone'}"


async def test_the_next_agent_starts_with_the_lesson_and_succeeds_by_it(connect: Connect, user: str) -> None:
    """One agent forgets to refresh its token and fails; the other is told before it begins, and does not."""
    # Skills are an agent's own: another test's agent of the same name would bring its skills along.
    async with connect("support") as support, connect(f"after-sales-of-{user}") as aftersales:
        first = (await support.start_task("Refund order 1001", kind="refund", user=user)).task
        [recorded] = await support.record_steps(
            first,
            [
                steps.thought(1, "The order first"),
                steps.tool_call(2, "get_order", {"id": 1001}, error="401 token expired", seconds=0.2),
                steps.thought(4, "I cannot go on"),
            ],
        )
        assert [(gap.first, gap.last) for gap in recorded.missing] == [(3, 3)]
        await support.finish_task(first, "failure", score=0.0, judge="user")
        learnt = await support.reflection(first, wait=20.0)
        assert hbus.label(hbus.ReflectionState, learnt.reflection.state) == "succeeded"
        assert learnt.reflection.lessons[0].steps == [2]

        begun = await aftersales.start_task("Refund order 1002", kind="refund", user=user, after=learnt.token)
        told = begun.lessons[0].memory
        assert told.name == learnt.reflection.lessons[0].memory
        assert "token" in told.text
        await aftersales.record_steps(
            begun.task,
            [
                steps.tool_call(1, "refresh_token"),
                steps.tool_call(2, "get_order", {"id": 1002}, result="1002"),
            ],
        )
        await aftersales.finish_task(begun.task, "success")
        done = await aftersales.reflection(begun.task, wait=20.0)
        praised = done.reflection
        assert [insight.text for insight in praised.insights] == ["It worked by refresh_token then get_order"]
        assert not praised.lessons

        [skill] = [
            hit.skill for hit in (await aftersales.search_skills(kind="refund", after=done.token)).hits
        ]
        assert [*praised.skills] == [skill.name]
        assert [step.tool for step in skill.steps] == ["refresh_token", "get_order"]
        assert [*skill.preconditions] == ["Check token and credentials, or renew them, before get_order"]
        again = await aftersales.start_task("Refund order 1003", kind="refund", user=user)
        assert [each.name for each in again.skills] == [skill.name]
        await aftersales.record_steps(
            again.task,
            [
                steps.tool_call(1, "refresh_token"),
                steps.tool_call(2, "get_order", {"id": 1003}, result="1003"),
            ],
        )
        await aftersales.finish_task(again.task, "success")
        token = (await aftersales.reflection(again.task, wait=20.0)).token
        risen = await aftersales.skill(skill)
        assert (risen.successes, risen.version) == (skill.successes + 1, 1)

        shared = (await aftersales.promote(risen, user)).skill
        assert shared.source == skill.name
        assert [
            each.name for each in (await support.start_task("Refund", kind="refund", user=user)).skills
        ] == [shared.name]
        reported = await support.record_skill_outcome(shared, "failure", tool="get_order", error="HTTP 504")
        assert reported.skill.failures == shared.failures + 1
        assert "timeout" in {each.failure for each in reported.skill.known_failures}
        [hit] = (await support.search_skills("refund", user=user, after=[token, reported.token])).hits
        assert hit.skill == reported.skill


async def test_what_was_recorded_reads_back(connect: Connect, user: str) -> None:
    """The task as it ended and its steps as they were; a repetition changes nothing, not even after the end."""
    given = [
        steps.observation(1, "The page is empty"),
        steps.action(2, "reloaded it"),
        steps.tool_call(3, "查询", '{"q": 1}', result="三行", seconds=1.25),
        steps.feedback(4, "Well done", rating="good"),
    ]
    async with connect("support") as bus:
        task = (await bus.start_task("看看这一页", user=user)).task
        await bus.record_steps(task, given)
        ended = (await bus.finish_task(task, "success", score=1.0, judge="a test", reflect=False)).task
        [again] = await bus.record_steps(task, given)
        assert (again.recorded, again.duplicates) == (0, 4)
        assert await bus.task(task) == ended
        assert [step async for step in bus.steps(task)] == given
        assert (await anext(aiter(bus.tasks(user=user)))) == ended
        with pytest.raises(errors.NotFound):
            await bus.reflection(task)
        assert (await bus.reflect(task)).reflection.task == task.name


async def test_what_does_not_fit_is_refused(connect: Connect, user: str) -> None:
    """With the field at fault, or the state that does not allow it."""
    async with connect("support") as bus:
        task = (await bus.start_task("goal", user=user)).task
        for wrong, field in (
            (hbus.Step(sequence=0, thought="x"), "steps[0].sequence"),
            (hbus.Step(sequence=1), "steps[0]"),
            (steps.tool_call(1, ""), "steps[0].tool_call.tool"),
            (steps.thought(1, "x" * 70_000), "steps[0].thought"),
        ):
            with pytest.raises(errors.HbusError) as refused:
                await bus.record_steps(task, [wrong])
            assert refused.value.field == field
        with pytest.raises(errors.HbusError, match="goal"):
            await bus.start_task(" ")
        with pytest.raises(errors.HbusError, match="reflect on it when it has ended"):
            await bus.reflect(task)
        for refused_call, field in (
            (bus.skill("namespaces/agent:support:procedures/memories/" + "0" * 32), "name"),
            (bus.search_skills(kind="two words"), "kind"),
            (bus.search_skills(top_k=101), "top_k"),
            (bus.search_skills(min_confidence=1.5), "min_confidence"),
            (bus.record_skill_outcome(NO_SKILL, "unknown"), "outcome"),
            (bus.record_skill_outcome(NO_SKILL, "failure", error="HTTP 500"), "tool"),
            (bus.record_skill_outcome(NO_SKILL, "success", tool="get_order"), "tool"),
            (bus.promote(f"namespaces/user:{user}:lessons/memories/" + "0" * 32, user), "memory"),
            (bus.promote("namespaces/agent:support:lessons/memories/" + "0" * 32, ""), "user"),
        ):
            with pytest.raises(errors.HbusError) as refused:
                await refused_call
            assert refused.value.field == field
        for missing in (bus.skill(NO_SKILL), bus.record_skill_outcome(NO_SKILL, "success")):
            with pytest.raises(errors.NotFound):
                await missing
        with pytest.raises(errors.HbusError, match="outcome"):
            await bus.finish_task(task, hbus.TaskOutcome.TASK_OUTCOME_UNSPECIFIED)


async def test_a_reviewer_decides_what_was_ineffective(connect: Connect, user: str) -> None:
    """Leased to one, refused to the other, rejected with a reason: the lesson is gone from what agents are told."""
    user += "-reviewed"
    async with connect("ann") as ann, connect("bob") as bob:
        task = (await ann.start_task("Refund order 9", kind="refund", user=user)).task
        await ann.record_steps(task, [steps.tool_call(1, "get_order", error="503 the service is down")])
        await ann.finish_task(task, "failure")
        learnt = await ann.reflection(task, wait=20.0)
        [item] = [each async for each in ann.review_items(user=user, lease=60.0)]
        assert (item.task, item.steps, item.memory) == (task.name, [1], learnt.reflection.lessons[0].memory)
        assert [each async for each in bob.review_items(user=user, lease=60.0)] == []
        with pytest.raises(errors.HbusError, match="ann is looking at it"):
            await bob.decide_review_item(item, "approved")
        for wrong in (
            {"decision": "pending"},
            {"decision": "approved", "text": "x"},
            {"decision": "amended"},
        ):
            with pytest.raises(errors.HbusError, match=r"decision|text"):
                await ann.decide_review_item(item, **wrong)
        decided = await ann.decide_review_item(item, "rejected", rationale="the service was down")
        assert (decided.decided_by, decided.rationale) == ("ann", "the service was down")
        assert [each async for each in ann.list(f"user:{user}:lessons", fully_consistent=True)] == []
        assert [each async for each in bob.review_items(user=user)] == []


async def test_the_command_line_shows_what_was_learnt(server: ServerProcess) -> None:
    """Tasks, the reflection on one, and the lessons of a user."""
    async with hbus.aio.connect(server.target, agent="support") as bus:
        task = (await bus.start_task("Refund order 7", user="lisi")).task
        await bus.record_steps(task, [steps.tool_call(1, "refund", error="403 forbidden")])
        await bus.finish_task(task, "failure")
        await bus.reflection(task, wait=20.0)
    listed = await asyncio.to_thread(_run, server, "tasks", "--user", "lisi")
    assert "Refund order 7" in listed
    assert task.name in listed
    shown = await asyncio.to_thread(_run, server, "reflection", task.name)
    assert "refund failed (permission, 1x): 403 forbidden  (#1)" in shown
    waiting = await asyncio.to_thread(_run, server, "reviews", "--user", "lisi", "--lease", "60")
    assert "refund failed (permission, 1x)" in waiting
    name = next(line.strip() for line in waiting.splitlines() if "/reviews/" in line)
    decided = await asyncio.to_thread(_run, server, "review", name, "--approve", "--because", "so it was")
    assert "by cli" in decided
    assert "so it was" in decided
    [lesson] = (await asyncio.to_thread(_run, server, "lessons", "--user", "lisi", "--json")).splitlines()
    assert json.loads(lesson)["type"] == "MEMORY_TYPE_LESSON"


def _run(server: ServerProcess, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments], env={"HBUS_TARGET": server.target})
    assert result.exit_code == 0, result.output
    return result.output


async def test_the_demo_plays_a_failure_and_the_success_after_it(server: ServerProcess) -> None:
    """``hbus demo hindsight``: nobody knew anything, then the second agent is told and it works."""
    told = await asyncio.to_thread(_run, server, "demo", "hindsight", "--json")
    answers = [line["answer"] for line in map(json.loads, told.splitlines()) if "answer" in line]
    assert answers[0] == "no lessons: nobody has tried before"
    assert sum(answer.startswith("lesson: Situation: Refund order 1001") for answer in answers) == 2
    assert any(
        answer.startswith("effective: It worked by refresh_token then get_order") for answer in answers
    )
    [recommended] = [answer for answer in answers if answer.startswith("recommended: Skill: order-refund")]
    for part in (
        "When: Refund order {{id}} for the customer.",
        "Steps: refresh_token → get_order(id={{id}}) → refund(id={{id}}).",
        "Before: Check token and credentials, or renew them, before get_order.",
    ):
        assert part in recommended
    counts = [answer.split(", ")[1] for answer in answers if answer.startswith("skill")]
    assert counts == ["worked 1x", "worked 2x"]
    assert answers[-1].startswith("promoted: order-refund")


async def test_the_command_line_shows_and_shares_skills(server: ServerProcess) -> None:
    """What an agent has learnt, one skill in full, and the same for all agents of a user."""
    async with hbus.aio.connect(server.target, agent="clerk") as bus:
        task = (await bus.start_task("Close account 77", kind="closing", user="wangwu")).task
        await bus.record_steps(task, [steps.tool_call(1, "close", {"account": 77}, result="closed")])
        await bus.finish_task(task, "success")
        [name] = (await bus.reflection(task, wait=20.0)).reflection.skills
    assert "close" in await asyncio.to_thread(_run, server, "skills", "--agent", "clerk")
    assert "no skills" in await asyncio.to_thread(
        _run, server, "skills", "--user", "wangwu", "--agent", "other"
    )
    shown = await asyncio.to_thread(_run, server, "skill", name)
    assert 'step 1  close {"account": "{{account}}"}' in shown
    assert "{{account}}  from goal, for example 77" in shown
    assert "worked 1 of 1 times" in shown
    assert "Skill: closing" in await asyncio.to_thread(_run, server, "promote", name, "--user", "wangwu")
    [shared] = (await asyncio.to_thread(_run, server, "skills", "--user", "wangwu", "--json")).splitlines()
    assert json.loads(shared)["source"] == name


async def test_the_bus_tells_how_tasks_and_skills_come_along(connect: Connect, user: str) -> None:
    """To whoever asks for these kinds of events; they name the task and the skill, and carry no memory."""
    user += "-told"
    async with connect("teller") as bus:
        kinds = ["task", "skill"]
        async with bus.subscribe([f"user:{user}:tasks", "agent:teller:procedures"], kinds=kinds) as events:
            task = (await bus.start_task("Print form 5", kind="printing", user=user)).task
            await bus.record_steps(task, [steps.tool_call(1, "print", {"form": 5}, result="done")])
            await bus.finish_task(task, "success")
            told: list[hbus.Event] = []
            async for event in events:
                told.append(event)
                if event.reason == "reflection succeeded":
                    break
    assert {event.task for event in told if event.task} == {task.name}
    [reason] = [event.reason for event in told if event.task][-1:]
    assert reason == "reflection succeeded"
    reasons = [event.reason for event in told if event.task]
    done = ["reflection running", "reflection made", "reflection succeeded"]
    assert reasons == ["started", "steps", "finished", *done]
    assert not any(event.HasField("memory") for event in told)
