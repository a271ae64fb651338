"""A closed loop of calls, and what it measured."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Latencies of calls, and how long they took together."""

    seconds: float
    latencies: Sequence[float]
    """Seconds, a call each."""

    @property
    def per_second(self) -> float:
        """Calls a second."""
        return len(self.latencies) / self.seconds

    @property
    def p50_ms(self) -> float:
        """Median latency."""
        return float(np.percentile(self.latencies, 50)) * 1000

    @property
    def p99_ms(self) -> float:
        """Latency that one call in a hundred exceeds."""
        return float(np.percentile(self.latencies, 99)) * 1000


async def closed_loop(call: Call, in_flight: int, seconds: float) -> Sample:
    """Keep ``in_flight`` calls under way for ``seconds``."""
    latencies: list[float] = []
    started = perf_counter()
    end = started + seconds

    async def caller() -> None:
        while (began := perf_counter()) < end:
            await call()
            latencies.append(perf_counter() - began)

    await asyncio.gather(*(caller() for _ in range(in_flight)))
    return Sample(perf_counter() - started, latencies)


def pooled(samples: Iterable[Sample]) -> Sample:
    """Return several samples as one."""
    samples = list(samples)
    latencies = [latency for sample in samples for latency in sample.latencies]
    return Sample(sum(sample.seconds for sample in samples), latencies)
