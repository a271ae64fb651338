"""Promoting what one agent has learnt: from its private namespace to all agents of a user, no surer than it was.

Each claim is repeated under the name of the agent that made it, whoever promotes it, so promoting twice, or by several
agents, adds no evidence, and what takes an agent's claims away takes the promoted ones too.
"""

from __future__ import annotations

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.records import RecordReader, StoredMemory
from hindsight_bus.app.skill_search import FoundSkill, SkillSearch
from hindsight_bus.app.skills import Skills
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.claims import claims_of
from hindsight_bus.domain.errors import InvalidField, NotFound, WrongState
from hindsight_bus.domain.memory import Channel, Claim, MemoryType
from hindsight_bus.domain.names import Namespace, ResourceName, digest, skill_name
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.records import SubjectRecord
from hindsight_bus.domain.values import Value, replace

_KINDS = {MemoryType.LESSON: "lessons", MemoryType.PROCEDURAL: "procedures"}


class Promotion(Value):
    """A promoted memory, and the skill that it tells of, if it does."""

    outcome: Outcome
    skill: FoundSkill | None
    positions: Positions


class Promoter:
    """Promotes lessons and skills."""

    def __init__(self, reader: RecordReader, writer: Writer, skills: Skills, search: SkillSearch) -> None:
        self._reader = reader
        self._writer = writer
        self._skills = skills
        self._search = search

    async def promote(self, caller: Caller, name: ResourceName, user: str) -> Promotion:
        """Share a lesson or a skill of one agent with all agents of a user. Doing it again changes nothing.

        Raises:
            AgentRequired, NotFound, InvalidField (shared already, or neither a lesson nor a procedure), WrongState,
            and what a write raises.
        """
        caller.require_agent()
        if name.namespace.scope != "agent":
            raise InvalidField(
                "memory", "must lie in a namespace of an agent: only what is private can be shared"
            )
        source = await self._source(name)
        version = source.version
        if version.type not in _KINDS:
            raise InvalidField("memory", "must be of type LESSON or PROCEDURAL")
        if not source.head.record.state.is_live:
            raise WrongState(str(name), source.head.record.state.name, "restore it first")
        place = Namespace(caller.tenant, "user", user, _KINDS[version.type])
        outcome, positions = None, Positions()
        for claim in await self._claims(source):
            author = Caller(tenant=caller.tenant, agent=claim.agent)
            outcome = await self._writer.write(author, _draft(source, claim, place, str(name)))
            positions = positions.merged(outcome.positions)
        if outcome is None or outcome.memory is None:
            raise WrongState(str(name), source.head.record.state.name, "nobody claims it any more")
        return Promotion(outcome, await self._promote_skill(caller, name, outcome), positions)

    async def _source(self, name: ResourceName) -> StoredMemory:
        namespace = await self._reader.namespace(name.namespace)
        profile = namespace.record.profile if namespace is not None else ""
        source = await self._reader.memory(name.namespace, name.id, profile)
        if source is None:
            raise NotFound(str(name))
        return source

    async def _claims(self, source: StoredMemory) -> tuple[Claim, ...]:
        head = source.head.record
        partition = self._reader.partition(head.namespace)
        subject = await self._reader.one(partition, SubjectRecord, head.namespace.id, head.subject_key)
        return tuple(claims_of(subject.record, {head.memory_id})) if subject is not None else ()

    async def _promote_skill(self, caller: Caller, name: ResourceName, outcome: Outcome) -> FoundSkill | None:
        """Put the skill of a promoted memory beside the copy, with the count that it has by now."""
        try:
            source = await self._search.get(ResourceName(name.namespace, "skills", name.id))
        except NotFound:
            return None
        assert outcome.memory is not None
        copy_id, place = outcome.memory.head.memory_id, outcome.memory.namespace
        skill = replace(
            source.skill.record, namespace=place, id=copy_id, source=skill_name(name.namespace, name.id)
        )
        version = replace(source.version, namespace=place, skill_id=copy_id)
        return await self._skills.adopt(skill, version, caller.agent)


def _draft(source: StoredMemory, claim: Claim, place: Namespace, name: str) -> WriteDraft:
    """Return the write that repeats a claim elsewhere: by reflection, whatever channel it came through."""
    version, head = source.version, source.head.record
    sure = min(claim.confidence, head.effective_confidence, Channel.REFLECTION.default_confidence)
    return WriteDraft(
        namespace=place,
        type=version.type,
        text=version.text,
        subject=version.named_subject,
        value=version.value,
        cardinality=version.cardinality,
        aliases=version.aliases,
        tags=version.tags,
        attributes=version.attributes,
        about=version.about,
        language=version.language,
        confidence=sure,
        importance=version.importance,
        event_time_ms=claim.event_time_ms,
        channel=Channel.REFLECTION,
        source=name,
        payload=digest("promote", name),
    )
