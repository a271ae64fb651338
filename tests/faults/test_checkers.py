"""The checkers themselves: each planted fault is found, and a sound run is let pass."""

from __future__ import annotations

import random

import pytest

from hindsight_bus.domain.claims import assert_claim
from hindsight_bus.domain.memory import Channel, Claim, MemoryState, MemoryType
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.values import replace
from tests.faults import checkers

pytestmark = pytest.mark.faults

PUBLISHED = [f"w{n % 3}-{n // 3}" for n in range(60)]
FACTS = Namespace("", "user", "zhangsan", "facts")


@pytest.fixture
def spot() -> int:
    """Return the place of the planted fault."""
    return random.randrange(1, len(PUBLISHED) - 1)


def test_a_sound_run_passes() -> None:
    """What was acknowledged is stored once, in order: nothing to say."""
    places = [(key.split("-")[0], int(key.split("-")[1])) for key in PUBLISHED]
    assert checkers.misdelivered(PUBLISHED, list(PUBLISHED)) == []
    assert checkers.lost(PUBLISHED, PUBLISHED) == []
    assert checkers.repeated(PUBLISHED) == []
    assert checkers.reordered(places) == []


def test_a_dropped_entry_is_found(spot: int) -> None:
    """One entry missing from the stream is a gap, and a lost write."""
    received = PUBLISHED[:spot] + PUBLISHED[spot + 1 :]
    assert checkers.misdelivered(PUBLISHED, received) == [f"lost: {PUBLISHED[spot]}"]
    assert checkers.lost(PUBLISHED, received) == [f"lost: {PUBLISHED[spot]}"]


def test_a_duplicated_entry_is_found(spot: int) -> None:
    """One entry twice is a repetition."""
    received = [*PUBLISHED[:spot], PUBLISHED[spot], *PUBLISHED[spot:]]
    assert checkers.misdelivered(PUBLISHED, received) == [f"stored 2 times: {PUBLISHED[spot]}"]
    assert checkers.repeated(received) == [f"stored 2 times: {PUBLISHED[spot]}"]


def test_swapped_entries_are_found(spot: int) -> None:
    """Two neighbours in the wrong order are a swap: of the stream, and of their writer where it is one."""
    received = list(PUBLISHED)
    received[spot], received[spot + 1] = received[spot + 1], received[spot]
    assert len(checkers.misdelivered(PUBLISHED, received)) == 2
    assert checkers.reordered([("w", 0), ("w", 2), ("w", 1)]) == ["w: 1 after 2"]


def test_an_invented_entry_is_found(spot: int) -> None:
    """An entry that nobody wrote is named."""
    received = [*PUBLISHED[:spot], "ghost", *PUBLISHED[spot:]]
    assert checkers.misdelivered(PUBLISHED, received) == ["invented: ghost"]


def _subject() -> SubjectRecord:
    record = SubjectRecord(FACTS, "key", "colour", MemoryType.SEMANTIC)
    for n, confidence in enumerate((0.9, 0.5)):
        claim = Claim(f"agent:a{n}", f"a{n}", Channel.TOOL, f"m{n}", f"t:{n}", confidence, 1 + n, 0, 1)
        record = assert_claim(record, claim, is_timed=True).record
    return record


@pytest.mark.parametrize(
    ("shown", "problems"),
    [
        ({"m0": MemoryState.ACTIVE, "m1": MemoryState.OVERRIDDEN}, 0),
        ({"m0": MemoryState.ACTIVE, "m1": MemoryState.OVERRIDDEN, "m2": MemoryState.SUPERSEDED}, 0),
        ({"m0": MemoryState.OVERRIDDEN, "m1": MemoryState.ACTIVE}, 2),
        ({"m0": MemoryState.ACTIVE}, 1),
        ({"m0": MemoryState.ACTIVE, "m1": MemoryState.OVERRIDDEN, "m2": MemoryState.ACTIVE}, 1),
    ],
    ids=["sound", "replaced", "swapped", "dropped", "left over"],
)
def test_a_state_against_the_rules_is_found(shown: dict[str, MemoryState], problems: int) -> None:
    """States must be what ``settle`` says of the stored claims; a memory without claims is SUPERSEDED."""
    assert len(checkers.illegal(_subject(), shown, Policy())) == problems


def test_a_claim_dropped_from_the_record_is_found() -> None:
    """A subject record that lost a claim makes the memory of that claim illegal."""
    record = _subject()
    shown = {"m0": MemoryState.ACTIVE, "m1": MemoryState.OVERRIDDEN}
    assert checkers.illegal(replace(record, claims=record.claims[:1]), shown, Policy())
