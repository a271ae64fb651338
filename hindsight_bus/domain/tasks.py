"""Tasks and what is recorded of them. Numbers of the enums are those of ``hbus.v1``; times are Unix milliseconds."""

from __future__ import annotations

from enum import IntEnum

from hindsight_bus.domain.expense import ModelUsage
from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.values import Storable, Value, field

Ranges = tuple[tuple[int, int], ...]
"""Sequence numbers as (first, last) pairs, ascending, with a gap between any two."""


class StepKind(IntEnum):
    """What kind of thing a step is."""

    THOUGHT = 1
    ACTION = 2
    TOOL_CALL = 3
    OBSERVATION = 4
    FEEDBACK = 5


class Rating(IntEnum):
    """What feedback says of the work; NONE where it does not say."""

    NONE = 0
    GOOD = 1
    BAD = 2


class TaskOutcome(IntEnum):
    """How a task ended; OPEN until it has."""

    OPEN = 0
    SUCCESS = 1
    FAILURE = 2
    ABANDONED = 3
    UNKNOWN = 4


class ReflectionState(IntEnum):
    """How far the reflection on a task is."""

    PENDING = 1
    RUNNING = 2
    SUCCEEDED = 3
    FAILED = 4


class ItemKind(IntEnum):
    """What an item of a reflection says."""

    EFFECTIVE = 1
    INEFFECTIVE = 2
    NEXT_TIME = 3
    DIFFERENCE = 4


_CHANNEL_OF_KIND = {
    StepKind.THOUGHT: Channel.AGENT,
    StepKind.ACTION: Channel.AGENT,
    StepKind.TOOL_CALL: Channel.TOOL,
    StepKind.OBSERVATION: Channel.INGEST,
}


class Step(Value):
    """One thing that happened in a task; immutable."""

    sequence: int
    """Its place in the task, from 1, as numbered by the agent."""
    kind: StepKind
    text: str = ""
    """Thought, action, observation or feedback in words."""
    tool: str = ""
    arguments: str = ""
    result: str = ""
    error: str = ""
    duration_ms: int = 0
    time_ms: int = 0
    """When it happened, as the agent says; 0 = not said."""
    rating: Rating = Rating.NONE
    channel: Channel = Channel.AGENT
    """Through what feedback came."""
    ceiling: float = 1.0
    """Highest confidence that whoever recorded it may state."""

    @property
    def confidence(self) -> float:
        """How far a step counts as evidence: as a claim through its channel, at most its recorder's ceiling."""
        channel = _CHANNEL_OF_KIND.get(self.kind, self.channel)
        return min(channel.default_confidence, self.ceiling)

    @property
    def size_bytes(self) -> int:
        """Bytes of its texts in UTF-8."""
        texts = (self.text, self.tool, self.arguments, self.result, self.error)
        return sum(len(text) if text.isascii() else len(text.encode()) for text in texts)


class Task(Storable):
    """One task of an agent. Key: id."""

    namespace: Namespace
    """``user:<user>:tasks``, or ``agent:<agent>:tasks`` for a task of nobody else."""
    id: str
    goal: str
    kind: str
    """What kind of task it is, one name part; empty where none was given."""
    user: str
    """Whom it is done for; may be empty."""
    agent: str
    payload: str = ""
    """Digest of the request that started it."""
    outcome: TaskOutcome = TaskOutcome.OPEN
    score: float | None = None
    judge: str = ""
    finish_time_ms: int = 0
    recorded: Ranges = ()
    """Sequence numbers recorded."""
    batches: int = 0
    """Number of its step records."""
    step_bytes: int = 0
    told: tuple[str, ...] = ()
    """Names of the lessons and skills that it was started with."""

    @property
    def is_open(self) -> bool:
        """Tell whether it still goes on."""
        return self.outcome is TaskOutcome.OPEN

    @property
    def last_sequence(self) -> int:
        """Highest sequence number recorded."""
        return self.recorded[-1][1] if self.recorded else 0

    @property
    def lessons(self) -> Namespace:
        """Where what is learnt from it goes: to the user's agents, or to its agent alone."""
        return lessons_of(self.namespace)

    @property
    def working(self) -> Namespace:
        """Working memory; it goes when the task ends."""
        return Namespace(self.namespace.tenant, "task", self.id, "working")


def lessons_of(tasks: Namespace) -> Namespace:
    """Return where the lessons from an owner's tasks lie: beside the tasks, in the same partition."""
    return Namespace(tasks.tenant, tasks.scope, tasks.owner, "lessons")


