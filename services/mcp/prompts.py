"""Prompts that a person picks: look before a task, learn after it."""

from __future__ import annotations

from hbus import HbusError
from services.mcp.desk import Call, bus, desk

_NOTHING = "Shared memory holds nothing that fits."
_USE = (
    "Use what helps of these notes, say where they contradict each other, and call search_memory for more before you "
    "decide anything that they may bear on."
)
_REFLECT = (
    "Look back at what you did. If this was begun with start_task, call record_steps for what is not recorded yet and "
    "then reflect_on_task with the outcome. Else keep the two to five lessons that a step, an error or the user's "
    "words support: call write_memory for each, with type lesson, as situation - action - result - lesson, or with "
    "type procedural for a way of doing things that proved itself."
)
_QUERY_CHARS = 2048


async def recall_before_task(task: str, call: Call) -> str:
    """Begin a task with what memory knows of it."""
    state = desk(call)
    try:
        answer = await (await bus(call)).context(
            [],
            task[:_QUERY_CHARS],
            max_tokens=state.max_tokens,
            top_k=8,
            as_agent=state.identity.agent,
            for_user=state.identity.user,
        )
        known = answer.text or _NOTHING
    except HbusError as error:
        known = f"Shared memory cannot be read now ({error.reason or error.code.name})."
    return "\n\n".join((f"Task: {task}", known, _USE))


async def reflect_after_task(task: str, outcome: str) -> str:
    """End a task with lessons for the next one."""
    return "\n\n".join((f"Task: {task}", f"Outcome: {outcome}", _REFLECT))
