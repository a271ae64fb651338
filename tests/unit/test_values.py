"""What values are made of, and what must not be one."""

from __future__ import annotations

import asyncio
import gc
import weakref

from hindsight_bus.app.tail import Tails
from tests.unit.app_rig import Node


def test_a_node_that_is_dropped_leaves_nothing_behind() -> None:
    """The garbage collector passes values by, so none of them may hold what leads back to it."""
    gone = asyncio.run(_use_a_node())
    gc.collect()
    assert gone() is None


async def _use_a_node() -> weakref.ref[Tails]:
    node = Node()
    await node.note("They met in Madrid.")
    await node.write("Prefers charts.")
    await node.work()
    assert await node.search("charts")
    await node.hear()
    return weakref.ref(node.tails)
