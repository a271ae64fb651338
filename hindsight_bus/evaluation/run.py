"""Loading a data set into scratch namespaces of a server and asking its questions, one at a time."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import hbus
from hbus.v1.memory_service_pb2 import SearchMemoriesResponse
from hbus.values import SearchChannelName
from hindsight_bus.evaluation.dataset import DataSet, LabelledMemory, LabelledQuery
from hindsight_bus.evaluation.metrics import Judged
from hindsight_bus.evaluation.report import Result

LOAD_TIMEOUT_S = 120.0
ASK_TIMEOUT_S = 30.0
_POLL_S = 0.5
_VECTORS_TIMEOUT_S = 3600.0


class NotLoaded(RuntimeError):
    """The server did not take a memory, or its vector did not come."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A data set on a server."""

    data: DataSet
    namespaces: Mapping[str, str]
    """Label -> scratch namespace."""
    ids: Mapping[str, str]
    """Resource name -> id in the data set."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the server's answer."""

    query: LabelledQuery
    answer: SearchMemoriesResponse
    seconds: float


def load(bus: hbus.Client, data: DataSet, salt: str = "") -> Loaded:
    """Load a data set and wait for its vectors; what the server has of it already is not loaded again.

    Memories are written one after the other, for their order is that of the dialogue. The name of a scratch namespace
    follows from its label, its memories and ``salt``. Raises ``NotLoaded``.
    """
    namespaces = {label: _scratch(data, label, salt) for label in data.namespaces}
    names: dict[str, str] = {}
    for memory in data.memories:
        names[memory.id] = _write(bus, memory, namespaces[memory.namespace], names)
    _await_vectors(bus, namespaces.values())
    return Loaded(data, namespaces, {name: memory_id for memory_id, name in names.items()})


def _scratch(data: DataSet, label: str, salt: str) -> str:
    held = [asdict(memory) for memory in data.memories if memory.namespace == label]
    return f"user:eval-{_digest(label, held, salt)}:scratch"


def _write(bus: hbus.Client, memory: LabelledMemory, namespace: str, names: Mapping[str, str]) -> str:
    answer = bus.write(
        namespace,
        memory.text,
        type=memory.type,  # type: ignore[arg-type] # the client refuses what it does not know
        subject=memory.subject,
        aliases=memory.aliases,
        tags=memory.tags,
        pinned=memory.pinned,
        event_time=memory.event_time,
        supersedes=[names[each] for each in memory.supersedes],
        channel="ingest",
        source=f"eval:{memory.id}"[:512],
        request_id=_digest(memory.id),
        timeout=LOAD_TIMEOUT_S,
    )
    if not answer.memory.name:
        raise NotLoaded(f"{memory.id} was not taken: {answer.reason}")
    return answer.memory.name


def _await_vectors(bus: hbus.Client, namespaces: Iterable[str]) -> None:
    until = time.monotonic() + _VECTORS_TIMEOUT_S
    for namespace in namespaces:
        while _pending(bus, namespace):
            if time.monotonic() > until:
                raise NotLoaded(f"{namespace}: the vectors do not come")
            time.sleep(_POLL_S)


def _pending(bus: hbus.Client, namespace: str) -> int:
    try:
        return bus.stats(namespace, timeout=ASK_TIMEOUT_S).pending_vectors
    except hbus.errors.NotFound:  # nothing was loaded into it
        return 0


def ask(
    bus: hbus.Client, loaded: Loaded, top_k: int, without: Sequence[SearchChannelName] = ()
) -> list[Asked]:
    """Put the questions, one after the other, each for its own ``top_k`` or the given one; time each.

    ``without`` names channels that must not find anything.
    """
    return [_asked(bus, loaded, query, top_k, without) for query in loaded.data.queries]


def _asked(
    bus: hbus.Client, loaded: Loaded, query: LabelledQuery, top_k: int, without: Sequence[SearchChannelName]
) -> Asked:
    namespaces = [loaded.namespaces[label] for label in query.namespace]
    began = time.perf_counter()
    answer = bus.search(
        namespaces,
        query.text,
        top_k=query.top_k or top_k,
        filter={"any_tags": query.any_tags},
        without=without,
        timeout=ASK_TIMEOUT_S,
    )
    return Asked(query, answer, time.perf_counter() - began)


def report_usage(bus: hbus.Client, asked: Iterable[Asked]) -> dict[str, float]:
    """Report each answer of the data set; return the utilisation of what came back, by question.

    It changes the importance of what was used, so it comes after the last search.
    """
    utilisation = {}
    for each in asked:
        if each.query.answer and each.answer.hits:
            counted = bus.record_usage(each.answer, answer=each.query.answer, query=each.query.text)
            utilisation[each.query.text] = counted.utilisation
    return utilisation


def grouped(loaded: Loaded, asked: Sequence[Asked], bus: hbus.Client | None = None) -> list[Result]:
    """Return the results by group of questions; with a client, use is reported, which tells the utilisation."""
    utilisation = report_usage(bus, asked) if bus is not None else {}
    groups: dict[str, list[Judged]] = {}
    for each in asked:
        name = f"{loaded.data.name} {each.query.group}".strip()
        judged = _judged(loaded, each, utilisation.get(each.query.text))
        groups.setdefault(name, []).append(judged)
    return [Result(name, judged) for name, judged in groups.items()]


def _judged(loaded: Loaded, asked: Asked, utilisation: float | None) -> Judged:
    found = (loaded.ids.get(hit.memory.name, hit.memory.name) for hit in asked.answer.hits)
    query = asked.query
    ranking = tuple(each for each in found if each not in query.apart)
    return Judged(ranking, query.relevant, query.never, asked.seconds, utilisation, query.text)


def _digest(*parts: object) -> str:
    text = json.dumps(parts, default=str, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
