"""Short and long forms of a test."""

from __future__ import annotations

import pytest


def forms(name: str, short: int, full: int) -> pytest.MarkDecorator:
    """Run a test with the short figure always, and with the full one of the fault plan under the marker ``long``."""
    return pytest.mark.parametrize(name, [short, pytest.param(full, marks=pytest.mark.long)])
