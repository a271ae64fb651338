"""Where the memories of a subject stand, by rule: a pure function of the claims, whatever their order of arrival."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from hindsight_bus.domain.claim_set import is_many
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Claim, MemoryState
from hindsight_bus.domain.names import digest
from hindsight_bus.domain.policy import ConflictPolicy, Policy
from hindsight_bus.domain.records import ConflictSide, ConflictState, Standing, SubjectRecord
from hindsight_bus.domain.values import Value, replace

MAX_SCORE = 0.99
_DIGITS = 6
_DAY_MS = 86_400_000


class _Group(Value):
    """The claims of one memory."""

    memory_id: str
    evidence: float
    """Support by its speakers, 0 to 0.99, not aged."""
    strength: float
    """log2 of the evidence, plus newest event time in half-lives: orders groups whatever else is in the set."""
    newest: tuple[int, int]
    """(event_time_ms, sequence) of its newest claim."""


def settle(
    claims: Sequence[Claim], policy: Policy, *, chosen: str = "", keep_all: bool = False
) -> dict[str, Standing]:
    """Decide where each memory of a set of claims stands: ACTIVE, CONTESTED or OVERRIDDEN, and its score.

    Args:
        claims: The set; a speaker appears once (MANY: once a statement), a memory's claims say the same.
        policy: Conflict policy, margin and belief half-life.
        chosen: Memory that a resolution chose: at worst CONTESTED.
        keep_all: A resolution set the cardinality to MANY.

    With cardinality MANY (one claim is enough), as with one memory alone, nothing competes and no score is aged.
    """
    half_life_ms = policy.belief_half_life_days * _DAY_MS
    groups = _groups(claims, half_life_ms)
    if len(groups) == 1 or keep_all or any(claim.many for claim in claims):
        return {g.memory_id: Standing(MemoryState.ACTIVE, g.evidence) for g in groups}
    newest_ms = max((claim.event_time_ms for claim in claims), default=0)
    held = _HELD_BY[policy.conflict_policy](groups, policy.conflict_margin)
    held |= {g.memory_id for g in groups if g.memory_id == chosen}
    winning = MemoryState.ACTIVE if len(held) == 1 else MemoryState.CONTESTED
    return {
        g.memory_id: Standing(
            winning if g.memory_id in held else MemoryState.OVERRIDDEN,
            round(g.evidence * 0.5 ** ((newest_ms - g.newest[0]) / half_life_ms), _DIGITS),
        )
        for g in groups
    }


def _groups(claims: Iterable[Claim], half_life_ms: float) -> list[_Group]:
    members: dict[str, list[Claim]] = {}
    for claim in claims:
        members.setdefault(claim.memory_id, []).append(claim)
    return [_group(memory_id, members[memory_id], half_life_ms) for memory_id in sorted(members)]


def _group(memory_id: str, claims: list[Claim], half_life_ms: float) -> _Group:
    evidence = evidence_of(claims)
    newest = max((claim.event_time_ms, claim.sequence) for claim in claims)
    strength = math.log2(evidence) + newest[0] / half_life_ms if evidence else -math.inf
    return _Group(memory_id, evidence, strength, newest)


def evidence_of(claims: Iterable[Claim]) -> float:
    """Return the joint support of the claims on one memory, one a speaker: 0 to 0.99, rounded, not aged."""
    # Sorted, so that the product does not depend on the order of arrival in its last bit.
    doubt = math.prod(sorted(1.0 - claim.confidence for claim in claims))
    return round(min(MAX_SCORE, 1.0 - doubt), _DIGITS)


def _best_and_close(groups: Sequence[_Group], margin: float) -> set[str]:
    """Return the groups whose score is at least (1 - margin) of the best.

    Ratios of strengths, not of aged scores: those lose digits as the set gets newer, and time alone flips nothing.
    """
    best = max((g.strength for g in groups), default=0.0)
    floor = round(1.0 - margin, _DIGITS)
    return {
        g.memory_id
        for g in groups
        if g.strength == best or round(2.0 ** (g.strength - best), _DIGITS) >= floor
    }


def _latest(groups: Sequence[_Group], _margin: float) -> set[str]:
    return {g.memory_id for g in sorted(groups, key=lambda g: g.newest)[-1:]}


def _all(groups: Sequence[_Group], _margin: float) -> set[str]:
    return {g.memory_id for g in groups}


_HELD_BY: dict[ConflictPolicy, Callable[[Sequence[_Group], float], set[str]]] = {
    ConflictPolicy.CONFIDENCE: _best_and_close,
    ConflictPolicy.LATEST: _latest,
    ConflictPolicy.MANUAL: _all,
}


# --- settling a record anew ----------------------------------------------------------------------------------------


class StandingChange(Value):
    """A memory of the set whose state or score differs from when the subject was last settled."""

    memory_id: str
    before: Standing | None
    """None: it was not in the set."""
    after: Standing


class ConflictChange(Value):
    """What becomes of the subject's conflict."""

    conflict_id: str
    state: ConflictState
    """OPEN (with the sides as they are now), SETTLED by new evidence, or MOOT as the set changed."""
    is_new: bool
    sides: tuple[ConflictSide, ...]
    """Best first, without texts; empty unless OPEN."""


