"""Changes of the claims on a subject: who says what, what replaces what, what a resolution decided.

Each function takes a ``SubjectRecord`` and returns a ``Change``: the record with its new set of claims, and the
memories that lost their last claim. ``settling.resettle`` then decides where the memories of the new set stand. Pure:
ids, times and version numbers come in as arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from hindsight_bus.domain.claim_set import (
    Moved,
    enter,
    finish,
    is_many,
    join_meanings,
    meaning_of,
    move,
    order,
    part_meaning,
    rivals_of,
    saying,
    with_claims,
    without,
)
from hindsight_bus.domain.errors import SupersedesIncomplete
from hindsight_bus.domain.memory import Claim
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.values import Value, field, replace


class Assertion(Enum):
    """What a claim turned out to be against the claims that were there."""

    NEW = "new"
    """No live memory says it: it makes a memory."""
    CORROBORATED = "corroborated"
    """A memory says it already, by other speakers; it strengthens that."""
    DUPLICATE = "duplicate"
    """Its speaker says it already; nothing changed, not even the record's sequence."""
    RESTATED = "restated"
    """Its speaker says it already; the confidence, the event time or the cardinality is new, or it was archived."""
    STALE = "stale"
    """Its speaker has said otherwise since; it never enters the set."""


class Change(Value, kw_only=True):
    """A changed set of claims, not settled yet; its sequence grew by one."""

    record: SubjectRecord
    superseded: dict[str, str] = field(default_factory=dict)
    """Id of each memory that lost its last claim to another -> id of the memory that replaced it."""
    claims: tuple[Claim, ...] = ()
    """Claims taken out (``withdraw``) or brought back (``reinstate``)."""
    moved: tuple[Moved, ...] = ()
    """Claims that now belong to another memory (``reinstate``, ``merge``)."""


class Asserted(Change, kw_only=True):
    """What became of one new claim."""

    assertion: Assertion
    claim: Claim
    """The claim with its final memory id and sequence; for DUPLICATE the one that was there."""

    @property
    def memory_id(self) -> str:
        """Memory that carries the statement."""
        return self.claim.memory_id


# --- reading -------------------------------------------------------------------------------------------------------


def memory_with(record: SubjectRecord, statement: str) -> str | None:
    """Return the id of the memory in the set that says ``statement``, or None.

    The caller asks first, so that the claim can carry the next version number of that memory.
    """
    return next((claim.memory_id for claim in saying(record, statement)), None)


def claims_of(record: SubjectRecord, memory_ids: Collection[str]) -> tuple[Claim, ...]:
    """Return the claims in the set that belong to any of the memories, in order of arrival."""
    return tuple(c for c in record.claims if c.memory_id in memory_ids)


def sole_speaker(record: SubjectRecord, memory_id: str) -> str | None:
    """Return the memory's speaker if it has just one claim in the set, else None."""
    speakers = {c.speaker for c in record.claims if c.memory_id == memory_id}
    return speakers.pop() if len(speakers) == 1 else None


# --- saying something ----------------------------------------------------------------------------------------------


def assert_claim(record: SubjectRecord, claim: Claim, *, is_timed: bool) -> Asserted:
    """Add a speaker's claim, which replaces what the same speaker said before.

    Args:
        record: The subject as stored, or a new one.
        claim: ``memory_id`` is the id for a new memory and gives way to the live memory that says the same;
            ``version`` is final (see ``memory_with``); ``sequence`` is set here.
        is_timed: The caller stated the event time. Else saying the same again later is no news.

    Raises:
        SubjectFull: The set would have more than 64 claims.
    """
    if not record.claims:
        return _first(record, claim)
    joined = memory_with(record, claim.statement)
    claim = _numbered(record, claim, joined)
    rival = max(rivals_of(record, claim), key=order, default=None)
    if rival and rival.memory_id == joined and not _is_news(record, rival, claim, is_timed):
        return Asserted(record=record, assertion=Assertion.DUPLICATE, claim=rival)
    if rival and order(rival) > order(claim):
        superseded = {} if joined else {claim.memory_id: rival.memory_id}
        counted = replace(record, sequence=claim.sequence)
        return Asserted(record=counted, superseded=superseded, assertion=Assertion.STALE, claim=claim)
    return _asserted(record, enter(record, claim), claim)


