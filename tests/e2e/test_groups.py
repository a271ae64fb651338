"""Groups as their users meet them: the Python client against a server."""

from __future__ import annotations

import asyncio
import queue
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

import hbus
import hbus.aio
from hbus.backoff import Backoff
from hindsight_bus.cli.app import app
from tests.faults.conftest import Serve, place, seed, serve  # noqa: F401 - fixtures
from tests.faults.load import client, episode, supply_vectors
from tests.faults.processes import until

pytestmark = pytest.mark.e2e

SOON = Backoff(first_s=0.05, cap_s=0.1)


@pytest.fixture
async def target(serve: Serve) -> str:  # noqa: F811
    server = await serve()
    await supply_vectors(server.target)
    return server.target


async def write(target: str, namespace: str, *texts: str) -> None:
    async with client(target) as bus:
        for n, text in enumerate(texts):
            await bus.write(namespace, text, **episode(f"{namespace}-{text}", n))


async def test_a_group_from_birth_to_removal(target: str) -> None:
    """Events are shared out, failures retried and buried, letters redriven, the group moved and removed."""
    namespace = "user:zhangsan:events"
    await write(target, namespace, *(f"event {n}" for n in range(20)), "poison")
    seen: list[str] = []
    fixed = asyncio.Event()

    async def handle(delivery: hbus.Delivery) -> None:
        text = delivery.event.memory.text
        seen.append(text)
        if text == "poison" and not fixed.is_set():
            raise ValueError("cannot parse")

    async with hbus.aio.connect(target, agent="mailer") as bus:
        terms = {"group": "mail", "namespaces": "user:*:events", "start": "beginning", "max_attempts": 2}
        async with bus.consume(handle, **terms, retry=SOON), bus.consume(handle, **terms, retry=SOON):  # type: ignore[arg-type]

            async def is_buried() -> bool:
                return len([letter async for letter in bus.dead_letters("mail")]) == 1

            await until(is_buried, 20.0, "the poison is a dead letter")
            assert sorted(seen) == sorted([*(f"event {n}" for n in range(20)), "poison", "poison"])
            [group] = [group async for group in bus.groups()]
            assert (len(group.members), group.dead_letters, group.agent) == (2, 1, "mailer")
            [letter] = [letter async for letter in bus.dead_letters("mail")]
            assert (letter.reason, letter.attempts) == ("ValueError: cannot parse", 2)
            fixed.set()
            assert await bus.redrive("mail", [letter]) == 1

            async def is_done() -> bool:
                [group] = [group async for group in bus.groups()]
                return (group.pending, group.lag, group.dead_letters) == (0, 0, 0)

            await until(is_done, 20.0, "everything is settled")
            seen.clear()
            await bus.seek_group("mail", "beginning")
            await until(lambda: _has(seen, 21), 20.0, "everything has come again")
        with pytest.raises(hbus.errors.GroupMismatch):
            await bus.consume(handle, group="mail", namespaces="user:a:*").__aenter__()
        await bus.seek_group("mail", datetime.now(UTC))
        await bus.delete_group("mail")
        with pytest.raises(hbus.errors.NotFound):
            await bus.consume(handle, group="mail").__aenter__()


async def _has(seen: list[str], count: int) -> bool:
    return len(seen) >= count


async def test_a_member_comes_back_after_a_restart(serve: Serve) -> None:  # noqa: F811
    """A server that was killed costs no event: each is handled and settled, some perhaps twice."""
    server = await serve()
    await supply_vectors(server.target)
    namespace = "user:zhangsan:events"
    texts = [f"event {n}" for n in range(40)]
    await write(server.target, namespace, *texts)
    seen: list[str] = []
    gate = asyncio.Event()

    async def handle(delivery: hbus.Delivery) -> None:
        seen.append(delivery.event.memory.text)
        if len(seen) >= 10:
            await gate.wait()

    async with (
        hbus.aio.connect(server.target, agent="mailer") as bus,
        bus.consume(handle, group="g", namespaces=namespace, start="beginning", lease=2.0),
    ):
        await until(lambda: _has(seen, 10), 20.0, "it is at work")
        await server.kill()
        gate.set()
        await server.restart()

        async def is_done() -> bool:
            [group] = [group async for group in bus.groups()]
            return (group.pending, group.lag) == (0, 0)

        await until(is_done, 20.0, "everything is settled")
    assert set(seen) == set(texts)


