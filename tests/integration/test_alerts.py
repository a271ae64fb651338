"""The alert rules, as Prometheus itself evaluates them."""

from __future__ import annotations

import subprocess

import pytest

from tests import needed
from tests.deployment import DEPLOY

pytestmark = pytest.mark.integration


def test_alerts_fire_when_they_should_and_not_before() -> None:
    """``promtool`` replays the series of ``alerts_test.yml``."""
    done = subprocess.run(
        [needed.program("promtool"), "test", "rules", "alerts_test.yml"],
        cwd=DEPLOY / "prometheus",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
