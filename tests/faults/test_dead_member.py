"""Fault row 8: a member, or its node, dies with events in hand; one event is poison. The rest flows."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

import hbus.aio
from hbus.backoff import Backoff
from hbus.consuming import duration
from hbus.endpoint import Endpoint
from hbus.v1.bus_service_pb2 import ConsumeRequest, GroupTerms, OpenGroup, Start, StartBeginning
from hbus.v1.bus_service_pb2_grpc import BusServiceStub
from hbus.v1.group_pb2 import Delivery
from tests.faults.conftest import Pair, Serve
from tests.faults.forms import forms
from tests.faults.load import client, episode, supply_vectors
from tests.faults.member import Member
from tests.faults.processes import ValkeyProcess, until

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

LEASE_S = 1.0
TAKEOVER_S = LEASE_S + 1.0
PENDING = 100


def terms(name: str, namespace: str, max_attempts: int = 0) -> GroupTerms:
    return GroupTerms(
        name=name,
        namespaces=[namespace],
        start=Start(beginning=StartBeginning()),
        lease=duration(LEASE_S),
        max_attempts=max_attempts,
    )


async def publish(target: str, namespace: str, count: int = PENDING) -> list[str]:
    """Write events; return their texts."""
    texts = [f"event {n}" for n in range(count)]
    writes = [hbus.write_request(namespace, text, **episode(f"{namespace} {text}")) for text in texts]
    async with client(target, timeout=30.0) as bus:
        await bus.write_many(writes)
    return texts


async def create(target: str, made: GroupTerms) -> None:
    """Create a group without taking from it."""
    async with Endpoint.of(target, agent="member").aio_channel() as channel:
        stream: Any = BusServiceStub(channel).Consume(metadata=(("hbus-agent", "member"),))
        await stream.write(ConsumeRequest(open=OpenGroup(group=made, member="founder")))
        assert (await stream.read()).HasField("opened")
        await stream.done_writing()
        assert await stream.read() is grpc.aio.EOF


async def hold(target: str, group: str) -> asyncio.subprocess.Process:
    """Start a member in a process of its own; return once it holds every event and settles none."""
    command = (sys.executable, "-m", "tests.faults.member", target, group, str(PENDING))
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env=os.environ | path
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        assert await process.stdout.readline() == b"holding\n"
    return process


async def takeover(other: Member, kill: Callable[[], Awaitable[None]]) -> float:
    """Return how many seconds after a kill the other member has done everything."""
    serving = asyncio.create_task(other.serve())
    await kill()
    killed = time.monotonic()

    async def is_done() -> bool:
        return len(other.done) >= PENDING

    await until(is_done, 20.0, "everything is taken over")
    serving.cancel()
    return time.monotonic() - killed


@forms("rounds", 2, 20)
async def test_another_member_takes_over(rounds: int, pair: Pair) -> None:
    """A member is killed with 100 events in hand: one on the other node has done them within lease + 1 s."""
    for number in range(rounds):
        group, namespace = f"killed-{rounds}-{number}", f"user:killed-{rounds}-{number}:events"
        texts = await publish(pair.one.target, namespace)
        await create(pair.one.target, terms(group, namespace))
        silent = await hold(pair.one.target, group)

        async def kill(process: asyncio.subprocess.Process = silent) -> None:
            process.kill()
            await process.wait()

        other = Member(pair.two.target, terms(group, namespace), "other")
        took_s = await takeover(other, kill)
        assert sorted(other.done) == sorted(texts)
        assert took_s < TAKEOVER_S


@forms("rounds", 1, 20)
async def test_what_a_dead_node_gave_out_is_taken_over(
    rounds: int, serve: Serve, valkey: ValkeyProcess
) -> None:
    """The node dies under its members: those of the other node have everything within lease + 1 s."""
    one, two = [await serve(name, valkey_url=valkey.url) for name in ("one", "two")]
    await supply_vectors(one.target)
    for number in range(rounds):
        group, namespace = f"node-{number}", f"user:node-{number}:events"
        texts = await publish(one.target, namespace)
        wanted = terms(group, namespace)
        await create(one.target, wanted)
        silent = await hold(one.target, group)
        other = Member(two.target, wanted, "other")
        took_s = await takeover(other, one.kill)
        await silent.wait()  # its stream has ended
        assert sorted(other.done) == sorted(texts)
        assert took_s < TAKEOVER_S
        if number < rounds - 1:
            await one.restart()


@forms("poisonous", 1, 50)
async def test_poison_is_buried_and_the_rest_flows(poisonous: int, pair: Pair) -> None:
    """A handler that always fails on some events: dead letters after the last attempt, everything else is done."""
    group, namespace = f"poison-{poisonous}", f"user:poison-{poisonous}:events"
    texts = await publish(pair.one.target, namespace)
    poison = set(texts[7 : 7 + poisonous])
    handled: list[str] = []

    async def handle(delivery: Delivery) -> None:
        if delivery.event.memory.text in poison:
            raise ValueError("poison")
        handled.append(delivery.event.memory.text)

    async with hbus.aio.connect(pair.two.target, agent="member") as bus:
        soon = Backoff(first_s=0.05, cap_s=0.05)
        await create(pair.one.target, terms(group, namespace, max_attempts=3))
        async with bus.consume(handle, group=group, retry=soon):

            async def is_buried() -> bool:
                return len([letter async for letter in bus.dead_letters(group)]) == poisonous

            await until(is_buried, 20.0, "the poison is buried")

            async def is_done() -> bool:
                return len(handled) >= PENDING - poisonous

            await until(is_done, 20.0, "the rest is done")
        letters = [letter async for letter in bus.dead_letters(group)]
    assert {letter.event.memory.text for letter in letters} == poison
    assert {(letter.attempts, letter.reason) for letter in letters} == {(3, "ValueError: poison")}
    assert sorted(handled) == sorted(set(texts) - poison)
