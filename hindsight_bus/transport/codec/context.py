"""Blocks for prompts, and reports on what was used of them."""

from __future__ import annotations

from collections.abc import Sequence

from hbus.v1 import memory_service_pb2 as pb
from hindsight_bus.app.context import DEFAULT_MAX_TOKENS, ContextAnswer, ContextRequest
from hindsight_bus.app.usage import UsageReport
from hindsight_bus.domain.context import LANGUAGES
from hindsight_bus.domain.errors import InvalidField, TooLarge
from hindsight_bus.domain.names import ResourceName
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.queries import decode_search, encode_token

_TOKENS = range(100, 32_001)
_MAX_RETRIEVED = 100
_MAX_ANSWER_BYTES = 32 * 1024
_MAX_QUERY_CHARS = 2048


def decode_context(request: pb.BuildContextRequest, tenant: str) -> ContextRequest:
    """Return what to search for and how to render it; raise ``InvalidField`` naming the field at fault."""
    if not request.HasField("search"):
        raise InvalidField("search", "is required")
    if request.language and request.language not in LANGUAGES:
        raise InvalidField("language", f"must be one of {', '.join(LANGUAGES)}")
    if request.max_tokens and request.max_tokens not in _TOKENS:
        raise InvalidField("max_tokens", f"must be {_TOKENS[0]} to {_TOKENS[-1]}, or 0 for the default")
    try:
        search = decode_search(request.search, tenant)
    except InvalidField as error:
        raise InvalidField(f"search.{error.field}", error.problem) from None
    return ContextRequest(search, request.max_tokens or DEFAULT_MAX_TOKENS, request.language)


def encode_context(answer: ContextAnswer, tenant: str) -> pb.BuildContextResponse:
    """Return a block for the wire."""
    return pb.BuildContextResponse(
        text=answer.text,
        advice=answer.advice,
        memories=[memory.name for memory in answer.memories],
        left_out=answer.left_out,
        tokens=answer.tokens,
        token=encode_token(answer.positions, tenant),
        dense_skipped=answer.dense_skipped,
    )


def decode_usage(request: pb.RecordUsageRequest, tenant: str) -> UsageReport:
    """Return a report of use; raise ``InvalidField`` or ``TooLarge`` naming the field at fault."""
    if not request.retrieved:
        raise InvalidField("retrieved", "is required")
    if request.answer and request.used:
        raise InvalidField("used", "must be empty where an answer is given")
    retrieved = _names(request.retrieved, "retrieved", tenant)
    used = frozenset(_names(request.used, "used", tenant))
    if not used.issubset(retrieved):
        raise InvalidField("used", "must be among retrieved")
    size = len(request.answer.encode())
    if size > _MAX_ANSWER_BYTES:
        raise TooLarge("answer", size, _MAX_ANSWER_BYTES)
    return UsageReport(
        retrieved=retrieved,
        used=used,
        answer=request.answer,
        query=fields.remark(request.query, "query", _MAX_QUERY_CHARS),
        request_id=fields.request_id(request.request_id),
        payload=fields.payload_of(request) if request.request_id else "",
    )


def _names(texts: Sequence[str], field: str, tenant: str) -> tuple[ResourceName, ...]:
    fields.at_most(texts, field, _MAX_RETRIEVED)
    parsed = (fields.memory_name(text, tenant, f"{field}[{i}]") for i, text in enumerate(texts))
    return tuple(dict.fromkeys(parsed))