def _first(record: SubjectRecord, claim: Claim) -> Asserted:
    """Take in a claim where there is none: it meets no equal and no rival."""
    claim = _numbered(record, claim, None)
    entered = replace(record, claims=(claim,), sequence=claim.sequence, archived=())
    return Asserted(record=entered, assertion=Assertion.NEW, claim=claim)


def update_claim(record: SubjectRecord, claim: Claim, supersedes: Collection[str]) -> Asserted:
    """Add a claim as a deliberate update: it covers every claim that says otherwise, losers included.

    Arguments are those of ``assert_claim``. The answer is NEW, CORROBORATED or RESTATED.

    Raises:
        SupersedesIncomplete: ``supersedes`` leaves out a live memory that says otherwise.
    """
    joined = memory_with(record, claim.statement)
    live = {memory_id for memory_id, standing in record.standings.items() if standing.state.is_live}
    if missing := sorted(live.difference(supersedes, {joined})):
        raise SupersedesIncomplete(missing)
    claim = _numbered(record, claim, joined)
    kept = (c for c in record.claims if c.memory_id == joined and c.speaker != claim.speaker)
    return _asserted(record, with_claims(record, [*kept, claim]), claim)


def revise_claim(record: SubjectRecord, claim: Claim) -> Asserted:
    """Replace what the sole claimant of ``claim.memory_id`` says, under the same memory, whatever the event times.

    Where another memory in the set says the new statement already, the claim joins that, and the old memory is
    superseded by it. The answer is RESTATED, or then CORROBORATED.
    """
    rest = without(record, {claim.memory_id})
    claim = _numbered(record, claim, memory_with(rest, claim.statement))
    rivals = rivals_of(rest, claim)
    kept = (c for c in rest.claims if c not in rivals)
    return _asserted(record, with_claims(record, [*kept, claim]), claim)


def _asserted(before: SubjectRecord, after: SubjectRecord, claim: Claim) -> Asserted:
    speakers = {c.speaker for c in claims_of(before, {claim.memory_id})}
    if claim.speaker in speakers:
        assertion = Assertion.RESTATED
    else:
        assertion = Assertion.CORROBORATED if speakers else Assertion.NEW
    record, superseded = finish(
        before, replace(after, archived=_unmarked(before, claim.memory_id)), claim.memory_id
    )
    return Asserted(record=record, superseded=superseded, assertion=assertion, claim=claim)


def _numbered(record: SubjectRecord, claim: Claim, joined: str | None) -> Claim:
    """Return the newcomer with memory, sequence and cardinality as they will be in the set."""
    return replace(
        claim,
        memory_id=joined or claim.memory_id,
        sequence=record.sequence + 1,
        many=claim.many or is_many(record),
    )


def _is_news(record: SubjectRecord, held: Claim, claim: Claim, is_timed: bool) -> bool:
    """Tell whether a speaker adds anything by saying again what it holds."""
    if claim.event_time_ms < held.event_time_ms:
        return False
    return (
        claim.confidence != held.confidence
        or (is_timed and claim.event_time_ms > held.event_time_ms)
        or (claim.many and not is_many(record))
        or held.memory_id in record.archived
    )


# --- taking back and bringing back ---------------------------------------------------------------------------------


def cover(record: SubjectRecord, memory_ids: Collection[str], by: str) -> Change:
    """Cover every claim of the memories in favour of memory ``by``, which may belong to another subject."""
    changed, superseded = finish(record, without(record, set(memory_ids) - {by}), by)
    return Change(record=changed, superseded=superseded)


def withdraw(record: SubjectRecord, memory_id: str) -> Change:
    """Take a memory with all its claims out of the set: it was forgotten, expired or quarantined.

    Nothing replaces it. ``claims`` of the change are those taken out.
    """
    changed, _ = finish(record, without(record, {memory_id}), "")
    return Change(record=changed, claims=claims_of(record, {memory_id}))


