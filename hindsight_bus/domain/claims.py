"""Changes of the claims on a subject: who says what, what replaces what, what a resolution decided.

Each function takes a ``SubjectRecord`` and returns a ``Change``: the record with its new set of claims, and the
memories that lost their last claim. ``settling.resettle`` then decides where the memories of the new set stand. Pure:
ids, times and version numbers come in as arguments.

Two invariants hold between changes. Claims with equal statements (after merges) carry one ``memory_id``, and no other
claim does: a group is a memory. A speaker has one claim, or one a statement where the cardinality is MANY.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from hindsight_bus.domain.errors import SubjectFull, SupersedesIncomplete
from hindsight_bus.domain.memory import Claim
from hindsight_bus.domain.records import SubjectRecord

MAX_CLAIMS = 64


class Assertion(Enum):
    """What a claim turned out to be against the claims that were there."""

    NEW = "new"
    """No live memory says it: it makes a memory."""
    CORROBORATED = "corroborated"
    """A memory says it already, by other speakers; it strengthens that."""
    DUPLICATE = "duplicate"
    """Its speaker says it already; nothing changed, not even the record's sequence."""
    RESTATED = "restated"
    """Its speaker says it already, with another confidence or an earlier event time, or it was archived."""
    STALE = "stale"
    """Its speaker has said otherwise since; it never enters the set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A claim that went from one memory to another; its wording needs a copy under the new memory and version."""

    before: Claim
    after: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A changed set of claims, not settled yet."""

    record: SubjectRecord
    superseded: dict[str, str] = field(default_factory=dict)
    """Id of each memory that lost its last claim to another -> id of the memory that replaced it."""
    claims: tuple[Claim, ...] = ()
    """Claims taken out (``withdraw``) or brought back (``reinstate``)."""
    moved: tuple[Moved, ...] = ()
    """Claims that now belong to another memory (``reinstate``, ``merge``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asserted(Change):
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
    meaning = _meaning(record, statement)
    return next((c.memory_id for c in record.claims if _meaning(record, c.statement) == meaning), None)


def claims_of(record: SubjectRecord, memory_ids: Collection[str]) -> tuple[Claim, ...]:
    """Return the claims in the set that belong to any of the memories, in order of arrival."""
    return tuple(c for c in record.claims if c.memory_id in memory_ids)


def sole_speaker(record: SubjectRecord, memory_id: str) -> str | None:
    """Return the memory's speaker if it has just one claim in the set, else None."""
    speakers = {c.speaker for c in record.claims if c.memory_id == memory_id}
    return speakers.pop() if len(speakers) == 1 else None


def is_many(record: SubjectRecord) -> bool:
    """Tell whether statements on the subject stand side by side: a claim says so, or a resolution."""
    return record.keep_all or any(c.many for c in record.claims)


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
    joined = memory_with(record, claim.statement)
    claim = _numbered(record, claim, joined)
    rival = max(_rivals(record, claim), key=_order, default=None)
    if rival and rival.memory_id == joined and not _is_news(record, rival, claim, is_timed):
        return Asserted(record=record, assertion=Assertion.DUPLICATE, claim=rival)
    if rival and _order(rival) > _order(claim):
        superseded = {} if joined else {claim.memory_id: rival.memory_id}
        counted = replace(record, sequence=claim.sequence)
        return Asserted(record=counted, superseded=superseded, assertion=Assertion.STALE, claim=claim)
    return _asserted(record, _enter(record, claim), claim)


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
    return _asserted(record, _with_claims(record, [*kept, claim]), claim)


def revise_claim(record: SubjectRecord, claim: Claim) -> Asserted:
    """Replace what the sole claimant of ``claim.memory_id`` says, under the same memory, whatever the event times.

    Where another memory in the set says the new statement already, the claim joins that, and the old memory is
    superseded by it. The answer is RESTATED, or then CORROBORATED.
    """
    rest = _without(record, {claim.memory_id})
    claim = _numbered(record, claim, memory_with(rest, claim.statement))
    rivals = _rivals(rest, claim)
    kept = (c for c in rest.claims if c not in rivals)
    return _asserted(record, _with_claims(record, [*kept, claim]), claim)


def _asserted(before: SubjectRecord, after: SubjectRecord, claim: Claim) -> Asserted:
    speakers = {c.speaker for c in claims_of(before, {claim.memory_id})}
    if claim.speaker in speakers:
        assertion = Assertion.RESTATED
    else:
        assertion = Assertion.CORROBORATED if speakers else Assertion.NEW
    record, superseded = _finish(before, unarchive(after, claim.memory_id), claim.memory_id)
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
        or held.memory_id in record.archived
    )


