"""Fitting what evidence is worth in one embedding profile, on labelled questions and without a server.

Each question that something answers is put to its own namespace, and to the next one of its data set, where the best
memory does not answer; one that nothing answers is put to its namespaces. The weights follow from telling them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.evidence import Heard, OpenView
from hindsight_bus.domain import temporal
from hindsight_bus.domain.calibration import Calibration, Labelled, calibration_of, fit, likelihood
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import Channel, MemoryState, MemoryType, Version
from hindsight_bus.domain.names import Namespace, digest
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.values import fields, replace
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
    """Questions that a memory answers."""
    silent: int
    """The same, put to a namespace that holds no answer, and questions that nothing answers."""

    def as_json(self) -> dict[str, object]:
        """Return all of it for JSON; of the weights what was fitted, and what closeness counts from."""
        return {
            "profile": self.profile,
            "weights": self._numbers(),
            "answering": self.answering,
            "silent": self.silent,
        }

    def row(self) -> str:
        """Return the entry of the table of profiles."""
        numbers = self._numbers()
        backgrounds = numbers.pop("backgrounds")
        rest = ", ".join(f"{name}={value:.3g}" for name, value in numbers.items())
        kept = "  # the rest as it was"
        return f'"{self.profile}": Calibration(backgrounds=MappingProxyType({backgrounds}), {rest}),{kept}'

    def _numbers(self) -> dict[str, Any]:
        numbers = {each.name: getattr(self.weights, each.name) for each in fields(self.weights)}
        numbers["backgrounds"] = dict(self.weights.backgrounds)
        for name in ("unnamed_odds", "closeness", "alike", "alert", "common"):  # measured otherwise
            del numbers[name]
        if math.isnan(self.weights.across):
            del numbers["across"]
        return numbers


@dataclass(frozen=True, slots=True)
class _Place:
    """A namespace in memory."""

    rows: list[Row]
    vectors: Vectors
    """As they are compared."""

    @property
    def languages(self) -> list[str]:
        """Language of each memory."""
        return [row.version.language for row in self.rows]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, put to a namespace."""

    query: ViewQuery
    place: _Place
    answers: bool
    related: bool
    """Whether it is of the kind that the namespace answers."""


async def calibrate(embedder: Embedder, sets: Sequence[DataSet]) -> Fitted:
    """Fit the weights of the embedder's profile. Cost: one embedding a memory and a question.

    Raises:
        NothingToFit: no question with labels, or nothing else to put it to.
    """
    asked = [each for data in sets for each in await _all_asked(embedder, data)]
    known = _with_backgrounds(calibration_of(embedder.profile), asked)
    hits: dict[str, list[tuple[float, ...]]] = {"answering": [], "foreign": [], "near": [], "far": []}
    views: dict[int, OpenView] = {}
    analyzer = Analyzer()
    for each in asked:
        view = views.get(id(each.place)) or views.setdefault(id(each.place), OpenView(analyzer, known))
        if not len(view):
            view.upsert(each.place.rows)
        if heard := _best(view.evidence(each.query), known, len(view)):
            hits[_kind(each)].append(heard)
    try:
        labelled = Labelled(**{name: np.array(found).reshape(-1, 3) for name, found in hits.items()})
        fitted = fit(labelled, known)
    except ValueError:
        raise NothingToFit("no question with labels and a second namespace to put it to") from None
    return Fitted(embedder.profile, fitted, len(labelled.answering), len(labelled.near) + len(labelled.far))


def _kind(asked: _Asked) -> str:
    if not asked.answers:
        return "near" if asked.related else "far"
    return "answering" if asked.query.language in asked.place.languages else "foreign"


async def _all_asked(embedder: Embedder, data: DataSet) -> list[_Asked]:
    """Return a data set's questions, put to namespaces that answer them and to others."""
    places = await _loaded(embedder, data)
    now_ms = max(map(_time_ms, data.memories), default=0)
    found = []
    for query in data.queries:
        asked = query_of(query, await embedder.embed_query(query.text), now_ms)
        own = [places[label] for label in query.namespace if label in places]
        found += [_Asked(asked, place, bool(query.relevant), bool(query.relevant)) for place in own]
        if query.relevant and (other := _next(places, query.namespace[0])):
            found.append(_Asked(asked, other, False, True))
    return found


def _with_backgrounds(known: Calibration, asked: Iterable[_Asked]) -> Calibration:
    """Return the calibration with the mean cosines of questions and memories that have nothing in common, by language.

    Where no question of a pair is on a foreign topic, those that only lack their answer stand for them.
    """
    silent = [each for each in asked if not each.answers]
    means = _means(known, [each for each in silent if each.related])
    means |= _means(known, [each for each in silent if not each.related])
    same = {a: round(float(np.mean(found)), 3) for (a, b), found in means.items() if a == b}
    across = [mean for (a, b), found in means.items() if a != b for mean in found]
    return replace(
        known,
        backgrounds=MappingProxyType(same),
        across=round(float(np.mean(across)), 3) if across else math.nan,
        floor=0.0,
        foreign_floor=0.0,
    )


def _means(known: Calibration, asked: Iterable[_Asked]) -> dict[tuple[str, str], list[float]]:
    """Return each question's mean cosine with the memories in each language, by both languages."""
    means: dict[tuple[str, str], list[float]] = {}
    for each in asked:
        if each.query.vector is None:
            continue
        vector = known.common.without(each.query.vector)
        languages = np.array(each.place.languages)
        for told in set(each.place.languages):
            mean = float((each.place.vectors[languages == told] @ vector).mean())
            means.setdefault((each.query.language, told), []).append(mean)
    return means


async def _loaded(embedder: Embedder, data: DataSet) -> dict[str, _Place]:
    places: dict[str, _Place] = {}
    common = calibration_of(embedder.profile).common
    for label in data.namespaces:
        held = [memory for memory in data.memories if memory.namespace == label]
        if held:
            embedded = await embedder.embed_pieces([memory.text for memory in held])
            rows = [row_of(n, *each) for n, each in enumerate(zip(held, embedded, strict=True), 1)]
            places[label] = _Place(rows, common.without(np.stack([each[0] for each in embedded])))
    return places


def row_of(number: int, memory: LabelledMemory, embedded: Vectors) -> Row:
    """Return the row of a memory, the ``number``-th of its namespace, with vectors as ``Embedder.embed_pieces`` has."""
    time_ms = _time_ms(memory)
    version = Version(
        namespace=_OWNER,
        memory_id=digest(memory.id),
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
        vector=to_bytes(embedded[0]),
        pieces=to_bytes(embedded[1:]),
    )


def _next(places: Mapping[str, _Place], label: str) -> _Place | None:
    """Return the namespace after the one of a label; None where there is no other."""
    labels = list(places)
    if len(labels) < 2 or label not in labels:
        return None
    return places[labels[(labels.index(label) + 1) % len(labels)]]


def query_of(query: LabelledQuery, vector: Vectors, now_ms: int) -> ViewQuery:
    """Return a question as a view is asked it, by the default policy."""
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
        language=detect(query.text),
    )


def _best(heard: Sequence[Heard], weights: Calibration, among: int) -> tuple[float, ...]:
    """Return the evidence for the most likely candidate, if there is any."""
    if not heard:
        return ()
    reach = weights.reach(among)
    parts = np.array([(each.dense - reach, each.lexical, each.temporal) for each in heard])
    return tuple(map(float, parts[int(likelihood(weights, *parts.T).argmax())]))


def _time_ms(memory: LabelledMemory) -> int:
    return int(memory.event_time.timestamp() * 1000) if memory.event_time else 1
