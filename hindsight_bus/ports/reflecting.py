"""Reflecting: what makes lessons of a trajectory."""

from __future__ import annotations

from typing import Protocol

from hindsight_bus.domain.tasks import Insights
from hindsight_bus.domain.trajectory import Case


class Reflector(Protocol):
    """Makes lessons of what happened in a task. No call blocks the event loop.

    Constraints: everything said MUST cite steps that exist; a failed task MUST yield a lesson; no lesson may be surer
    than the weakest step it cites. One that depends on others MUST fall back on rules rather than fail for good.
    """

    @property
    def name(self) -> str:
        """What reflects: ``rules`` or ``model``."""
        ...

    @property
    def version(self) -> int:
        """Grows when the same steps may give something else."""
        ...

    @property
    def contrasts(self) -> bool:
        """Tell whether it makes use of a task that ended otherwise."""
        ...

    async def reflect(self, case: Case) -> Insights:
        """Return what is to be learnt."""
        ...
