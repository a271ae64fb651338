"""Every client does the same: one scenario, one server, one outcome, over connections that are cut."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.scenario_rig import SCENARIO, play
from tests.faults.processes import ServerProcess
from tools import node

pytestmark = pytest.mark.e2e

PLAYERS: dict[str, list[str | Path]] = {
    "python": [sys.executable, "-m", "tests.e2e.client_scenario"],
    "typescript": [node.NODE, node.PROJECT / "test" / "scenario.ts"],
}


@pytest.mark.parametrize("client", PLAYERS)
async def test_the_scenario_comes_out_as_written(
    client: str,
    shared_server: ServerProcess,
    request: pytest.FixtureRequest,
) -> None:
    """Writes, a conflict, events over cut connections, searches, refusals, a group and a reflection: step by step."""
    if client == "typescript":
        request.getfixturevalue("typescript")
    steps = json.loads(SCENARIO.read_text("utf-8"))["steps"]
    came = await play(PLAYERS[client], shared_server.target, f"{client}-user")
    assert len(came) == len(steps)
    for step, outcome in zip(steps, came, strict=True):
        assert outcome == step.get("comes", "done"), step
