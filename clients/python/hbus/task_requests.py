"""Requests about tasks from plain Python values. Pure: nothing here calls anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice

from hbus import requests
from hbus.fields import ReadFields
from hbus.v1.reflection_service_pb2 import (
    DecideReviewItemRequest,
    FinishTaskRequest,
    GetReflectionResponse,
    ListReviewItemsRequest,
    ListTasksRequest,
    PromoteLessonRequest,
    RecordSkillOutcomeRequest,
    RecordStepsRequest,
    SearchSkillsRequest,
    StartTaskRequest,
)
from hbus.v1.review_pb2 import ReviewState
from hbus.v1.skill_pb2 import Skill
from hbus.v1.task_pb2 import ReflectionState, Step, TaskOutcome
from hbus.values import (
    DecisionName,
    MemoryRef,
    OutcomeName,
    ReviewRef,
    ReviewStateName,
    SkillRef,
    TaskRef,
    name_of,
    number,
    numbers,
)

MAX_STEPS = 500
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0


def start_task(
    goal: str, *, kind: str = "", user: str = "", request_id: str = "", read: ReadFields
) -> StartTaskRequest:
    """Build the start of a task; the request_id is a fresh one unless given."""
    return StartTaskRequest(
        goal=goal,
        kind=kind,
        user=user,
        request_id=request_id or requests.new_request_id(),
        consistency=requests.consistency(read),
    )


def record_steps(task: TaskRef, steps: Iterable[Step]) -> Iterator[RecordStepsRequest]:
    """Cut steps into requests of at most 500."""
    name, left = name_of(task), iter(steps)
    while several := list(islice(left, MAX_STEPS)):
        yield RecordStepsRequest(task=name, steps=several)


def finish_task(
    task: TaskRef,
    outcome: OutcomeName | TaskOutcome,
    *,
    score: float | None = None,
    judge: str = "",
    reflect: bool = True,
) -> FinishTaskRequest:
    """Build the end of a task."""
    return FinishTaskRequest(
        task=name_of(task),
        outcome=number(TaskOutcome, outcome, "outcome"),
        score=score,
        judge=judge,
        skip_reflection=not reflect,
    )


def list_tasks(user: str, agent: str, page_size: int) -> ListTasksRequest:
    """Build the first page of a listing."""
    return ListTasksRequest(user=user, agent=agent, page_size=page_size)


def search_skills(
    query: str,
    *,
    kind: str,
    user: str,
    agent: str,
    top_k: int,
    min_confidence: float,
    include_in_review: bool,
    read: ReadFields,
) -> SearchSkillsRequest:
    """Build a search for skills."""
    return SearchSkillsRequest(
        query=query,
        kind=kind,
        user=user,
        agent=agent,
        top_k=top_k,
        min_confidence=min_confidence,
        include_in_review=include_in_review,
        consistency=requests.consistency(read),
    )


def record_skill_outcome(
    skill: SkillRef,
    outcome: OutcomeName | TaskOutcome,
    *,
    task: TaskRef,
    tool: str,
    error: str,
    request_id: str,
) -> RecordSkillOutcomeRequest:
    """Build the report of one use of a skill; the request_id is a fresh one unless given."""
    return RecordSkillOutcomeRequest(
        skill=name_of(skill),
        outcome=number(TaskOutcome, outcome, "outcome"),
        task=name_of(task),
        tool=tool,
        error=error,
        request_id=request_id or requests.new_request_id(),
    )


def promote_lesson(memory: MemoryRef | Skill, user: str) -> PromoteLessonRequest:
    """Build a promotion; a skill stands for the memory that tells of it."""
    return PromoteLessonRequest(
        memory=memory.memory if isinstance(memory, Skill) else name_of(memory), user=user
    )


def list_review_items(
    user: str, agent: str, states: Iterable[ReviewStateName | ReviewState], lease: float, page_size: int
) -> ListReviewItemsRequest:
    """Build the first page of review items; ``lease`` in seconds, 0 = none."""
    request = ListReviewItemsRequest(
        user=user, agent=agent, states=numbers(ReviewState, states, "states"), page_size=page_size
    )
    if lease:
        request.lease.FromTimedelta(timedelta(seconds=lease))
    return request


def decide_review_item(
    item: ReviewRef, decision: DecisionName | ReviewState, text: str, rationale: str
) -> DecideReviewItemRequest:
    """Build the decision of a review item."""
    return DecideReviewItemRequest(
        name=name_of(item), decision=number(ReviewState, decision, "decision"), text=text, rationale=rationale
    )


def pauses() -> Iterator[float]:
    """Yield seconds between two looks at a reflection that is waited for: longer and longer ones."""
    pause = _FIRST_PAUSE_S
    while True:
        yield pause
        pause = min(1.5 * pause, _LONGEST_PAUSE_S)


def has_ended(answer: GetReflectionResponse) -> bool:
    """Tell whether a reflection is done, one way or the other."""
    return answer.reflection.state in (
        ReflectionState.REFLECTION_STATE_SUCCEEDED,
        ReflectionState.REFLECTION_STATE_FAILED,
    )
