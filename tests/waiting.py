"""Waiting for what happens outside of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

POLL_S = 0.005


async def until(holds: Callable[[], Awaitable[bool]], within_s: float = 20.0) -> None:
    """Return once the condition holds; raise ``TimeoutError`` when it does not in time."""
    async with asyncio.timeout(within_s):
        while not await holds():  # noqa: ASYNC110 - nobody here could set an event
            await asyncio.sleep(POLL_S)
