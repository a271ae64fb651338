"""Embedding profiles: ``e5``, ``use``, ``openai:<model>``, or ``external(<dimension>)`` for callers' own vectors."""

from __future__ import annotations

import re

_EXTERNAL = re.compile(r"external\(([1-9][0-9]{0,4})\)")
_COMPUTED = re.compile(r"e5|use|openai:[\w./:@-]{1,128}")


def external_dimension(profile: str) -> int:
    """Return the dimension of an ``external`` profile; 0 for any other."""
    match = _EXTERNAL.fullmatch(profile)
    return int(match[1]) if match else 0


def is_profile(profile: str) -> bool:
    """Tell whether a name is that of a profile."""
    return bool(external_dimension(profile) or _COMPUTED.fullmatch(profile))
