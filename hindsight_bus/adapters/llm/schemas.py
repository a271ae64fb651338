"""From what a model wrote to an object of the schema, or what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hindsight_bus.domain.fencing import visible

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_THOUGHTS = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"^\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)
_MAX_PROBLEMS = 5
_MAX_PROBLEM_CHARS = 200
_UNSENT = frozenset({"minLength", "maxLength"})
"""Keywords that strict servers refuse; the answer is checked against them all the same."""


class NotAnAnswer(ValueError):
    """What a model wrote is no object of the schema; ``problems`` say why, quoting it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def validator_of(schema: Mapping[str, Any]) -> Validator:
    """Return what checks answers; ``ValueError`` if it is no JSON Schema. Loads the library: off the event loop."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"not a JSON Schema: {error.message}") from error
    return Draft202012Validator(schema)


def sent(schema: Any) -> Any:
    """Return a schema without what strict servers refuse."""
    if isinstance(schema, Mapping):
        return {key: sent(value) for key, value in schema.items() if key not in _UNSENT}
    return [sent(each) for each in schema] if isinstance(schema, (list, tuple)) else schema


def parsed(text: str, validator: Validator) -> dict[str, Any]:
    """Return the object in an answer, repaired where it is not quite JSON; raise ``NotAnAnswer``. O(size)."""
    body = _body(text)
    if not body:
        raise NotAnAnswer(["it is empty"])
    try:
        return _checked(_loaded(body), validator)
    except NotAnAnswer as problem:
        repaired = _repaired(body)
        if repaired is None:
            raise
        try:
            return _checked(repaired, validator)
        except NotAnAnswer:
            raise problem from None


def _body(text: str) -> str:
    text = _THOUGHTS.sub("", text)
    fenced = _FENCE.match(text)
    return (fenced[1] if fenced else text).strip()


def _loaded(body: str) -> Any:
    try:
        return json.loads(body, strict=False)
    except (ValueError, RecursionError):
        raise NotAnAnswer(["it is not JSON"]) from None


def _repaired(body: str) -> Any:
    """Return what json-repair makes of it; None where that is nothing new."""
    from json_repair import repair_json

    try:
        return repair_json(body, return_objects=True, skip_json_loads=True) or None
    except (ValueError, RecursionError):
        return None


def _checked(value: Any, validator: Validator) -> dict[str, Any]:
    problems = [
        _told(error) for error, _ in zip(validator.iter_errors(value), range(_MAX_PROBLEMS), strict=False)
    ]
    if problems:
        raise NotAnAnswer(problems)
    if not isinstance(value, dict):
        raise NotAnAnswer(["it is not an object"])
    return {key: _visible(each) for key, each in value.items()}


def _told(error: Any) -> str:
    return f"{error.json_path}: {error.message}"[:_MAX_PROBLEM_CHARS]


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_visible(each) for each in value]
    return {key: _visible(each) for key, each in value.items()} if isinstance(value, dict) else value
