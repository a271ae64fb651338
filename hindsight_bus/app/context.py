"""Putting what a search finds into a block for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.search import Hit, Searcher, SearchRequest
from hindsight_bus.domain import context
from hindsight_bus.domain.context import Block, Line, Mark
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import Memory, MemoryState
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.statements import speaker_of
from hindsight_bus.domain.tokens import estimated_tokens
from hindsight_bus.domain.values import Value

DEFAULT_MAX_TOKENS = 1000


class ContextRequest(Value):
    """What to look for, and how the block is to be."""

    search: SearchRequest
    max_tokens: int
    language: str
    """``zh`` or ``en``; empty: the query's."""


class ContextAnswer(Value):
    """A block, empty where nothing relevant was found or nothing fits, and what stands in it line by line."""

    text: str
    advice: str
    memories: list[Memory]
    left_out: int
    """Hits that did not fit."""
    positions: Positions
    dense_skipped: bool

    @property
    def tokens(self) -> int:
        """Estimated tokens of the block; O(length)."""
        return estimated_tokens(self.text)


class ContextBuilder:
    """Builds blocks for prompts."""

    def __init__(self, searcher: Searcher, new_nonce: Callable[[], str]) -> None:
        self._searcher = searcher
        self._new_nonce = new_nonce

    async def build(self, caller: Caller, request: ContextRequest) -> ContextAnswer:
        """Search, and render what fits the budget, best first; a contested memory comes with its rivals or not."""
        answer = await self._searcher.search(caller, request.search)
        language = request.language or _language_of(request.search.query)
        groups = _groups([*answer.pinned, *answer.hits])
        lines = [[_line(memory, marks, language) for memory, marks in group] for group in groups]
        taken = context.fit(lines, language, request.max_tokens)
        block = Block(self._new_nonce(), language, tuple(line for _, group in taken for line in group))
        return ContextAnswer(
            text=context.render(block) if taken else "",
            advice=context.advice(language),
            memories=[memory for index, _ in taken for memory, _ in groups[index]],
            left_out=len(groups) - len(taken),
            positions=answer.positions,
            dense_skipped=answer.dense_skipped,
        )


def _language_of(query: str) -> str:
    found = detect(query)
    return found if found in context.LANGUAGES else "en"


def _groups(hits: Sequence[Hit]) -> list[list[tuple[Memory, tuple[Mark, ...]]]]:
    """Return each hit with the rivals that no hit before it has brought; a hit that came as a rival comes once."""
    shown: set[str] = set()
    groups: list[list[tuple[Memory, tuple[Mark, ...]]]] = []
    for hit in hits:
        if hit.memory.name in shown:
            continue
        rivals = [rival for rival in hit.rivals if rival.name not in shown]
        groups.append([(hit.memory, _marks(hit.memory)), *((rival, (Mark.RIVAL,)) for rival in rivals)])
        shown.update(memory.name for memory, _ in groups[-1])
    return groups


def _marks(memory: Memory) -> tuple[Mark, ...]:
    pinned = (Mark.PINNED,) if memory.version.pinned else ()
    contested = (Mark.CONTESTED,) if memory.head.state is MemoryState.CONTESTED else ()
    return (*pinned, *contested)


def _line(memory: Memory, marks: tuple[Mark, ...], language: str) -> Line:
    version = memory.version
    speaker = speaker_of(version.channel, version.agent, memory.namespace.owner)
    speakers = {claim.speaker for claim in memory.head.claims} - {speaker}
    return Line(
        text=version.text,
        date=context.date_of(version.event_time_ms or memory.create_time_ms),
        origin=context.origin(language, speaker, version.agent, version.source, len(speakers)),
        marks=marks,
    )
