"""Fault row 6: the store stops answering for a while. Calls end by their deadlines, the server keeps its head."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress

import pytest

import hbus.aio
from hbus.errors import TryAgain
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History
from tests.faults.load import Writers, check_writes, client, episode, supply_vectors, vector
from tests.faults.processes import ServerProcess, ValkeyProcess, until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACES = [f"user:u{n}:events" for n in range(4)]
PROBED = "user:probe:facts"
DEADLINE_S = 0.5
LATE_S = 2.0
"""How late an answer may come on a machine that is busy with other things."""
RECOVERY_S = 5.0
GROWTH_BYTES = 32 << 20

Ask = Callable[[], Awaitable[object]]


def asked(bus: hbus.aio.Client, number: int) -> list[Ask]:
    """Return a call of each kind that depends on the store."""
    text = f"probe {number}"

    async def first(pages: AsyncIterator[object]) -> None:
        async with aclosing(pages) as found:  # type: ignore[type-var] # it is a generator
            await anext(found, None)

    return [
        lambda: bus.write(PROBED, text, **episode(text, number)),
        lambda: bus.search(PROBED, text, vector=vector(number)),
        lambda: bus.search(PROBED, text, vector=vector(number), fully_consistent=True),
        lambda: first(bus.list(PROBED)),
        lambda: first(bus.conflicts(PROBED)),
        lambda: first(bus.groups()),
        lambda: bus.policy(PROBED),
    ]


async def hammer(target: str, number: int, resumed: asyncio.Event, late: list[str]) -> int:
    """Make calls with a short deadline until the store is back; return how many, and note those that came late."""
    calls = 0
    async with client(target, f"caller-{number}", timeout=DEADLINE_S) as bus:
        while not resumed.is_set():
            for place, ask in enumerate(asked(bus, number * 1_000_000 + calls)):
                began = time.monotonic()
                with suppress(TryAgain):
                    await ask()
                took_s = time.monotonic() - began
                if took_s > DEADLINE_S + LATE_S:
                    late.append(f"call {place} took {took_s:.2f} s")
                calls += 1
    return calls


async def health_answers(server: ServerProcess, resumed: asyncio.Event) -> set[bool]:
    """Ask for the server's health until the store is back; return what it said. No answer in time is an error."""
    said = set()
    while not resumed.is_set():
        said.add(await server.wants_calls(within_s=DEADLINE_S + LATE_S))
        await asyncio.sleep(0.1)  # between two questions
    return said


@forms("stall_s", 1, 10, 60)
async def test_a_stalled_store_holds_nobody_up(
    stall_s: int, serve: Serve, valkey: ValkeyProcess, history: History
) -> None:
    """While the store is stopped: every call ends by its deadline, health is answered, memory stays flat and streams
    stand; afterwards the first OK within 5 s, and nothing is lost or doubled."""
    server = await serve(valkey_url=valkey.url)
    await supply_vectors(server.target)
    late: list[str] = []
    async with (
        hbus.aio.connect(server.target, agent="hearer") as bus,
        bus.subscribe("user:*:events") as subscription,
        Writers(server.target, history, NAMESPACES) as writers,
    ):
        await bus.write(PROBED, "first", **episode("first"))
        await writers.more(500)
        before = server.rss_bytes()
        resumed = asyncio.Event()
        valkey.pause()
        hammers = [asyncio.create_task(hammer(server.target, n, resumed, late)) for n in range(16)]
        health = asyncio.create_task(health_answers(server, resumed))
        await asyncio.sleep(stall_s)  # the stall itself
        grown = server.rss_bytes() - before
        valkey.resume()
        await writers.more(1, within_s=RECOVERY_S)
        resumed.set()
        calls = sum(await asyncio.gather(*hammers))
        said = await health
        await until(server.is_healthy, RECOVERY_S, "the server wants calls again")
        await writers.more(100)
        heard = [(await anext(subscription)).memory.text for _ in range(500)]
    print(f"{calls} calls during {stall_s} s, grown by {grown >> 20} MiB")
    assert calls > 16
    assert not late, f"{late[:10]}, see {history.path}"
    assert grown < GROWTH_BYTES
    assert stall_s < RECOVERY_S or False in said, "nobody was told that the server cannot serve"
    assert len(set(heard)) == 500
    await check_writes(server.target, history, NAMESPACES)
