"""A statement that names no subject never takes away what may still hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from hindsight_bus.adapters.llm.gateway import Gateway
from hindsight_bus.adapters.memory.clock import FakeClock
from hindsight_bus.adapters.memory.embedder import FakeEmbedder
from hindsight_bus.adapters.memory.groups import FakeGroups
from hindsight_bus.adapters.memory.ids import FakeIds
from hindsight_bus.adapters.memory.log import FakeLog
from hindsight_bus.adapters.memory.model import FakeLedger
from hindsight_bus.app.caller import OPEN_TENANT, Caller
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.domain.memory import Channel, MemoryType
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.settings import Settings
from hindsight_bus.wiring import App, assemble
from tests.statement_pairs import Pair, load

SUPPORT, TRAVEL = Caller(agent="support"), Caller(agent="travel")


@pytest.fixture
async def app() -> AsyncIterator[App]:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        log = FakeLog(clock.now_ms)
        groups = FakeGroups(log, clock.now_ms)
        models = Gateway((), FakeLedger())
        yield await assemble(log, groups, FakeEmbedder(), models, clock, FakeIds(), Settings(), stack)


@pytest.mark.parametrize(
    ("second", "channel", "is_same_speaker"),
    [
        pytest.param(SUPPORT, Channel.AGENT, True, id="same-agent"),
        pytest.param(TRAVEL, Channel.AGENT, False, id="another-agent"),
        pytest.param(TRAVEL, Channel.USER, True, id="user-through-another-agent"),
    ],
)
async def test_no_wrong_replacement(
    app: App, second: Caller, channel: Channel, is_same_speaker: bool
) -> None:
    """Only a speaker's own newer statement on a fact of one value replaces a memory, and such a one can."""
    pairs = load()
    held = await asyncio.gather(*(first_still_held(app, pair, second, channel) for pair in pairs))
    replaced = {pair for pair, holds in zip(pairs, held, strict=True) if not holds}
    assert sorted(pair.id for pair in replaced if not pair.may_replace) == []
    assert bool(replaced) is is_same_speaker


async def first_still_held(app: App, pair: Pair, second: Caller, channel: Channel) -> bool:
    """Write both statements to a namespace of their own; tell whether the first is live, or was never stored."""
    namespace = Namespace(OPEN_TENANT, "user", pair.id, "facts")
    written = await app.writer.write(SUPPORT, draft(namespace, pair.first, channel))
    await app.writer.write(second, draft(namespace, pair.second, channel))
    if written.memory is None:
        return True
    name = ResourceName.parse(written.memory.name, "memories", OPEN_TENANT)
    memory, _ = await app.reader.get(SUPPORT, name, 0, Freshness())
    return memory.head.state.is_live


def draft(namespace: Namespace, text: str, channel: Channel) -> WriteDraft:
    """Return a fact as an agent writes it, with nothing but its text."""
    return WriteDraft(namespace, MemoryType.SEMANTIC, text, channel=channel)
