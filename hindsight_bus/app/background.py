"""Tasks that run for as long as their node does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

log = structlog.get_logger(__name__)


def in_background(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start work that ends by cancellation only; anything else is a defect that must not go unseen."""
    task = asyncio.create_task(work)
    task.add_done_callback(_report_end)
    return task


def _report_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("node.background_died", exc_info=task.exception())