# --- taking back and bringing back ---------------------------------------------------------------------------------


def cover(record: SubjectRecord, memory_ids: Collection[str], by: str) -> Change:
    """Cover every claim of the memories in favour of memory ``by``, which may belong to another subject."""
    changed, superseded = _finish(record, _without(record, set(memory_ids) - {by}), by)
    return Change(record=changed, superseded=superseded)


def withdraw(record: SubjectRecord, memory_id: str) -> Change:
    """Take a memory with all its claims out of the set: it was forgotten, expired or quarantined.

    Nothing replaces it. ``claims`` of the change are those taken out.
    """
    changed, _ = _finish(record, _without(record, {memory_id}), "")
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
    returning = [replace(claim, memory_id=memory_id) for claim in claims]
    split = _unmerged(record, returning)
    after, moved = _move(split, _saying(split, returning[-1].statement), memory_id, next_version)
    for claim in sorted(returning, key=_order):
        after = _enter(after, claim)
    changed, superseded = _finish(record, after, memory_id)
    present = claims_of(changed, {memory_id})
    if not present:
        latest = max((r for c in returning for r in _rivals(after, c)), key=_order)
        superseded = {**superseded, memory_id: latest.memory_id}
    origins = {(c.speaker, c.sequence) for c in returning}
    return Change(
        record=changed,
        superseded=superseded,
        claims=tuple(c for c in present if (c.speaker, c.sequence) in origins),
        moved=tuple(m for m in moved if m.after in present),
    )


def archive(record: SubjectRecord, memory_id: str) -> SubjectRecord:
    """Mark a memory as archived: its claims stay in the set, its state is ARCHIVED wherever it would stand."""
    return replace(unarchive(record, memory_id), archived=(*unarchive(record, memory_id).archived, memory_id))


def unarchive(record: SubjectRecord, memory_id: str) -> SubjectRecord:
    """Take the mark of ``archive`` away."""
    return replace(record, archived=tuple(other for other in record.archived if other != memory_id))


# --- deciding ------------------------------------------------------------------------------------------------------


def choose(record: SubjectRecord, memory_id: str) -> Change:
    """Decide for a memory in the set: it covers every other claim, and no later claim alone will override it."""
    only = _with_claims(record, claims_of(record, {memory_id}))
    changed, superseded = _finish(record, replace(only, chosen=memory_id), memory_id)
    return Change(record=changed, superseded=superseded)


def keep_all(record: SubjectRecord) -> Change:
    """Decide that every statement holds: the subject has cardinality MANY from now on."""
    changed, _ = _finish(record, replace(record, keep_all=True), "")
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
    meaning = _meaning(record, claims_of(record, {into})[0].statement)
    after = _merged(record, {c.statement for c in claims}, meaning)
    after, moved = _move(after, claims, into, next_version)
    changed, _ = _finish(record, after, into)
    return Change(
        record=changed,
        superseded={claim.memory_id: into for claim in claims},
        moved=tuple(m for m in moved if m.after in changed.claims),
    )


# --- how sets of claims change -------------------------------------------------------------------------------------


