"""Answers of tools: always an object, with the memories' texts in one quoted block and facts about them beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

import hbus
from hbus.v1.memory_service_pb2 import UpdateMemoryResponse
from services.mcp import quoting
from services.mcp.quoting import Quote


class Row(BaseModel):
    """Facts about one line of the block."""

    line: int = Field(description="Its number in the block.")
    memory: str
    type: str
    state: str
    subject: str
    confidence: float
    score: float | None = None


class Memories(BaseModel):
    """Memories, quoted."""

    block: str = Field(description="The memories as quoted data; empty for none.")
    rows: list[Row]
    truncated: bool = Field(description="There is more than fits.")
    token: str = ""


class Written(BaseModel):
    """What became of a write or a change."""

    decision: str
    reason: str
    memory: str = Field(description="Name; empty when nothing was stored.")
    state: str
    confidence: float
    conflict: str = Field(description="Name of the conflict that it is in.")
    block: str = Field(description="The sides of the conflict, quoted.")
    token: str


class Forgotten(BaseModel):
    """Whether a memory was forgotten."""

    forgotten: bool
    memory: str
    state: str
    reason: str
    block: str = Field(description="The memory, quoted.")
    confirm: str = Field(description="Pass it on in a second call to forget for good.")
    token: str = ""


class Happening(BaseModel):
    """Facts about one event."""

    line: int = Field(description="Line of the block that holds the memory's text.")
    kind: str
    memory: str
    state: str
    agent: str
    time: str
    reason: str


class Events(BaseModel):
    """What happened."""

    block: str
    events: list[Happening]
    truncated: bool
    token: str = Field(description="Pass it to the next call.")


def row(line: int, memory: hbus.Memory, score: float | None = None) -> Row:
    """Return the facts about a memory."""
    return Row(
        line=line,
        memory=memory.name,
        type=hbus.label(hbus.MemoryType, memory.type),
        state=hbus.label(hbus.MemoryState, memory.state),
        subject=quoting.escape(memory.subject),
        confidence=round(memory.effective_confidence, 3),
        score=None if score is None else round(score, 3),
    )


def found(hits: Sequence[hbus.SearchHit], max_tokens: int, token: str) -> Memories:
    """Return search hits, each with the rivals that are no hits themselves."""
    groups = [[(hit.memory, hit.score), *((rival, None) for rival in hit.rivals)] for hit in hits]
    return _memories(groups, max_tokens, token)


def listed(memories: Iterable[hbus.Memory], max_tokens: int, has_more: bool) -> Memories:
    """Return memories of a listing."""
    answer = _memories([[(memory, None)] for memory in memories], max_tokens, "")
    return answer.model_copy(update={"truncated": answer.truncated or has_more})


def _memories(
    groups: Sequence[Sequence[tuple[hbus.Memory, float | None]]], max_tokens: int, token: str
) -> Memories:
    shown = quoting.fit([_quotes([memory for memory, _ in group]) for group in groups], max_tokens)
    flat = [each for group in groups[: len(shown)] for each in group]
    return Memories(
        block=quoting.block(quote for group in shown for quote in group),
        rows=[row(line, memory, score) for line, (memory, score) in enumerate(flat, start=1)],
        truncated=len(shown) < len(groups),
        token=token,
    )


def _quotes(group: Sequence[hbus.Memory]) -> list[Quote]:
    first, *rivals = group
    return [quoting.of_memory(first), *(quoting.of_memory(rival, quoting.RIVAL) for rival in rivals)]


def written(answer: hbus.WriteMemoryResponse | UpdateMemoryResponse, max_tokens: int) -> Written:
    """Return what became of a write."""
    sides = [Quote(side.text, origin=", ".join(side.speakers)) for side in answer.conflict.sides]
    memory = answer.memory
    return Written(
        decision=hbus.label(hbus.Decision, answer.decision),
        reason=quoting.escape(answer.reason),
        memory=memory.name,
        state=hbus.label(hbus.MemoryState, memory.state) if memory.name else "",
        confidence=round(memory.effective_confidence, 3),
        conflict=answer.conflict.name,
        block=quoting.block(side for [side] in quoting.fit([[side] for side in sides], max_tokens)),
        token=answer.token.token,
    )
