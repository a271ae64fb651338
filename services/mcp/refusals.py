"""Failures as objects, so that a model can mend its call: why, and which argument."""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Collection

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

import hbus
from hbus import errors
from services.mcp.identity import Foreign
from services.mcp.position import BadToken
from services.mcp.quoting import escape

_log = logging.getLogger("hbus.mcp")

_ADVICE: dict[type[hbus.HbusError], str] = {
    errors.PositionLost: "the place is gone: poll again without a token, and search for what matters",
    errors.EtagMismatch: "it has changed since: call again without confirm",
    errors.SupersedesIncomplete: "name every memory that is missing in replaces",
    errors.TryAgain: "try again",
    errors.Denied: "the key of this host does not allow it",
}


def refusal(tool: str, failure: ToolError, known: Collection[str]) -> CallToolResult:
    """Return what a failed call is answered with; what nobody foresaw is logged and not told."""
    cause = failure.__cause__
    match cause:
        case ValidationError():
            return _object("INVALID_ARGUMENT", "the arguments do not fit", fields=_fields(cause, known))
        case Foreign() | BadToken():
            return _object("INVALID_ARGUMENT", str(cause))
        case hbus.HbusError():
            return _of_bus(cause)
        case None:
            return _object("INVALID_ARGUMENT", str(failure))
    _log.error("%s failed", tool, exc_info=cause)
    return _object("INTERNAL", "the memory shim failed; its log says why")


def _of_bus(error: hbus.HbusError) -> CallToolResult:
    advice = next((text for kind, text in _ADVICE.items() if isinstance(error, kind)), "")
    fields = {name: escape(text) for name, text in error.fields.items()}
    return _object(
        error.reason or error.code.name,
        escape(error.message),
        fields=fields,
        advice=advice,
        **({"retry_after_s": error.retry_after_s} if error.retry_after_s is not None else {}),
    )


def _fields(error: ValidationError, known: Collection[str]) -> dict[str, str]:
    return {
        ".".join(map(str, each["loc"])): _complaint(each["type"], each["msg"], each["loc"], known)
        for each in error.errors(include_url=False, include_input=False)
    }


def _complaint(kind: str, message: str, place: tuple[int | str, ...], known: Collection[str]) -> str:
    if kind != "extra_forbidden":
        return message
    close = difflib.get_close_matches(str(place[0]), known, 1)
    return f"unknown; did you mean {close[0]}?" if close else f"unknown; there are {', '.join(known)}"


def _object(reason: str, message: str, **more: object) -> CallToolResult:
    content = {
        "error": {"reason": reason, "message": message} | {key: value for key, value in more.items() if value}
    }
    return CallToolResult(
        content=[TextContent(type="text", text=json.dumps(content, ensure_ascii=False))],
        structured_content=content,
        is_error=True,
    )
