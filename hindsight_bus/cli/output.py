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
    from hbus.v1.conflict_pb2 import Resolution

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
    """Print rows under column heads, as wide as the terminal; what is too long is folded, never cut."""
    from rich.console import Console
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        _add_column(made, column)
    for row in rows:
        made.add_row(*(printable(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE, markup=False, highlight=False).print(made)


def _add_column(made: Table, column: str) -> None:
    is_number = column in ("#", "score", "version", "confidence")
    made.add_column(column, overflow="fold", justify="right" if is_number else "left", no_wrap=is_number)


def state_of(memory: hbus.Memory) -> str:
    """Return the short name of a memory's state."""
    import hbus

    return hbus.label(hbus.MemoryState, memory.state)


def hits(found: Sequence[hbus.SearchHit]) -> None:
    """Print search hits, and after each the rivals that are no hits themselves."""
    shown = {hit.memory.name for hit in found}
    rows: list[tuple[str, hbus.Memory]] = []
    for hit in found:
        rows.append((f"{hit.score:.3f}", hit.memory))
        rivals = [rival for rival in hit.rivals if rival.name not in shown]
        rows.extend(("rival", rival) for rival in rivals)
        shown.update(rival.name for rival in rivals)
    _numbered("score", rows)


def memories(found: Iterable[hbus.Memory]) -> None:
    """Print memories."""
    _numbered("version", [(str(memory.version), memory) for memory in found])


def _numbered(head: str, rows: Sequence[tuple[str, hbus.Memory]]) -> None:
    """Print one row a memory, and below the table their names, each whole on a line: they are for copying."""
    table(
        ("#", head, "state", "confidence", "subject", "text"),
        [(str(number), first, *_cells(memory)) for number, (first, memory) in enumerate(rows, start=1)],
    )
    for number, (_, memory) in enumerate(rows, start=1):
        typer.echo(f"#{number}  {memory.name}")


def _cells(memory: hbus.Memory) -> tuple[str, ...]:
    return (state_of(memory), f"{memory.effective_confidence:.2f}", memory.subject, memory.text)


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
    what = event.task or event.skill or event.memory.text
    return printable(f"{moment(event.time)}  {event.namespace}  {kind:<12}  {who}  {what}{because}")


def conflict_lines(conflict: hbus.Conflict) -> list[str]:
    """Return a conflict as lines: where it stands, its sides, best first, and the decision."""
    import hbus

    state = hbus.label(hbus.ConflictState, conflict.state)
    lines = [f"{state}  {conflict.subject}  since {moment(conflict.create_time)}: {conflict.reason}"]
    lines.append(f"  {conflict.name}")
    for side in conflict.sides:
        lines.append(f"  {side.score:.3f}  {side.text}  ({', '.join(side.speakers)})")
        lines.append(f"         {side.memory}")
    if conflict.HasField("judgement"):
        verdict = hbus.label(hbus.SuspicionVerdict, conflict.judgement.verdict)
        lines.append(f"  {conflict.judgement.model} says {verdict}: {conflict.judgement.reason}")
    if conflict.HasField("resolution"):
        lines.append(f"  {_decision(conflict.resolution)}")
    return [printable(line) for line in lines]


def _decision(resolution: Resolution) -> str:
    import hbus

    action = hbus.label(hbus.ResolutionAction, resolution.action)
    chosen = f" {resolution.memory}" if resolution.memory else ""
    because = f": {resolution.rationale}" if resolution.rationale else ""
    return f"decided {moment(resolution.time)} by {resolution.agent}: {action}{chosen}{because}"
