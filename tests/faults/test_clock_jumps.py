"""Fault row 17: the wall clocks of the nodes jump by an hour. Order, expiry and leases go by the store's time."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import hbus.aio
from tests.faults.clock import JumpingClock
from tests.faults.conftest import Serve
from tests.faults.forms import forms
from tests.faults.history import History
from tests.faults.load import Writers, check_writes, episode, supply_vectors, vector
from tests.faults.member import Member
from tests.faults.processes import ServerProcess, ValkeyProcess, until
from tests.faults.test_dead_member import TAKEOVER_S, create, hold, publish, takeover, terms

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

NAMESPACES = [f"user:u{n}:events" for n in range(4)]
HOUR_S = 3600
EXPIRY_S = 3.0


@dataclass(frozen=True, slots=True)
class Node:
    """A server and its clock."""

    server: ServerProcess
    clock: JumpingClock

    async def jump(self, seconds: int) -> None:
        """Let the clock jump; return once the server's log shows it."""
        self.clock.jump(seconds)

        async def shows() -> bool:
            await self.server.is_healthy()
            async with hbus.aio.connect(self.server.target, agent="reader") as bus:
                await bus.policy(NAMESPACES[0])
            last = json.loads(self.server.log.read_text().splitlines()[-1])["timestamp"]
            off = datetime.fromisoformat(last) - datetime.now(UTC)
            return abs(off.total_seconds() - seconds) < HOUR_S / 10

        await until(shows, 20.0, f"the clock is off by {seconds} s, see {self.server.log}")


@pytest.fixture
async def nodes(serve: Serve, valkey: ValkeyProcess, place: Path) -> list[Node]:
    """Return two servers on one store, whose clock does not jump."""
    clocks = [JumpingClock(place / f"clock{n}") for n in range(2)]
    starting = (
        serve(f"node{n}", valkey_url=valkey.url, wrapper=clock.wrapper) for n, clock in enumerate(clocks)
    )
    servers = await asyncio.gather(*starting)
    await supply_vectors(*(server.target for server in servers))
    return [Node(server, clock) for server, clock in zip(servers, clocks, strict=True)]


@forms("jumps", 3, 50)
async def test_order_holds_while_clocks_jump(
    jumps: int, nodes: list[Node], history: History, chance: random.Random
) -> None:
    """Writers on both nodes, whose clocks go to and fro by an hour: the log has every write once, in order, and says
    when it happened by the store's time."""
    async with Writers([node.server.target for node in nodes], history, NAMESPACES) as writers:
        for _ in range(jumps):
            await chance.choice(nodes).jump(chance.choice((-HOUR_S, 0, HOUR_S)))
            await writers.more(chance.randrange(1, 100))
    await check_writes(chance.choice(nodes).server.target, history, NAMESPACES)
    async with hbus.aio.connect(nodes[0].server.target, agent="reader") as bus:
        created = [memory.create_time.ToDatetime(UTC) async for memory in bus.list(NAMESPACES[0])]
    assert created == sorted(created)
    assert abs(created[-1] - datetime.now(UTC)) < timedelta(seconds=HOUR_S / 10)


async def test_expiry_and_leases_hold_when_clocks_jump(nodes: list[Node]) -> None:
    """One node is an hour ahead, the other one behind: what expires in half an hour does not expire now, what expires
    in seconds does; a lease neither ends early nor lasts for ever."""
    one, two = nodes
    group = terms("leases", "user:leases:events")
    await publish(one.server.target, "user:leases:events")
    await create(one.server.target, group)
    await asyncio.gather(one.jump(HOUR_S), two.jump(-HOUR_S))
    silent = await hold(one.server.target, "leases")
    await asyncio.gather(*(_check_expiry(*pair) for pair in ((one, two), (two, one))))

    async def kill() -> None:
        silent.kill()
        await silent.wait()

    other = Member(two.server.target, group, "other")
    assert await takeover(other, kill) < TAKEOVER_S


async def _check_expiry(writer: Node, reader: Node) -> None:
    """Write by one node, read by the other."""
    namespace = f"user:{writer.server.data_dir.name}:events"
    now = datetime.now(UTC)
    over, late = now + timedelta(seconds=EXPIRY_S), now + timedelta(seconds=HOUR_S / 2)
    async with (
        hbus.aio.connect(writer.server.target, agent="a") as first,
        hbus.aio.connect(reader.server.target, agent="b") as second,
    ):
        for number, (text, when) in enumerate({"soon": over, "late": late}.items()):
            fields = episode(text, number)
            fields["expire_time"] = when
            await first.write(namespace, text, **fields)

        async def texts() -> set[str]:
            found = await second.search(namespace, "", vector=vector(1), fully_consistent=True)
            return {hit.memory.text for hit in found.hits}

        async def is_over() -> bool:
            return await texts() == {"late"}

        assert await texts() == {"soon", "late"} or datetime.now(UTC) > over
        await until(is_over, 30.0, "what was to expire has expired")
        assert datetime.now(UTC) >= over
