"""Commands to the server, with its failures told apart by what the caller may conclude from them.

What the server or the network said stays in the cause and in the log: it is not for clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
)

from hindsight_bus.adapters.valkey.scripts import Script
from hindsight_bus.adapters.valkey.wire import Wire, WireLost
from hindsight_bus.domain.errors import OutcomeUnknown, StoreUnavailable

_log = structlog.get_logger(__name__)

REPLY_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 2.0
Argument = bytes | int | str

# The server checks these before it changes anything. A failed write to disk (MISCONF) is not among them.
_NOTHING_CHANGED = (
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
)
_NOTHING_CHANGED_CODES = ("NOREPLICAS", "BUSY", "MOVED", "TRYAGAIN")


class Client:
    """A few pipelined connections to one server. Must be made within a running event loop.

    More than one, because the server reads at most 16 KiB of a connection between two fsyncs.
    """

    def __init__(self, url: str, *, connections: int = 2, reply_timeout_s: float = REPLY_TIMEOUT_S) -> None:
        self._pool = ConnectionPool.from_url(
            url,
            protocol=2,
            driver_info=None,
            socket_timeout=None,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
        )
        self._wires = [Wire(self.connection, reply_timeout_s) for _ in range(connections)]

    def connection(self) -> AbstractConnection:
        """Return a connection of its own, not connected yet."""
        connection: AbstractConnection = self._pool.make_connection()  # type: ignore[no-untyped-call]
        return connection

    async def read(self, *command: Argument) -> Any:
        """Run a command that is safe to lose; raise ``StoreUnavailable``."""
        try:
            return await self._call(*command)
        except (RedisError, WireLost) as problem:
            raise StoreUnavailable() from problem

    async def write(self, *command: Argument) -> Any:
        """Run a command that changes something; raise ``StoreUnavailable`` or ``OutcomeUnknown``."""
        try:
            return await self._call(*command)
        except (RedisError, WireLost) as problem:
            raise _judged(problem) from problem

    async def run(self, script: Script, keys: Sequence[bytes], *args: Argument) -> Any:
        """Run a script; raise ``StoreUnavailable`` or ``OutcomeUnknown``."""
        try:
            return await self._call(b"EVALSHA", script.sha, len(keys), *keys, *args)
        except NoScriptError:
            return await self.write(b"EVAL", script.text, len(keys), *keys, *args)
        except (RedisError, WireLost) as problem:
            raise _judged(problem) from problem

    async def close(self) -> None:
        """Close the connections."""
        await asyncio.gather(*(wire.close() for wire in self._wires))

    def _call(self, *command: Argument) -> asyncio.Future[Any]:
        return min(self._wires, key=_load).call(*command)


def _load(wire: Wire) -> int:
    return wire.load


def _judged(problem: RedisError | WireLost) -> StoreUnavailable | OutcomeUnknown:
    """Say what a failed change means: nothing was changed, or nobody knows."""
    if isinstance(problem, WireLost):
        return OutcomeUnknown() if problem.sent else StoreUnavailable()
    if isinstance(problem, _NOTHING_CHANGED) or str(problem).startswith(_NOTHING_CHANGED_CODES):
        _log.warning("store.change_refused", problem=str(problem))
        return StoreUnavailable("the store refuses changes at present")
    _log.error("store.change_failed", problem=str(problem))
    return OutcomeUnknown()
