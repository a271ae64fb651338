"""Calls that come while others are handled begin together.

A call is cheap where much of it is done beside others: commands, replies and wake-ups that fall into one turn of the
event loop share system calls, and searches share a visit. gRPC hands over one call every few turns; left alone, each
pays for everything by itself. So a call waits while others are handled, as small segments do by Nagle's algorithm (RFC
896): who comes alone never waits, and the more come, the more begin together.
"""

from __future__ import annotations

import asyncio

LONGEST_S = 0.01
"""How long after its begin a batch holds up the next one: a few calls take as long, and slow ones delay nobody more."""
MOST = 32
"""Calls that begin together at most."""


class Batch:
    """Calls that begin together."""

    __slots__ = ("began", "may_begin", "members")

    def __init__(self) -> None:
        self.members = 0
        self.began = 0.0
        self.may_begin = asyncio.Event()


class Coalescer:
    """Tells calls when to begin."""

    def __init__(self, longest_s: float = LONGEST_S, most: int = MOST) -> None:
        self._longest_s = longest_s
        self._most = most
        self._current: Batch | None = None
        self._next: Batch | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def join(self) -> Batch:
        """Return when the call may begin; what is returned is to be left when it ends."""
        loop = asyncio.get_running_loop()
        current = self._current
        if current is None or (self._next is None and loop.time() >= current.began + self._longest_s):
            batch = Batch()
            batch.members = 1
            self._begin(batch)
            return batch
        if self._next is None:
            self._next = Batch()
            self._timer = loop.call_at(current.began + self._longest_s, self._go_on)
        batch = self._next
        batch.members += 1
        if batch.members >= self._most:
            self._go_on()
        try:
            await batch.may_begin.wait()
        except asyncio.CancelledError:
            self.leave(batch)
            raise
        return batch

    def leave(self, batch: Batch) -> None:
        """Note that a call ended; with the last one of a batch the next may begin."""
        batch.members -= 1
        if not batch.members and batch is self._current:
            self._go_on()

    def _go_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._next = self._next, None
        if batch is None or not batch.members:
            self._current = None
        else:
            self._begin(batch)

    def _begin(self, batch: Batch) -> None:
        batch.began = asyncio.get_running_loop().time()
        batch.may_begin.set()
        self._current = batch
