"""The private directory of the embedded server: one owner at a time, and no server left over from the last one."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import stat
import struct
import sys
import tempfile
import time
from pathlib import Path

import structlog

from hindsight_bus.adapters.valkey.probe import UnfitStore
from hindsight_bus.domain.names import digest

_log = structlog.get_logger(__name__)

MAX_SOCKET_PATH_BYTES = 100
"""A little below the limit of the systems, 104 or 108."""
TAKE_OVER_TIMEOUT_S = 10.0
_POLL_S = 0.02
_SOL_LOCAL, _LOCAL_PEERPID = 0, 2  # macOS; the socket module does not name them


class DataDirectory:
    """``<data_dir>/valkey``: append-only files, log, lock and, where its path is short enough, the socket."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir.resolve() / "valkey"
        self.socket = self.path / "valkey.sock"
        self.log_file = self.path / "valkey.log"
        self._lock: int | None = None

    def acquire(self) -> None:
        """Become its only user and end a server that a killed process left; raise ``UnfitStore``. Blocks."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if len(os.fsencode(self.socket)) > MAX_SOCKET_PATH_BYTES:
            self.socket = _short_directory(self.path) / "valkey.sock"
        self._lock = _lock(self.path / "lock")
        try:
            end_listener(self.socket)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let others use it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _lock(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(file, 32).decode().strip() or "unknown"
        os.close(file)
        raise UnfitStore(f"the data directory {path.parent.parent} is in use by process {holder}") from None
    os.ftruncate(file, 0)
    os.write(file, f"{os.getpid()}\n".encode())
    return file


def _short_directory(path: Path) -> Path:
    """Return a private directory with a short name that is always the same for ``path``."""
    short = Path(tempfile.gettempdir()) / f"hbus-{os.getuid()}-{digest(str(path), size=8)}"
    short.mkdir(mode=0o700, exist_ok=True)
    found = short.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UnfitStore(f"{short} must be a directory that belongs to this user alone")
    return short


def end_listener(path: Path) -> None:
    """End whoever listens on a socket of ours, then remove it.

    The process that listens there is the server of a process that was killed: the directory is private.
    """
    deadline = time.monotonic() + TAKE_OVER_TIMEOUT_S
    sent = None
    while (pid := listener_pid(path)) is not None:
        wanted = signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL
        if pid <= 0:
            raise UnfitStore(f"a server in another container or machine listens on {path}")
        if sent is not wanted:
            _log.warning("embedded.left_over", pid=pid, signal=wanted.name)
            _send(pid, wanted)
            sent = wanted
        time.sleep(_POLL_S)
    path.unlink(missing_ok=True)


def _send(pid: int, wanted: signal.Signals) -> None:
    try:
        os.kill(pid, wanted)
    except ProcessLookupError:
        _log.debug("embedded.left_over_gone", pid=pid)


def listener_pid(path: Path) -> int | None:
    """Return the process that listens on a socket, 0 if it cannot be seen from here, None if there is none."""
    with socket.socket(socket.AF_UNIX) as end:
        try:
            end.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        if sys.platform == "darwin":
            return int.from_bytes(end.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4), sys.byteorder)
        credentials = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid: int = struct.unpack("3i", credentials)[0]
        return pid
