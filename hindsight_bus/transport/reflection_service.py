"""ReflectionService: decode, one call of the application, encode."""

from __future__ import annotations

from hbus.v1 import reflection_service_pb2 as pb
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.promotion import Promoter
from hindsight_bus.app.reflections import Reflections
from hindsight_bus.app.reviews import Reviews
from hindsight_bus.app.skill_search import SkillSearch
from hindsight_bus.app.skills import Skills
from hindsight_bus.app.tasks import Tasks
from hindsight_bus.domain.names import ResourceName, check_part
from hindsight_bus.domain.reviews import ReviewState
from hindsight_bus.domain.sequences import gaps
from hindsight_bus.ports import LanguageModel
from hindsight_bus.transport import paging
from hindsight_bus.transport.codec import fields, memories, queries, reviews, skills, tasks
from hindsight_bus.transport.codec.outcomes import Outcomes


class ReflectionServicer:
    """Serves ``hbus.v1.ReflectionService``."""

    def __init__(
        self,
        tasks: Tasks,
        reflections: Reflections,
        skills: Skills,
        skill_search: SkillSearch,
        promoter: Promoter,
        reviews: Reviews,
        models: LanguageModel,
        outcomes: Outcomes,
    ) -> None:
        self._tasks = tasks
        self._reflections = reflections
        self._skills = skills
        self._skill_search = skill_search
        self._promoter = promoter
        self._reviews = reviews
        self._models = models
        self._outcomes = outcomes

    async def StartTask(self, caller: Caller, request: pb.StartTaskRequest) -> pb.StartTaskResponse:
        """Start one task."""
        started = await self._tasks.start(caller, tasks.decode_start(request, caller.tenant))
        response = pb.StartTaskResponse(
            task=tasks.encode_task(started.task),
            skills=map(skills.encode_skill, started.skills),
            token=queries.encode_token(started.positions, caller.tenant),
            durability=self._outcomes.durability,
        )
        queries.fill_hits(response.lessons, started.lessons)
        return response

    async def RecordSteps(self, caller: Caller, request: pb.RecordStepsRequest) -> pb.RecordStepsResponse:
        """Record steps of one task."""
        name = _task_name(request.task, caller.tenant, "task")
        changed = await self._tasks.record(caller, name, tasks.decode_steps(request.steps))
        return pb.RecordStepsResponse(
            recorded=changed.recorded,
            duplicates=changed.duplicates,
            missing=tasks.encode_ranges(gaps(changed.task.record.recorded)),
            token=queries.encode_token(changed.positions, caller.tenant),
            durability=self._outcomes.durability,
        )

    async def FinishTask(self, caller: Caller, request: pb.FinishTaskRequest) -> pb.FinishTaskResponse:
        """End one task."""
        name = _task_name(request.task, caller.tenant, "task")
        changed = await self._tasks.finish(caller, name, tasks.decode_ending(request))
        return pb.FinishTaskResponse(
            task=tasks.encode_task(changed.task),
            token=queries.encode_token(changed.positions, caller.tenant),
            durability=self._outcomes.durability,
        )

    async def GetTask(self, caller: Caller, request: pb.GetTaskRequest) -> pb.GetTaskResponse:
        """Read one task."""
        name = _task_name(request.name, caller.tenant, "name")
        after = fields.not_negative(request.after_sequence, "after_sequence")
        stored = await self._tasks.get(caller, name)
        steps = await self._tasks.steps(stored.record, after) if request.with_steps else ()
        rows, left_off = paging.cut(((step, step.sequence) for step in steps), tasks.encode_step)
        return pb.GetTaskResponse(task=tasks.encode_task(stored), steps=rows, next_after_sequence=left_off)

    async def ListTasks(self, caller: Caller, request: pb.ListTasksRequest) -> pb.ListTasksResponse:
        """List tasks, newest first."""
        namespace = tasks.decode_owner(request, caller.tenant)
        limit = fields.page_size(request.page_size)
        before = paging.decode_number(caller, request)
        found, next_before = await self._tasks.list(caller, namespace, before, limit)
        rows, left_off = paging.cut(((each, each.create_revision) for each in found), tasks.encode_task)
        return pb.ListTasksResponse(
            tasks=rows, next_page_token=paging.encode_number(caller, request, left_off or next_before)
        )

    async def ReflectOnTask(
        self, caller: Caller, request: pb.ReflectOnTaskRequest
    ) -> pb.ReflectOnTaskResponse:
        """Ask for the reflection on one task."""
        name = _task_name(request.task, caller.tenant, "task")
        reflection, positions = await self._reflections.request(caller, name)
        return pb.ReflectOnTaskResponse(
            reflection=tasks.encode_reflection(reflection),
            token=queries.encode_token(positions, caller.tenant),
        )

    async def GetReflection(
        self, caller: Caller, request: pb.GetReflectionRequest
    ) -> pb.GetReflectionResponse:
        """Tell how far the reflection on one task is."""
        reflection, positions = await self._reflections.get(
            caller, _task_name(request.task, caller.tenant, "task")
        )
        return pb.GetReflectionResponse(
            reflection=tasks.encode_reflection(reflection),
            token=queries.encode_token(positions, caller.tenant),
        )

    async def ListReviewItems(
        self, caller: Caller, request: pb.ListReviewItemsRequest
    ) -> pb.ListReviewItemsResponse:
        """List what somebody should look at, newest first."""
        found, next_before = await self._reviews.list(
            caller,
            reviews.decode_place(request, caller.tenant),
            fields.members(request.states, ReviewState, "states"),
            paging.decode_number(caller, request),
            fields.page_size(request.page_size),
            reviews.decode_lease_ms(request),
        )
        rows, left_off = paging.cut(((each, each.create_revision) for each in found), reviews.encode_item)
        return pb.ListReviewItemsResponse(
            items=rows, next_page_token=paging.encode_number(caller, request, left_off or next_before)
        )

    async def DecideReviewItem(
        self, caller: Caller, request: pb.DecideReviewItemRequest
    ) -> pb.DecideReviewItemResponse:
        """Decide one review item."""
        name = reviews.name_of(request.name, caller.tenant)
        decided = await self._reviews.decide(caller, name, reviews.decode_verdict(request))
        return pb.DecideReviewItemResponse(
            item=reviews.encode_item(decided), durability=self._outcomes.durability
        )

    async def ListModels(self, caller: Caller, request: pb.ListModelsRequest) -> pb.ListModelsResponse:
        """Tell which language models may be asked."""
        statuses = await self._models.statuses(probe=request.probe)
        return pb.ListModelsResponse(models=map(reviews.encode_model, statuses))

    async def SearchSkills(self, caller: Caller, request: pb.SearchSkillsRequest) -> pb.SearchSkillsResponse:
        """Find skills."""
        found, positions = await self._skill_search.search(caller, skills.decode_search(request, caller))
        return pb.SearchSkillsResponse(
            hits=[pb.SkillHit(skill=skills.encode_skill(each), score=each.score) for each in found],
            token=queries.encode_token(positions, caller.tenant),
        )

    async def GetSkill(self, caller: Caller, request: pb.GetSkillRequest) -> pb.GetSkillResponse:
        """Read one skill."""
        name = skills.name_of(request.name, caller.tenant, "name")
        found = await self._skill_search.get(name, skills.decode_version(request))
        return pb.GetSkillResponse(skill=skills.encode_skill(found))

    async def RecordSkillOutcome(
        self, caller: Caller, request: pb.RecordSkillOutcomeRequest
    ) -> pb.RecordSkillOutcomeResponse:
        """Count how one use of a skill went."""
        name = skills.name_of(request.skill, caller.tenant, "skill")
        report = skills.decode_outcome(request, caller.tenant)
        found, positions = await self._skills.record_outcome(caller, name, report)
        return pb.RecordSkillOutcomeResponse(
            skill=skills.encode_skill(found),
            token=queries.encode_token(positions, caller.tenant),
            durability=self._outcomes.durability,
        )

    async def PromoteLesson(
        self, caller: Caller, request: pb.PromoteLessonRequest
    ) -> pb.PromoteLessonResponse:
        """Share what one agent has learnt with all agents of a user."""
        name = fields.memory_name(request.memory, caller.tenant, "memory")
        promoted = await self._promoter.promote(caller, name, check_part(request.user, "user"))
        assert promoted.outcome.memory is not None
        return pb.PromoteLessonResponse(
            memory=memories.encode_memory(promoted.outcome.memory),
            skill=skills.encode_skill(promoted.skill) if promoted.skill is not None else None,
            token=queries.encode_token(promoted.positions, caller.tenant),
            durability=self._outcomes.durability,
        )


def _task_name(text: str, tenant: str, field: str) -> ResourceName:
    return ResourceName.parse(text, "tasks", tenant, field)
