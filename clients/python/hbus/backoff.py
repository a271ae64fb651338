"""When to try again, and how long to wait before it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hbus.errors import Contended, HbusError, OutcomeUnknown, TooManyStreams, Unavailable

RETRYABLE = (Unavailable, OutcomeUnknown, Contended)
"""Errors after which a read, or a mutation with a request_id, may be sent again as it was."""

PASSING = (*RETRYABLE, TooManyStreams)
"""Errors after which a stream that was open may be opened again: a server may still count the one that was cut."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with jitter (AWS Architecture Blog, "Exponential Backoff And Jitter": equal jitter)."""

    first_s: float = 0.05
    cap_s: float = 1.0
    attempts: int = 10
    """Calls at most, the first one included; streams reconnect without this limit."""

    def pause(self, attempt: int, chance: float) -> float:
        """Return seconds to wait after the attempt of that number (from 1); ``chance`` lies in [0, 1)."""
        ceiling = min(self.cap_s, self.first_s * 2.0 ** min(attempt - 1, 30))
        return ceiling * (0.5 + chance / 2)


NO_RETRY = Backoff(attempts=1)


@dataclass(slots=True)
class Attempts:
    """The attempts of one unary call within its deadline."""

    backoff: Backoff
    timeout_s: float
    now: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    _made: int = field(default=0, init=False)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = self.now() + self.timeout_s

    @property
    def remaining_s(self) -> float:
        """Seconds until the deadline; never negative."""
        return max(0.0, self._deadline - self.now())

    def pause_after(self, error: HbusError) -> float | None:
        """Return seconds to wait before the next attempt; None = give up and raise ``error``."""
        self._made += 1
        if not isinstance(error, RETRYABLE) or self._made >= self.backoff.attempts:
            return None
        pause = max(self.backoff.pause(self._made, self.chance()), error.retry_after_s or 0.0)
        return pause if pause < self.remaining_s else None


@dataclass(slots=True)
class Outage:
    """How long a stream has been cut, from the first failure to the next message."""

    backoff: Backoff
    limit_s: float | None
    """Give up after so many seconds without a message; None = never."""
    now: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    _cuts: int = field(default=0, init=False)
    _since: float = field(default=0.0, init=False)

    def over(self) -> None:
        """Note that a message has arrived."""
        self._cuts = 0

    def pause_after(self, error: HbusError) -> float | None:
        """Return seconds to wait before reconnecting; None = give up and raise ``error``."""
        if not isinstance(error, PASSING):
            return None
        if not self._cuts:
            self._since = self.now()
        self._cuts += 1
        pause = max(self.backoff.pause(self._cuts, self.chance()), error.retry_after_s or 0.0)
        if self.limit_s is not None and self.now() + pause > self._since + self.limit_s:
            return None
        return pause
