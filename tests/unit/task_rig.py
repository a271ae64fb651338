"""A node that knows tasks, on the in-process store."""

from __future__ import annotations

from typing import Any

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.lessons import Lessons
from hindsight_bus.app.promotion import Promoter
from hindsight_bus.app.reflections import Reflections
from hindsight_bus.app.reviews import Reviews
from hindsight_bus.app.rule_reflector import RuleReflector
from hindsight_bus.app.skill_search import SkillSearch
from hindsight_bus.app.skills import Skills
from hindsight_bus.app.task_retention import TaskRetention
from hindsight_bus.app.tasks import ChangedTask, Ending, StartedTask, TaskDraft, Tasks, task_handlers
from hindsight_bus.app.working_memory import WorkingMemory
from hindsight_bus.domain.memory import Memory, MemoryState
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.tasks import Reflection, Step, Task, TaskOutcome
from hindsight_bus.ports import Reflector, Stored
from tests.trajectories import step_of
from tests.unit.app_rig import Node

LESSONS = Namespace.parse("user:zhangsan:lessons", "default")
GOAL = "Refund order 1001 for the customer"


class TaskNode(Node):
    """One node's use cases, tasks among them."""

    def __init__(self, reflector: Reflector | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.skill_search = SkillSearch(self.records, self.searcher)
        self.skills = Skills(self.records, self.committer, self.writer, self.changer, self.skill_search)
        lessons = Lessons(self.writer, self.views, self.embedder, self.calibrations)
        self.reviews = Reviews(self.records, self.committer, self.writer, self.changer, self.skills)
        self.reflections = Reflections(
            self.records, self.committer, lessons, reflector or RuleReflector(), self.skills, self.reviews
        )
        self.tasks = Tasks(
            self.records,
            self.committer,
            self.searcher,
            self.reflections,
            self.skill_search,
            self.policies,
            self.ids,
        )
        self.promoter = Promoter(self.records, self.writer, self.skills, self.skill_search)
        self.working = WorkingMemory(self.records, self.changer)
        self.handlers = self.handlers | task_handlers(
            self.reflections, self.working, TaskRetention(self.records, self.committer, self.policies)
        )
        self.workers = self._make_workers()

    async def start(self, goal: str = GOAL, agent: str = "support", **fields: Any) -> StartedTask:
        """Start a task for zhangsan unless told otherwise."""
        draft = TaskDraft(goal, **({"kind": "refund", "user": "zhangsan"} | fields))
        return await self.tasks.start(Caller(agent=agent), draft)

    async def record(self, task: Stored[Task], *steps: Step, agent: str = "support") -> ChangedTask:
        return await self.tasks.record(Caller(agent=agent), name_of(task), steps)

    async def finish(self, task: Stored[Task], outcome: TaskOutcome, **fields: Any) -> ChangedTask:
        caller = Caller(agent=task.record.agent)
        return await self.tasks.finish(caller, name_of(task), Ending(outcome, **fields))

    async def reflection(self, task: Stored[Task]) -> Reflection:
        stored, _ = await self.reflections.get(Caller(), name_of(task))
        return stored.record

    async def failed(self, *steps: Step, **fields: Any) -> Stored[Task]:
        """Have a task fail with these steps, and do the work that it leaves."""
        task = (await self.start(**fields)).task
        await self.record(task, *steps)
        await self.finish(task, TaskOutcome.FAILURE)
        await self.work()
        return task

    async def lessons(self, namespace: Namespace = LESSONS) -> list[Memory]:
        return await self.listed(namespace, frozenset({MemoryState.ACTIVE, MemoryState.CONTESTED}))


def name_of(task: Stored[Task]) -> ResourceName:
    return ResourceName(task.record.namespace, "tasks", task.record.id)


def call(sequence: int, tool: str, error: str = "") -> Step:
    return step_of(sequence, "call", tool, "{}", "" if error else "ok", error, 0)


EXPIRED = (call(1, "get_order", "401 Unauthorized: token expired"), step_of(2, "thought", "I give up"))
MENDED = (
    call(1, "get_order", "401 Unauthorized: token expired"),
    call(2, "refresh_token"),
    call(3, "get_order"),
)
