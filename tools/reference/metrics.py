"""Metrics, as the server's registry describes them."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from hindsight_bus.adapters.llm.gateway import AnswerReport, CallReport
from hindsight_bus.metrics import Metrics
from hindsight_bus.ports import ModelUsage
from tools.reference.tables import table

_HEAD = """# Metrics

`HBUS_METRICS_PORT` (or `hbus serve --metrics-port`) serves them for Prometheus. Alert rules and a Grafana dashboard
come with [the compose file](../how-to/containers.md). `method` is `Service/Method`, `code` a gRPC status code, `reason`
one of [these](errors.md). On Linux there is also what every Prometheus client tells of its process:
`process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_open_fds` and the like.

"""


def families() -> list[Metric]:
    """Return every metric of a server, each with a sample that shows its labels."""
    metrics = Metrics(CollectorRegistry())
    metrics.opened("")
    metrics.finished("", "", "", 0.0)
    metrics.asked(AnswerReport("", ""))
    metrics.asked(CallReport("", "", "", 0.0, ModelUsage()))
    return list(metrics.registry.collect())


def page() -> str:
    """Return the page."""
    rows = [_row(family) for family in families() if family.name.startswith("hbus_")]
    return _HEAD + "\n".join(table(("metric", "kind", "labels", "what it says"), rows))


def _row(family: Metric) -> tuple[str, ...]:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    labels = {label for sample in family.samples for label in sample.labels} - {"le"}
    return (f"`{name}`", family.type, _code(sorted(labels)), family.documentation)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
