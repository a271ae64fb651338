"""What agents were served lately, so that they do not corroborate what they only repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import lru_cache

import structlog

from hindsight_bus.domain.errors import HbusError
from hindsight_bus.domain.memory import Memory
from hindsight_bus.domain.names import Namespace, digest
from hindsight_bus.domain.statements import statement_key
from hindsight_bus.ports import Clock, MemoryLog

log = structlog.get_logger(__name__)

WINDOW_MS = 24 * 3600 * 1000
_FLUSH_SECONDS = 1.0
_MAX_NOTES = 50_000
"""Notes kept between two flushes; more are dropped, which costs a missed echo and nothing else."""


class ServedNotes:
    """Collects what agents are served and writes it down each second: best effort within that second."""

    def __init__(self, store: MemoryLog, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._notes: dict[tuple[str, Namespace], set[str]] = {}
        self._count = 0

    def note(self, agent: str, memories: Iterable[Memory]) -> None:
        """Remember that an agent was served these memories; a caller without a name leaves no note."""
        if not agent:
            return
        for memory in memories:
            version = memory.version
            if version.type.has_claims and self._count < _MAX_NOTES:
                fingerprint = _fingerprint(version.text, version.value)
                self._notes.setdefault((agent, memory.namespace), set()).add(fingerprint)
                self._count += 1

    async def repeats(self, agent: str, namespace: Namespace, statement: str) -> bool:
        """Tell whether an agent was served that statement within the last 24 hours."""
        if digest(statement) in self._notes.get((agent, namespace), ()):
            return True
        since = self._store.now_ms() - WINDOW_MS
        return await self._store.was_served(agent, namespace, digest(statement), since)

    async def run(self) -> None:
        """Flush until cancelled."""
        while True:
            await self._clock.sleep(_FLUSH_SECONDS)
            try:
                await self.flush()
            except HbusError as error:
                log.warning("served.not_flushed", reason=error.reason)

    async def flush(self) -> None:
        """Write down what was collected."""
        notes, self._notes, self._count = self._notes, {}, 0
        agents: dict[str, dict[Namespace, list[str]]] = {}
        for (agent, namespace), statements in notes.items():
            agents.setdefault(agent, {})[namespace] = sorted(statements)
        now = self._store.now_ms()
        await asyncio.gather(
            *(self._store.note_served(agent, served, now) for agent, served in agents.items())
        )


@lru_cache(maxsize=4096)
def _fingerprint(text: str, value: str) -> str:
    """Cached, since one event is heard by many."""
    return digest(statement_key(text, value))
