"""What must hold of a run. Each checker returns what is wrong, for people; an empty list means that all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.settling import settle

K = TypeVar("K", bound=Hashable)


def lost(acknowledged: Iterable[K], stored: Iterable[K]) -> list[str]:
    """Name what was acknowledged but is not stored."""
    kept = set(stored)
    return [f"lost: {key}" for key in acknowledged if key not in kept]


def repeated(stored: Iterable[K]) -> list[str]:
    """Name what is stored more than once."""
    return [f"stored {count} times: {key}" for key, count in Counter(stored).items() if count > 1]


def invented(attempted: Iterable[K], stored: Iterable[K]) -> list[str]:
    """Name what is stored though nobody asked for it."""
    asked = set(attempted)
    return [f"invented: {key}" for key in stored if key not in asked]


def misdelivered(published: Sequence[K], received: Sequence[K]) -> list[str]:
    """Name gaps, repetitions, inventions and swaps of a stream against what was published, in order."""
    problems = lost(published, received) + repeated(received) + invented(published, received)
    if problems:
        return problems
    pairs = enumerate(zip(published, received, strict=True))
    return [f"at {place}: {got} instead of {due}" for place, (due, got) in pairs if due != got][:10]


def reordered(places: Iterable[tuple[str, int]]) -> list[str]:
    """Name entries of a sequence that come after a later one of the same writer: pairs of (writer, its count)."""
    latest: dict[str, int] = {}
    problems = []
    for writer, count in places:
        if count <= latest.get(writer, -1):
            problems.append(f"{writer}: {count} after {latest[writer]}")
        latest[writer] = max(count, latest.get(writer, -1))
    return problems


def illegal(record: SubjectRecord, shown: Mapping[str, MemoryState], policy: Policy) -> list[str]:
    """Name memories of a subject whose state is not what the rules say of its claims.

    ``shown`` holds every memory ever made on the subject. One without a claim left must be SUPERSEDED.
    """
    due = settle(record.claims, policy, chosen=record.chosen, keep_all=record.keep_all)
    gone = MemoryState.SUPERSEDED
    legal = {memory_id: due[memory_id].state if memory_id in due else gone for memory_id in shown}
    return [f"vanished: {memory_id}" for memory_id in due if memory_id not in shown] + [
        f"{record.subject}: {memory_id} is {state.name}, legal is {legal[memory_id].name}"
        for memory_id, state in shown.items()
        if state is not legal[memory_id]
    ]
