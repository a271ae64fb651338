"""MCP clients of others, as programs: the Inspector of the protocol's authors in both eras, and FastMCP's.

They come from the registries, in environments of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from services.mcp import tools
from tests.e2e.mcp_rig import SHIM, Json
from tests.faults.processes import ServerProcess
from tools import node

pytestmark = [pytest.mark.e2e, pytest.mark.long]

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
FASTMCP = "fastmcp>=4.2,<5"

TOOLS = {spec.name for spec in tools.chosen(("all",))}

Call = Callable[..., Json]


@dataclass(frozen=True, slots=True)
class Programs:
    """Where they are."""

    inspector: Path
    fastmcp: Path


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    """Install them."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as name:
        place = Path(name)
        venv.create(place / "env", symlinks=True)
        python = place / "env" / "bin" / "python"
        subprocess.run(
            [sys.executable, "-m", "pip", "--quiet", "--python", python, "install", FASTMCP], check=True
        )
        npm = node.npm("install", "--silent", "--ignore-scripts", "--no-audit", "--prefix", name, INSPECTOR)
        subprocess.run(npm, cwd=place, env=node.environment(), check=True)
        inspector = place / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        yield Programs(inspector, python.with_name("fastmcp"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def target() -> AsyncIterator[str]:
    """Return the address of a server on an empty directory; users part the tests."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as place:
        process = ServerProcess(Path(place), embedder="use")
        await process.start()
        yield process.target
        await process.close()


def _shim(target: str, user: str) -> Json:
    """Return a host's entry for a shim with every tool."""
    arguments = [*SHIM, "--target", target, "--user", user, "--agent", "support", "--tools", "all"]
    return {
        "command": sys.executable,
        "args": arguments,
        "env": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    }


def _config(place: Path, target: str, user: str) -> Path:
    path = place / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"hbus": _shim(target, user)}}))
    return path


def _run(*command: object) -> Any:
    """Return the JSON that a command prints; whatever it asks before is answered with yes."""
    done = subprocess.run(
        [*map(str, command)], input="true\n", capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout[done.stdout.index("{") :])


def _every_tool_works(call: Call) -> set[str]:
    """Call each tool as a model would; return the names of those called."""
    called = set[str]()

    def use(tool: str, **arguments: object) -> Json:
        called.add(tool)
        answer = call(tool, arguments)
        assert "error" not in answer, answer
        return answer

    memory = use("write_memory", text="用户偏好用表格展示对比数据", subject="preference.presentation")[
        "memory"
    ]
    assert use("search_memory", query="对比数据该怎么展示?")["memories"] == [memory]
    assert use("query_semantic_memory", query="How to present comparisons?")["memories"] == [memory]
    assert use("update_memory", memory=memory, text="用户更喜欢柱状图")["decision"] == "updated"
    assert [row["memory"] for row in use("list_memories")["rows"]] == [memory]
    [result] = use("search", query="柱状图")["results"]
    assert "用户更喜欢柱状图" in use("fetch", id=result["id"])["text"]
    use("store_episodic_memory", text="Deployed at noon")
    use("update_procedural_memory", procedure="deploy.staging", text="Deploy by pipeline")
    task = use("start_task", goal="Find order 7", kind="orders")["task"]
    step = {"kind": "tool", "tool": "lookup", "error": "TimeoutError"}
    assert use("record_steps", task=task, steps=[step])["last_step"] == 1
    assert use("reflect_on_task", task=task, outcome="failure", wait_seconds=25)["lessons"]
    assert use("read_events")["token"]
    gone = use("forget_memory", memory=memory)
    if gone.get("confirm"):  # where the host cannot ask its user, the model confirms
        gone = use("forget_memory", memory=memory, confirm=gone["confirm"])
    assert gone["forgotten"]
    return called


@pytest.mark.timeout(900)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_calls_every_tool(
    programs: Programs, target: str, tmp_path: Path, era: str
) -> None:
    """``--strict`` finds nothing that a host could trip over in the schemas."""
    config = _config(tmp_path, target, f"inspector-{era}")
    inspect = (node.NODE, programs.inspector, "--cli", "--quiet", "--format", "json", "--protocol-era", era,
               "--config", config, "--server", "hbus", "--connect-timeout", 60_000)  # fmt: skip

    def call(tool: str, arguments: Json) -> Json:
        given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        answer = _run(*inspect, "--method", "tools/call", *given)
        return dict((answer.get("result") or answer)["structuredContent"])

    listed = _run(*inspect, "--method", "tools/list", "--strict")
    names = {tool["name"] for tool in (listed.get("result") or listed)["tools"]}
    assert _every_tool_works(call) == names == TOOLS


@pytest.mark.timeout(900)
def test_fastmcp_lists_and_calls_every_tool(programs: Programs, target: str, tmp_path: Path) -> None:
    """Another implementation of the protocol agrees."""
    config = _config(tmp_path, target, "fastmcp")

    def call(tool: str, arguments: Json) -> Json:
        answer = _run(programs.fastmcp, "call", config, tool, "--input-json", json.dumps(arguments), "--json")
        return dict(answer["structured_content"])

    names = {tool["name"] for tool in _run(programs.fastmcp, "list", config, "--json")["tools"]}
    assert _every_tool_works(call) == names == TOOLS
