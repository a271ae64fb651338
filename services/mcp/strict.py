"""Tools that refuse what they do not know, and a server that answers every call with one object."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, InputRequiredResult, TextContent
from pydantic import create_model

from services.mcp.arguments import mended
from services.mcp.desk import Desk
from services.mcp.refusals import refusal
from services.mcp.tools import ToolSpec


def strict_tool(spec: ToolSpec) -> Tool:
    """Return a tool of the SDK that refuses unknown arguments, which the SDK drops, and whose schemas are short."""
    tool = Tool.from_function(spec.fn, description=inspect.getdoc(spec.fn), annotations=spec.hints)
    loose = tool.fn_metadata.arg_model
    strict = create_model(loose.__name__, __base__=loose, __cls_kwargs__={"extra": "forbid"})
    metadata = tool.fn_metadata.model_copy(
        update={"arg_model": strict, "output_schema": _trimmed(tool.fn_metadata.output_schema)}
    )
    return tool.model_copy(
        update={"fn_metadata": metadata, "parameters": _trimmed(strict.model_json_schema())}
    )


def _trimmed(schema: Any) -> Any:
    """Return a JSON schema in one piece, for hosts that know no references, and without what says nothing.

    That is the titles that pydantic makes of names, and empty defaults.
    """
    return _inlined(schema, schema.get("$defs", {})) if isinstance(schema, dict) else schema


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    return {
        key: {name: _inlined(each, definitions) for name, each in value.items()}
        if key == "properties"
        else _inlined(value, definitions)
        for key, value in schema.items()
        if key not in ("$defs", "title") and not (key == "default" and value in (None, "", []))
    }


class ObjectServer(MCPServer[Desk]):
    """An MCP server whose answers, refusals included, are one object each, in compact JSON and in structured form."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Desk, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool with arguments in whatever form the host sends them."""
        tool = self._tool_manager.get_tool(name)
        known = list(tool.fn_metadata.arg_model.model_fields) if tool else []
        try:
            result = await super().call_tool(name, mended(arguments, known), context)
        except ToolError as failure:
            return refusal(name, failure, known)
        if isinstance(result, CallToolResult) and result.structured_content is not None:
            text = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
            return result.model_copy(update={"content": [TextContent(type="text", text=text)]})
        return result
