"""The proxy that plays the bad network does what fault tests rely on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.proxy import FaultProxy

pytestmark = pytest.mark.faults


class Counter:
    """A server that counts the lines it was sent and answers each with the count."""

    def __init__(self) -> None:
        self.lines = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            self.lines += 1
            writer.write(b"%d\n" % self.lines)
            await writer.drain()
        writer.close()


@pytest.fixture
async def counter(place: Path) -> AsyncIterator[Counter]:
    counter = Counter()
    server = await asyncio.start_unix_server(counter.answer, place / "counter.sock")
    yield counter
    server.close()
    await server.wait_closed()


async def ask(target: str) -> bytes:
    """Send one line over a connection of its own and return the answer."""
    host, port = target.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"hello\n")
    answer = await line(reader)
    writer.transport.abort()
    return answer


async def line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line, empty where the connection was cut."""
    try:
        return await reader.readline()
    except ConnectionResetError:
        return b""


async def test_it_forwards_and_loses_only_the_reply(counter: Counter, place: Path) -> None:
    """The request whose reply is lost has been handled: the next one is counted after it."""
    async with FaultProxy(place / "counter.sock") as proxy:
        assert await ask(proxy.target) == b"1\n"
        proxy.loses_reply_to = lambda piece: b"hello" in piece
        assert await ask(proxy.target) == b""
        proxy.loses_reply_to = lambda piece: False
        assert await ask(proxy.target) == b"3\n"
        assert proxy.cuts == 1


async def test_a_cut_ends_every_connection(counter: Counter, place: Path) -> None:
    """Connections under way break; new ones are accepted."""
    async with FaultProxy(place / "counter.sock", place / "proxy.sock") as proxy:
        reader, writer = await asyncio.open_unix_connection(place / "proxy.sock")
        writer.write(b"hello\n")
        assert await reader.readline() == b"1\n"
        proxy.cut()
        assert await line(reader) == b""
        writer.transport.abort()
        assert proxy.cuts == 1


async def test_a_reply_is_cut_in_its_middle(counter: Counter, place: Path) -> None:
    """Half of the piece arrives, then the connection breaks."""
    async with FaultProxy(place / "counter.sock") as proxy:
        proxy.cuts_reply_at = lambda piece: True
        assert await ask(proxy.target) in (b"1", b"")
        assert proxy.cuts == 1
