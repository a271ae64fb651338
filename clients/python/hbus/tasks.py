"""What the client for threads does with tasks."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Unpack

from hbus import task_requests
from hbus.fields import ReadFields
from hbus.v1.reflection_service_pb2 import (
    FinishTaskResponse,
    GetReflectionRequest,
    GetReflectionResponse,
    GetSkillRequest,
    GetTaskRequest,
    LanguageModel,
    ListModelsRequest,
    PromoteLessonResponse,
    RecordSkillOutcomeResponse,
    RecordStepsResponse,
    ReflectOnTaskRequest,
    ReflectOnTaskResponse,
    SearchSkillsResponse,
    StartTaskResponse,
)
from hbus.v1.reflection_service_pb2_grpc import ReflectionServiceStub
from hbus.v1.review_pb2 import ReviewItem, ReviewState
from hbus.v1.skill_pb2 import Skill
from hbus.v1.task_pb2 import Step, Task, TaskOutcome
from hbus.values import (
    DecisionName,
    MemoryRef,
    OutcomeName,
    ReviewRef,
    ReviewStateName,
    SkillRef,
    TaskRef,
    name_of,
)


class TaskCalls(ABC):
    """Calls of ``hbus.v1.ReflectionService``, as a part of ``Client``."""

    _reflections: ReflectionServiceStub

    def start_task(
        self,
        goal: str,
        *,
        kind: str = "",
        user: str = "",
        request_id: str = "",
        timeout: float | None = None,
        **read: Unpack[ReadFields],
    ) -> StartTaskResponse:
        """Start a task; the answer brings lessons of tasks like it, failures first, and skills that worked."""
        request = task_requests.start_task(goal, kind=kind, user=user, request_id=request_id, read=read)
        return self._call(self._reflections.StartTask, request, timeout)  # type: ignore[no-any-return]

    def record_steps(
        self, task: TaskRef, steps: Iterable[Step], *, timeout: float | None = None
    ) -> Sequence[RecordStepsResponse]:
        """Record steps (see ``hbus.steps``), 500 a call; a number that is recorded already is ignored.

        The last answer tells which numbers are missing so far. The deadline holds for each call.
        """
        batches = task_requests.record_steps(task, steps)
        return [self._call(self._reflections.RecordSteps, batch, timeout) for batch in batches]

    def finish_task(
        self,
        task: TaskRef,
        outcome: OutcomeName | TaskOutcome,
        *,
        score: float | None = None,
        judge: str = "",
        reflect: bool = True,
        timeout: float | None = None,
    ) -> FinishTaskResponse:
        """End a task, and have the server reflect on it unless told otherwise."""
        request = task_requests.finish_task(task, outcome, score=score, judge=judge, reflect=reflect)
        return self._call(self._reflections.FinishTask, request, timeout)  # type: ignore[no-any-return]

    def task(self, task: TaskRef, *, timeout: float | None = None) -> Task:
        """Read one task."""
        request = GetTaskRequest(name=name_of(task))
        return self._call(self._reflections.GetTask, request, timeout).task  # type: ignore[no-any-return]

    def steps(self, task: TaskRef, *, timeout: float | None = None) -> Iterator[Step]:
        """Yield the steps of a task by number, fetching parts as needed."""
        request = GetTaskRequest(name=name_of(task), with_steps=True)
        while True:
            part = self._call(self._reflections.GetTask, request, timeout)
            yield from part.steps
            if not part.next_after_sequence:
                return
            request.after_sequence = part.next_after_sequence

    def tasks(
        self, *, user: str = "", agent: str = "", page_size: int = 0, timeout: float | None = None
    ) -> Iterator[Task]:
        """Yield the tasks done for one user, or by one agent for nobody else, newest first."""
        request = task_requests.list_tasks(user, agent, page_size)
        for page in self._pages(self._reflections.ListTasks, request, timeout):
            yield from page.tasks

    def reflect(self, task: TaskRef, *, timeout: float | None = None) -> ReflectOnTaskResponse:
        """Ask for the reflection on a task that has ended; it is done in the background, once."""
        request = ReflectOnTaskRequest(task=name_of(task))
        return self._call(self._reflections.ReflectOnTask, request, timeout)  # type: ignore[no-any-return]

    def reflection(
        self, task: TaskRef, *, wait: float = 0.0, timeout: float | None = None
    ) -> GetReflectionResponse:
        """Tell how far the reflection on a task is, waiting at most ``wait`` seconds for its end."""
        request, patience = GetReflectionRequest(task=name_of(task)), time.monotonic() + wait
        answer: GetReflectionResponse = self._call(self._reflections.GetReflection, request, timeout)
        for pause in task_requests.pauses():
            if task_requests.has_ended(answer) or time.monotonic() + pause > patience:
                break
            time.sleep(pause)
            answer = self._call(self._reflections.GetReflection, request, timeout)
        return answer

    def review_items(
        self,
        *,
        user: str = "",
        agent: str = "",
        states: Iterable[ReviewStateName | ReviewState] = (),
        lease: float = 0.0,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[ReviewItem]:
        """Yield what reflections found ineffective, newest first: what waits, unless other states are asked for.

        ``lease`` seconds keep other reviewers away from what is yielded; fetched page by page.
        """
        request = task_requests.list_review_items(user, agent, states, lease, page_size)
        for page in self._pages(self._reflections.ListReviewItems, request, timeout):
            yield from page.items

    def decide_review_item(
        self,
        item: ReviewRef,
        decision: DecisionName | ReviewState,
        *,
        text: str = "",
        rationale: str = "",
        timeout: float | None = None,
    ) -> ReviewItem:
        """Decide a review item: its lesson stays, says ``text`` instead, or is forgotten."""
        request = task_requests.decide_review_item(item, decision, text, rationale)
        return (self._call(self._reflections.DecideReviewItem, request, timeout)).item  # type: ignore[no-any-return]

    def models(self, *, probe: bool = False, timeout: float | None = None) -> list[LanguageModel]:
        """Return the language models that the server may ask, and how they are; ``probe`` asks each one before."""
        answer = self._call(self._reflections.ListModels, ListModelsRequest(probe=probe), timeout)
        return list(answer.models)

    def search_skills(
        self,
        query: str = "",
        *,
        kind: str = "",
        user: str = "",
        agent: str = "",
        top_k: int = 0,
        min_confidence: float = 0.0,
        include_in_review: bool = False,
        timeout: float | None = None,
        **read: Unpack[ReadFields],
    ) -> SearchSkillsResponse:
        """Find skills: the own ones of the caller (or of ``agent``), and those that the agents of ``user`` share."""
        request = task_requests.search_skills(
            query,
            kind=kind,
            user=user,
            agent=agent,
            top_k=top_k,
            min_confidence=min_confidence,
            include_in_review=include_in_review,
            read=read,
        )
        return self._call(self._reflections.SearchSkills, request, timeout)  # type: ignore[no-any-return]

    def skill(self, skill: SkillRef, *, version: int = 0, timeout: float | None = None) -> Skill:
        """Read one skill, at its current (0) or an earlier version."""
        request = GetSkillRequest(name=name_of(skill), version=version)
        return self._call(self._reflections.GetSkill, request, timeout).skill  # type: ignore[no-any-return]

    def record_skill_outcome(
        self,
        skill: SkillRef,
        outcome: OutcomeName | TaskOutcome,
        *,
        task: TaskRef = "",
        tool: str = "",
        error: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> RecordSkillOutcomeResponse:
        """Count how a use of a skill went: success or failure. A task counts once, by reflection or by this call."""
        request = task_requests.record_skill_outcome(
            skill, outcome, task=task, tool=tool, error=error, request_id=request_id
        )
        return self._call(self._reflections.RecordSkillOutcome, request, timeout)  # type: ignore[no-any-return]

    def promote(
        self, lesson: MemoryRef | Skill, user: str, *, timeout: float | None = None
    ) -> PromoteLessonResponse:
        """Share a lesson or a skill of one agent with all agents of a user; no surer than it was."""
        request = task_requests.promote_lesson(lesson, user)
        return self._call(self._reflections.PromoteLesson, request, timeout)  # type: ignore[no-any-return]

    @abstractmethod
    def _call(self, method: Any, request: Any, timeout: float | None) -> Any: ...

    @abstractmethod
    def _pages(self, method: Any, request: Any, timeout: float | None) -> Iterator[Any]: ...
