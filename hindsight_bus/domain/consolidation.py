"""Which small memories say nearly the same, and the one memory that can stand for them.

Rules on words: nearly all of them agree, none that differs has a digit or turns the meaning round, and the memories are
about the same. Nearness in meaning alone never merges anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from hindsight_bus.domain.duplicates import same_terms
from hindsight_bus.domain.language import fold
from hindsight_bus.domain.memory import Channel, MemoryType, Version
from hindsight_bus.domain.trajectory import excerpt
from hindsight_bus.domain.values import Value, replace

MAX_PARENTS = 64
TAG = "consolidated"
_RARE_WORDS = 4
"""Memories are compared where they share one of the rarest words of each."""
_MAX_LEADERS = 64
"""Clusters that a memory is compared with at most."""
_TEXT_CHARS = 2_000
_WORD = re.compile(r"[a-z0-9']+|[\u3400-\u9fff]")
_TURNS_ROUND = frozenset(
    "not no never n't don't doesn't didn't isn't won't can't without except 不 没 无 非 别 未 勿".split()
)


class Grown(Value):
    """A memory that may be merged with others, and how sure it is."""

    version: Version
    effective_confidence: float


def clusters(memories: Iterable[Grown], at_least: int) -> list[list[Grown]]:
    """Return groups of at least so many memories that say nearly the same, each oldest first and at most 64.

    Cost: O(n) for texts whose rare words are rare; no memory is compared with more than 64 groups.
    """
    ordered = sorted(memories, key=lambda each: (each.version.event_time_ms, each.version.memory_id))
    words = [_words(each.version.text) for each in ordered]
    counts = Counter(word for each in words for word in set(each))
    groups: list[list[int]] = []
    by_word: dict[str, list[int]] = {}
    for place, own in enumerate(words):
        rare = sorted(set(own), key=lambda word: (counts[word], word))[:_RARE_WORDS]
        near = list(dict.fromkeys(group for word in rare for group in by_word.get(word, ())))[-_MAX_LEADERS:]
        found = next((g for g in near if _alike(ordered, words, groups[g][0], place)), None)
        if found is not None and len(groups[found]) < MAX_PARENTS:
            groups[found].append(place)
            continue
        groups.append([place])
        for word in rare:
            by_word.setdefault(word, []).append(len(groups) - 1)
    return [[ordered[place] for place in group] for group in groups if len(group) >= at_least]


def _alike(memories: Sequence[Grown], words: Sequence[list[str]], one: int, two: int) -> bool:
    first, second = memories[one].version, memories[two].version
    if (first.about, first.language, first.subject) != (second.about, second.language, second.subject):
        return False
    turned = [{word for word in words[place] if word in _TURNS_ROUND} for place in (one, two)]
    return turned[0] == turned[1] and bool(words[one]) and same_terms(words[one], words[two])


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def merged(parents: Sequence[Grown], memory_id: str) -> Version:
    """Return the memory that stands for its parents, oldest first: in the words of the newest, with count and dates.

    It is no surer than the least sure of them, and never speaks for a user.
    """
    newest, oldest = parents[-1].version, parents[0].version
    tags = [tag for tag in newest.tags if all(tag in each.version.tags for each in parents)]
    weakest = min(each.effective_confidence for each in parents)
    return replace(
        newest,
        memory_id=memory_id,
        number=1,
        type=MemoryType.EPISODIC,
        text=f"{excerpt(newest.text, _TEXT_CHARS)} {_counted(newest.language, len(parents), oldest, newest)}",
        tags=(*tags, TAG) if TAG not in tags else tuple(tags),
        confidence=min(weakest, Channel.REFLECTION.default_confidence),
        importance=max(each.version.importance for each in parents),
        expire_time_ms=0,
        supersedes=tuple(each.version.memory_id for each in parents),
        channel=Channel.REFLECTION,
        source=TAG,
        conversation=newest.conversation if newest.conversation == oldest.conversation else "",
        task="",
    )


def _counted(language: str, count: int, oldest: Version, newest: Version) -> str:
    first, last = (
        datetime.fromtimestamp(each.event_time_ms / 1000, UTC).date().isoformat() for each in (oldest, newest)
    )
    if language == "zh":
        return f"({count} 次,{first} 至 {last})" if first != last else f"({count} 次,{first})"
    return f"({count} times, {first} to {last})" if first != last else f"({count} times, {first})"
