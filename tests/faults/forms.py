"""Short and long forms of a test."""

from __future__ import annotations

import pytest

_SHORT_S = 300
"""Time limit of a short form: starting servers takes as long as the machine is busy."""


def forms(name: str, short: int, *full: int) -> pytest.MarkDecorator:
    """Run a test with the short figure always, and with the full ones of the fault plan under the marker ``long``."""
    return pytest.mark.parametrize(
        name,
        [
            pytest.param(short, marks=pytest.mark.timeout(_SHORT_S)),
            *(pytest.param(each, marks=pytest.mark.long) for each in full),
        ],
    )
