"""The reflector that asks nobody: rules on facts."""

from __future__ import annotations

import asyncio

from hindsight_bus.domain import reflector
from hindsight_bus.domain.tasks import Insights
from hindsight_bus.domain.trajectory import Trajectory


class RuleReflector:
    """Reflects by the rules of ``domain.reflector``, off the event loop: a trajectory may hold megabytes."""

    name = reflector.NAME
    version = reflector.VERSION

    async def reflect(self, trajectory: Trajectory) -> Insights:
        """Return what the steps show by themselves."""
        return await asyncio.to_thread(reflector.reflect, trajectory)
