"""What is built installs into an environment of its own, away from the project, and works there."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from hindsight_bus import __version__
from tests.faults.processes import InstalledServer

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
ROUND = """
import sys, hbus
assert hbus.__file__.startswith(sys.prefix), hbus.__file__
with hbus.connect(sys.argv[1], agent="support") as bus:
    written = bus.write("user:zhangsan:facts", "用户偏好用表格展示对比数据", subject="preference")
    found = bus.search("user:zhangsan:facts", "对比数据该怎么展示?", after=written.token, timeout=60)
    print(sum(hit.memory.name == written.memory.name for hit in found.hits))
"""


NAMES = (
    "import importlib.metadata as installed; print(*sorted(each.name for each in installed.distributions()))"
)


@pytest.fixture(scope="module")
def wheels() -> Iterator[dict[str, Path]]:
    """Build both distributions; return their wheels by name."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as name:
        build = (*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", name)
        subprocess.run([*build, str(ROOT), str(ROOT / "clients/python")], check=True)
        yield {path.name.split("-")[0]: path for path in Path(name).glob("*.whl")}


def test_wheels_hold_what_they_should(wheels: dict[str, Path]) -> None:
    """The code with its scripts, types and licence; no tests and no tools."""
    server, client = (zipfile.ZipFile(wheels[name]).namelist() for name in ("hindsight_bus", "hbus"))
    assert {name.split("/")[0].split("-")[0] for name in server} == {"hindsight_bus", "services"}
    assert {name.split("/")[0].split("-")[0] for name in client} == {"hbus"}
    for names, package in ((server, "hindsight_bus"), (client, "hbus")):
        assert f"{package}/py.typed" in names
        assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "hindsight_bus/adapters/valkey/lua/commit.lua" in server
    assert "services/memory/__main__.py" in server
    assert "hbus/v1/memory_service_pb2.py" in client


def test_the_sdk_of_mcp_is_an_extra(wheels: dict[str, Path]) -> None:
    """A plain installation does not bring it."""
    needs = _metadata(wheels["hindsight_bus"]).get_all("Requires-Dist", [])
    assert [each for each in needs if each.startswith("mcp")] == [
        each for each in needs if each.endswith("extra == 'mcp'")
    ]
    assert f"hbus=={__version__}" in needs


def test_installed_it_serves(wheels: dict[str, Path]) -> None:
    """Third-party packages are this environment's, to download nothing; the product is the wheels alone."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as name:
        place = Path(name)
        python = _environment(place)
        _install(python, "--no-deps", "--no-index", *map(str, wheels.values()))
        borrowed = next(path for path in sys.path if path.endswith("site-packages"))
        [packages] = place.glob("env/lib/python*/site-packages")
        (packages / "borrowed.pth").write_text(f"{borrowed}\n")
        asyncio.run(_works(place, python))


@pytest.mark.long
def test_installed_from_a_registry_it_serves(wheels: dict[str, Path]) -> None:
    """With nothing borrowed: what the wheels say they need is what they need. The client alone needs little."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as name:
        place = Path(name)
        python = _environment(place)
        _install(python, "--find-links", str(wheels["hbus"].parent), f"{wheels['hindsight_bus']}[mcp]")
        asyncio.run(_works(place, python))
        client = _environment(place, "client")
        _install(client, str(wheels["hbus"]))
        names = subprocess.run(
            [client, "-c", NAMES], check=True, capture_output=True, text=True
        ).stdout.split()
        assert names == ["googleapis-common-protos", "grpcio", "hbus", "protobuf", "typing_extensions"]


async def _works(place: Path, python: Path) -> None:
    """Serve with the command of an environment, and write and search with its client."""
    command = python.with_name("hbus")
    server = InstalledServer(place, command, embedder="use")
    assert await _printed(server, place, str(command), "--version") == f"hbus {__version__}\n"
    try:
        await server.start()
        assert await _printed(server, place, str(python), "-c", ROUND, server.target) == "1\n"
    finally:
        await server.close()


async def _printed(server: InstalledServer, place: Path, *command: str) -> str:
    """Return what a command prints that runs as the server does: away from the project."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=place,
        env=server.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, problem = await process.communicate()
    assert process.returncode == 0, problem.decode()
    return out.decode()


def _install(python: Path, *what: str) -> None:
    subprocess.run([*PIP, "--python", str(python), "install", *what], check=True)


def _environment(place: Path, name: str = "env") -> Path:
    """Make an empty environment; return its interpreter."""
    venv.create(place / name, symlinks=os.name != "nt")
    return place / name / "bin" / "python"


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as file:
        [name] = [each for each in file.namelist() if each.endswith(".dist-info/METADATA")]
        return Parser().parsestr(file.read(name).decode())
