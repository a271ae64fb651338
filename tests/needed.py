"""What tests need beside Python packages: a test without it is skipped, or fails where all of it must be there."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def program(name: str) -> str:
    """Return the path of a program."""
    return shutil.which(name) or missing(f"{name} is not on PATH")


def missing(problem: str) -> NoReturn:
    """Skip the test; fail under TEST_REQUIRE_TOOLS=1."""
    if os.environ.get("TEST_REQUIRE_TOOLS") == "1":
        pytest.fail(problem)
    pytest.skip(problem)
