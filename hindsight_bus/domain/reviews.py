"""What waits for somebody to look at it, and what was decided. Numbers of the enums are those of ``hbus.v1``."""

from __future__ import annotations

from enum import IntEnum

from hindsight_bus.domain.names import Namespace, digest
from hindsight_bus.domain.skills import Skill
from hindsight_bus.domain.tasks import Item, ItemKind, LearntLesson, Reflection, lessons_of
from hindsight_bus.domain.values import Storable, Value


class ReviewState(IntEnum):
    """Where a review item stands."""

    PENDING = 1
    APPROVED = 2
    AMENDED = 3
    REJECTED = 4


class ReviewDecision(Value):
    """Who decided what, and why."""

    agent: str
    rationale: str
    time_ms: int


class ReviewItem(Storable):
    """Something ineffective that a reflection found, with the lesson that was drawn from it. Key: id."""

    namespace: Namespace
    """Where the lessons of the task go."""
    id: str
    task_id: str
    text: str
    steps: tuple[int, ...]
    memory_id: str = ""
    """The lesson that rests on the same steps; empty where there is none."""
    state: ReviewState = ReviewState.PENDING
    reviewer: str = ""
    """Whom it is leased to."""
    leased_until_ms: int = 0
    decision: ReviewDecision | None = None
    skill_id: str = ""
    """The skill that it is about, beside the lessons of its owner; empty for a lesson."""

    def is_held(self, by: str, now_ms: int) -> bool:
        """Tell whether another reviewer has it at present."""
        return self.reviewer not in ("", by) and now_ms < self.leased_until_ms


def review_items(reflection: Reflection) -> list[ReviewItem]:
    """Return what of a reflection somebody should look at: what was ineffective, each with the lesson drawn from it.

    The ids follow from the reflection, so that it asks once.
    """
    made_by = (reflection.task_id, reflection.reflector, str(reflection.version))
    return [
        ReviewItem(
            lessons_of(reflection.namespace),
            digest("review", *made_by, item.text),
            reflection.task_id,
            item.text,
            item.steps,
            _drawn_from(item, reflection.lessons),
        )
        for item in reflection.items
        if item.kind is ItemKind.INEFFECTIVE
    ]


def skill_review(skill: Skill, title: str) -> ReviewItem:
    """Return that somebody should look at a skill which has started to fail; once for each time that it has."""
    made_by = (skill.id, str(skill.version), str(skill.failures))
    return ReviewItem(
        lessons_of(skill.namespace),
        digest("review", *made_by),
        "",
        f"{title}: {skill.problem}",
        (),
        skill_id=skill.id,
    )


def _drawn_from(item: Item, lessons: tuple[LearntLesson, ...]) -> str:
    """Return the id of the lesson that shares most steps with an item."""
    shared = [(len(set(item.steps) & set(learnt.lesson.steps)), learnt.memory_id) for learnt in lessons]
    most = max(shared, key=lambda pair: pair[0], default=(0, ""))
    return most[1] if most[0] else ""
