"""The play of ``hbus demo hindsight``: one agent fails, the next one is told, succeeds, and leaves a skill behind."""

from __future__ import annotations

from contextlib import AsyncExitStack

import hbus
from hbus import steps
from hbus.values import Token
from hindsight_bus.cli.stage import Narrator

KIND = "order-refund"
PATIENCE_S = 30.0
EXPIRED = "401 Unauthorized: token expired"


async def play(target: str, api_key: str, user: str, tell: Narrator) -> None:
    """Play the tasks against a running server."""
    tell.says(f"Two agents work for {user}. Neither has met the order system before.")
    async with AsyncExitStack() as stack:
        support, aftersales = [
            await stack.enter_async_context(
                hbus.aio.connect(target, agent=name, api_key=api_key, backoff=hbus.Backoff(attempts=4))
            )
            for name in ("support", "after-sales")
        ]
        token = await _fails(support, user, tell)
        token = await _succeeds(aftersales, user, token, tell)
        await _repeats(aftersales, user, token, tell)
    tell.says(
        "All of this stays in the store. Look around:\n"
        f"  hbus tasks --user {user}\n  hbus lessons --user {user}\n  hbus skills --user {user}"
    )


async def _fails(bus: hbus.aio.Client, user: str, tell: Narrator) -> Token:
    """Fail a task; return what a reader needs to see its lessons."""
    tell.scene("A task fails", "What happened is recorded; rules make lessons of it that cite their steps.")
    task = await _start(bus, "support", "Refund order 1001 for the customer", user, "", tell)
    tell.does("support", f"#1 calls get_order: {EXPIRED}; gives up")
    await bus.record_steps(task, [steps.tool_call(1, "get_order", {"id": 1001}, error=EXPIRED)])
    await bus.finish_task(task, "failure", score=0.0, judge="user")
    return await _reflects(bus, task, tell)


async def _succeeds(bus: hbus.aio.Client, user: str, token: Token, tell: Narrator) -> Token:
    tell.scene("The next task starts with the lesson", "StartTask returns it, whether or not anybody asked.")
    task = await _start(bus, "after-sales", "Refund order 1002 for the customer", user, token, tell)
    token = await _refunds(bus, task, 1002, tell)
    await _shows_skill(bus, token, tell)
    return token


async def _repeats(bus: hbus.aio.Client, user: str, token: Token, tell: Narrator) -> None:
    tell.scene(
        "What worked is a skill", "It has the order's number as a parameter, and its count rises as it works."
    )
    task = await _start(bus, "after-sales", "Refund order 1003 for the customer", user, token, tell)
    token = await _refunds(bus, task, 1003, tell)
    skill = await _shows_skill(bus, token, tell)
    shared = await bus.promote(skill, user)
    tell.does("after-sales", f"shares it with all agents of {user}")
    tell.answers(f"promoted: {shared.skill.title}, confidence {shared.skill.confidence:.2f}")


async def _refunds(bus: hbus.aio.Client, task: hbus.Task, order: int, tell: Narrator) -> Token:
    tell.does("after-sales", "#1 calls refresh_token, #2 get_order, #3 refund: done")
    calls = [
        steps.tool_call(1, "refresh_token", result="ok"),
        steps.tool_call(2, "get_order", {"id": order}, result="1 order"),
        steps.tool_call(3, "refund", {"id": order}, result="done"),
    ]
    await bus.record_steps(task, calls)
    await bus.finish_task(task, "success", score=1.0, judge="user")
    return await _reflects(bus, task, tell)


async def _shows_skill(bus: hbus.aio.Client, token: Token, tell: Narrator) -> hbus.Skill:
    skill = (await bus.search_skills(kind=KIND, after=token)).hits[0].skill
    tell.answers(f"skill, worked {skill.successes}x, confidence {skill.confidence:.2f}: {skill.text}")
    return skill


async def _start(
    bus: hbus.aio.Client, agent: str, goal: str, user: str, token: Token, tell: Narrator
) -> hbus.Task:
    tell.does(agent, f"starts: {goal}")
    started = await bus.start_task(goal, kind=KIND, user=user, after=token)
    for hit in started.lessons:
        tell.answers(f"lesson: {hit.memory.text}")
    for skill in started.skills:
        tell.answers(f"recommended: {skill.text}")
    if not started.lessons:
        tell.answers("no lessons: nobody has tried before")
    return started.task


async def _reflects(bus: hbus.aio.Client, task: hbus.Task, tell: Narrator) -> Token:
    answer = await bus.reflection(task, wait=PATIENCE_S)
    for insight in answer.reflection.insights:
        cited = ", ".join(f"#{step}" for step in insight.steps)
        tell.answers(f"{hbus.label(hbus.InsightKind, insight.kind)}: {insight.text} ({cited})")
    return answer.token
