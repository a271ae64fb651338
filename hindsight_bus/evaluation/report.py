"""Results of runs as rows for a terminal, as JSON and as a page with plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from hindsight_bus.evaluation.metrics import CUTS, Judged, Summary, percentile, summarise
from hindsight_bus.evaluation.page import Page, Plot, Table

COLUMNS = (
    "set", "queries", *(f"recall@{k}" for k in CUTS), "precision", "MRR", "hits", "nothing", "never", "used",
    "p50 ms", "p99 ms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """What one group of questions came to."""

    name: str
    judged: Sequence[Judged]

    @property
    def summary(self) -> Summary:
        """Means over its questions."""
        return summarise(self.judged)

    def row(self) -> tuple[str, ...]:
        """Return the cells of ``COLUMNS``."""
        means = self.summary
        shares = [*means.recall.values(), means.precision, means.mrr]
        return (
            self.name,
            str(means.queries),
            *map(share, shares),
            f"{means.returned:.2f}",
            share(means.abstained),
            str(means.violations),
            share(means.utilisation),
            f"{means.p50_ms:.1f}",
            f"{means.p99_ms:.1f}",
        )

    def as_json(self) -> dict[str, object]:
        """Return name and means; what no question tells is null."""
        return {"set": self.name, **asdict(self.summary)}


MISS_COLUMNS = ("set", "question", "missing", "wrong")


def together(name: str, results: Sequence[Result]) -> list[Result]:
    """Return the results of a data set's groups, and behind several the one of all."""
    whole = Result(f"{name} (all)", [each for result in results for each in result.judged])
    return [*results, whole] if len(results) > 1 else list(results)


def misses(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return the cells of ``MISS_COLUMNS`` for each question that missed something, or brought what must not come."""
    return [
        (result.name, each.text, ", ".join(sorted(each.missing)), ", ".join(each.wrong))
        for result in results
        for each in result.judged
        if each.missing or each.wrong
    ]


def share(value: float | None) -> str:
    """Return a share for people; nothing for None."""
    return "" if value is None else f"{value:.3f}"


def page_of(title: str, results: Sequence[Result], notes: Sequence[str]) -> Page:
    """Return a page with the table, recall by cut, and latency by percentile."""
    table = Table("Results", COLUMNS, [result.row() for result in results])
    recalls = [(r.name, points) for r in results if (points := _recall_points(r.summary))]
    latencies = [(result.name, _latency_points(result.judged)) for result in results]
    slowest = max((ms for _, points in latencies for _, ms in points), default=1.0)
    return Page(
        title,
        list(notes),
        [
            table,
            Plot("Recall among the first k", "k", "recall", recalls),
            Plot("Latency, end to end", "percentile", "ms", latencies, y_max=slowest),
        ],
    )


def _recall_points(means: Summary) -> list[tuple[float, float]]:
    return [(float(k), value) for k, value in means.recall.items() if value is not None]


def _latency_points(judged: Sequence[Judged]) -> list[tuple[float, float]]:
    milliseconds = [each.seconds * 1000.0 for each in judged]
    return [(float(p), percentile(milliseconds, p)) for p in (1, 10, 25, 50, 75, 90, 95, 99, 100)]
