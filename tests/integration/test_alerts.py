"""The alert rules, as Prometheus itself evaluates them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.deployment import DEPLOY

pytestmark = pytest.mark.integration


def test_alerts_fire_when_they_should_and_not_before() -> None:
    """``promtool`` replays the series of ``alerts_test.yml``. Without it: skip or, if required, fail."""
    promtool = shutil.which("promtool")
    if promtool is None:
        if os.environ.get("TEST_REQUIRE_PROMTOOL") == "1":
            pytest.fail("promtool is not on PATH")
        pytest.skip("promtool is not on PATH")
    done = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yml"],
        cwd=DEPLOY / "prometheus",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
