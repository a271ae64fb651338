"""Answers of tools: always an object, with the memories' texts in one quoted block and facts about them beside it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

import hbus
from hbus.v1.memory_service_pb2 import BuildContextResponse, UpdateMemoryResponse
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


class Recalled(BaseModel):
    """Memories that a search found."""

    block: str = Field(description="The memories as quoted data; empty for none.")
    memories: list[str] = Field(description="Their names, line by line.")
    truncated: bool = Field(description="More was found than fits.")
    token: str


class Memories(BaseModel):
    """Memories of a listing."""

    block: str = Field(description="The memories as quoted data; empty for none.")
    rows: list[Row]
    truncated: bool = Field(description="There is more: add the number of rows to offset.")


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


def row(line: int, memory: hbus.Memory) -> Row:
    """Return the facts about a memory."""
    return Row(
        line=line,
        memory=memory.name,
        type=hbus.label(hbus.MemoryType, memory.type),
        state=hbus.label(hbus.MemoryState, memory.state),
        subject=quoting.escape(memory.subject),
        confidence=round(memory.effective_confidence, 3),
    )


def recalled(answer: BuildContextResponse) -> Recalled:
    """Return what a search found, as the bus has rendered it."""
    return Recalled(
        block=answer.text,
        memories=list(answer.memories),
        truncated=answer.left_out > 0,
        token=answer.token.token,
    )


def listed(memories: Sequence[hbus.Memory], max_tokens: int, *, has_more: bool) -> Memories:
    """Return memories of a listing."""
    shown = quoting.fit(map(quoting.of_memory, memories), max_tokens)
    return Memories(
        block=quoting.block(shown),
        rows=[row(line, memory) for line, memory in enumerate(memories[: len(shown)], start=1)],
        truncated=has_more or len(shown) < len(memories),
    )


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
        block=quoting.block(quoting.fit(sides, max_tokens)),
        token=answer.token.token,
    )
