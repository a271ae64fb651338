"""Data sets read in place, as memories and labelled questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hindsight_bus.evaluation.dataset import DataSet, LabelledMemory, LabelledQuery, parse

OWN = Path(__file__).parent / "data"
_ADVERSARIAL = 5
"""LoCoMo's category of questions that nothing answers; they have no evidence to recall."""
_SENTENCE = re.compile(r"(?<=[。！？!?.\n])\s*")
_SHORTEST = 4


def memorybank(folder: Path, language: str) -> DataSet:
    """Return dated chats of eight users with a companion: a memory a turn, a namespace a user."""
    data = DataSet(f"memorybank {language}")
    file = {"zh": "cn.json", "en": "en.json"}[language]
    for user in _read(folder / "memorybank" / file):
        label = f"{language} {user['user']}"
        data.memories.extend(_chat_turn(label, turn) for turn in user["turns"])
        for question in user["questions"]:
            relevant = frozenset(f"{label} {date} {index}" for date, index in question["evidence"])
            data.queries.append(LabelledQuery((label,), question["text"], relevant))
    return data


def _chat_turn(label: str, turn: dict[str, Any]) -> LabelledMemory:
    day = datetime.fromisoformat(turn["date"]).replace(tzinfo=UTC)
    text = f"{turn['user']}\n{turn['assistant']}"
    return LabelledMemory(f"{label} {turn['date']} {turn['index']}", label, text, event_time=day)


def locomo(folder: Path) -> DataSet:
    """Return long dialogues of two people in dated sessions: a memory a turn, a namespace a dialogue."""
    data = DataSet("locomo")
    for sample in _read(folder / "locomo" / "conversations.json"):
        label = sample["sample_id"]
        turns = list(_dialogue(label, sample["conversation"]))
        data.memories.extend(turns)
        data.queries.extend(_asked_of(label, sample["qa"], {turn.id for turn in turns}))
    return data


