"""Writing what was said or happened: EPISODIC memories compete with nothing."""

from __future__ import annotations

from hindsight_bus.app.attempt import WriteAttempt
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.domain.memory import Decision, MemoryState
from hindsight_bus.domain.records import Fingerprint
from hindsight_bus.domain.statements import episode_key
from hindsight_bus.ports import Stored

_GONE = frozenset({MemoryState.FORGOTTEN, MemoryState.EXPIRED})


class EpisodeAttempt(WriteAttempt[Fingerprint]):
    """One try to write an EPISODIC memory."""

    target_kind = Fingerprint

    def target_key(self) -> str:
        """Return the key of the episode."""
        return episode_key(self.draft.text, self.event_time_ms, self.draft.source)

    async def decide(self, target: Stored[Fingerprint] | None) -> Outcome:
        """Store it, unless the very same was stored before."""
        if target is not None and await self._is_there(target.record.memory_id):
            return await self.nothing_new(
                Decision.DUPLICATE, target.record.memory_id, "said before, word for word"
            )
        version = self.version(self.new_id, 1)
        self.plan.create(self.head(version, MemoryState.ACTIVE), version, self.vector(version))
        if self.draft.event_time_ms:  # without a time, each telling is an episode of its own
            self.plan.expect(self.target, target.revision if target is not None else 0)
            self.plan.put(self.target, Fingerprint(self.namespace, self.target_key(), self.new_id))
        return await self.finish(Decision.STORED, self.new_id, "")

    async def _is_there(self, memory_id: str) -> bool:
        memory = (await self.memories([memory_id])).get(memory_id)
        return memory is not None and memory.head.record.state not in _GONE
