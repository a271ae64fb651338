"""Settings, from their class: types and ranges from the fields, texts from the docstrings below them."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from hindsight_bus import settings
from tools.reference.tables import table

_HEAD = """# Settings

The server reads them from its environment; arguments of `hbus serve` go before. A file of the same name in
`HBUS_SECRETS_DIR` (`/run/secrets`) does as well, after the environment. A misspelt name is an error at start. What
belongs to single namespaces is a policy and no setting: see UpdatePolicy.

"""

_CLIENTS = """
## Commands of a client

`HBUS_TARGET`, `HBUS_AGENT`, `HBUS_USER` and `HBUS_API_KEY` stand for `--target`, `--agent`, `--user` and `--api-key` of
[the commands](cli.md) that take them. A server leaves them alone.
"""

_DEFAULTS = {"data_dir": "`~/.local/share/hindsight-bus`"}
"""Defaults that depend on the machine."""


def page() -> str:
    """Return the page."""
    lines: list[str] = []
    for title, names in _groups().items():
        rows = [_row(name, settings.Settings.model_fields[name], text) for name, text in names.items()]
        lines += [f"## {title}", "", *table(("variable", "value", "default", "what it does"), rows)]
    return _HEAD + "\n".join(lines) + _CLIENTS


def _groups() -> dict[str, dict[str, str]]:
    """Return the docstrings of the fields by name, under the comments that head them."""
    source = inspect.getsource(settings)
    lines = source.splitlines()
    [found] = [
        each for each in ast.parse(source).body if isinstance(each, ast.ClassDef) and each.name == "Settings"
    ]
    groups: dict[str, dict[str, str]] = {}
    title = ""
    for field, after in zip(found.body, [*found.body[1:], None], strict=True):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        above = lines[field.lineno - 2].strip()
        title = above.removeprefix("# ") if above.startswith("# ") else title
        groups.setdefault(title, {})[field.target.id] = _text(after)
    return groups


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return re.sub("``", "`", str(node.value.value))
    raise AssertionError("a setting has a docstring")


def _row(name: str, field: FieldInfo, text: str) -> tuple[str, ...]:
    return (f"`{settings.PREFIX}{name.upper()}`", _value(field), _DEFAULTS.get(name) or _default(field), text)


def _value(field: FieldInfo) -> str:
    kind = field.annotation
    limits = ", ".join(f"{sign} {bound}" for sign, bound in _bounds(field))
    if get_origin(kind) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(kind))
    if get_origin(kind) is tuple:
        parts = get_args(get_args(kind)[0])
        return f"some of {', '.join(f'`{each}`' for each in parts)}" if parts else "JSON list"
    names = {int: "whole number", float: "number", bool: "`true`, `false`"}
    named = names.get(kind, "path" if getattr(kind, "__name__", "") == "Path" else "text")  # type: ignore[arg-type]
    return f"{named}, {limits}" if limits else named


def _bounds(field: FieldInfo) -> list[tuple[str, object]]:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    found = [
        (signs[name], getattr(each, name)) for each in field.metadata for name in signs if hasattr(each, name)
    ]
    return [(sign, bound) for sign, bound in found if bound is not None]


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is PydanticUndefined:
        raise AssertionError("a default that depends on the machine is named above")
    if isinstance(value, tuple):
        return f"`{','.join(value)}`" if value else ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"`{text}`" if text else ""
