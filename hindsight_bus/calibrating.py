"""Fitting what evidence is worth in one embedding profile, on labelled questions and without a server.

Each question that something answers is put to its own namespace, where the labelled memories answer, and to the next
one of its data set, where the best memory does not. The profile's weights follow from telling the two apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.evidence import Heard, OpenView
from hindsight_bus.domain import temporal
from hindsight_bus.domain.calibration import Calibration, calibration_of, fit, likelihood
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import Channel, MemoryState, MemoryType, Version
from hindsight_bus.domain.names import Namespace, digest
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.values import replace
from hindsight_bus.domain.vectors import to_bytes
from hindsight_bus.evaluation.dataset import DataSet, LabelledMemory, LabelledQuery
from hindsight_bus.ports import Embedder, Row, Vectors, ViewQuery

_OWNER = Namespace("calibration", "user", "calibration", "scratch")


class NothingToFit(ValueError):
    """The data holds no question that one namespace answers and another does not."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights and what they were fitted on."""

    profile: str
    weights: Calibration
    answering: int
    """Hits that answer their question."""
    silent: int
    """Best hits of namespaces that hold no answer."""


@dataclass(frozen=True, slots=True)
class _Store:
    """A data set in memory: a view and the vectors of each namespace."""

    data: DataSet
    views: dict[str, OpenView]
    vectors: dict[str, Vectors]

    @property
    def now_ms(self) -> int:
        """When its questions are asked: right after the last thing that it holds."""
        return max(map(_time_ms, self.data.memories))


async def calibrate(embedder: Embedder, sets: Sequence[DataSet]) -> Fitted:
    """Fit the weights of the embedder's profile. Cost: one embedding a memory and a question.

    Raises:
        NothingToFit: no set has a question with labels and a second namespace.
    """
    analyzer, weights = Analyzer(), replace(calibration_of(embedder.profile), floor=0.0)
    answering: list[Heard] = []
    silent: list[Heard] = []
    unrelated: list[float] = []
    for data in sets:
        store = await _loaded(embedder, data, analyzer, weights)
        for query in data.queries:
            own, other = _own_and_other(data, query)
            if query.relevant and other:
                vector = await embedder.embed_query(query.text)
                asked = _asked(query, vector, store.now_ms)
                heard = store.views[own].evidence(asked)
                answering += [each for each in heard if each.memory_id in _ids(query.relevant)]
                silent += _best(store.views[other].evidence(asked), weights)
                unrelated.append(float((store.vectors[other] @ vector).mean()))
    if not answering or not silent:
        raise NothingToFit("no question with labels and a second namespace to put it to")
    features = np.array([(each.dense, each.lexical, each.temporal) for each in (*answering, *silent)])
    answers = np.arange(len(features)) < len(answering)
    fitted = fit(features, answers, round(float(np.mean(unrelated)), 2))
    return Fitted(embedder.profile, fitted, len(answering), len(silent))


async def _loaded(embedder: Embedder, data: DataSet, analyzer: Analyzer, weights: Calibration) -> _Store:
    views: dict[str, OpenView] = {}
    vectors: dict[str, Vectors] = {}
    for label in data.namespaces:
        held = [memory for memory in data.memories if memory.namespace == label]
        if held:
            vectors[label] = await embedder.embed_passages([memory.text for memory in held])
            views[label] = OpenView(analyzer, weights)
            views[label].upsert(
                _row(n, *each) for n, each in enumerate(zip(held, vectors[label], strict=True), 1)
            )
    return _Store(data, views, vectors)


def _row(number: int, memory: LabelledMemory, vector: Vectors) -> Row:
    time_ms = _time_ms(memory)
    version = Version(
        namespace=_OWNER,
        memory_id=_id(memory.id),
        number=1,
        type=MemoryType[memory.type.upper()],
        text=memory.text,
        subject=memory.subject,
        aliases=memory.aliases,
        tags=memory.tags,
        language=detect(memory.text),
        event_time_ms=time_ms,
        agent="calibration",
        channel=Channel.INGEST,
    )
    return Row(
        memory_id=version.memory_id,
        create_revision=number,
        create_time_ms=time_ms,
        revision=number,
        state=MemoryState.ACTIVE,
        effective_confidence=Channel.INGEST.default_confidence,
        version=version,
        agents=(version.agent,),
        vector=to_bytes(vector),
    )


def _own_and_other(data: DataSet, query: LabelledQuery) -> tuple[str, str]:
    """Return the namespace that answers a question and the next one that holds memories; empty where there is none."""
    labels = list(dict.fromkeys(memory.namespace for memory in data.memories))
    own = query.namespace[0]
    if len(labels) < 2 or own not in labels:
        return own, ""
    return own, labels[(labels.index(own) + 1) % len(labels)]


def _asked(query: LabelledQuery, vector: Vectors, now_ms: int) -> ViewQuery:
    policy = Policy()
    return ViewQuery(
        text=query.text,
        vector=vector,
        filter=Filter(any_tags=frozenset(query.any_tags)),
        top_k=1,
        now_ms=now_ms,
        weights=policy.ranking_weights,
        recency_half_life_days=policy.recency_half_life_days,
        spans=temporal.spans(query.text, now_ms),
        edge=temporal.edge(query.text),
    )


def _best(heard: Sequence[Heard], weights: Calibration) -> list[Heard]:
    """Return the most likely candidate, if there is any."""
    if not heard:
        return []
    parts = np.array([(each.dense, each.lexical, each.temporal) for each in heard])
    return [heard[int(likelihood(weights, *parts.T).argmax())]]


def _time_ms(memory: LabelledMemory) -> int:
    return int(memory.event_time.timestamp() * 1000) if memory.event_time else 1


def _id(label: str) -> str:
    return digest(label)


def _ids(labels: Iterable[str]) -> set[str]:
    return {_id(label) for label in labels}
