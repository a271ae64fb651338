"""What the clients of a run saw: every call, when it was under way and how it ended."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from hbus.errors import DeadlineExpired, OutcomeUnknown, TryAgain

P = ParamSpec("P")
T = TypeVar("T")

_RESEND_S = 0.02


class Outcome(Enum):
    """How a call ended, as its client may conclude."""

    OK = "ok"
    FAILED = "failed"
    """It had no effect."""
    UNKNOWN = "unknown"
    """It had its effect, or not, or will have it yet."""


@dataclass(slots=True)
class Call:
    """One call of one client."""

    client: str
    kind: str
    key: str
    """What identifies its effect: the request_id of a write."""
    arguments: dict[str, Any]
    start_s: float
    end_s: float = float("inf")
    outcome: Outcome = Outcome.UNKNOWN
    attempts: int = 1
    result: dict[str, Any] = field(default_factory=dict)
    """What the test notes of the answer."""
    problem: str = ""


class History:
    """Every call of a run, in order of beginning."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.seed = seed
        self.calls: list[Call] = []
        self._news = asyncio.Condition()

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def begin(self, client: str, kind: str, key: str, **arguments: Any) -> Call:
        """Note that a call begins."""
        call = Call(client, kind, key, arguments, time.monotonic())
        self.calls.append(call)
        return call

    async def record(self, call: Call, answer: Awaitable[T]) -> T | None:
        """Await the answer of a call and note how it ended; None where it may be tried again. Other errors pass."""
        try:
            response = await answer
        except TryAgain as error:
            call.outcome = _judged(error)
            call.problem = f"{type(error).__name__}: {error}"
            return None
        finally:
            call.end_s = time.monotonic()
        call.outcome = Outcome.OK
        async with self._news:
            self._news.notify_all()
        return response

    async def insist(
        self, call: Call, ask: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call ``ask`` again and again until it is acknowledged; return the answer."""
        while True:
            answer = await self.record(call, ask(*args, **kwargs))
            if answer is not None:
                return answer
            call.attempts += 1
            await asyncio.sleep(_RESEND_S)

    async def reaches(self, acknowledged: int, within_s: float = 60.0) -> None:
        """Wait until so many calls were acknowledged."""
        async with asyncio.timeout(within_s), self._news:
            await self._news.wait_for(lambda: len(self.acknowledged()) >= acknowledged)

    def acknowledged(self) -> list[Call]:
        """Return the calls that were answered OK."""
        return [call for call in self.calls if call.outcome is Outcome.OK]

    def save(self) -> None:
        """Write the history down, one call a line after the seed."""
        lines = [
            {"seed": self.seed},
            *(asdict(call) | {"outcome": call.outcome.value} for call in self.calls),
        ]
        self.path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _judged(error: TryAgain) -> Outcome:
    """Judge a failure: without a reason it is the network's, and the call may have gone through."""
    is_certain = bool(error.reason) and not isinstance(error, OutcomeUnknown | DeadlineExpired)
    return Outcome.FAILED if is_certain else Outcome.UNKNOWN
