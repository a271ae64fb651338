"""The MCP shim as a process of its own: over stdio, over HTTP, and as the command line offers it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
import uvicorn
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

from hbus.v1.memory_service_pb2 import BuildContextResponse
from hindsight_bus.cli.app import app
from services.mcp.identity import Identity
from services.mcp.launch import Launch, Listen
from services.mcp.server import build, http_app
from tests.e2e.mcp_rig import ERAS, SHIM, HostClient, Pipe
from tests.e2e.scripted_bus import ScriptedBus
from tests.faults.processes import ServerProcess

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def target() -> AsyncIterator[str]:
    """Return the address of a server on an empty directory; users part the tests."""
    place = Path(tempfile.mkdtemp(prefix="hbus-"))
    process = ServerProcess(place, embedder="use")
    await process.start()
    yield process.target
    await process.close()
    shutil.rmtree(place)


async def test_stdout_holds_nothing_but_json_rpc(target: str) -> None:
    """Neither answers, nor refusals, nor garbage on stdin, nor the end put anything else there; EOF ends it with 0."""
    pipe = await Pipe.start(target, "pure", "support")
    await pipe.request("tools/list", {})
    await pipe.request("tools/call", {"name": "write_memory", "arguments": {"text": "Likes tea"}})
    refused = await pipe.request("tools/call", {"name": "write_memory", "arguments": {"nonsense": 1}})
    assert refused["isError"]
    assert pipe.process.stdin is not None
    pipe.process.stdin.write(b"this is no message\n")
    await pipe.request("ping", {})
    code, _ = await pipe.close()
    assert code == 0
    assert len(pipe.lines) >= 5
    assert {json.loads(line)["jsonrpc"] for line in pipe.lines} == {"2.0"}


async def test_the_end_of_stdin_ends_a_waiting_call(target: str) -> None:
    """A host that goes away does not leave a shim behind, whatever it was doing."""
    pipe = await Pipe.start(target, "leaver", "support")
    first = await pipe.request("tools/call", {"name": "read_events", "arguments": {}})
    token = first["structuredContent"]["token"]
    pipe.ask("tools/call", {"name": "read_events", "arguments": {"token": token, "wait_seconds": 25}})
    start = time.monotonic()
    code, _ = await pipe.close()
    assert code == 0
    assert time.monotonic() - start < 15


async def test_the_log_goes_to_a_file(target: str, tmp_path: Path) -> None:
    """What the shim has to say lands in the file, and neither key nor memory text does."""
    log = tmp_path / "shim.log"
    pipe = await Pipe.start(target, "logger", "support", "--log-file", str(log), "--api-key", "sesame-key")
    await pipe.request(
        "tools/call", {"name": "write_memory", "arguments": {"text": "secret-text", "oops": 1}}
    )
    code, problem = await pipe.close()
    assert (code, problem) == (0, b"")
    text = log.read_text()
    assert "secret-text" not in text
    assert "sesame-key" not in text


async def test_two_shims_lose_nothing(target: str) -> None:
    """Two hosts of one user write 20 memories each at once; all 40 are kept."""
    pipes = [await Pipe.start(target, "both", f"agent-{number}") for number in range(2)]
    for each in range(20):
        for number, pipe in enumerate(pipes):
            text = f"Parcel {each} of shelf {number} weighs {each + 7} pounds"
            pipe.ask(
                "tools/call",
                {"name": "write_memory", "arguments": {"text": text, "subject": f"parcel.{number}.{each}"}},
            )
    for pipe in pipes:
        answers = await pipe.answers(20)
        assert {answer["result"]["structuredContent"]["decision"] for answer in answers} == {"stored"}
    kept = set[str]()
    for offset in (0, 20):
        arguments = {"limit": 20, "offset": offset}
        listed = await pipes[0].request("tools/call", {"name": "list_memories", "arguments": arguments})
        kept |= {row["memory"] for row in listed["structuredContent"]["rows"]}
    assert len(kept) == 40
    for pipe in pipes:
        assert (await pipe.close())[0] == 0


@pytest.mark.parametrize("era", ERAS)
async def test_the_sdks_own_client_works_over_stdio(target: str, era: str) -> None:
    """A spawned shim speaks both eras."""
    arguments = [*SHIM, "--target", target, "--user", f"sdk-{era}", "--agent", "support"]
    shim = StdioServerParameters(
        command=sys.executable, args=arguments, env={"PYTHONPATH": ":".join(sys.path)}
    )
    async with Client(shim, mode=era) as session:
        host = HostClient(session)
        await host.call("write_memory", text="Likes tea")
        assert len((await host.call("list_memories"))["rows"]) == 1


@asynccontextmanager
async def _over_http(target: str, user: str, listen: Listen | None = None) -> AsyncIterator[str]:
    """Serve a shim over HTTP in this process; yield its address."""
    server = build(Launch(target, Identity(user, "support"), api_key="launch-key", timeout_s=5.0))
    config = uvicorn.Config(http_app(server, listen or Listen()), port=0, log_config=None, lifespan="on")
    serving = uvicorn.Server(config)
    task = asyncio.create_task(serving.serve())
    async with asyncio.timeout(20):
        while not serving.started:  # noqa: ASYNC110 - uvicorn offers nothing to wait for
            await asyncio.sleep(0.01)
    port = serving.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        serving.should_exit = True
        await task


@pytest.mark.parametrize("era", ERAS)
async def test_hosts_are_served_over_http(target: str, era: str) -> None:
    """Streamable HTTP at /mcp, in both eras."""
    async with _over_http(target, f"http-{era}") as address, Client(f"{address}/mcp", mode=era) as session:
        host = HostClient(session)
        await host.call("write_memory", text="Likes tea")
        assert len((await host.call("list_memories"))["rows"]) == 1


async def _post(address: str, method: str = "tools/call", **headers: str) -> httpx2.Response:
    call: dict[str, Any] = {"name": "search_memory", "arguments": {"query": "tea"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": call if method == "tools/call" else {}}
    accept = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    async with httpx2.AsyncClient() as http:
        return await http.post(f"{address}/mcp", json=message, headers=accept | headers)


async def test_another_host_name_is_refused_unless_it_is_named() -> None:
    """A page in a browser cannot reach the shim by a name of its own (DNS rebinding)."""
    async with _over_http("127.0.0.1:1", "u") as address:
        assert (await _post(address, host="evil.example")).status_code == 421
        assert (await _post(address, origin="http://evil.example")).status_code == 403
    async with _over_http("127.0.0.1:1", "u", Listen(allowed_hosts=("shim.internal",))) as address:
        assert (await _post(address, "tools/list", host="shim.internal:80")).status_code == 200


async def test_a_bearer_token_stands_in_for_the_launch_key() -> None:
    """Each caller over HTTP reaches the bus with its own key, and with the shim's where it brings none."""
    bus = ScriptedBus()
    bus.handlers["BuildContext"] = lambda request, context: BuildContextResponse()
    async with _over_http(bus.target, "u") as address:
        await _post(address)
        await _post(address, authorization="Bearer of-the-caller")
    keys = [headers.get("authorization") for headers in bus.headers]
    bus.stop()
    assert keys == ["Bearer launch-key", "Bearer of-the-caller"]
    assert {headers["hbus-agent"] for headers in bus.headers} == {"support"}


