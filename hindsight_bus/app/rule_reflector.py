"""The reflector that asks nobody: rules on facts."""

from __future__ import annotations

import asyncio

from hindsight_bus.domain import reflector
from hindsight_bus.domain.tasks import Insights
from hindsight_bus.domain.trajectory import Case


class RuleReflector:
    """Reflects by the rules of ``domain.reflector``, off the event loop: a trajectory may hold megabytes."""

    name = reflector.NAME
    version = reflector.VERSION
    contrasts = False

    async def reflect(self, case: Case) -> Insights:
        """Return what the steps show by themselves."""
        return await asyncio.to_thread(reflector.reflect, case.trajectory)
