"""Lessons as memories: one that says the same as another joins it as further evidence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import structlog

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.views import Views
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.calibration import Calibrations
from hindsight_bus.domain.errors import EmbedderUnavailable
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import Channel, MemoryType, Version
from hindsight_bus.domain.names import digest, task_name
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.reflector import NAME as RULES
from hindsight_bus.domain.reflector import advice_in, text_of
from hindsight_bus.domain.tasks import LearntLesson, Lesson, Reflection, Task, kind_tag, outcome_tag, tool_tag
from hindsight_bus.domain.twins import are_twins
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import Embedder, NamespaceView, Vectors

log = structlog.get_logger(__name__)

_VALUE_CHARS = 256
_NEAREST = 4


class Lessons:
    """Writes what was learnt from a task."""

    def __init__(self, writer: Writer, views: Views, embedder: Embedder, calibrations: Calibrations) -> None:
        self._writer = writer
        self._views = views
        self._embedder = embedder
        self._calibrations = calibrations

    async def learn(self, task: Task, reflection: Reflection) -> tuple[LearntLesson, ...]:
        """Write the lessons of a reflection, or join each to the one that says the same already.

        Done again, it finds what it has written: the ids follow from task, reflector and text.
        """
        drafts = [_draft(task, reflection, learnt.lesson) for learnt in reflection.lessons]
        lessons = [learnt.lesson for learnt in reflection.lessons]
        return tuple(
            [
                await self._learn(task, *pair)
                for pair in zip(lessons, await self._joined(lessons, drafts), strict=True)
            ]
        )

    async def _learn(self, task: Task, lesson: Lesson, draft: WriteDraft) -> LearntLesson:
        caller = Caller(tenant=task.namespace.tenant, agent=task.agent)
        outcome = await self._writer.write(caller, draft)
        memory_id = outcome.memory.head.memory_id if outcome.memory is not None else ""
        return LearntLesson(memory_id, outcome.decision, lesson)

    async def _joined(self, lessons: Sequence[Lesson], drafts: Sequence[WriteDraft]) -> list[WriteDraft]:
        """Give a model's drafts the subject and value of their twins; rules word equal lessons equally anyway."""
        return [
            draft if lesson.reflector == RULES else await self._with_twin(draft)
            for lesson, draft in zip(lessons, drafts, strict=True)
        ]

    async def _with_twin(self, draft: WriteDraft) -> WriteDraft:
        try:
            twin = await self._twin(draft)
        except EmbedderUnavailable as error:
            log.warning("lessons.not_compared", reason=error.reason)
            return draft
        return draft if twin is None else replace(draft, subject=twin.subject, value=twin.value)

    async def _twin(self, draft: WriteDraft) -> Version | None:
        """Return the lesson about the same kind of task and the same tools that gives the same advice, if any."""
        view = await self._views.open(draft.namespace)
        if view is None or view.record.profile != self._embedder.profile:
            return None
        await self._views.wait_until(view, Freshness(fully_consistent=True))
        whole = await self._embedder.embed_query(draft.text)
        near = await self._views.ask(view, partial(_near, vector=whole, tags=frozenset(draft.tags)))
        if not near:
            return None
        advice = [advice_in(text, draft.language) for text in (draft.text, *(each.text for each in near))]
        calibration = self._calibrations(self._embedder.profile)
        ours, *theirs = calibration.common.without(await self._embedder.embed_passages(advice))
        for version, words, vector in zip(near, advice[1:], theirs, strict=True):
            close = calibration.closeness.threshold(draft.language, version.language)
            if are_twins(advice[0], words, float(ours @ vector), close):
                return version
        return None


def _near(view: NamespaceView, vector: Vectors, tags: frozenset[str]) -> list[Version]:
    """Return the nearest lessons with exactly these tags, nearest first. Runs on the index thread."""
    alike = Filter(types=frozenset({MemoryType.LESSON}), tags=tags)
    rows = (view.get(memory_id) for memory_id, _ in view.nearest(vector, _NEAREST, alike))
    versions = [row.version for row in rows if row is not None]
    return [version for version in versions if set(version.tags) == tags and version.value]


def _draft(task: Task, reflection: Reflection, lesson: Lesson) -> WriteDraft:
    """Return the write of a lesson. Lessons of one task kind that say the same share subject and value: one memory."""
    language = detect(task.goal)
    text, statement = text_of(lesson, language), digest(lesson.statement, size=8)
    tags = [outcome_tag(task.outcome), f"reflector:{lesson.reflector}"[:64], *map(tool_tag, lesson.tools)]
    item = digest(text, size=8)
    return WriteDraft(
        namespace=task.lessons,
        type=MemoryType.LESSON,
        text=text,
        subject=f"lesson.{task.kind or 'task'}.{statement}",
        value=lesson.statement if len(lesson.statement) <= _VALUE_CHARS else statement,
        tags=tuple([*tags, kind_tag(task.kind)] if task.kind else tags),
        language="zh" if language == "zh" else "en",
        confidence=lesson.confidence,
        event_time_ms=task.finish_time_ms,
        request_id=f"reflection:{task.id}:{lesson.reflector}:{reflection.version}:{item}",
        channel=Channel.REFLECTION,
        source=task_name(task.namespace, task.id),
        payload=digest(text),
    )
