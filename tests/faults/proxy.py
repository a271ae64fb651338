"""A network that misbehaves: it delays, cuts, or loses the reply to a request that went through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

_CHUNK_BYTES = 8 * 1024
_TURNS_TO_ACCEPT = 8
"""Turns of the event loop that a connection takes at most from being accepted to being a link."""


class FaultProxy:
    """Forwards connections to ``upstream`` (``HOST:PORT``, or a path of a UNIX socket).

    It listens on a free port of loopback, or on the UNIX socket ``listen``. Use it as a context manager.
    """

    def __init__(self, upstream: str | Path, listen: Path | None = None) -> None:
        self.upstream = upstream
        self.loses_reply_to: Callable[[bytes], bool] = _nothing
        """Asked for each piece of a request; after True the piece still goes through, and the connection is cut the
        moment that something comes back."""
        self.cuts_reply_at: Callable[[bytes], bool] = _nothing
        """Asked for each piece of a reply; after True half of the piece goes through, and the connection is cut."""
        self.delay_s = 0.0
        """How long each piece is held in each direction."""
        self.cuts = 0
        """Connections cut so far."""
        self.target = str(listen or "")
        self._listen = listen
        self._links: dict[_Link, asyncio.Task[None] | None] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> FaultProxy:
        if self._listen is not None:
            self._server = await asyncio.start_unix_server(self._accept, self._listen)
        else:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            host, port = self._server.sockets[0].getsockname()
            self.target = f"{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        await self._accept_no_more()
        self._server.close()
        self.cut()
        await asyncio.gather(*filter(None, self._links.values()))
        await self._server.wait_closed()

    async def _accept_no_more(self) -> None:
        """Let what was accepted become links: a server that is closed before that loses the sockets (Python 3.11)."""
        assert self._server is not None
        for listening in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(_TURNS_TO_ACCEPT):
            await asyncio.sleep(0)

    def cut(self) -> None:
        """Cut every connection at once."""
        for link in list(self._links):
            link.cut()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(self, writer)
        self._links[link] = asyncio.current_task()
        try:
            await link.forward(reader)
        except OSError:
            pass  # either end went away: what is left is to drop the other one
        finally:
            link.drop()
            del self._links[link]


class _Link:
    """One forwarded connection."""

    def __init__(self, proxy: FaultProxy, client: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._writers = [client]
        self._is_doomed = False
        self._is_cut = False

    def cut(self) -> None:
        self._proxy.cuts += not self._is_cut
        self._is_cut = True
        self.drop()

    def drop(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def forward(self, from_client: asyncio.StreamReader) -> None:
        """Forward both ways until either end closes."""
        from_upstream, to_upstream = await self._dial()
        self._writers.append(to_upstream)
        ways = [
            asyncio.create_task(self._requests(from_client, to_upstream)),
            asyncio.create_task(self._replies(from_upstream, self._writers[0])),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in await asyncio.gather(*ways, return_exceptions=True):
            if isinstance(end, Exception) and not isinstance(
                end, OSError
            ):  # that either end went away is no news
                raise end

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        upstream = self._proxy.upstream
        if isinstance(upstream, Path):
            return await asyncio.open_unix_connection(upstream)
        host, port = upstream.rsplit(":", 1)
        return await asyncio.open_connection(host, int(port))

    async def _requests(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while piece := await source.read(_CHUNK_BYTES):
            await self._hold()
            self._is_doomed = self._is_doomed or self._proxy.loses_reply_to(piece)
            sink.write(piece)
            await sink.drain()

    async def _replies(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while piece := await source.read(_CHUNK_BYTES):
            await self._hold()
            if self._is_doomed:
                return self.cut()
            if self._proxy.cuts_reply_at(piece):
                sink.write(piece[: len(piece) // 2])
                await sink.drain()
                return self.cut()
            sink.write(piece)
            await sink.drain()

    async def _hold(self) -> None:
        if self._proxy.delay_s:
            await asyncio.sleep(self._proxy.delay_s)


def _nothing(piece: bytes) -> bool:
    return False
