"""The reflector that asks a language model, believes it only what the steps support, and else falls back on rules."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from hindsight_bus.domain import prompting, reflector, support
from hindsight_bus.domain.expense import ModelUsage
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.support import Supported
from hindsight_bus.domain.tasks import Insights
from hindsight_bus.domain.trajectory import Case
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import LanguageModel, ModelAnswer, ModelRequest

log = structlog.get_logger(__name__)

_TIMEOUT_S = 60.0


class ModelReflector:
    """Asks once, and once more where too little of the answer is supported; what is missing then, rules fill in."""

    name = "model"
    version = prompting.VERSION
    contrasts = True

    def __init__(self, model: LanguageModel, *, in_english: bool = False) -> None:
        self._model = model
        self._in_english = in_english
        """It thinks in English, whatever the language of the task."""

    async def reflect(self, case: Case) -> Insights:
        """Return what the model says and the steps support; without any of that what the rules say, marked."""
        answer = await self._ask(case)
        usage, remarks = answer.usage, list(answer.problems)
        if answer.value is None:
            return await self._by_rules(case, usage, remarks)
        best = await asyncio.to_thread(support.check, answer.value, case)
        dropped, model = best.dropped, answer.model
        if best.problems:
            again = await self._ask(case, best.problems)
            usage += again.usage
            remarks += again.problems
            if again.value is not None:
                second = await asyncio.to_thread(support.check, again.value, case)
                dropped += second.dropped
                best, model = max((best, model), (second, again.model), key=lambda pair: _worth(pair[0]))
        log.info("reflection.checked", model=model, items=len(best.items), dropped=dropped)
        insights = Insights(
            best.items, best.lessons, self.name, model, usage, dropped, remarks=tuple(remarks)
        )
        if best.problems:
            insights = await self._filled(case, insights, best.problems)
        return replace(insights, contrast=case.contrast.task_id if case.contrast is not None else "")

    async def _ask(self, case: Case, problems: Sequence[str] = ()) -> ModelAnswer:
        language = detect(case.trajectory.goal)
        return await self._model.answer(
            ModelRequest(
                purpose="reflect",
                version=self.version,
                instructions=prompting.instructions(case, language, problems, in_english=self._in_english),
                material=await asyncio.to_thread(prompting.material, case),
                schema=prompting.schema(case, in_english=self._in_english),
                namespace=case.lessons,
                timeout_s=_TIMEOUT_S,
            )
        )

    async def _by_rules(
        self, case: Case, usage: ModelUsage, remarks: Sequence[str], dropped: int = 0
    ) -> Insights:
        """Return what the rules say in the model's place."""
        insights = await asyncio.to_thread(reflector.reflect, case.trajectory)
        told = (*remarks, "rules took the model's place")
        return replace(insights, usage=usage, remarks=told, dropped=dropped)

    async def _filled(self, case: Case, insights: Insights, problems: Sequence[str]) -> Insights:
        """Add what the rules say to an answer of which too little is left; where nothing is, they take its place."""
        remarks = (*insights.remarks, *problems)
        if not insights.items and not insights.lessons:
            return await self._by_rules(case, insights.usage, remarks, insights.dropped)
        rules = await asyncio.to_thread(reflector.reflect, case.trajectory)
        kinds = {item.kind for item in insights.items}
        return replace(
            insights,
            items=(*insights.items, *(item for item in rules.items if item.kind not in kinds)),
            lessons=insights.lessons or rules.lessons,
            remarks=(*remarks, "rules filled in what was missing"),
        )


def _worth(supported: Supported) -> tuple[bool, int]:
    return not supported.problems, len(supported.items) + len(supported.lessons)
