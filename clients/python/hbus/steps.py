"""Steps of a task, as ``record_steps`` takes them: one function a kind, each with the step's number from 1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from hbus.v1.memory_pb2 import Channel
from hbus.v1.task_pb2 import Feedback, Rating, Step, ToolCall
from hbus.values import ChannelName, RatingName, moment, number


def thought(sequence: int, text: str, *, time: datetime | None = None) -> Step:
    """Build what the agent thought."""
    return Step(sequence=sequence, thought=text, time=_moment(time))


def action(sequence: int, text: str, *, time: datetime | None = None) -> Step:
    """Build what the agent did without a tool."""
    return Step(sequence=sequence, action=text, time=_moment(time))


def observation(sequence: int, text: str, *, time: datetime | None = None) -> Step:
    """Build what the agent saw."""
    return Step(sequence=sequence, observation=text, time=_moment(time))


def tool_call(
    sequence: int,
    tool: str,
    arguments: str | Mapping[str, Any] = "",
    *,
    result: str = "",
    error: str = "",
    seconds: float = 0.0,
    time: datetime | None = None,
) -> Step:
    """Build a call of a tool, with what it returned or failed with; a mapping of arguments becomes JSON."""
    call = ToolCall(
        tool=tool,
        arguments=arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
        result=result,
        error=error,
        duration=timedelta(seconds=seconds) if seconds else None,
    )
    return Step(sequence=sequence, tool_call=call, time=_moment(time))


def feedback(
    sequence: int,
    text: str,
    *,
    rating: RatingName | Rating | None = None,
    channel: ChannelName | Channel = "user",
    time: datetime | None = None,
) -> Step:
    """Build what somebody said of the work, the user unless told otherwise."""
    said = Feedback(
        text=text,
        rating=number(Rating, rating, "rating") if rating is not None else None,
        channel=number(Channel, channel, "channel"),
    )
    return Step(sequence=sequence, feedback=said, time=_moment(time))


def _moment(time: datetime | None) -> datetime | None:
    return None if time is None else moment(time, "time")
