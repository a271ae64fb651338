"""A place, a seed, a history and processes for each fault test; what a failed one leaves behind is kept."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.faults.history import History
from tests.faults.load import supply_vectors
from tests.faults.processes import ControlServer, ServerProcess, ValkeyProcess

Serve = Callable[..., Awaitable[ServerProcess]]

_QUICK: dict[str, Any] = {"embedder": "use"}
_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.fixture
def seed() -> int:
    """Return the seed of this run: FAULTS_SEED, or a random one."""
    seed = int(os.environ.get("FAULTS_SEED", "0")) or secrets.randbelow(2**32)
    print(f"FAULTS_SEED={seed}")
    return seed


@pytest.fixture
def chance(seed: int) -> random.Random:
    """Return the run's source of randomness."""
    return random.Random(seed)


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Return a directory with a short path (UNIX sockets allow 107 bytes), kept when the test fails."""
    path = Path(tempfile.mkdtemp(prefix="hbus-"))
    yield path
    if request.node.stash.get(_FAILED, False):
        print(f"kept: {path}")
    else:
        shutil.rmtree(path)


@pytest.fixture
def history(place: Path, seed: int) -> Iterator[History]:
    """Return the history of this run, written down at the end."""
    history = History(place / "history.jsonl", seed)
    yield history
    history.save()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers on one Valkey, with rings of the smallest size, where callers supply vectors."""

    one: ServerProcess
    two: ServerProcess


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pair() -> AsyncIterator[Pair]:
    """Return servers for tests that break neither; each test keeps to namespaces of its own."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as directory:
        place = Path(directory)
        valkey = ValkeyProcess(place)
        settings = _QUICK | {"valkey_url": valkey.url, "ring_kib": 64}
        one, two = (ServerProcess(place, name, **settings) for name in ("one", "two"))
        async with AsyncExitStack() as stack:
            for process in (valkey, one, two):
                stack.push_async_callback(process.close)
            await valkey.start()
            await asyncio.gather(one.start(), two.start())
            await supply_vectors(one.target, two.target)
            yield Pair(one, two)


@pytest.fixture
async def serve(place: Path) -> AsyncIterator[Serve]:
    """Return a function that starts a server: ``await serve("name", valkey_url=..., ring_kib=64)``."""
    async with AsyncExitStack() as stack:

        async def start(name: str = "server", **given: Any) -> ServerProcess:
            server = ServerProcess(place, name, **{"embedder": "use", **given})
            stack.push_async_callback(server.close)
            await server.start()
            return server

        yield start


@pytest.fixture
async def valkey(place: Path) -> AsyncIterator[ValkeyProcess]:
    """Return a Valkey that runs."""
    process = ValkeyProcess(place)
    await process.start()
    yield process
    await process.close()


@pytest.fixture
async def control(place: Path) -> AsyncIterator[ControlServer]:
    """Return a bare gRPC server."""
    process = ControlServer(place)
    await process.start()
    yield process
    await process.kill()
