"""A place, a seed, a history and processes for each fault test; what a failed one leaves behind is kept."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.faults.history import History
from tests.faults.processes import ServerProcess, ValkeyProcess

Serve = Callable[..., Awaitable[ServerProcess]]

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


@pytest.fixture
async def serve(place: Path) -> AsyncIterator[Serve]:
    """Return a function that starts a server: ``await serve("name", valkey_url=..., ring_kib=64)``."""
    async with AsyncExitStack() as stack:

        async def start(name: str = "server", **settings: object) -> ServerProcess:
            server = ServerProcess(place, name, **({"embedder": "use"} | settings))
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
