"""Page tokens, and pages cut by bytes."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import TypeVar

from google.protobuf.message import Message

from hindsight_bus.app.caller import Caller
from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.names import digest
from hindsight_bus.transport.codec import fields

MAX_PAGE_BYTES = 3 * 1024 * 1024
_SEAL_CHARS = 16
_MAX_TOKEN_CHARS = 512

T = TypeVar("T")
M = TypeVar("M", bound=Message)


def encode_page_token(caller: Caller, request: Message, cursor: str) -> str:
    """Return an opaque token that leads ``caller`` on in this very list; empty for an empty cursor."""
    if not cursor:
        return ""
    text = _seal(caller, request, cursor) + cursor
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_page_token(caller: Caller, request: Message) -> str:
    """Return the cursor of the request's page_token; empty on the first page.

    Raises ``InvalidField`` when the token is malformed, another caller's, or of another list.
    """
    token: str = request.page_token  # type: ignore[attr-defined]
    if not token:
        return ""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        raw = ""
    seal, cursor = raw[:_SEAL_CHARS], raw[_SEAL_CHARS:]
    if not cursor or len(token) > _MAX_TOKEN_CHARS or seal != _seal(caller, request, cursor):
        raise InvalidField("page_token", "is not a token of this list with these fields")
    return cursor


def decode_number(caller: Caller, request: Message) -> int:
    """Return the cursor of the request's page_token as a number; 0 on the first page."""
    return int(decode_page_token(caller, request) or 0)


def encode_number(caller: Caller, request: Message, cursor: int) -> str:
    """Return a token for a cursor that is a number; empty for 0."""
    return encode_page_token(caller, request, str(cursor or ""))


def _seal(caller: Caller, request: Message, cursor: str) -> str:
    """Return a digest over the caller and all of the request that must stay the same from page to page."""
    same = type(request)()
    same.CopyFrom(request)
    same.ClearField("page_token")
    same.ClearField("page_size")
    kind = request.DESCRIPTOR.name
    payload = fields.payload_of(same)
    return digest("page", caller.tenant, caller.principal, kind, payload, cursor, size=_SEAL_CHARS // 2)


def cut(rows: Iterable[tuple[T, int]], encode: Callable[[T], M]) -> tuple[list[M], int]:
    """Encode rows until they take ``MAX_PAGE_BYTES``; rows with one key stay together.

    ``rows`` are (row, key) in the order of the list. Returns the encoded rows and the key of the last one if some were
    left out, else 0.
    """
    encoded: list[M] = []
    size, last = 0, 0
    for row, key in rows:
        if size > MAX_PAGE_BYTES and key != last:
            return encoded, last
        encoded.append(encode(row))
        size += encoded[-1].ByteSize()
        last = key
    return encoded, 0
