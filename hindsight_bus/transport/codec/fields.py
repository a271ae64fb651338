"""Checks of single request fields. Each returns the domain value or raises ``InvalidField`` / ``TooLarge``."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import Any, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from hindsight_bus.domain.errors import InvalidField, TooLarge
from hindsight_bus.domain.names import Namespace, Pattern, ResourceName, check_part

E = TypeVar("E", bound=IntEnum)

MAX_REQUEST_ID_CHARS = 128
MAX_NAMESPACES = 32
MAX_PAGE_SIZE = 1000
DEFAULT_PAGE_SIZE = 100

_MAX_ETAG_CHARS = 64
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799


def line(text: str, field: str, max_chars: int) -> str:
    """Return a short text without control characters."""
    if len(text) > max_chars:
        raise InvalidField(field, f"has {len(text)} characters, at most {max_chars}")
    if text and _CONTROL.search(text):
        raise InvalidField(field, "must not contain control characters")
    return text


def required_line(text: str, field: str, max_chars: int) -> str:
    """Return a short text that is not blank."""
    if not text.strip():
        raise InvalidField(field, "is required")
    return line(text, field, max_chars)


def prose(text: str, field: str, max_bytes: int) -> str:
    """Return a text that may have several lines, is not blank, and takes at most ``max_bytes`` of UTF-8."""
    size = len(text) if text.isascii() else len(text.encode())
    if size > max_bytes:
        raise TooLarge(field, size, max_bytes)
    if not text.strip():
        raise InvalidField(field, "is required")
    if "\0" in text:
        raise InvalidField(field, "must not contain NUL characters")
    return text


def remark(text: str, field: str, max_chars: int) -> str:
    """Return a text for people that may have several lines, or none."""
    if len(text) > max_chars:
        raise InvalidField(field, f"has {len(text)} characters, at most {max_chars}")
    if "\0" in text:
        raise InvalidField(field, "must not contain NUL characters")
    return text


def lines(texts: Sequence[str], field: str, max_count: int, max_chars: int) -> tuple[str, ...]:
    """Return short texts, none of them blank, without repetitions."""
    if not texts:
        return ()
    at_most(texts, field, max_count)
    return tuple(
        dict.fromkeys(required_line(text, f"{field}[{i}]", max_chars) for i, text in enumerate(texts))
    )


def at_most(values: Collection[object], field: str, max_count: int) -> None:
    """Require a collection of at most ``max_count``."""
    if len(values) > max_count:
        raise InvalidField(field, f"has {len(values)} entries, at most {max_count}")


def optional_part(text: str, field: str) -> str:
    """Return a name part, or the empty text."""
    return check_part(text, field) if text else ""


def request_id(text: str) -> str:
    """Return a request_id; empty means that none was given."""
    return line(text, "request_id", MAX_REQUEST_ID_CHARS)


def etag(text: str, field: str = "etag") -> str:
    """Return an etag; empty means that any will do."""
    return line(text, field, _MAX_ETAG_CHARS)


def payload_of(request: Message) -> str:
    """Return the digest that tells two requests under one request_id apart; cost O(size)."""
    return blake2b(request.SerializeToString(deterministic=True), digest_size=16).hexdigest()


def finite(value: float, field: str) -> float:
    """Return a number that is neither NaN nor infinite."""
    if not math.isfinite(value):
        raise InvalidField(field, "must be a finite number")
    return value


def share(value: float, field: str) -> float:
    """Return a number from 0 to 1."""
    if not 0.0 <= value <= 1.0:
        raise InvalidField(field, "must be 0 to 1")
    return value


def whole(value: int, field: str, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``."""
    if not low <= value <= high:
        raise InvalidField(field, f"must be {low} to {high}")
    return value


def not_negative(value: int, field: str) -> int:
    """Return a whole number that is not negative."""
    if value < 0:
        raise InvalidField(field, "must not be negative")
    return value


def page_size(value: int) -> int:
    """Return the number of rows of a page."""
    return whole(value, "page_size", 0, MAX_PAGE_SIZE) or DEFAULT_PAGE_SIZE


def member(number: int, kind: type[E], field: str) -> E:
    """Return a known member of an enum; 0 is UNSPECIFIED on the wire, whatever it is in the domain."""
    if number == 0:
        raise InvalidField(field, "must be specified")
    try:
        return kind(number)
    except ValueError:
        raise InvalidField(field, f"has the unknown number {number}") from None


def members(numbers: Iterable[int], kind: type[E], field: str) -> frozenset[E]:
    """Return known, specified members of an enum."""
    return frozenset(member(number, kind, f"{field}[{i}]") for i, number in enumerate(numbers))


def number(member: IntEnum) -> Any:
    """Return a domain enum as a wire enum: both have the same numbers, only their types differ."""
    return member


def time_ms(time: Timestamp, field: str) -> int:
    """Return Unix milliseconds of a time in the years 1 to 9999.

    0 stands for "unset" in the domain, so the very start of 1970 becomes its first millisecond.
    """
    if not (_FIRST_SECOND <= time.seconds <= _LAST_SECOND and 0 <= time.nanos < 1_000_000_000):
        raise InvalidField(field, "must be a time in the years 1 to 9999")
    return time.seconds * 1000 + time.nanos // 1_000_000 or 1


def duration_ms(value: Duration, field: str, low_ms: int, high_ms: int) -> int:
    """Return milliseconds, from ``low_ms`` to ``high_ms``."""
    milliseconds = value.seconds * 1000 + value.nanos // 1_000_000
    if not low_ms <= milliseconds <= high_ms:
        raise InvalidField(field, f"must be {low_ms / 1000:g} to {high_ms / 1000:g} seconds")
    return milliseconds


def mask_paths(mask: FieldMask, allowed: Collection[str], field: str = "update_mask") -> list[str]:
    """Return the paths of a mask, each one of ``allowed``; at least one."""
    if not mask.paths:
        raise InvalidField(field, "is required")
    for path in mask.paths:
        if path not in allowed:
            raise InvalidField(field, f"cannot hold {path[:64]!r}")
    return list(dict.fromkeys(mask.paths))


def namespaces(texts: Sequence[str], tenant: str) -> tuple[Namespace, ...]:
    """Return the namespaces of a search, without repetitions."""
    at_most(texts, "namespaces", MAX_NAMESPACES)
    return tuple(
        dict.fromkeys(Namespace.parse(text, tenant, f"namespaces[{i}]") for i, text in enumerate(texts))
    )


def patterns(texts: Sequence[str], tenant: str) -> tuple[Pattern, ...]:
    """Return the patterns of a subscription; at least one."""
    if not texts:
        raise InvalidField("namespaces", "is required")
    at_most(texts, "namespaces", MAX_NAMESPACES)
    return tuple(
        dict.fromkeys(Pattern.parse(text, tenant, f"namespaces[{i}]") for i, text in enumerate(texts))
    )


def memory_name(text: str, tenant: str, field: str = "name") -> ResourceName:
    """Return the resource name of a memory."""
    return ResourceName.parse(text, "memories", tenant, field)


def conflict_name(text: str, tenant: str, field: str = "name") -> ResourceName:
    """Return the resource name of a conflict."""
    return ResourceName.parse(text, "conflicts", tenant, field)


def same_namespace(name: ResourceName, namespace: Namespace, field: str) -> ResourceName:
    """Return a resource name that lies in ``namespace``."""
    if name.namespace != namespace:
        raise InvalidField(field, f"must lie in the namespace {namespace}")
    return name
