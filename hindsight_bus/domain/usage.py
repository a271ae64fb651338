"""Which memories an answer used, judged by the words that they share.

What an answer took from a memory it mostly says in the memory's own words: a name, a number, a choice. The words of the
question say nothing, for answer and memory both repeat them, and words that several of the memories share say little.
Paraphrase and translation are missed, so this is a lower estimate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence, Set

from hindsight_bus.domain.language import fold, simplify
from hindsight_bus.domain.values import Value

_WORD = re.compile(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+(?:['’][a-z]+)?")
_ENOUGH = 0.4
"""Share of what could be shared at most that must be, to call a memory used."""
_STOP = frozenset(
    """
    a an the and or but if so to of in on at by for from with as is are was were be been am do does did has have had i
    you he she it we they me him her us them my your his its our their this that these those there here what which
    who when where how why not no yes can could will would should may might must just very really too also about into
    than then i'm i've it's that's don't you're
    """.split()
)
_EMPTY_CHARACTERS = frozenset("的了是在我你您他她它们这那有和与也就都不吗呢吧啊很会要说对于着过把被给让又还")


class Given(Value):
    """A memory that an agent was given."""

    text: str
    value: str = ""
    """Its statement in normal form, where it has one."""


def estimate_used(answer: str, question: str, memories: Sequence[Given]) -> list[bool]:
    """Return for each memory whether the answer seems to have used it; O(total length)."""
    known = units(question)
    said = units(answer) - known
    held = [units(f"{memory.text}\n{memory.value}") - known for memory in memories]
    holders = Counter(unit for each in held for unit in each)
    return [
        _names(said, memory.value, known) or _overlap(said, each, holders) >= _ENOUGH
        for memory, each in zip(memories, held, strict=True)
    ]


def units(text: str) -> frozenset[str]:
    """Return what a text says, in pieces: words without function words, and pairs of Chinese characters."""
    found: set[str] = set()
    for word in _WORD.findall(simplify(fold(text))):
        if "\u3400" <= word[0] <= "\u9fff":
            found.update(_pairs(word))
        elif word not in _STOP:
            found.add(_stem(word))
    return frozenset(found)


def _pairs(run: str) -> Collection[str]:
    telling = "".join(" " if character in _EMPTY_CHARACTERS else character for character in run).split()
    return {part[i : i + 2] for part in telling for i in range(max(len(part) - 1, 1))}


def _stem(word: str) -> str:
    """Return a word without a plural or possessive ending."""
    word = word.replace("’", "'").removesuffix("'s")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _names(said: Set[str], value: str, known: Set[str]) -> bool:
    wanted = units(value)
    return bool(wanted) and not wanted <= known and wanted - known <= said


def _overlap(said: Set[str], held: Set[str], holders: Counter[str]) -> float:
    """Return 0 to 1: what both say, against the one that says less; each unit counts for 1 / memories that hold it."""

    def weight(some: Set[str]) -> float:
        return sum(1.0 / max(holders[unit], 1) for unit in some)

    least = min(weight(said), weight(held))
    return weight(said & held) / least if least else 0.0
