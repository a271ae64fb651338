"""The deadline of the request at hand, set once by the transport and read wherever something waits."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
"""Event-loop time at which the caller stops waiting; None = never."""

_ANSWER_MARGIN = 0.05
"""Seconds kept back, so that a wait that fails can still say why."""


def waiting_limit() -> asyncio.Timeout:
    """Return a timeout that ends a wait shortly before the caller's deadline."""
    when = deadline.get()
    return asyncio.timeout_at(None if when is None else when - _ANSWER_MARGIN)
