"""A circuit breaker: who failed several times in a row is left alone for a while, then tried by one call."""

from __future__ import annotations

FAILURES = 3
"""In a row, before a pause."""
PAUSE_S = 15.0
"""The first pause; each further failure doubles it."""
MAX_PAUSE_S = 300.0


class Breaker:
    """Whether a provider may be asked. Times are seconds of any monotonic clock."""

    def __init__(self) -> None:
        self._failures = 0
        self._paused_until = 0.0

    def wait(self, now: float) -> float:
        """Return how many seconds its pause still lasts; 0 = it may be asked."""
        return max(self._paused_until - now, 0.0)

    def try_again(self, now: float) -> None:
        """Note that a call begins: after a pause the others wait for what becomes of the first one."""
        if self._failures >= FAILURES:
            self._paused_until = now + self._pause()

    def succeeded(self) -> None:
        """Note that a call was answered."""
        self._failures = 0
        self._paused_until = 0.0

    def failed(self, now: float, pause_s: float = 0.0, *, for_good: bool = False) -> None:
        """Note that a call failed; ``pause_s`` is what the server asked for, ``for_good``: it will fail again."""
        self._failures = max(self._failures + 1, FAILURES if for_good else 0)
        pause = min(max(pause_s, self._pause() if self._failures >= FAILURES else 0.0), MAX_PAUSE_S)
        self._paused_until = max(self._paused_until if pause_s else 0.0, now + pause)

    def _pause(self) -> float:
        return min(PAUSE_S * 2.0 ** (self._failures - FAILURES), MAX_PAUSE_S)