def _order(claim: Claim) -> tuple[int, int]:
    """Sort key: what is latest."""
    return (claim.event_time_ms, claim.sequence)


def _meaning(record: SubjectRecord, statement: str) -> str:
    """Return the statement that stands for ``statement`` after merges."""
    return dict(record.merged).get(statement, statement)


def _saying(record: SubjectRecord, statement: str) -> tuple[Claim, ...]:
    meaning = _meaning(record, statement)
    return tuple(c for c in record.claims if _meaning(record, c.statement) == meaning)


def _rivals(record: SubjectRecord, claim: Claim) -> list[Claim]:
    """Return the claims of the same speaker that cannot stand beside ``claim``."""
    own = [c for c in record.claims if c.speaker == claim.speaker]
    if claim.many or is_many(record):
        return [c for c in own if _meaning(record, c.statement) == _meaning(record, claim.statement)]
    return own


def _enter(record: SubjectRecord, claim: Claim) -> SubjectRecord:
    """Return the record with ``claim`` in place of its rivals, or as it was if one of them is later."""
    rivals = _rivals(record, claim)
    if any(_order(rival) > _order(claim) for rival in rivals):
        return record
    kept = [c for c in record.claims if c not in rivals]
    return _with_claims(record, [*kept, replace(claim, many=claim.many or is_many(record))])


def _with_claims(record: SubjectRecord, claims: Iterable[Claim]) -> SubjectRecord:
    return replace(record, claims=tuple(sorted(claims, key=lambda c: (c.sequence, c.speaker))))


def _without(record: SubjectRecord, memory_ids: Collection[str]) -> SubjectRecord:
    return _with_claims(record, (c for c in record.claims if c.memory_id not in memory_ids))


def _move(
    record: SubjectRecord, claims: Iterable[Claim], memory_id: str, next_version: int
) -> tuple[SubjectRecord, tuple[Moved, ...]]:
    """Return the record with the claims under ``memory_id``, their versions numbered from ``next_version``."""
    moved = tuple(
        Moved(before=claim, after=replace(claim, memory_id=memory_id, version=version))
        for version, claim in enumerate(claims, next_version)
    )
    after = _without(record, {move.before.memory_id for move in moved})
    for move in moved:
        after = _enter(after, move.after)
    return after, moved


def _merged(record: SubjectRecord, statements: set[str], meaning: str) -> SubjectRecord:
    """Return the record in which the statements, and what was merged into them, have another meaning."""
    pairs = {said: meaning if meant in statements else meant for said, meant in record.merged}
    pairs |= dict.fromkeys(statements, meaning)
    pairs.pop(meaning, None)
    return replace(record, merged=tuple(sorted(pairs.items())))


def _unmerged(record: SubjectRecord, claims: Sequence[Claim]) -> SubjectRecord:
    """Return the record in which what a memory says means what it said first."""
    said = {c.statement for c in claims}
    pairs = {other: meant for other, meant in record.merged if other not in said}
    pairs |= {other: claims[0].statement for other, _ in record.merged if other in said}
    pairs.pop(claims[0].statement, None)
    return replace(record, merged=tuple(sorted(pairs.items())))


def _finish(before: SubjectRecord, after: SubjectRecord, by: str) -> tuple[SubjectRecord, dict[str, str]]:
    """Count the change; return the record and the memories that lost their last claim, each with its replacement."""
    if len(after.claims) > max(MAX_CLAIMS, len(before.claims)):
        raise SubjectFull(before.subject, MAX_CLAIMS)
    present = {c.memory_id for c in after.claims}
    gone = {c.memory_id for c in before.claims} - present
    return (
        replace(
            after,
            sequence=before.sequence + 1,
            archived=tuple(memory_id for memory_id in after.archived if memory_id in present),
            chosen="" if by and after.chosen in gone else after.chosen,
        ),
        dict.fromkeys(sorted(gone), by),
    )
