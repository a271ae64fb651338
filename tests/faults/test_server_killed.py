"""Fault rows 1 and 2: the server, or its Valkey, is killed under load; nothing acknowledged is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History
from tests.faults.load import Writers, check_writes, supply_vectors
from tests.faults.processes import ServerProcess, ValkeyProcess, until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACES = [f"user:u{n}:events" for n in range(4)]
RECOVERY_S = 5.0


@forms("rounds", 5, 50)
async def test_a_killed_server_loses_and_doubles_nothing(
    rounds: int, serve: Serve, history: History, chance: random.Random
) -> None:
    """Eight writers, kill -9 at random moments: every OK write is in the log, once for each request_id."""
    server = await serve()
    await supply_vectors(server.target)
    async with Writers(server.target, history, NAMESPACES) as writers:
        for _ in range(rounds):
            await writers.more(chance.randrange(1, 150))
            await server.kill()
            await server.restart()
        await writers.more(50)
    await check_writes(server.target, history, NAMESPACES)


@forms("rounds", 5, 50)
async def test_a_killed_embedded_valkey_comes_back_unaided(
    rounds: int, serve: Serve, history: History, chance: random.Random
) -> None:
    """The server starts its own Valkey again; the first OK comes within 5 s, and nothing is lost or doubled."""
    server = await serve()
    await supply_vectors(server.target)
    async with Writers(server.target, history, NAMESPACES) as writers:
        for _ in range(rounds):
            await writers.more(chance.randrange(1, 150))
            os.kill(server.embedded_valkey(), signal.SIGKILL)
            await writers.more(20, within_s=RECOVERY_S)
    await check_writes(server.target, history, NAMESPACES)


@forms("rounds", 5, 50)
async def test_the_first_write_succeeds_soon_after_valkey_returns(
    rounds: int, serve: Serve, valkey: ValkeyProcess, history: History, chance: random.Random
) -> None:
    """A Valkey of the user's is killed and started again: the first OK within 5 s of its return, nothing lost."""
    server = await serve(valkey_url=valkey.url)
    await supply_vectors(server.target)
    async with Writers(server.target, history, NAMESPACES) as writers:
        for _ in range(rounds):
            await writers.more(chance.randrange(1, 150))
            await valkey.kill()
            await noticed(server)
            await valkey.restart()
            returned = time.monotonic()
            await writers.more(1, within_s=RECOVERY_S)
            assert time.monotonic() - returned < RECOVERY_S
    await check_writes(server.target, history, NAMESPACES)


async def noticed(server: ServerProcess) -> None:
    """Wait until the outage shows in the server's health."""

    async def shows() -> bool:
        return not await server.is_healthy()

    await until(shows, 10.0, "an outage of the store shows in the server's health")
