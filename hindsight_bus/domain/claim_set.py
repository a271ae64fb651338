"""Sets of claims: which claims cannot stand beside each other, and how a set takes one in.

Two invariants hold between changes. Claims with equal meaning (statement, after merges) carry one ``memory_id``, and
no other claim does: a group is a memory. A speaker has one claim; where the cardinality is MANY, one a meaning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hindsight_bus.domain.errors import SubjectFull
from hindsight_bus.domain.memory import Claim
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.values import Value, replace

MAX_CLAIMS = 64


class Moved(Value, kw_only=True):
    """A claim that went from one memory to another; its wording needs a copy under the new memory and version."""

    before: Claim
    after: Claim


def is_many(record: SubjectRecord) -> bool:
    """Tell whether statements on the subject stand side by side: a claim says so, or a resolution."""
    return record.keep_all or any(c.many for c in record.claims)


def order(claim: Claim) -> tuple[int, int]:
    """Sort key: what is latest."""
    return (claim.event_time_ms, claim.sequence)


def meaning_of(record: SubjectRecord, statement: str) -> str:
    """Return the statement that stands for ``statement`` after merges."""
    pairs = dict(record.merged)
    while statement in pairs:
        statement = pairs[statement]
    return statement


def saying(record: SubjectRecord, statement: str) -> tuple[Claim, ...]:
    """Return the claims with the meaning of ``statement``: those of one memory."""
    meaning = meaning_of(record, statement)
    return tuple(c for c in record.claims if meaning_of(record, c.statement) == meaning)


def rivals_of(record: SubjectRecord, claim: Claim) -> list[Claim]:
    """Return the claims of the same speaker that cannot stand beside ``claim``."""
    own = [c for c in record.claims if c.speaker == claim.speaker]
    if claim.many or is_many(record):
        return [c for c in own if meaning_of(record, c.statement) == meaning_of(record, claim.statement)]
    return own


def enter(record: SubjectRecord, claim: Claim) -> SubjectRecord:
    """Return the record with ``claim`` in place of its rivals, or as it was if one of them is later."""
    rivals = rivals_of(record, claim)
    if any(order(rival) > order(claim) for rival in rivals):
        return record
    kept = [c for c in record.claims if c not in rivals]
    return with_claims(record, [*kept, replace(claim, many=claim.many or is_many(record))])


def with_claims(record: SubjectRecord, claims: Iterable[Claim]) -> SubjectRecord:
    """Return the record with these claims, in order of arrival."""
    return replace(record, claims=tuple(sorted(claims, key=lambda c: (c.sequence, c.speaker))))


def without(record: SubjectRecord, memory_ids: Collection[str]) -> SubjectRecord:
    """Return the record without the claims of the memories."""
    return with_claims(record, (c for c in record.claims if c.memory_id not in memory_ids))


def move(
    record: SubjectRecord, claims: Iterable[Claim], memory_id: str, next_version: int
) -> tuple[SubjectRecord, tuple[Moved, ...]]:
    """Return the record with the claims under ``memory_id``, their versions numbered from ``next_version``.

    A claim stays out, though its step is listed, where its speaker has a later one.
    """
    moved = tuple(
        Moved(before=claim, after=replace(claim, memory_id=memory_id, version=version))
        for version, claim in enumerate(claims, next_version)
    )
    leaving = {step.before for step in moved}
    after = with_claims(record, (c for c in record.claims if c not in leaving))
    for step in moved:
        after = enter(after, step.after)
    return after, moved


def join_meanings(record: SubjectRecord, statements: Iterable[str], meaning: str) -> SubjectRecord:
    """Return the record in which the statements, with what was merged into them, mean ``meaning``."""
    roots = {meaning_of(record, statement) for statement in statements} - {meaning}
    return replace(record, merged=(*record.merged, *((root, meaning) for root in sorted(roots))))


def part_meaning(record: SubjectRecord, statements: Sequence[str]) -> SubjectRecord:
    """Return the record in which a memory that said the statements, newest last, means nothing but them."""
    pairs, own = dict(record.merged), statements[-1]
    while pairs.get(own) in statements:
        own = pairs[own]
    return replace(record, merged=tuple(pair for pair in record.merged if pair[0] != own))


def finish(before: SubjectRecord, after: SubjectRecord, by: str) -> tuple[SubjectRecord, dict[str, str]]:
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