def procedures_of(tasks: Namespace) -> Namespace:
    """Return where skills that an owner's agents share, or an agent's own, lie: beside the tasks."""
    return Namespace(tasks.tenant, tasks.scope, tasks.owner, "procedures")


def tasks_beside(lessons: Namespace) -> Namespace:
    """Return where the tasks lie whose lessons lie there."""
    return Namespace(lessons.tenant, lessons.scope, lessons.owner, "tasks")


def tasks_of(tenant: str, user: str, agent: str) -> Namespace:
    """Return where tasks done by an agent for a user (may be empty) lie."""
    return Namespace(tenant, "user", user, "tasks") if user else Namespace(tenant, "agent", agent, "tasks")


def outcome_tag(outcome: TaskOutcome) -> str:
    """Return the tag of lessons from tasks that ended in one way."""
    return outcome.name.lower()


def kind_tag(kind: str) -> str:
    """Return the tag of lessons from tasks of one kind; cut to what a tag may hold."""
    return f"kind:{kind}"[:64]


def tool_tag(tool: str) -> str:
    """Return the tag of lessons about a tool; cut to what a tag may hold."""
    return f"tool:{tool}"[:64]


class TaskSteps(Storable):
    """Steps recorded by one call; immutable. Key: (task_id, number)."""

    namespace: Namespace
    task_id: str
    number: int
    agent: str
    """Who recorded them."""
    steps: tuple[Step, ...]


class Item(Value):
    """One thing that a reflection says, with the steps that show it."""

    kind: ItemKind
    text: str
    steps: tuple[int, ...]
    contrast_steps: tuple[int, ...] = ()
    """DIFFERENCE: the steps of the other task that show it."""


class Lesson(Value):
    """What was learnt, in the form situation - action - result - lesson, with the steps that show it."""

    situation: str
    action: str
    result: str
    lesson: str
    steps: tuple[int, ...]
    statement: str
    """What it says in normal form: lessons of one task kind with equal statements are one."""
    confidence: float
    """At most that of the weakest step it rests on."""
    reflector: str = "rules"
    """What made it."""
    tools: tuple[str, ...] = ()
    """Tools of the steps that it cites: a model's lessons are one only if they are about the same tools."""


class Insights(Value):
    """What a reflector makes of a trajectory."""

    items: tuple[Item, ...]
    lessons: tuple[Lesson, ...]
    reflector: str = "rules"
    """What made it in the end: ``rules`` or ``model``."""
    model: str = ""
    """``<provider>/<model>`` that answered."""
    usage: ModelUsage = field(default_factory=ModelUsage)
    dropped: int = 0
    """Items, lessons and citations of a model that no step supports; they are left out."""
    contrast: str = ""
    """Id of the task that ended otherwise and was compared with."""
    remarks: tuple[str, ...] = ()
    """What did not go as it should, for people: why rules took a model's place, for example."""


class LearntLesson(Value):
    """A lesson of a reflection and the memory that holds it now."""

    memory_id: str
    decision: int
    """Number of the Decision that its write was answered with."""
    lesson: Lesson


class Reflection(Storable):
    """The reflection on a task. Key: task_id."""

    namespace: Namespace
    task_id: str
    state: ReflectionState
    last_sequence: int
    """Highest sequence number of the steps that it rests on."""
    reflector: str = ""
    """What reflected: ``rules`` or ``model``."""
    version: int = 0
    """Version of the reflector: where a model reflects, of the prompt."""
    attempts: int = 0
    items: tuple[Item, ...] = ()
    lessons: tuple[LearntLesson, ...] = ()
    tokens_before: int = 0
    """Estimated tokens of the trajectory as recorded."""
    tokens_after: int = 0
    """Estimated tokens of what was left of it after trimming."""
    problem: str = ""
    """Why it FAILED."""
    skills: tuple[str, ...] = ()
    """Names of the skills that were learnt from the task, or tried in it."""
    model: str = ""
    """``<provider>/<model>`` that answered; empty where none did."""
    usage: ModelUsage = field(default_factory=ModelUsage)
    """What asking models took, over all attempts."""
    dropped: int = 0
    """What a model said that no step supports: items, lessons, citations."""
    contrast: str = ""
    """Id of the task that ended otherwise and was compared with."""
    remarks: tuple[str, ...] = ()
    """What did not go as it should."""
    is_made: bool = False
    """Items and lessons are there; the lessons are being written."""
