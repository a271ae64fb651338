"""What several end-to-end tests share, because it takes seconds to make."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.typescript_rig import run
from tests.faults.processes import ServerProcess
from tools import node

_PACKAGES = "clients/typescript/node_modules is missing: `make test` installs it"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_server() -> AsyncIterator[ServerProcess]:
    """Return a server for tests that only talk to it, each about users of its own."""
    with tempfile.TemporaryDirectory(prefix="hbus-") as place:
        process = ServerProcess(Path(place), embedder="use")
        await process.start()
        yield process
        await process.close()


@pytest.fixture(scope="session")
def typescript() -> Path:
    """Return the client's folder, built. Without its packages: skip, or fail under TEST_REQUIRE_NODE=1."""
    if not node.MODULES.exists():
        if os.environ.get("TEST_REQUIRE_NODE") == "1":
            pytest.fail(_PACKAGES)
        pytest.skip(_PACKAGES)
    run(*node.npm("run", "build"))
    return node.PROJECT
