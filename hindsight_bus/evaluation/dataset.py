"""Labelled data: JSON lines, each a memory to load or a question to ask.

    {"memory": {"id": "m1", "namespace": "li", "text": "Li drinks tea", "type": "episodic",
                "event_time": "2026-05-02T08:00:00Z", "subject": "", "aliases": [], "tags": [], "pinned": false,
                "supersedes": []}}
    {"query": {"namespace": "li", "text": "What does Li drink?", "relevant": ["m1"], "never": [], "apart": [],
               "any_tags": [], "top_k": 5, "answer": "tea", "group": "en"}}

``id``, ``namespace`` and ``text`` are required of a memory, ``namespace`` and ``text`` of a question; the rest is empty
by default (``type``: episodic; ``top_k``: the option of the run). Namespaces are labels: the run loads each into a
scratch namespace of its own. ``namespace`` of a question may be a list of labels.
``relevant`` are the memories that answer it: none means that nothing should come back. ``never`` must not come back
at all, ``apart`` are pinned memories, which an answer holds apart from its hits and which are not judged. ``answer`` is
what an agent would say to it, ``group`` what results are told apart by.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, TypeVar

T = TypeVar("T")


class BadLine(ValueError):
    """A line of a data set is not what it should be."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"line {number}: {problem}")


@dataclass(frozen=True, slots=True)
class LabelledMemory:
    """A memory to load."""

    id: str
    namespace: str
    text: str
    type: str = "episodic"
    event_time: datetime | None = None
    subject: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    pinned: bool = False
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A question to ask, and what should come back."""

    namespace: tuple[str, ...]
    text: str
    relevant: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    any_tags: tuple[str, ...] = ()
    top_k: int = 0
    answer: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Memories and questions under one name."""

    name: str
    memories: list[LabelledMemory] = field(default_factory=list)
    queries: list[LabelledQuery] = field(default_factory=list)

    @property
    def namespaces(self) -> list[str]:
        """Labels of its namespaces, in the order in which they come up."""
        named = [memory.namespace for memory in self.memories]
        asked = [label for query in self.queries for label in query.namespace]
        return list(dict.fromkeys([*named, *asked]))


def parse(name: str, lines: Iterable[str]) -> DataSet:
    """Return the data set that JSON lines hold; raise ``BadLine``."""
    data = DataSet(name)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            _take(data, number, line)
    _check_ids(data)
    return data


def _take(data: DataSet, number: int, line: str) -> None:
    try:
        match json.loads(line):
            case {"memory": dict(values)}:
                data.memories.append(_made(LabelledMemory, values))
            case {"query": dict(values)}:
                data.queries.append(_made(LabelledQuery, values))
            case _:
                raise ValueError("holds neither a memory nor a query")
    except (ValueError, TypeError) as error:
        raise BadLine(number, str(error)) from None


def _made(kind: type[T], values: Mapping[str, Any]) -> T:
    known = {each.name: str(each.type) for each in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(values.keys() - known.keys()):
        raise ValueError(f"unknown field {unknown[0]!r}")
    return kind(**{name: _typed(known[name], value) for name, value in values.items()})


def _typed(kind: str, value: Any) -> Any:
    if kind.startswith("datetime"):
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return moment
    if kind.startswith(("tuple", "frozenset")):
        several = [value] if isinstance(value, str) else value
        return tuple(several) if kind.startswith("tuple") else frozenset(several)
    return value


def _check_ids(data: DataSet) -> None:
    ids = {memory.id for memory in data.memories}
    if len(ids) < len(data.memories):
        raise ValueError(f"{data.name}: two memories have one id")
    for query in data.queries:
        if unknown := (query.relevant | query.never | query.apart) - ids:
            raise ValueError(f"{data.name}: {query.text!r} names {min(unknown)!r}, which is no memory")
