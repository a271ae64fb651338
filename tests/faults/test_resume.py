"""Fault row 10: a subscription that is cut again and again; received = published, in order."""

from __future__ import annotations

import asyncio
import random

import pytest

import hbus.aio
from tests.faults import checkers
from tests.faults.conftest import Pair
from tests.faults.forms import forms
from tests.faults.load import client, episode
from tests.faults.proxy import FaultProxy

pytestmark = [pytest.mark.faults, pytest.mark.e2e]

OWNERS = ("zhangsan", "lisi", "wangwu")
BATCH = 100
CHANCE = 0.2
"""Of a cut, for each 8 KiB that come."""
Seen = dict[str, list[str]]


@forms("events", 5_000, 100_000)
async def test_a_subscription_that_is_cut_misses_and_repeats_nothing(
    events: int, pair: Pair, chance: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cut in a hundred events, at random places, within messages too: each owner's events arrive as published,
    once, in order."""
    monkeypatch.setattr("hbus.aio.client.STREAM_BACKOFF", hbus.Backoff(first_s=0.005, cap_s=0.1))
    server = pair.one
    cuts = events // 100
    async with FaultProxy(server.target) as proxy, hbus.aio.connect(proxy.target, agent="reader") as bus:
        async with bus.subscribe("user:*:cuts") as subscription:
            proxy.cuts_reply_at = lambda _: proxy.cuts < cuts and chance.random() < CHANCE
            publishing = asyncio.create_task(_publish(server.target, events))
            received = await _receive(subscription, events)
            published = await publishing
        assert proxy.cuts == cuts, "too few cuts: the test proves little"
    for owner in published:
        assert not checkers.misdelivered(published[owner], received[owner])


async def _publish(target: str, events: int) -> Seen:
    """Write batches to each owner in turn; return the texts of each namespace in order of revision."""
    placed: dict[str, list[tuple[int, str]]] = {}
    async with client(target, timeout=60.0) as bus:
        for start in range(0, events, BATCH):
            namespace = f"user:{OWNERS[start // BATCH % len(OWNERS)]}:cuts"
            numbers = range(start, start + BATCH)
            writes = [hbus.write_request(namespace, f"e-{n}", **episode(f"e-{n}", n)) for n in numbers]
            for outcome in await bus.write_many(writes):
                assert not isinstance(outcome, hbus.HbusError), outcome
                memory = outcome.memory
                placed.setdefault(namespace, []).append((memory.revision, memory.text))
    return {namespace: [text for _, text in sorted(pairs)] for namespace, pairs in placed.items()}


async def _receive(subscription: hbus.aio.Subscription, events: int) -> Seen:
    """Take as many events as are published; return the texts of each namespace as they came."""
    received: Seen = {}
    async with asyncio.timeout(60.0 + events / 100):
        async for event in subscription:
            received.setdefault(event.namespace, []).append(event.memory.text)
            if sum(map(len, received.values())) == events:
                break
    return received
