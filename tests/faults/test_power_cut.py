"""Fault row 3: the power fails. No reply comes before its fsync, so what was acknowledged is there afterwards."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History
from tests.faults.load import Writers, check_writes, supply_vectors
from tests.faults.power import Trace, TracedValkey

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACES = [f"user:u{n}:events" for n in range(4)]


@pytest.fixture
async def store(place: Path) -> AsyncIterator[TracedValkey]:
    """Return a store that can lose its power; it has not been started."""
    store = TracedValkey(place)
    yield store
    await store.close()


@forms("cuts", 2, 50)
async def test_a_power_cut_loses_nothing_that_was_acknowledged(
    cuts: int, serve: Serve, store: TracedValkey, history: History, chance: random.Random
) -> None:
    """The power fails at random moments under load: no reply was sent before its fsync, and nothing is lost."""
    await store.start()
    server = await serve(valkey_url=store.url)
    await supply_vectors(server.target)
    async with Writers(server.target, history, NAMESPACES) as writers:
        for _ in range(cuts):
            await writers.more(chance.randrange(1, 150))
            trace = await store.cut_power()
            assert trace.replies
            assert not trace.early_replies, f"of {trace.replies} replies, see {history.path}"
            await store.restart()
        await writers.more(50)
    await check_writes(server.target, history, NAMESPACES)


async def test_a_store_that_replies_before_its_fsync_is_found_out(
    serve: Serve, place: Path, history: History
) -> None:
    """The planted fault: without fsync the trace shows early replies, and after the cut writes are lost."""
    store = TracedValkey(place, appendfsync="no")
    await store.start()
    try:
        server = await serve(valkey_url=store.url)
        await supply_vectors(server.target)
        async with Writers(server.target, history, NAMESPACES) as writers:
            await writers.more(20)
        trace = await store.cut_power()
        assert trace.early_replies
        await store.restart()
        await supply_vectors(server.target)  # that the policy is lost too is not the point
        with pytest.raises(AssertionError, match="lost: "):
            await check_writes(server.target, history, NAMESPACES)
    finally:
        await store.close()


def test_a_sync_covers_what_was_written_before_it_began() -> None:
    """A reply is early until a sync that began after the write has ended, on whatever thread."""
    log = "appendonlydir/appendonly.aof.1.incr.aof"
    written = f'1 write(9</d/{log}>, ""..., 10) = 10'
    reply = '1 write(11<socket:[7]>, ""..., 5) = 5'
    begun, ended = f"2 fdatasync(9</d/{log}> <unfinished ...>", "2 <... fdatasync resumed>) = 0"
    failed = f"1 fdatasync(9</d/{log}>) = -1 EIO (Input/output error) (INJECTED)"
    whole = f"1 fdatasync(9</d/{log}>) = 0"

    def early(*lines: str) -> int:
        return Trace().read(lines).early_replies

    assert early(reply, written, whole, reply) == 0
    assert early(written, begun, ended, reply) == 0
    assert early(written, reply) == early(written, begun, reply, ended) == 1
    assert early(begun, written, ended, reply) == early(written, failed, reply) == 1
    assert Trace().read([written, whole, written]).synced_bytes == 10
