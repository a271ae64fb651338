"""Whose memory a request concerns: a router that goes by it sends one owner's calls to one node, whose views are warm.

Any node answers any call all the same, so a request that names no owner, or several, goes without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from google.protobuf.message import Message

_USERS = frozenset({"user", "for_user"})
_NAMES = frozenset({"namespace", "namespaces", "name", "memory", "task", "skill", "retrieved"})
_PARTS = frozenset({"memory", "write", "writes", "search"})


def owner_of(request: object) -> str:
    """Return ``scope:owner`` of what a message names first, percent-encoded; empty where it names nobody."""
    fields = request.ListFields() if isinstance(request, Message) else ()
    return next(filter(None, (_owner_in(field.name, value) for field, value in fields)), "")


def owner_headers(request: object) -> tuple[tuple[str, str], ...]:
    """Return the header that tells a router the owner; none where there is no owner."""
    owner = owner_of(request)
    return (("hbus-owner", owner),) if owner else ()


def _owner_in(field: str, value: Any) -> str:
    if isinstance(value, Message):
        return owner_of(value) if field in _PARTS else ""
    if isinstance(value, str):
        return _owner_named(field, value)
    return _owner_in(field, value[0]) if isinstance(value, Sequence) and field in _NAMES | _PARTS else ""


def _owner_named(field: str, text: str) -> str:
    if field in _USERS:
        return quote(f"user:{text}", safe=":@")
    if field not in _NAMES:
        return ""
    scope, owner, *_ = [*text.removeprefix("namespaces/").split("/")[0].split(":"), ""]
    return quote(f"{scope}:{owner}", safe=":@") if owner and "*" not in (scope, owner) else ""
