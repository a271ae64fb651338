"""What commands print: JSON lines for programs, tables for people. Notes go to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from google.protobuf.timestamp_pb2 import Timestamp
    from rich.table import Table

    import hbus

WIDTH_OF_A_PIPE = 160


def emit(value: Message | Mapping[str, object]) -> None:
    """Print one JSON object on one line."""
    typer.echo(json.dumps(value if isinstance(value, Mapping) else as_dict(value), ensure_ascii=False))


def as_dict(message: Message) -> dict[str, object]:
    """Return a message in its JSON form (ProtoJSON), with the field names of the contract."""
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(message, preserving_proto_field_name=True)


def note(text: str) -> None:
    """Tell a person something beside the answer."""
    typer.echo(text, err=True)


def printable(text: str) -> str:
    """Return text without characters that could steer a terminal: whoever wrote a memory is not trusted with it."""
    return "".join(
        char if char.isprintable() else " " if char in "\t\n\r" else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def moment(time: Timestamp) -> str:
    """Return a time of the contract as local time, to the second; empty when unset."""
    if not time.seconds:
        return ""
    from datetime import UTC

    return time.ToDatetime(UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under column heads, as wide as the terminal; resource names are folded, never cut."""
    from rich.console import Console
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        _add_column(made, column)
    for row in rows:
        made.add_row(*(printable(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE, markup=False, highlight=False).print(made)


def _add_column(made: Table, column: str) -> None:
    is_number = column in ("score", "confidence")
    made.add_column(column, overflow="fold", justify="right" if is_number else "left", no_wrap=is_number)


def state_of(memory: hbus.Memory) -> str:
    """Return the short name of a memory's state."""
    import hbus

    return hbus.label(hbus.MemoryState, memory.state)


def hits(found: Iterable[hbus.SearchHit]) -> None:
    """Print search hits with their rivals."""
    rows = []
    for hit in found:
        rows.append((f"{hit.score:.3f}", *_memory_cells(hit.memory)))
        rows.extend(("rival", *_memory_cells(rival)) for rival in hit.rivals)
    table(("score", "text", "state", "confidence", "subject", "name"), rows)


def memories(found: Iterable[hbus.Memory]) -> None:
    """Print memories."""
    table(("text", "state", "confidence", "subject", "name"), [_memory_cells(memory) for memory in found])


def _memory_cells(memory: hbus.Memory) -> tuple[str, ...]:
    confidence = f"{memory.effective_confidence:.2f}"
    return (memory.text, state_of(memory), confidence, memory.subject, memory.name)


def written(answer: hbus.WriteMemoryResponse) -> None:
    """Print what became of a write."""
    import hbus

    decision = hbus.label(hbus.Decision, answer.decision)
    because = f": {printable(answer.reason)}" if answer.reason else ""
    typer.echo(f"{decision}{because}")
    if answer.HasField("memory"):
        memory = answer.memory
        typer.echo(f"{state_of(memory)}  {memory.effective_confidence:.2f}  {memory.name}")
    if answer.HasField("conflict"):
        typer.echo(f"in conflict  {answer.conflict.name}")


def memory_line(memory: hbus.Memory) -> str:
    """Return one memory as one line."""
    return printable(f"{moment(memory.update_time)}  {state_of(memory):<12}  {memory.text}  {memory.name}")


def event_line(event: hbus.Event) -> str:
    """Return one event as one line."""
    import hbus

    kind = hbus.label(hbus.EventKind, event.kind)
    because = f"  ({event.reason})" if event.reason else ""
    who = event.agent or "-"
    return printable(
        f"{moment(event.time)}  {event.namespace}  {kind:<12}  {who}  {event.memory.text}{because}"
    )


def _conflict_rows(conflict: hbus.Conflict) -> list[tuple[str, ...]]:
    """Return one row a side; the conflict's own cells stand on the first."""
    import hbus

    state = hbus.label(hbus.ConflictState, conflict.state)
    head, blank = (state, conflict.subject, conflict.name), ("", "", "")
    return [
        (*(blank if index else head), f"{side.score:.3f}", side.text, ", ".join(side.speakers), side.memory)
        for index, side in enumerate(conflict.sides)
    ]


def conflicts(found: Iterable[hbus.Conflict]) -> None:
    """Print conflicts with their sides, best first."""
    rows = [row for conflict in found for row in _conflict_rows(conflict)]
    table(("state", "subject", "conflict", "score", "text", "speakers", "memory"), rows)
