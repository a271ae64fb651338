"""The TypeScript client by itself: its own tests, its examples, and what is shipped."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import hbus.aio
from tests.e2e.typescript_rig import run
from tests.faults.processes import ServerProcess
from tests.waiting import until
from tools import node

pytestmark = pytest.mark.e2e

FACTS = "user:lisi:facts"


@pytest.fixture(autouse=True)
def built(typescript: Path) -> Path:
    return typescript


def test_its_own_tests_pass() -> None:
    """Retries, resuming, consuming, errors and values, with Node's own runner."""
    run(node.NODE, "--test", "--test-isolation=none", "--test-reporter=dot", "test/*.test.ts")


def test_what_is_shipped_is_what_was_built() -> None:
    """Code and types of every module, the README and the licence; no tests, and nothing of this repository."""
    [packed] = json.loads(run(*node.npm("pack", "--dry-run", "--json", "--ignore-scripts")))
    files = {file["path"] for file in packed["files"]}
    sources = node.PROJECT.joinpath("src").rglob("*.ts")
    modules = {path.relative_to(node.PROJECT / "src").with_suffix("") for path in sources}
    expected = {f"dist/{module}{suffix}" for module in modules for suffix in (".js", ".d.ts")}
    assert files == expected | {"package.json", "README.md", "LICENSE"}


async def test_the_examples_run(shared_server: ServerProcess) -> None:
    """As their first lines say, against a server."""
    told = run(node.NODE, "examples/remember.ts", shared_server.target)
    assert "stored weaker: 0.60 against 0.85" in told
    assert told.rstrip().endswith("用户偏好用表格展示对比数据")
    assert "token" in run(node.NODE, "examples/hindsight.ts", shared_server.target)


async def test_the_listener_goes_on_where_it_was_killed(
    shared_server: ServerProcess,
    tmp_path: Path,
) -> None:
    """What is written while it is away is told when it is back, once, and nothing else."""
    async with hbus.aio.connect(shared_server.target, agent="support") as bus:
        await bus.write(FACTS, "Likes tea")
        assert "known        Likes tea" in await _listen(shared_server.target, tmp_path, "Likes tea")
        await bus.write(FACTS, "Lives in Hangzhou")
        assert await _listen(shared_server.target, tmp_path, "Hangzhou") == ["written      Lives in Hangzhou"]
        await bus.write(FACTS, "Works for the harbour")
        assert await _listen(shared_server.target, tmp_path, "harbour") == [
            "written      Works for the harbour"
        ]


async def _listen(target: str, place: Path, text: str) -> list[str]:
    """Run the listener until it has told of a text and saved its place; kill it and return what it told."""
    saved = place / "listen.token"
    before = saved.read_text() if saved.exists() else ""
    process = await asyncio.create_subprocess_exec(
        node.NODE,
        node.PROJECT / "examples" / "listen.ts",
        target,
        cwd=place,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        told: list[str] = []
        while not (told and text in told[-1]):
            told.append((await anext(process.stdout)).decode().rstrip())

        async def has_saved() -> bool:
            return saved.exists() and saved.read_text() not in ("", before)

        await until(has_saved)
    finally:
        process.kill()
        await process.wait()
    return told
