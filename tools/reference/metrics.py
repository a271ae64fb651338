"""Metrics, as the server's registry describes them."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from hindsight_bus.metrics import Metrics
from tools.reference.tables import table

_HEAD = """# Metrics

`HBUS_METRICS_PORT` (or `hbus serve --metrics-port`) serves them for Prometheus. Alert rules and a Grafana dashboard
come with [the compose file](../how-to/containers.md). `method` is `Service/Method`, `code` a gRPC status code, `reason`
one of [these](errors.md). On Linux there is also what every Prometheus client tells of its process:
`process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_open_fds` and the like.

"""


def page() -> str:
    """Return the page."""
    metrics = Metrics(CollectorRegistry())
    metrics.opened("")  # a series shows its labels once it has a value
    metrics.finished("", "", "", 0.0)
    rows = [_row(family) for family in metrics.registry.collect() if family.name.startswith("hbus_")]
    return _HEAD + "\n".join(table(("metric", "kind", "labels", "what it says"), rows))


def _row(family: Metric) -> tuple[str, ...]:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    labels = {label for sample in family.samples for label in sample.labels} - {"le"}
    return (f"`{name}`", family.type, _code(sorted(labels)), family.documentation)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