def _dialogue(label: str, conversation: dict[str, Any]) -> Iterator[LabelledMemory]:
    number = 1
    while f"session_{number}" in conversation:
        when = conversation[f"session_{number}_date_time"]
        time = datetime.strptime(when, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for turn in conversation[f"session_{number}"]:
            shown = f" [shows {turn['blip_caption']}]" if "blip_caption" in turn else ""
            text = f"{turn['speaker']}: {turn['text']}{shown}"
            yield LabelledMemory(f"{label} {turn['dia_id']}", label, text, event_time=time)
        number += 1


def _asked_of(label: str, questions: list[dict[str, Any]], known: set[str]) -> Iterator[LabelledQuery]:
    for question in questions:
        relevant = frozenset(f"{label} {each}" for each in question["evidence"]) & known
        if question["category"] != _ADVERSARIAL and relevant:
            yield LabelledQuery((label,), question["question"], relevant, answer=str(question["answer"]))


def crowded(dialogues: DataSet, *others: DataSet) -> DataSet:
    """Return the dialogues' questions over one namespace that holds all of them and what other people said."""
    data = DataSet(f"{dialogues.name} crowded")
    for source in (dialogues, *others):
        for memory in source.memories:
            data.memories.append(_moved(memory))
    for query in dialogues.queries:
        data.queries.append(LabelledQuery(("crowd",), query.text, query.relevant))
    return data


def sentences(store: DataSet) -> DataSet:
    """Return what was said, a memory a sentence."""
    data = DataSet(f"{store.name} sentences")
    seen: set[str] = set()
    for memory in store.memories:
        for number, text in enumerate(_SENTENCE.split(memory.text)):
            if len(text) >= _SHORTEST and text not in seen:
                seen.add(text)
                data.memories.append(
                    LabelledMemory(
                        f"{memory.id} {number}", memory.namespace, text, event_time=memory.event_time
                    )
                )
    return data


def agents(folder: Path) -> DataSet:
    """Return what agents noted of their work and of what they read: experiences, and passages of an encyclopedia."""
    data = DataSet("agents")
    noted = _read(folder / "poison" / "experiences.json")
    for each in (each for several in noted.values() for each in several):
        for part in ("req", "resp"):
            data.memories.append(LabelledMemory(f"{each['id']} {part}", "agents", each[part]))
    for fact in _read(folder / "poison" / "facts.json"):
        for number, text in enumerate(fact["adv_texts"]):
            data.memories.append(LabelledMemory(f"{fact['id']} {number}", "agents", text))
    return data


def _moved(memory: LabelledMemory) -> LabelledMemory:
    return LabelledMemory(memory.id, "crowd", memory.text, event_time=memory.event_time)


def precision(folder: Path) -> DataSet:
    """Return beliefs and what must come back for a question and nothing else: a namespace a user.

    Pinned beliefs are another part of an answer, so they stand apart. Blank questions are left out: there is nothing to
    search for.
    """
    data = DataSet("precision")
    beliefs = _read(folder / "precision" / "beliefs.json")
    replaced = {belief["_id"] for belief in beliefs if belief["superseded_by"]}
    olders: dict[str, list[str]] = {}
    for belief in beliefs:
        if belief["superseded_by"]:
            olders.setdefault(belief["superseded_by"], []).append(belief["_id"])
    for belief in _oldest_first(beliefs, olders):
        data.memories.append(_belief(belief, tuple(olders.get(belief["_id"], ()))))
    for case in _read(folder / "precision" / "cases.json"):
        if case["query"].strip():
            data.queries.append(_case(case, beliefs, replaced))
    return data


def _oldest_first(beliefs: list[dict[str, Any]], olders: dict[str, list[str]]) -> list[dict[str, Any]]:
    by_id = {belief["_id"]: belief for belief in beliefs}

    def depth(belief_id: str) -> int:
        return 1 + max((depth(each) for each in olders.get(belief_id, ())), default=0)

    return [by_id[each] for each in sorted(by_id, key=depth)]


def _belief(belief: dict[str, Any], supersedes: tuple[str, ...]) -> LabelledMemory:
    return LabelledMemory(
        belief["_id"],
        belief["user_id"],
        belief["content"],
        type="semantic",
        subject=belief["canonical_name"],
        aliases=tuple(belief["aliases"]),
        tags=tuple(belief["scope"]),
        pinned=belief["pinned"],
        supersedes=supersedes,
        event_time=datetime.fromisoformat(belief["created_at"]),
    )


def _case(case: dict[str, Any], beliefs: list[dict[str, Any]], replaced: set[str]) -> LabelledQuery:
    user, scope = case.get("userId", "test-user"), case["scope"]
    wanted = case["expect"].get("relevantBeliefs", {}).get("shouldOnlyInclude", [])
    foreign = {
        belief["_id"]
        for belief in beliefs
        if belief["user_id"] != user or not set(scope).intersection(belief["scope"])
    }
    pinned = {belief["_id"] for belief in beliefs if belief["pinned"]}
    return LabelledQuery(
        (user,),
        case["query"],
        frozenset(wanted),
        never=frozenset(foreign | replaced),
        apart=frozenset(pinned - set(wanted) - foreign - replaced),
        any_tags=tuple(scope),
        top_k=20,
    )


def cross_language() -> DataSet:
    """Return facts in Chinese and in English, and questions for them in both: within a language and across."""
    data = DataSet("cross-language")
    rows = [json.loads(line) for line in _lines(OWN / "cross.jsonl")]
    for memory in ("zh", "en"):
        for number, row in enumerate(rows):
            data.memories.append(LabelledMemory(f"{memory} {number}", memory, row[memory]))
        for asked in ("zh", "en"):
            for number, row in enumerate(rows):
                relevant = frozenset({f"{memory} {number}"})
                group = f"{asked} on {memory}"
                data.queries.append(LabelledQuery((memory,), row[f"asked_{asked}"], relevant, group=group))
    return data


def far(*stores: DataSet) -> DataSet:
    """Return questions on topics that nobody in the stores has ever touched, put to all of their namespaces at once."""
    labels = tuple(dict.fromkeys(label for store in stores for label in store.namespaces))
    data = DataSet("far", [memory for store in stores for memory in store.memories])
    for line in _lines(OWN / "far.jsonl"):
        row = json.loads(line)
        data.queries.append(LabelledQuery(labels, row["text"], group=row["language"]))
    return data


def far_alone(store: DataSet, language: str) -> DataSet:
    """Return questions in a language on topics that nobody has ever touched, each put to every namespace by itself."""
    data = DataSet(f"{store.name} far", store.memories)
    for line in _lines(OWN / "far.jsonl"):
        row = json.loads(line)
        if row["language"] == language:
            data.queries.extend(LabelledQuery((label,), row["text"]) for label in store.namespaces)
    return data


def bilingual() -> DataSet:
    """Return facts in one namespace, every other one in English, asked for in its own language and in the other."""
    data = DataSet("bilingual")
    for number, row in enumerate(json.loads(line) for line in _lines(OWN / "cross.jsonl")):
        told = ("zh", "en")[number % 2]
        data.memories.append(LabelledMemory(f"fact {number}", "both", row[told]))
        for asked in ("zh", "en"):
            group = "same language" if asked == told else f"{asked} on {told}"
            relevant = frozenset({f"fact {number}"})
            data.queries.append(LabelledQuery(("both",), row[f"asked_{asked}"], relevant, group=group))
    return data


def paraphrased() -> DataSet:
    """Return small stores, asked in quite other words, for dates, for replaced terms, and for what nobody said."""
    return parse("paraphrased", _lines(OWN / "paraphrased.jsonl"))


def near(store: DataSet) -> DataSet:
    """Return each user's questions put to the next user's memories, where nothing answers them."""
    labels = store.namespaces
    next_to = dict(zip(labels, [*labels[1:], labels[0]], strict=True))
    queries = [LabelledQuery((next_to[query.namespace[0]],), query.text) for query in store.queries]
    return DataSet(f"{store.name} near", store.memories, queries)


def _lines(path: Path) -> Iterable[str]:
    return path.read_text("utf-8").splitlines()


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
