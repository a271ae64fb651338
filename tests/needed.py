"""What tests need beside Python packages: a test without it is skipped, or fails where all of it must be there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest


def program(name: str) -> str:
    """Return the path of a program."""
    return shutil.which(name) or missing(f"{name} is not on PATH")


def library(pattern: str) -> str:
    """Return the path of a shared library, by a pattern below ``/usr/lib``."""
    return next(map(str, Path("/usr/lib").glob(pattern)), "") or missing(f"no {pattern} below /usr/lib")


def missing(problem: str) -> NoReturn:
    """Skip the test; fail under TEST_REQUIRE_TOOLS=1."""
    if os.environ.get("TEST_REQUIRE_TOOLS") == "1":
        pytest.fail(problem)
    pytest.skip(problem)
