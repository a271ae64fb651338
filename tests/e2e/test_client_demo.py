"""The commands that play a whole story, against a real server with its embedded store."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.processes import ServerProcess

pytestmark = pytest.mark.e2e

RUN = "from hindsight_bus.cli import main; main()"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    """A server of this test's own, started with `hbus serve`."""
    process = ServerProcess(tmp_path)
    await process.start()
    yield process
    await process.close()


async def hbus(server: ServerProcess, *arguments: str) -> str:
    """Run a command in a process of its own; return what it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        RUN,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"HBUS_TARGET": server.target},
    )
    out, err = await process.communicate()
    assert process.returncode == 0, f"{err.decode()}\n{out.decode()}"
    return out.decode()


async def test_the_demo_shows_what_it_promises_and_runs_twice(server: ServerProcess) -> None:
    """Both agents hear the same; the contradictions come out as told; the loser returns; `why` explains it."""
    name = ""
    for _ in range(2):
        told = [json.loads(line) for line in (await hbus(server, "demo", "--json")).splitlines()]
        answers = [each["answer"] for each in told if "answer" in each]
        for expected in ("stored, active", "stored, overridden", "stored, contested", "corroborated, active"):
            assert expected in answers
        assert "conflict open on preference.contact" in answers
        assert "conflict settled on preference.contact" in answers
        assert answers[-2] == "active  用户更喜欢柱状图"
        heard = [each for each in told if "hears" in each]
        assert {each["agent"] for each in heard} == {"both"}
        [name] = {
            each["hears"]["memory"]["name"]
            for each in heard
            if each["hears"]["memory"]["text"] == "用户更喜欢柱状图"
        }
    story = json.loads(await hbus(server, "why", name, "--json"))
    steps = [step["kind"] for version in story["versions"] for step in version["transitions"]]
    assert steps == ["written", "overridden", "reinstated"]


async def test_the_doctor_finds_a_fresh_server_well(server: ServerProcess) -> None:
    """Every check passes, the vector of the scratch memory included."""
    checks = [json.loads(line) for line in (await hbus(server, "doctor", "--json")).splitlines()]
    assert {check["name"]: check["verdict"] for check in checks} == dict.fromkeys(
        ("versions", "health", "reflection", "write", "search", "embedder", "forget", "models"), "ok"
    )