async def test_a_slow_handler_keeps_its_event(target: str) -> None:
    """Its lease is extended for as long as it takes, and nobody else gets the event, though leases run out."""
    await write(target, "user:zhaoliu:events", "slow")
    terms = {"namespaces": "user:zhaoliu:*", "start": "beginning", "lease": 2.0}
    seen: list[str] = []

    async with hbus.aio.connect(target, agent="mailer") as bus:

        async def handle(delivery: hbus.Delivery) -> None:
            seen.append(delivery.event.memory.text)
            [first] = await bus.pull(group="witness", member="m", wait=20, **terms)  # type: ignore[arg-type]
            [again] = await bus.pull(group="witness", member="m", wait=20)
            assert (first.attempt, again.attempt) == (1, 2)

        async with (
            bus.consume(handle, group="slow", **terms) as one,  # type: ignore[arg-type]
            bus.consume(handle, group="slow", **terms) as other,  # type: ignore[arg-type]
        ):
            await until(lambda: _is_settled(bus, "slow"), 40.0, "the event is settled")
        assert (seen, one.stale, other.stale) == (["slow"], 0, 0)


async def _is_settled(bus: hbus.aio.Client, name: str) -> bool:
    [group] = [group async for group in bus.groups() if group.terms.name == name]
    return (group.pending, group.lag) == (0, 0)


async def test_members_come_by_single_calls(target: str) -> None:
    """Events are pulled and settled; what another one settles is refused."""
    await write(target, "user:sunqi:events", "a", "b", "c")
    async with hbus.aio.connect(target, agent="mailer") as bus:
        pulled = await bus.pull(
            group="calls", member="m1", namespaces="user:sunqi:*", start="beginning", wait=20
        )
        assert [each.event.memory.text for each in pulled] == ["a", "b", "c"]
        [first, *rest] = pulled
        assert await bus.ack([first], group="calls", member="m2") == [False]
        assert await bus.ack([first], group="calls", member="m1") == [True]
        assert await bus.ack([first], group="calls", member="m1") == [False]
        assert await bus.ack(rest, hbus.Reject(reason="no"), group="calls", member="m1") == [True, True]
        assert [letter.reason async for letter in bus.dead_letters("calls")] == ["no", "no"]
        assert await bus.pull(group="calls", member="m1") == []


async def test_the_command_line_consumes_and_looks_after_groups(target: str) -> None:
    """Events are printed and settled; groups and dead letters are listed, redriven and removed."""
    await write(target, "user:wangwu:events", "one", "two")
    await asyncio.to_thread(_use_command_line, target)


def _use_command_line(target: str) -> None:
    def hbus_says(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments, "--target", target])
        assert done.exit_code == 0, done.output
        return done.output

    printed = hbus_says("consume", "cli", "user:wangwu:*", "--start", "beginning", "--count", "2")
    assert ("one" in printed, "two" in printed) == (True, True)
    tagged = ("consume", "tagged", "user:wangwu:*", "--start", "beginning", "--tag", "no-such", "--kind")
    refused = CliRunner().invoke(app, [*tagged, "whatever", "--target", target])
    assert (refused.exit_code != 0, "kind" in refused.output) == (True, True)
    assert "cli" in hbus_says("groups")
    assert '"name": "cli"' in hbus_says("groups", "--json")
    assert hbus_says("groups", "--dead", "cli") == ""
    assert "0 redriven" in hbus_says("groups", "--redrive", "cli")
    hbus_says("groups", "--delete", "cli")
    assert "no groups" in hbus_says("groups")


async def test_threads_consume_too(target: str) -> None:
    """The same by the client for threads, with its handlers in a pool; stopping leaves nothing half done."""
    namespace = "user:lisi:events"
    await write(target, namespace, "a", "b", "c")
    await asyncio.to_thread(_consume_by_thread, target, namespace)


def _consume_by_thread(target: str, namespace: str) -> None:
    seen: queue.Queue[str] = queue.Queue()

    def handle(delivery: hbus.Delivery) -> None:
        if delivery.event.memory.text == "b":
            raise hbus.RejectEvent("no")
        seen.put(delivery.event.memory.text)

    with hbus.connect(target, agent="mailer") as bus:
        with bus.consume(handle, group="threads", namespaces=namespace, start="beginning") as member:
            assert {seen.get(timeout=10), seen.get(timeout=10)} == {"a", "c"}
        member.wait(timeout=0)
        assert [letter.reason for letter in bus.dead_letters("threads")] == ["no"]
        [group] = bus.groups()
        assert (group.pending, list(group.members)) == (0, [])
        assert bus.redrive("threads") == 1
        bus.seek_group("threads", "now")
        bus.delete_group("threads")
        with pytest.raises(hbus.errors.NotFound):
            bus.consume(handle, group="threads").__enter__()
