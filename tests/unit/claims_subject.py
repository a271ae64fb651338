"""One subject driven through the rules of claims as the application drives it, with names for ids."""

from __future__ import annotations

from hindsight_bus.domain import claims
from hindsight_bus.domain.claims import Asserted, Change
from hindsight_bus.domain.memory import Channel, Claim, MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.records import Standing, SubjectRecord
from hindsight_bus.domain.settling import ConflictChange, Settled, resettle
from hindsight_bus.domain.statements import speaker_of
from hindsight_bus.domain.values import replace

DAY_MS = 86_400_000
NAMESPACE = Namespace("t", "user", "zhangsan", "facts")


class Subject:
    """A subject record with what the heads of its memories hold."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self.record = SubjectRecord(NAMESPACE, "key", "preference.language", MemoryType.SEMANTIC)
        self.states: dict[str, MemoryState] = {}
        self.superseded_by: dict[str, str] = {}
        self.claims: dict[str, list[Claim]] = {}
        self.settled = Settled(self.record, (), None)

    def say(
        self,
        speaker: str,
        statement: str,
        confidence: float = 0.8,
        day: float = 0,
        *,
        many: bool = False,
        is_timed: bool = True,
        supersedes: tuple[str, ...] | None = None,
    ) -> Asserted:
        """Assert a claim, or update deliberately, and settle."""
        claim = self._claim(speaker, statement, confidence, day, many)
        if supersedes is None:
            asserted = claims.assert_claim(self.record, claim, is_timed=is_timed)
        else:
            asserted = claims.update_claim(self.record, claim, supersedes)
        if asserted.record is not self.record and asserted.claim in asserted.record.claims:
            self.claims.setdefault(asserted.memory_id, []).append(asserted.claim)
        self.apply(asserted)
        return asserted

    def revise(self, memory_id: str, speaker: str, statement: str, day: float = 0) -> Asserted:
        """Change what a memory's sole claimant says."""
        claim = replace(self._claim(speaker, statement, 0.8, day, False), memory_id=memory_id)
        asserted = claims.revise_claim(self.record, claim)
        self.claims.setdefault(asserted.memory_id, []).append(asserted.claim)
        self.apply(asserted)
        return asserted

    def forget(self, memory_id: str) -> Change:
        """Withdraw a memory."""
        change = claims.withdraw(self.record, memory_id)
        self.apply(change)
        self.states[memory_id] = MemoryState.FORGOTTEN
        return change

    def restore(self, memory_id: str) -> Change:
        """Bring a memory back with every claim that its head knows."""
        change = claims.reinstate(self.record, memory_id, self.claims[memory_id], next_version=50)
        self.apply(change)
        return change

    def merge(self, into: str, *others: str) -> Change:
        """Merge memories of the subject."""
        merging = claims.claims_of(self.record, others)
        change = claims.merge(self.record, into, merging, next_version=50)
        self.apply(change)
        return change

    def apply(self, change: Change, *, resolved: str = "") -> Settled:
        """Settle a change and note what becomes of each memory."""
        self.settled = resettle(change.record, self.policy, resolved=resolved)
        self.record = self.settled.record
        for step in change.moved:
            self.claims.setdefault(step.after.memory_id, []).append(step.after)
        for memory_id, by in change.superseded.items():
            self.states[memory_id] = MemoryState.SUPERSEDED
            self.superseded_by[memory_id] = by
        for changed in self.settled.changes:
            self.states[changed.memory_id] = changed.after.state
        return self.settled

    @property
    def conflict(self) -> ConflictChange | None:
        """What the last change did to the conflict."""
        return self.settled.conflict

    @property
    def outcome(self) -> dict[str, Standing]:
        """Statement -> where it stands."""
        said = {c.memory_id: c.statement for c in self.record.claims}
        return {said[memory_id]: standing for memory_id, standing in self.record.standings.items()}

    @property
    def outcome_states(self) -> dict[str, str]:
        """Statement -> name of its state."""
        return {statement: standing.state.name for statement, standing in self.outcome.items()}

    def _claim(self, speaker: str, statement: str, confidence: float, day: float, many: bool) -> Claim:
        """Return a claim for a new memory named ``<statement>#<number>``; speaker ``user/x`` is the user by x."""
        by_user, _, relay = speaker.rpartition("/")
        channel = Channel.USER if by_user else Channel.AGENT
        return Claim(
            speaker=speaker_of(channel, relay, NAMESPACE.owner),
            agent=relay,
            channel=channel,
            memory_id=f"{statement}#{self.record.sequence + 1}",
            statement=statement,
            confidence=confidence,
            event_time_ms=round((1000 + day) * DAY_MS),
            sequence=0,
            version=1,
            many=many,
        )
