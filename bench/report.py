"""Figures as JSON lines, and the table that says which goals they meet."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

from bench.load import Sample, pooled


@dataclass(frozen=True, slots=True)
class Goal:
    """Bounds of a ratio: the one that must hold and the one aimed at."""

    must: float
    aim: float
    lower_is_better: bool = False

    def verdict(self, ratio: float) -> str:
        """Say which bound the ratio meets."""
        sign = -1 if self.lower_is_better else 1
        if sign * ratio >= sign * self.aim:
            return "aim"
        return "met" if sign * ratio >= sign * self.must else "MISSED"


@dataclass(frozen=True, slots=True)
class Result:
    """One figure and its ratio to a limit of the same run."""

    name: str
    value: float
    unit: str
    limit: str
    limit_value: float
    ratio: float
    goal: Goal | None = None
    facts: dict[str, float | int] = field(default_factory=dict)

    @classmethod
    def rate(
        cls, name: str, runs: Sequence[Sample], limits: Sequence[Sample], limit: str, goal: Goal | None = None
    ) -> Result:
        """Compare what was done a second, run by run: the median of the ratios."""
        ratios = [run.per_second / other.per_second for run, other in zip(runs, limits, strict=True)]
        value, against = median(r.per_second for r in runs), median(r.per_second for r in limits)
        return cls(name, value, "/s", limit, against, median(ratios), goal, _spread(runs))

    @classmethod
    def latency(
        cls, name: str, runs: Sequence[Sample], limits: Sequence[Sample], limit: str, goal: Goal | None = None
    ) -> Result:
        """Compare median latencies, run by run: the median of the ratios."""
        ratios = [run.p50_ms / other.p50_ms for run, other in zip(runs, limits, strict=True)]
        value, against = median(r.p50_ms for r in runs), median(r.p50_ms for r in limits)
        return cls(name, value, "ms p50", limit, against, median(ratios), goal, _spread(runs))

    def line(self) -> str:
        """Return it as one line of JSON."""
        row = asdict(self) | {"verdict": self.goal.verdict(self.ratio) if self.goal else None}
        facts = row.pop("facts")
        return json.dumps({key: _rounded(value) for key, value in (row | facts).items()})


def _spread(runs: Sequence[Sample]) -> dict[str, float | int]:
    every = pooled(runs)
    return {
        "p50_ms": every.p50_ms,
        "p99_ms": every.p99_ms,
        "count": len(every.latencies),
        "runs": len(runs),
    }


def _rounded(value: object) -> object:
    return float(f"{value:.4g}") if isinstance(value, float) else value


class Report:
    """Prints results as they come and remembers them for the table."""

    def __init__(self) -> None:
        self._results: list[Result] = []

    def add(self, *results: Result) -> None:
        """Print results on standard output."""
        for result in results:
            self._results.append(result)
            print(result.line(), flush=True)

    def summarise(self) -> None:
        """Print the table on standard error."""
        rows: list[tuple[str, ...]] = [("figure", "value", "limit", "ratio", "must", "aim", "verdict")]
        rows += map(_row, self._results)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            print("  ".join(map(str.ljust, row, widths)).rstrip(), file=sys.stderr)


def _row(result: Result) -> tuple[str, ...]:
    goal, value = result.goal, f"{result.value:,.4g} {result.unit}"
    bounds = (f"{goal.must:g}", f"{goal.aim:g}", goal.verdict(result.ratio)) if goal else ("", "", "")
    return (result.name, value, f"{result.limit} {result.limit_value:,.4g}", f"{result.ratio:.3g}", *bounds)