class Settled(Value):
    """A subject record as it is to be stored, and what that changes."""

    record: SubjectRecord
    changes: tuple[StandingChange, ...]
    """In order of memory id. Memories that left the set are not among them."""
    conflict: ConflictChange | None
    """None: there was no conflict and there is none. OPEN may say what is stored already."""


def resettle(record: SubjectRecord, policy: Policy, *, resolved: str = "") -> Settled:
    """Settle a subject whose claims, marks or policy changed.

    Args:
        record: The record with the new claims and the standings of last time.
        policy: The policy in force now.
        resolved: Id of a conflict that the change decides; it is the record's no longer, so that a new one opens
            should statements still be contested.

    States in the answer are as shown: ARCHIVED where a memory is archived. The sequence grows when a conflict opens,
    which gives every conflict of a subject an id of its own.
    """
    open_id = "" if record.conflict_id == resolved else record.conflict_id
    standings = settle(record.claims, policy, chosen=record.chosen, keep_all=record.keep_all)
    contested = [m for m, standing in standings.items() if standing.state is MemoryState.CONTESTED]
    is_new = bool(contested) and not open_id
    sequence = record.sequence + is_new
    conflict_id = conflict_id_of(record, sequence) if is_new else open_id
    shown = _shown(standings, record.archived)
    settled = replace(
        record, sequence=sequence, standings=shown, conflict_id=conflict_id if contested else ""
    )
    return Settled(
        settled,
        _differences(record.standings, shown),
        _conflict_change(record, conflict_id, is_new, _sides(settled, contested, standings)),
    )


def conflict_id_of(record: SubjectRecord, sequence: int) -> str:
    """Return the id of the conflict that opens when the record is at ``sequence``."""
    return digest("conflict", record.namespace.id, record.key, str(sequence))


def _shown(standings: dict[str, Standing], archived: tuple[str, ...]) -> dict[str, Standing]:
    return {
        memory_id: replace(standing, state=MemoryState.ARCHIVED) if memory_id in archived else standing
        for memory_id, standing in standings.items()
    }


def _differences(before: dict[str, Standing], after: dict[str, Standing]) -> tuple[StandingChange, ...]:
    return tuple(
        StandingChange(memory_id, before.get(memory_id), standing)
        for memory_id, standing in after.items()
        if before.get(memory_id) != standing
    )


def _sides(
    record: SubjectRecord, contested: Iterable[str], standings: dict[str, Standing]
) -> tuple[ConflictSide, ...]:
    sides = (
        ConflictSide(
            memory_id,
            text="",
            score=standings[memory_id].score,
            speakers=tuple(sorted({c.speaker for c in record.claims if c.memory_id == memory_id})),
        )
        for memory_id in contested
    )
    return tuple(sorted(sides, key=lambda side: (-side.score, side.memory_id)))


def _conflict_change(
    before: SubjectRecord, conflict_id: str, is_new: bool, sides: tuple[ConflictSide, ...]
) -> ConflictChange | None:
    if not conflict_id:
        return None
    if sides:
        return ConflictChange(conflict_id, ConflictState.OPEN, is_new, sides)
    return ConflictChange(conflict_id, _closing_state(before), is_new, ())


def _closing_state(record: SubjectRecord) -> ConflictState:
    """Return SETTLED where two sides are still claimed, so that evidence chose between them; else MOOT."""
    present = {c.memory_id for c in record.claims}
    sides = [m for m, s in record.standings.items() if s.state is MemoryState.CONTESTED and m in present]
    return ConflictState.SETTLED if len(sides) > 1 and not is_many(record) else ConflictState.MOOT


_KIND_OF_STATE = {
    MemoryState.CONTESTED: EventKind.CONTESTED,
    MemoryState.OVERRIDDEN: EventKind.OVERRIDDEN,
    MemoryState.SUPERSEDED: EventKind.SUPERSEDED,
    MemoryState.ARCHIVED: EventKind.ARCHIVED,
}


def event_kind(before: MemoryState, after: MemoryState) -> EventKind | None:
    """Return the event that tells of a changed standing; None where nothing is to be told beside the write itself."""
    if before is after:
        return None
    if after is MemoryState.ACTIVE:
        back = before in (MemoryState.OVERRIDDEN, MemoryState.CONTESTED)
        return EventKind.REINSTATED if back else None
    return _KIND_OF_STATE.get(after)
