"""A server of the product that withholds nothing for being unlikely, to tell what the floor of relevance costs."""

from __future__ import annotations

from types import MappingProxyType

from hindsight_bus import server
from hindsight_bus.domain import calibration
from hindsight_bus.domain.values import replace

SERVE = "import sys; from bench.eval.floorless import run; sys.exit(run())"


def run() -> int:
    """Serve; return the exit code."""
    profiles = {
        name: replace(each, floor=0.0, foreign_floor=0.0) for name, each in calibration.PROFILES.items()
    }
    calibration.PROFILES = MappingProxyType(profiles)
    return server.run()
