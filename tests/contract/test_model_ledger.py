"""What every ModelLedger remembers of questions to models."""

from __future__ import annotations

import asyncio

import pytest

from hindsight_bus.adapters.memory.model import FakeLedger
from hindsight_bus.adapters.valkey.log import ValkeyLog
from hindsight_bus.ports import ModelLedger, ModelUsage
from tests.contract.memory_log_rig import NS, Rig
from tests.contract.test_memory_log_due import OTHER


@pytest.fixture
def ledger(rig: Rig) -> ModelLedger:
    """Return an empty ledger."""
    return rig.log.ledger() if isinstance(rig.log, ValkeyLog) else FakeLedger()


async def test_an_answer_is_found_under_its_key_and_namespace(ledger: ModelLedger) -> None:
    """And under no other; the newest of one key counts."""
    await ledger.remember(NS, "key", b"old")
    await ledger.remember(NS, "key", b"new \x00")
    assert await ledger.recall(NS, "key") == b"new \x00"
    assert await ledger.recall(NS, "other") is None
    assert await ledger.recall(OTHER, "key") is None


async def test_what_is_spent_adds_up_by_namespace(ledger: ModelLedger) -> None:
    """Charges at the same time too; nothing spent is nothing."""
    assert await ledger.spent(NS) == ModelUsage()
    await asyncio.gather(*(ledger.charge(NS, ModelUsage(1, 100, 10, 0.25)) for _ in range(8)))
    await ledger.charge(NS, ModelUsage(calls=1))
    assert await ledger.spent(NS) == ModelUsage(9, 800, 80, 2.0)
    assert await ledger.spent(OTHER) == ModelUsage()


async def test_answers_go_by_themselves(rig: Rig) -> None:
    """In a store nothing that models said stays for longer than two days."""
    if not isinstance(rig.log, ValkeyLog):
        pytest.skip("the fake keeps nothing for long")
    await rig.log.ledger().remember(NS, "key", b"answer")
    client = rig.log._client
    [key] = await client.read(b"KEYS", b"*:answers:*")
    assert 0 < await client.read(b"PTTL", key) <= 2 * 24 * 3600 * 1000