def reinstate(record: SubjectRecord, memory_id: str, claims: Sequence[Claim], *, next_version: int) -> Change:
    """Bring a memory back with each claim whose speaker has no later one in the set: restored or released.

    A memory that was merged away stands for itself again. Claims of another memory that says the same move to it.

    Args:
        record: The subject as stored.
        memory_id: The memory that comes back; not in the set.
        claims: Its claims, oldest first, at least one (``Head.claims``).
        next_version: First free version number of the memory; moved claims take numbers from here on.

    Returns:
        The change; ``claims`` are those that came back. If the memory has none then, because every speaker has said
        otherwise since, ``superseded`` names the memory in its place.

    Raises:
        SubjectFull: The set would have more than 64 claims.
    """
    parted = part_meaning(record, [c.statement for c in claims])
    meaning = meaning_of(parted, claims[-1].statement)
    after, moved = move(parted, saying(parted, meaning), memory_id, next_version)
    latest = {c.speaker: c for c in claims if meaning_of(parted, c.statement) == meaning}
    for claim in latest.values():
        after = enter(after, replace(claim, memory_id=memory_id))
    changed, superseded = finish(record, after, memory_id)
    present = claims_of(changed, {memory_id})
    if not present:
        successor = max((r for claim in latest.values() for r in rivals_of(after, claim)), key=order)
        superseded |= {memory_id: successor.memory_id}
    origins = {(claim.speaker, claim.sequence) for claim in latest.values()}
    return Change(
        record=changed,
        superseded=superseded,
        claims=tuple(c for c in present if (c.speaker, c.sequence) in origins),
        moved=tuple(m for m in moved if m.after in present),
    )


def archive(record: SubjectRecord, memory_id: str) -> Change:
    """Mark a memory as archived: its claims stay in the set, its state is ARCHIVED wherever it would stand.

    The mark goes when the memory leaves the set, or when anybody says the same again.
    """
    marked = (*_unmarked(record, memory_id), memory_id)
    changed, _ = finish(record, replace(record, archived=marked), "")
    return Change(record=changed)


def unarchive(record: SubjectRecord, memory_id: str) -> Change:
    """Take the mark of ``archive`` away: the memory stands where the rules say."""
    changed, _ = finish(record, replace(record, archived=_unmarked(record, memory_id)), "")
    return Change(record=changed)


def _unmarked(record: SubjectRecord, memory_id: str) -> tuple[str, ...]:
    return tuple(other for other in record.archived if other != memory_id)


# --- deciding ------------------------------------------------------------------------------------------------------


def choose(record: SubjectRecord, memory_id: str) -> Change:
    """Decide for a memory in the set: it covers every other claim, and no later claim alone will override it."""
    only = with_claims(record, claims_of(record, {memory_id}))
    changed, superseded = finish(record, replace(only, chosen=memory_id), memory_id)
    return Change(record=changed, superseded=superseded)


def keep_all(record: SubjectRecord) -> Change:
    """Decide that every statement holds: the subject has cardinality MANY from now on."""
    changed, _ = finish(record, replace(record, keep_all=True), "")
    return Change(record=changed)


def merge(record: SubjectRecord, into: str, claims: Collection[Claim], *, next_version: int) -> Change:
    """Decide that claims say what memory ``into`` says, in other words: its memory now, and whenever said again.

    Args:
        record: The subject as stored; ``into`` is in its set.
        into: The memory that represents the statement.
        claims: Every claim of the memories that merge into it: from the set (``claims_of``), or taken out of another
            subject (``cover``).
        next_version: First free version number of ``into``; moved claims take numbers from here on.

    Returns:
        The change; the merged memories are superseded by ``into``.

    Raises:
        SubjectFull: The set would have more than 64 claims.
    """
    meaning = meaning_of(record, claims_of(record, {into})[0].statement)
    joined = join_meanings(record, [c.statement for c in claims], meaning)
    after, moved = move(joined, claims, into, next_version)
    changed, superseded = finish(record, after, into)
    return Change(
        record=changed,
        superseded=superseded | {claim.memory_id: into for claim in claims},
        moved=tuple(m for m in moved if m.after in changed.claims),
    )
