"""Time and ids."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time of this node, for deadlines and intervals only; stored times are the store's."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Ids(Protocol):
    """Randomness."""

    def memory_id(self) -> str:
        """Return 32 hex digits."""
        ...

    def stamp(self) -> int:
        """Return a random number, 1 to 2**32 - 1."""
        ...
