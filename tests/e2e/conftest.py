"""What several end-to-end tests share, because it takes seconds to make."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

import hbus.aio
from tests.e2e.typescript_rig import run
from tests.faults.processes import ServerProcess
from tools import node

WARM = "user:nobody:facts"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_server() -> AsyncIterator[ServerProcess]:
    """Return a server for tests that only talk to it, each about users of its own."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as place:
        process = ServerProcess(Path(place), embedder="use")
        await process.start()
        async with hbus.aio.connect(process.target, agent="nobody", timeout=60.0) as bus:
            # The first vector takes longer than a call may.
            await bus.write(WARM, "The kettle is on")
            await bus.search(WARM, "kettle", fully_consistent=True, require_vectors=True)
        yield process
        await process.close()


@pytest.fixture(scope="session")
def typescript(node_modules: Path) -> Path:
    """Return the folder of the TypeScript client, built."""
    run(*node.npm("run", "build"))
    return node_modules.parent
