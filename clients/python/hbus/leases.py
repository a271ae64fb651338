"""Leases of events in hand, and when to extend them. Pure; times are seconds of one monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

LONGEST_S = 3600.0


class Leases:
    """What is in hand. Each lease is extended halfway, until its event has been in hand for ``longest_s``."""

    def __init__(self, longest_s: float = LONGEST_S, clock: Callable[[], float] = time.monotonic) -> None:
        self.lease_s = 0.0
        """Length of a lease; 0 until the server has told."""
        self._longest_s = longest_s
        self._clock = clock
        self._held: dict[str, tuple[float, float]] = {}
        """Ack id -> when to extend, and until when; in order of the first, as an id goes to the end when extended."""

    def begin(self, ack_ids: Iterable[str]) -> None:
        """Note events that have just come."""
        if not self.lease_s:
            return
        now = self._clock()
        for ack_id in ack_ids:
            self._held[ack_id] = now + self.lease_s / 2, now + self._longest_s

    def end(self, ack_id: str) -> None:
        """Note that an event is in hand no more."""
        self._held.pop(ack_id, None)

    def due(self) -> list[str]:
        """Return what to extend now, for another lease."""
        now = self._clock()
        due = []
        for ack_id, (when, _) in self._held.items():
            if when > now:
                break
            due.append(ack_id)
        untils = {ack_id: self._held.pop(ack_id)[1] for ack_id in due}
        extended = [ack_id for ack_id, until in untils.items() if now < until]
        self._held |= {ack_id: (now + self.lease_s / 2, untils[ack_id]) for ack_id in extended}
        return extended

    @property
    def next_s(self) -> float | None:
        """Seconds until ``due`` has something to tell; None while nothing is in hand."""
        for when, _ in self._held.values():
            return max(0.0, when - self._clock())
        return None
