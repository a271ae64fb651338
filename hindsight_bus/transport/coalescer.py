"""Calls that come while others are handled begin together.

A call is cheap where much of it is done beside others: commands, replies and wake-ups that fall into one turn of the
event loop share system calls, and searches share a visit. gRPC hands over one call every few turns; left alone, each
pays for everything by itself. So a call waits while others are handled, as small segments do by Nagle's algorithm (RFC
896): who comes alone never waits, and the more come, the more begin together.

When a batch of several is over, its callers are about to call again. They are given a moment to do so.
"""

from __future__ import annotations

import asyncio

_LONGEST_S = 0.01
"""How long a batch may hold up the next one, and be waited for: a few calls take as long, slow ones delay no more."""
_MOMENT_S = 0.001
"""How long another call is waited for then: clients make one in a fraction of it."""
_SEVERAL = 4
"""Calls in a batch from which on others are waited for when it is over."""
_RESOLUTION_S = 0.0005
"""What timers may be early by."""
_MOST = 32
"""Calls that begin together at most."""


class Batch:
    """Calls that begin together: how many there were then, and how many have not ended."""

    __slots__ = ("began", "may_begin", "members", "size")

    def __init__(self) -> None:
        self.members = self.size = 0
        self.began = 0.0
        self.may_begin = asyncio.Event()


class Coalescer:
    """Tells calls when to begin. There may be a batch that is handled and one that gathers."""

    def __init__(self, longest_s: float = _LONGEST_S, moment_s: float = _MOMENT_S, most: int = _MOST) -> None:
        self._longest_s = longest_s
        self._moment_s = moment_s
        self._most = most
        self._handled: Batch | None = None
        self._gathering: Batch | None = None
        self._wanted = most
        self._until = self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def join(self) -> Batch:
        """Return when the call may begin; what is returned is to be left when it ends."""
        batch = self._gathering or self._gather()
        batch.members += 1
        if batch.members >= self._wanted:
            self._go_on()
            return batch
        if self._handled is None:
            self._wait(self._moment_s)
        try:
            await batch.may_begin.wait()
        except asyncio.CancelledError:
            self.leave(batch)
            raise
        return batch

    def leave(self, batch: Batch) -> None:
        """Note that a call ended; with the last one of a batch the next may begin."""
        batch.members -= 1
        if batch.members or batch is not self._handled:
            return
        self._handled = None
        if batch.size < _SEVERAL:
            self._go_on()
            return
        gathering = self._gathering = self._gathering or Batch()
        self._wanted, self._until = self._most, self._loop.time() + self._longest_s
        self._wait(self._moment_s if gathering.members else self._longest_s)

    def _gather(self) -> Batch:
        """Return a new batch, which holds one call where no other is handled that may hold it up."""
        self._gathering = Batch()
        self._until = 0.0 if self._handled is None else self._handled.began + self._longest_s
        self._wanted = self._most if self._loop.time() < self._until else 1
        if self._wanted > 1:
            self._wait(self._longest_s)
        return self._gathering

    def _wait(self, seconds: float) -> None:
        """Let the batch gather for so long, or until its time is up."""
        due, self._due = self._due, min(self._loop.time() + seconds, self._until)
        if self._timer is None or self._due < due:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._due, self._on_time)

    def _on_time(self) -> None:
        """Go on, unless somebody came since the timer was set: to set it anew for each would cost more."""
        if self._due - self._loop.time() > _RESOLUTION_S:
            self._set_timer()
        else:
            self._go_on()

    def _go_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._gathering = self._gathering, None
        if batch is None or not batch.members:
            return
        self._handled = batch
        batch.size, batch.began = batch.members, self._loop.time()
        batch.may_begin.set()
