"""Death in the middle of reflecting: each task ends with one reflection and each lesson is one memory.

By rules, and by a model that is asked at most once an attempt. What worked counts once for its skill.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from typing import Any, cast

import pytest
from redis.asyncio import Redis

import hbus
import hbus.aio
from hbus import steps
from hbus.v1.task_pb2 import Reflection, ReflectionState, Task
from hindsight_bus.adapters.valkey.keys import PartitionKeys
from hindsight_bus.ports import Lane
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.load import client
from tests.faults.processes import ValkeyProcess
from tests.model_server import Asked, ModelServer, Response, completion

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

USER = "zhangsan"
PARTITIONS = 2
TASKS = 6
STEPS = 150
DEATHS = 3
"""Of the server in the middle of one reflection, at most."""
PATIENCE_S = 240.0
"""For a reflection: on a busy machine all that the kills have left to do may come before it."""


@forms("kills", 2, 20)
async def test_every_task_that_ended_is_reflected_on_once(
    kills: int, serve: Serve, valkey: ValkeyProcess, chance: random.Random
) -> None:
    """Whenever the server dies after an acknowledged end, the reflection comes, and its lesson is there once."""
    reflections = await _through_kills(kills, serve, valkey, chance)
    assert {reflection.reflector for reflection in reflections} == {"rules"}


@forms("kills", 1, 20)
async def test_a_model_is_asked_at_most_once_an_attempt(
    kills: int, serve: Serve, valkey: ValkeyProcess, chance: random.Random
) -> None:
    """The same, with a model that takes its time: what it said is written down before anything comes of it."""

    async def thoughtful(asked: Asked) -> Response:
        await asyncio.sleep(chance.random() * 0.2)
        return Response(completion(json.dumps(_answer(_tool_in(asked)))))

    async with ModelServer(thoughtful).running() as models:
        provider = {"name": "fake", "base_url": models.url, "model": "m"}
        reflections = await _through_kills(kills, serve, valkey, chance, 2.0, models=json.dumps([provider]))
    calls = Counter(map(_tool_in, models.asked))
    by = Counter(reflection.reflector for reflection in reflections)
    print(f"reflected by {dict(by)}, model calls: {sorted(calls.values())}")
    assert by["model"] > by["rules"]
    for reflection in reflections:
        tool = re.search(r"tool-\d+-\d+", reflection.lessons[0].lesson)
        assert tool is not None
        assert calls[tool[0]] <= reflection.attempts


@forms("kills", 1, 20)
async def test_every_success_counts_for_its_skill_once(
    kills: int, serve: Serve, valkey: ValkeyProcess, chance: random.Random
) -> None:
    """Whenever the server dies, there is one skill for the kind of task, and it has worked as often as tasks did."""
    server = await serve(valkey_url=valkey.url, partitions=PARTITIONS)
    ended: list[Task] = []
    for turn in range(kills):
        async with client(server.target, "support", timeout=30.0) as bus:
            ended += await asyncio.gather(*(_succeed(bus, 1000 * turn + n) for n in range(TASKS)))
        await asyncio.sleep(chance.random() * 0.3)  # the fault itself: at any moment of the work
        await server.kill()
        await _let_leases_run_out(valkey)
        await server.restart()
    async with client(server.target, "support", timeout=30.0) as bus:
        taught = {name for task in ended for name in (await _reflected(bus, task)).skills}
        [hit] = (await bus.search_skills(kind="refund", fully_consistent=True)).hits
        memories = [
            memory.name async for memory in bus.list("agent:support:procedures", fully_consistent=True)
        ]
    assert taught == {hit.skill.name}
    assert memories == [hit.skill.memory]
    assert (hit.skill.successes, hit.skill.failures) == (kills * TASKS, 0)


async def _succeed(bus: hbus.aio.Client, order: int) -> Task:
    task = (await bus.start_task(f"Refund order {order}", kind="refund", user=USER)).task
    calls = [
        steps.tool_call(1, "get_order", {"id": order}, result="1 order"),
        steps.tool_call(2, "refund", {"id": order}, result="done"),
    ]
    await bus.record_steps(task, calls)
    return (await bus.finish_task(task, "success")).task


def _tool_in(asked: Asked) -> str:
    found = re.search(r"tool-\d+-\d+", asked["messages"][-1]["content"])
    assert found is not None
    return found[0]


def _answer(tool: str) -> dict[str, Any]:
    cited = {"steps": [STEPS], "quote": tool}
    items = {
        "ineffective": [{"text": f"{tool} failed", **cited}],
        "next_time": [{"text": f"Mend {tool}", **cited}],
    }
    lesson = {"situation": "A task", "action": tool, "result": "boom", "lesson": f"See to {tool}", **cited}
    return items | {"effective": [], "lessons": [lesson]}


async def _through_kills(
    kills: int,
    serve: Serve,
    valkey: ValkeyProcess,
    chance: random.Random,
    longest_s: float = 0.3,
    **settings: object,
) -> list[Reflection]:
    """Have tasks fail and the server die so often; return the reflections when all have come, lessons checked."""
    server = await serve(valkey_url=valkey.url, partitions=PARTITIONS, **settings)
    ended: list[Task] = []
    for each in range(kills):
        ended += await _fail(server.target, each)
        await asyncio.sleep(chance.random() * longest_s)  # the fault itself: at any moment of the work
        await server.kill()
        await _let_leases_run_out(valkey)
        await server.restart()
        # Attempts are bounded, and leases run out faster here than they do: no job is to die more often than that.
        await _all_reflected(server.target, ended[: TASKS * max(each + 1 - DEATHS, 0)][-TASKS:])
    reflections = await _all_reflected(server.target, ended)
    async with client(server.target, timeout=30.0) as bus:
        stored = [memory.name async for memory in bus.list(f"user:{USER}:lessons", fully_consistent=True)]
    print(f"attempts: {[reflection.attempts for reflection in reflections]}")
    named = [lesson.memory for reflection in reflections for lesson in reflection.lessons]
    assert len(reflections) == kills * TASKS
    assert all(len(reflection.lessons) == 1 for reflection in reflections)
    assert sorted(named) == sorted(stored)
    return reflections


async def _fail(target: str, turn: int) -> list[Task]:
    """Have tasks fail side by side, each in a way of its own."""
    async with client(target, "support", timeout=30.0) as bus:
        return await asyncio.gather(*(_fail_one(bus, f"tool-{turn}-{n}") for n in range(TASKS)))


async def _fail_one(bus: hbus.aio.Client, tool: str) -> Task:
    task = (await bus.start_task(f"Get on with {tool}", user=USER)).task
    noise = [steps.thought(number, f"thought {number} " * 20) for number in range(1, STEPS)]
    await bus.record_steps(task, [*noise, steps.tool_call(STEPS, tool, error="boom")])
    return (await bus.finish_task(task, "failure")).task


async def _all_reflected(target: str, tasks: list[Task]) -> list[Reflection]:
    async with client(target, timeout=30.0) as bus:
        return [await _reflected(bus, task) for task in tasks]


async def _reflected(bus: hbus.aio.Client, task: Task) -> Reflection:
    found = (await bus.reflection(task, wait=PATIENCE_S)).reflection
    assert found.state == ReflectionState.REFLECTION_STATE_SUCCEEDED, found
    return found


async def _let_leases_run_out(valkey: ValkeyProcess) -> None:
    """Make what a dead server had leased due now, as it will be when its leases have run out."""
    async with Redis(unix_socket_path=str(valkey.socket)) as redis:
        for partition in range(PARTITIONS):
            key, _ = PartitionKeys(partition).due(Lane.SLOW)
            for leased in cast("list[bytes]", await redis.zrange(key, 0, -1)):
                await redis.zadd(key, {leased: 0}, xx=True)
