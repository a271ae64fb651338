"""The client's rules for trying again: pure, with a clock and a chance of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbus.backoff import Attempts, Backoff, Outage
from hbus.errors import EtagMismatch, InvalidRequest, LogDiverged, OutcomeUnknown, TooManyStreams, Unavailable


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_pause_grows_to_its_cap_and_no_further(attempt: int, chance: float) -> None:
    """Each pause lies between half its ceiling and its ceiling, and the ceiling doubles up to the cap."""
    backoff = Backoff(first_s=0.1, cap_s=2.0)
    ceiling = min(2.0, 0.1 * 2 ** min(attempt - 1, 10))
    assert ceiling / 2 <= backoff.pause(attempt, chance) <= ceiling


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=60, max_size=60), st.floats(0.1, 30))
def test_retries_end_before_the_deadline(chances: list[float], timeout_s: float) -> None:
    """However long the pauses come out, none is begun that would outlast the deadline."""
    clock, drawn = Clock(), iter(chances)
    attempts = Attempts(Backoff(attempts=50), timeout_s, clock, lambda: next(drawn))
    while (pause := attempts.pause_after(Unavailable("away"))) is not None:
        clock.now += pause
        assert attempts.remaining_s > 0
    assert clock.now < 100 + timeout_s


@pytest.mark.parametrize(
    "error", [InvalidRequest("x"), EtagMismatch("x"), LogDiverged("x"), TooManyStreams("x")]
)
def test_what_would_fail_again_is_not_retried(error: Exception) -> None:
    """Only what may pass by itself is sent again."""
    assert Attempts(Backoff(), 5.0).pause_after(error) is None  # type: ignore[arg-type]


def test_the_server_names_the_least_pause() -> None:
    """A pause is never shorter than the RetryInfo of the server."""
    pause = Attempts(Backoff(), 60.0).pause_after(OutcomeUnknown("lost", retry_after_s=7.0))
    assert pause == 7.0


def test_an_outage_is_given_up_after_its_limit_and_forgotten_once_over() -> None:
    """The limit counts from the first cut in a row; a message in between starts afresh."""
    clock = Clock()
    outage = Outage(Backoff(first_s=1.0, cap_s=1.0), limit_s=3.0, now=clock, chance=lambda: 0.0)
    assert outage.pause_after(Unavailable("cut")) == 0.5
    clock.now += 2.9
    assert outage.pause_after(Unavailable("cut")) is None
    outage.over()
    assert outage.pause_after(Unavailable("cut")) == 0.5


def test_a_stream_that_the_server_still_counts_is_waited_for() -> None:
    """After a cut the server may count the dead stream for a while."""
    assert Outage(Backoff(), limit_s=None).pause_after(TooManyStreams("full")) is not None
