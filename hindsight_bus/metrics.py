"""Prometheus metrics of one server, in a registry of their own."""

from __future__ import annotations

from functools import cache

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    start_http_server,
)

from hindsight_bus.adapters.llm.gateway import CallReport, Report

_MODEL_SECONDS = (0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80)
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class Metrics:
    """Counts calls: how many are open, how they end, how long they take. And what becomes of the memories served."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        ProcessCollector(registry=registry)
        opened = Gauge("hbus_calls_open", "Calls under way.", ["method"], registry=registry)
        ended = Counter("hbus_calls", "Calls ended.", ["method", "code", "reason"], registry=registry)
        seconds = Histogram(
            "hbus_call_seconds", "Duration of calls.", ["method"], registry=registry, buckets=_SECONDS
        )
        self._retrieved = Counter(
            "hbus_memories_retrieved",
            "Memories given to agents, as reported by RecordUsage.",
            registry=registry,
        )
        self._used = Counter("hbus_memories_used", "Memories of those that answers used.", registry=registry)
        self._dead = Gauge(
            "hbus_dead_letters", "Dead letters of all groups, as last seen.", registry=registry
        )
        self._dropped = Gauge(
            "hbus_dead_letters_dropped",
            "Dead letters that groups have dropped because there were too many, as last seen.",
            registry=registry,
        )
        self._models = _ModelMetrics(registry)
        # Looking a child up by its labels costs more than counting.
        self._open_of = cache(opened.labels)
        self._ended_of = cache(ended.labels)
        self._seconds_of = cache(seconds.labels)

    def opened(self, method: str) -> None:
        """Note that a call began."""
        self._open_of(method).inc()

    def finished(self, method: str, code: str, reason: str, seconds: float) -> None:
        """Note how a call ended and how long it took."""
        self._open_of(method).dec()
        self._ended_of(method, code, reason).inc()
        self._seconds_of(method).observe(seconds)

    def used(self, retrieved: int, used: int) -> None:
        """Note how many memories an answer was given and how many it used; their ratio is the utilisation."""
        self._retrieved.inc(retrieved)
        self._used.inc(used)

    def dead_letters(self, kept: int, dropped: int) -> None:
        """Note how many dead letters there are, and how many were dropped."""
        self._dead.set(kept)
        self._dropped.set(dropped)

    def asked(self, report: Report) -> None:
        """Note a call to a language model, or what became of a question."""
        if isinstance(report, CallReport):
            self._models.called(report)
        else:
            self._models.answers.labels(report.purpose, report.outcome).inc()


class _ModelMetrics:
    """What language models are asked, and what that takes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.answers = Counter(
            "hbus_model_answers",
            "Questions to models by what became of them: fresh, cached or default.",
            ["purpose", "outcome"],
            registry=registry,
        )
        self._calls = Counter(
            "hbus_model_calls", "Calls to models.", ["provider", "purpose", "outcome"], registry=registry
        )
        self._seconds = Histogram(
            "hbus_model_call_seconds",
            "Duration of calls to models.",
            ["provider"],
            registry=registry,
            buckets=_MODEL_SECONDS,
        )
        self._tokens = Counter(
            "hbus_model_tokens", "Tokens read and written.", ["provider", "direction"], registry=registry
        )
        self._cost = Counter(
            "hbus_model_cost", "Cost by the configured prices.", ["provider"], registry=registry
        )

    def called(self, report: CallReport) -> None:
        """Count one call."""
        self._calls.labels(report.provider, report.purpose, report.outcome).inc()
        self._seconds.labels(report.provider).observe(report.seconds)
        self._tokens.labels(report.provider, "input").inc(report.usage.input_tokens)
        self._tokens.labels(report.provider, "output").inc(report.usage.output_tokens)
        self._cost.labels(report.provider).inc(report.usage.cost)


class MetricsPage:
    """The page that Prometheus scrapes, served from a thread of its own."""

    def __init__(self, registry: CollectorRegistry, host: str, port: int) -> None:
        self._server, self._thread = start_http_server(port, addr=host, registry=registry)

    @property
    def port(self) -> int:
        """Port that it listens on."""
        return self._server.server_port

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
