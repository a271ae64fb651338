"""The search for an explaining order: it explains real interleavings and refuses planted faults."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from hindsight_bus.domain.memory import Channel, Claim
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.settling import settle
from tests.faults.linearizability import (
    EMPTY,
    Listed,
    Operation,
    Said,
    Statement,
    Subject,
    explain,
    standings,
)

pytestmark = pytest.mark.faults

TEXTS = ("red", "green", "blue")
CONFIDENCES = (0.5, 0.7, 0.9)


def _run(chance: random.Random, length: int) -> list[Said]:
    """Return a legal history: calls take effect one after the other, but overlap as seen from outside."""
    subject: Subject = EMPTY
    history: list[Said] = []
    free = dict.fromkeys(("a", "b", "c", "d"), 0.0)
    for point in range(1, length + 1):
        speaker = chance.choice(sorted(free))
        start = max(free[speaker], point - chance.random() * 3)
        said = Said(
            start, point + chance.random() * 3, speaker, chance.choice(TEXTS), chance.choice(CONFIDENCES)
        )
        if start > point:
            continue
        is_new = all(statement.text != said.text for _, statement in subject)
        after = said.step(subject)
        assert after is not None
        subject = after
        history.append(replace(said, is_new=is_new, state=standings(subject)[said.text]))
        free[speaker] = said.end_s
    return history


def test_a_concurrent_history_is_explained(chance: random.Random) -> None:
    """Whatever overlaps, the order in which the calls took effect is one explanation."""
    for _ in range(20):
        history = _run(chance, 40)
        shuffled = chance.sample(history, len(history))
        assert explain(shuffled) is not None


def test_a_call_of_unknown_outcome_may_have_happened_or_not() -> None:
    """Without it the second speaker's answer makes no sense; without the answer it may be left out."""
    unknown = Said(0, float("inf"), "a", "red", 0.9)
    second = Said(1, 2, "b", "red", 0.9, is_new=False, state="ACTIVE")
    assert explain([unknown, second]) == [0, 1]
    assert explain([unknown, replace(second, is_new=True)]) is not None
    assert explain([second]) is None


def test_order_in_real_time_is_respected() -> None:
    """A call that ended before another began cannot have come after it."""
    first = Said(0, 1, "a", "red", 0.9, is_new=False, state="ACTIVE")
    later = Said(2, 3, "b", "red", 0.9, is_new=True, state="ACTIVE")
    assert explain([first, later]) is None
    assert explain([first, replace(later, start_s=0.5)]) == [1, 0]


def _dropped(history: list[Operation]) -> list[Operation]:
    return [history[0], *history[2:]]


def _duplicated(history: list[Operation]) -> list[Operation]:
    return [*history[:3], replace(history[2], start_s=4.1, end_s=4.2), *history[3:]]


def _swapped(history: list[Operation]) -> list[Operation]:
    first, second = history[0], history[1]
    swapped = [
        replace(first, start_s=second.start_s, end_s=second.end_s),
        replace(second, start_s=0, end_s=1),
    ]
    return [*swapped, *history[2:]]


@pytest.mark.parametrize("plant", [_dropped, _duplicated, _swapped])
def test_a_planted_fault_cannot_be_explained(plant: object) -> None:
    """One effect dropped, doubled, or two swapped, while the answers stay as they were: no order fits."""
    history: list[Operation] = [
        Said(0, 1, "a", "red", 0.7, is_new=True, state="ACTIVE"),
        Said(2, 3, "b", "red", 0.7, is_new=False, state="ACTIVE"),
        Said(4, 5, "c", "blue", 0.9, is_new=True, state="CONTESTED"),
        Listed(6, 7, frozenset({("red", "CONTESTED"), ("blue", "CONTESTED")})),
    ]
    assert explain(history) is not None
    assert callable(plant)
    assert explain(plant(history)) is None


def test_a_final_state_that_no_order_reaches_is_refused() -> None:
    """Every answer may fit and the end still be wrong: a write was lost after it was acknowledged."""
    said = Said(0, 1, "a", "red", 0.9, is_new=True, state="ACTIVE")
    assert explain([said], last=frozenset({("a", Statement("red", 0.9))})) == [0]
    assert explain([said], last=EMPTY) is None


def test_the_model_settles_as_the_rules_do(chance: random.Random) -> None:
    """The model's own rules agree with ``settle`` where event times are close."""
    for _ in range(200):
        held = {f"s{n}": Statement(chance.choice(TEXTS), chance.choice(CONFIDENCES)) for n in range(5)}
        claims = [
            Claim(s, s, Channel.TOOL, each.text, f"t:{each.text}", each.confidence, 1_000_000 + n, n, 1)
            for n, (s, each) in enumerate(held.items())
        ]
        settled = {text: standing.state.name for text, standing in settle(claims, Policy()).items()}
        assert standings(frozenset(held.items())) == settled