async def test_old_hosts_get_sse_where_it_is_asked_for() -> None:
    """The paths of the old transport are there with the flag alone."""
    paths = [
        {getattr(route, "path", "") for route in http_app(build(_launch()), Listen(sse=sse)).routes}
        for sse in (False, True)
    ]
    assert paths[0] == {"/mcp"}
    assert paths[1] == {"/mcp", "/sse", "/messages"}


def _launch() -> Launch:
    return Launch("127.0.0.1:1", Identity("u", "a"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["mcp", "--agent", "a"], "name the user"),
        (["mcp", "--user", "u", "--agent", "a", "--tools", "none"], "no tool or profile"),
        (["mcp", "--user", "u", "--agent", "a", "--http", "--listen", "0.0.0.0:1"], "--insecure"),
        (["mcp", "--user", "u", "--agent", "a", "--http", "--listen", "here"], "HOST:PORT"),
    ],
)
async def test_wrong_use_is_explained_on_stderr(arguments: list[str], complaint: str) -> None:
    """Nothing reaches stdout, where a host would read it."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code != 0
    assert complaint in " ".join(result.stderr.split())
    assert result.stdout == ""


async def test_install_enters_the_command_with_absolute_paths(tmp_path: Path) -> None:
    """What is entered starts a shim from anywhere."""
    config = tmp_path / "mcp.json"
    arguments = ["mcp", "install", "--host", "cursor", "--user", "zhangsan", "--config", str(config)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    [entry] = json.loads(config.read_text())["mcpServers"].values()
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-2:] == ["--tools", "default"]
    assert entry["args"][entry["args"].index("--agent") + 1] == "cursor"


async def test_install_prints_what_it_does_not_write(tmp_path: Path) -> None:
    """With --print, and for Dify, which takes a URL."""
    config = tmp_path / "config.toml"
    shown = CliRunner().invoke(
        app, ["mcp", "install", "--host", "codex", "--user", "u", "--config", str(config), "--print"]
    )
    assert shown.stdout.startswith("[mcp_servers.hindsight-bus]")
    assert not config.exists()
    dify = CliRunner().invoke(app, ["mcp", "install", "--host", "dify", "--user", "u"])
    assert "--http" in dify.stdout
    assert "/mcp" in dify.stderr


async def test_the_doctor_goes_the_way_of_a_host(target: str) -> None:
    """``hbus doctor --mcp`` spawns a shim and makes a round; without a bus it fails and says why."""
    doctor = ("-c", "from hindsight_bus.cli import main; main()", "doctor", "--mcp", "--json", "--target")
    code, out, _ = await _run(*doctor, target)
    verdicts = [json.loads(line)["verdict"] for line in out.splitlines()]
    assert (code, verdicts) == (0, ["ok", "ok"])
    code, out, _ = await _run(*doctor, "127.0.0.1:1")
    assert code == 1
    assert json.loads(out.splitlines()[-1])["verdict"] == "fail"


async def test_without_the_extra_one_command_says_what_to_install() -> None:
    """Nothing else imports the SDK."""
    blocked = "import sys; sys.modules['mcp'] = None; from hindsight_bus.cli import main; main()"
    code, out, _ = await _run("-c", blocked, "--help")
    assert code == 0
    assert b"mcp" in out
    code, out, problem = await _run("-c", blocked, "mcp", "--user", "u", "--agent", "a")
    assert (code, out) == (1, b"")
    assert b"pip install 'hindsight-bus[mcp]'" in problem


async def _run(*arguments: str) -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, problem = await process.communicate()
    return process.returncode or 0, out, problem
