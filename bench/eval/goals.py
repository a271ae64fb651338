"""What the figures must reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from bench.report import Goal
from hindsight_bus.evaluation.metrics import Summary, summarise
from hindsight_bus.evaluation.page import Table
from hindsight_bus.evaluation.report import Result

Figure = Callable[[Summary], float | None]


def _recall(k: int) -> Figure:
    return lambda means: means.recall[k]


GOALS: Sequence[tuple[str, str, Figure, Goal]] = (
    ("memorybank zh", "recall@3", _recall(3), Goal(0.90, 0.95)),
    ("memorybank zh", "recall@5", _recall(5), Goal(0.96, 0.98)),
    ("memorybank en", "recall@3", _recall(3), Goal(0.90, 0.95)),
    ("memorybank en", "recall@5", _recall(5), Goal(0.96, 0.98)),
    ("locomo", "recall@10", _recall(10), Goal(0.66, 0.75)),
    ("precision", "precision", lambda means: means.precision, Goal(0.90, 1.0)),
    ("precision", "recall@10", _recall(10), Goal(0.95, 1.0)),
    ("precision", "forbidden hits", lambda means: means.violations, Goal(0, 0, lower_is_better=True)),
    ("locomo", "p99 ms end to end", lambda means: means.p99_ms, Goal(500, 100, lower_is_better=True)),
    ("memorybank zh far", "nothing returned", lambda means: means.abstained, Goal(0.95, 1.0)),
    ("memorybank en far", "nothing returned", lambda means: means.abstained, Goal(0.95, 1.0)),
    ("far zh", "nothing returned", lambda means: means.abstained, Goal(0.95, 1.0)),
    ("far en", "nothing returned", lambda means: means.abstained, Goal(0.95, 1.0)),
)


def verdicts(results: Sequence[Result]) -> Table:
    """Return each goal with the figure that was measured."""
    by_name = {result.name: result.summary for result in results}
    rows = [
        _row(f"{name}: {what}", figure(by_name[name]), goal)
        for name, what, figure, goal in GOALS
        if name in by_name
    ]
    rows += _across(results)
    return Table("Goals", ("figure", "value", "must", "aim", "verdict"), rows)


def _across(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return what crossing languages, and other people's dialogues in the namespace, cost."""
    recall = {result.name: summarise(result.judged).recall for result in results}
    rows = []
    same = [recall[f"cross-language {each}"][5] or 0.0 for each in ("zh on zh", "en on en")]
    crossed = [recall[f"cross-language {each}"][5] or 0.0 for each in ("zh on en", "en on zh")]
    loss = Goal(0.10, 0.0, lower_is_better=True)
    rows.append(_row("cross-language: loss of recall@5", fmean(same) - fmean(crossed), loss))
    if "locomo crowded" in recall:
        lost = (recall["locomo"][10] or 0.0) - (recall["locomo crowded"][10] or 0.0)
        rows.append(_row("locomo crowded: loss of recall@10", lost, Goal(1.0, 0.05, lower_is_better=True)))
    return rows


def _row(what: str, value: float | None, goal: Goal) -> tuple[str, ...]:
    measured = -1.0 if value is None else value
    return what, f"{measured:.3f}", f"{goal.must:g}", f"{goal.aim:g}", goal.verdict(measured)
