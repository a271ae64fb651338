"""A server that asks a model: each task ends with a reflection that says how it came about."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from typer.testing import CliRunner

import hbus
import hbus.aio
from hbus import steps
from hindsight_bus.cli.app import app
from tests.faults.processes import ServerProcess
from tests.model_server import ModelServer, fails, says

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]

SECRET = "sk-nobody-may-see-this"
CITED = {"steps": [1], "quote": "token expired"}
GOOD: dict[str, Any] = {
    "effective": [],
    "ineffective": [{"text": "get_order was called with an expired token", **CITED}],
    "next_time": [{"text": "Call refresh_token before get_order", **CITED}],
    "lessons": [
        {
            "situation": "A refund",
            "action": "get_order",
            "result": "401",
            "lesson": "Refresh the token first",
            **CITED,
        }
    ],
}
INVENTED = json.loads(json.dumps(GOOD).replace("[1]", "[7, 99]").replace("token expired", "a solar flare"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def models() -> AsyncIterator[ModelServer]:
    async with ModelServer(says(GOOD)).running() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(models: ModelServer) -> AsyncIterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="hbus-") as place:
        key = Path(place) / "key"
        key.write_text(SECRET)
        provider = {
            "name": "fake", "base_url": models.url, "model": "m", "key_file": str(key), "timeout_seconds": 0.5,
            "input_price": 1.0, "output_price": 2.0,
        }  # fmt: skip
        process = ServerProcess(Path(place), embedder="use", models=json.dumps([provider]))
        await process.start()
        yield process
        await process.close()


async def reflected(server: ServerProcess, kind: str, user: str = "zhangsan") -> hbus.Reflection:
    """Have a task of a kind fail and return the reflection on it."""
    async with hbus.aio.connect(server.target, agent="support") as bus:
        task = (await bus.start_task(f"Refund an order, {kind}", kind=kind, user=user)).task
        await bus.record_steps(task, [steps.tool_call(1, "get_order", {"id": 1}, error="401 token expired")])
        await bus.finish_task(task, "failure")
        found = (await bus.reflection(task, wait=30.0)).reflection
    assert hbus.label(hbus.ReflectionState, found.state) == "succeeded"
    assert found.lessons
    return found


async def test_good_answers_count_and_bad_ones_are_marked(server: ServerProcess, models: ModelServer) -> None:
    """A good one, an invented one, a failure: each task has its lesson, and nothing secret is in the log."""
    good = await reflected(server, "good")
    assert (good.reflector, good.model, good.dropped) == ("model", "fake/m", 0)
    assert good.model_usage.calls == 1
    assert good.model_usage.cost == pytest.approx(0.00012)
    models.script = [says(INVENTED)]
    invented = await reflected(server, "invented")
    assert (invented.reflector, invented.dropped) == ("rules", 2 * (3 + 6))
    models.script = [fails(401)]
    failed = await reflected(server, "failed")
    assert (failed.reflector, failed.remarks[0]) == ("rules", "fake: refused the key (HTTP 401)")
    asked = len(models.asked)
    assert (await reflected(server, "paused")).reflector == "rules"
    assert len(models.asked) == asked
    async with hbus.aio.connect(server.target) as bus:
        spent = (await bus.stats("user:zhangsan:lessons")).model_usage
    assert (spent.calls, spent.input_tokens) == (4, 300)
    assert spent.cost == pytest.approx(0.00036)
    logged = server.log.read_text()
    assert SECRET not in logged
    assert "expired token" not in logged
    seen = await asyncio.to_thread(_run, server, "doctor")
    assert "fake/m at http://127.0.0.1:" in seen
    assert "held to json_schema: refused the key (HTTP 401)" in seen
    models.script = [says({"ok": True})]
    assert "answered in" in await asyncio.to_thread(_run, server, "doctor")
    shown = await asyncio.to_thread(_run, server, "reflection", good.task)
    assert "succeeded by fake/m/1" in shown
    assert "1 model calls, 100 + 10 tokens" in shown


def _run(server: ServerProcess, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments], env={"HBUS_TARGET": server.target})
    assert result.exit_code == 0, result.output
    return result.output
