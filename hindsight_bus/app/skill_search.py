"""Finding skills: by what they are for, and those to put before whoever starts such a task."""

from __future__ import annotations

import asyncio

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.search import Searcher, SearchRequest
from hindsight_bus.domain.errors import NotFound
from hindsight_bus.domain.memory import Head, MemoryType
from hindsight_bus.domain.names import Namespace, ResourceName
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.skills import Skill, SkillState, SkillVersion
from hindsight_bus.domain.tasks import kind_tag
from hindsight_bus.domain.values import Value, field, replace
from hindsight_bus.ports import Ref, Stored

SKILL_TAG = "skill"
MAX_RECOMMENDED = 3
_MAX_QUERY_CHARS = 2048


class FoundSkill(Value):
    """A skill with one of its versions, and how well it fits what was asked for (0 where nothing was)."""

    skill: Stored[Skill]
    version: SkillVersion
    score: float = 0.0


class SkillQuery(Value):
    """What skills are looked for, and where."""

    places: tuple[Namespace, ...]
    query: str = ""
    kind: str = ""
    top_k: int = 5
    min_confidence: float = 0.0
    with_reviewed: bool = False
    """Those in review too."""
    freshness: Freshness = field(default_factory=Freshness)


class SkillSearch:
    """Finds skills; one whose memory is not live is not found."""

    def __init__(self, reader: RecordReader, searcher: Searcher) -> None:
        self._reader = reader
        self._searcher = searcher

    async def recommended(
        self, caller: Caller, places: tuple[Namespace, ...], goal: str, kind: str, freshness: Freshness
    ) -> list[FoundSkill]:
        """Return the skills to put before whoever starts such a task: for its kind first, surest first, at most 3."""
        asked = SkillQuery(places, goal[:_MAX_QUERY_CHARS], freshness=freshness)
        queries = [replace(asked, query="", kind=kind), asked] if kind else [asked]
        answers = await asyncio.gather(*(self.search(caller, query) for query in queries))
        found: dict[str, FoundSkill] = {}
        for skills, _ in answers:
            for each in sorted(skills, key=lambda each: -each.skill.record.confidence):
                if each.skill.record.is_recommended:
                    found.setdefault(each.skill.record.id, each)
        return list(found.values())[:MAX_RECOMMENDED]

    async def search(self, caller: Caller, asked: SkillQuery) -> tuple[list[FoundSkill], Positions]:
        """Return skills that fit, best first; raise ``IndexBehind``."""
        tags = frozenset({SKILL_TAG, kind_tag(asked.kind)} if asked.kind else {SKILL_TAG})
        answer = await self._searcher.search(
            caller,
            SearchRequest(
                namespaces=asked.places,
                query=asked.query,
                top_k=asked.top_k,
                vector=None,
                as_agent="",
                for_user="",
                filter=Filter(types=frozenset({MemoryType.PROCEDURAL}), tags=tags),
                freshness=asked.freshness,
                weights=None,
            ),
        )
        names = [
            (ResourceName(hit.memory.namespace, "skills", hit.memory.head.memory_id), hit.candidate.score)
            for hit in answer.hits
        ]
        found = await asyncio.gather(*(self.find(name, 0, score) for name, score in names))
        return [each for each in found if each is not None and _fits(each, asked)], answer.positions

    async def get(self, name: ResourceName, number: int = 0) -> FoundSkill:
        """Return a skill at its current (0) or an earlier version; raise ``NotFound``."""
        found = await self.find(name, number)
        if found is None:
            raise NotFound(str(name))
        return found

    async def find(self, name: ResourceName, number: int = 0, score: float = 0.0) -> FoundSkill | None:
        """Return a skill whose memory is live."""
        partition = self._reader.partition(name.namespace)
        refs = [Ref(Skill, (name.id,)), Ref(Head, (name.id,))]
        stored, head = await self._reader.store.read(partition, refs)
        if stored is None or head is None or stored.record.namespace != name.namespace:  # type: ignore[union-attr]
            return None
        skill: Stored[Skill] = stored  # type: ignore[assignment]
        if not head.record.state.is_live:  # type: ignore[union-attr]
            return None
        version = await self._reader.one(partition, SkillVersion, name.id, number or skill.record.version)
        return FoundSkill(skill, version.record, score) if version is not None else None


def _fits(found: FoundSkill, asked: SkillQuery) -> bool:
    skill = found.skill.record
    is_wanted = asked.with_reviewed or skill.state is SkillState.ACTIVE
    return is_wanted and skill.confidence >= asked.min_confidence
