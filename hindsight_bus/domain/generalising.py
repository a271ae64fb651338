"""From the calls of one task to steps with parameters: what the goal names, what an earlier step returned, what varies.

One task shows which arguments are inputs of its goal; a second one that went the same way shows which of them differ.
Rules on values, without a model: a lower-case word that stands in the goal is taken for a constant until it differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from hindsight_bus.domain.findings import Attempt
from hindsight_bus.domain.skills import Origin, SkillParameter, SkillStep, SkillVersion, Way
from hindsight_bus.domain.values import Value

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_HOLE = "\x00"
"""Stands for an input in the shape of a value; no text that was recorded holds it."""
_TOKEN = re.compile(r"[\w@#-]+(?:[./:@#-][\w@#-]+)*", re.ASCII)
_QUOTED = re.compile(r"[\"'“”「『《‘]([^\"'“”「」『』《》‘’]{1,80})[\"'”」』》’]")
_NOT_NAME = re.compile(r"\W+")
_MIN_EMBEDDED, _MIN_RESULT = 3, 4
"""Characters of an input within a longer value, and of a value that counts as taken from a result."""
_MAX_VALUE_CHARS = 200

Path = tuple[str | int, ...]
Leaf = str | int | float


class _Input(Value):
    origin: Origin
    value: Leaf
    step: int = 0


class _Shape(Value):
    """A value with its inputs taken out; one that is an input as a whole is but a hole."""

    text: str
    inputs: tuple[_Input, ...] = ()


@dataclass(slots=True)
class _Names:
    """Gives inputs their names; the same value has the same name wherever it stands."""

    reserved: frozenset[str]
    """Names that stand in braces in what was recorded."""
    taken: dict[str, SkillParameter] = field(default_factory=dict)
    _by_value: dict[tuple[str, str], str] = field(default_factory=dict)

    def name(self, wanted: str, given: _Input, was: str) -> str:
        """Return the name of an input; ``was`` is what its value was the time before."""
        value = str(given.value)
        known = self._by_value.get((value, was))
        if known is None:
            known = self._by_value[value, was] = self._free(wanted)
            example = json.dumps(given.value, ensure_ascii=False)
            self.taken[known] = SkillParameter(known, given.origin, example, given.step)
        return known

    def _free(self, wanted: str) -> str:
        base = _NOT_NAME.sub("_", wanted).strip("_")[:40] or "input"
        name, number = base, 1
        while name in self.taken or name in self.reserved:
            number += 1
            name = f"{base}_{number}"
        return name


def generalised(
    way: Way, known: SkillVersion | None = None
) -> tuple[tuple[SkillStep, ...], tuple[SkillParameter, ...]]:
    """Return the steps of a way with its parameters, in the light of a version learnt from the same way; O(size)."""
    reserved = (_PLACEHOLDER.findall(call.arguments) for call in way.calls)
    names, steps = _Names(frozenset(chain.from_iterable(reserved))), []
    before = known if known is not None and known.path == way.path else None
    for place, call in enumerate(way.calls):
        old = _values_of(before, place) if before is not None else {}
        arguments = _parsed(call.arguments)
        shapes = {path: _shape(path, value, way, place, old, before) for path, value in _leaves(arguments)}
        filled = _mapped(arguments, lambda path, value, s=shapes, o=old: _told(s[path], path, o, names))
        steps.append(SkillStep(call.name, _text(filled), place in way.repeated))
    return tuple(steps), tuple(names.taken.values())


# --- one value -----------------------------------------------------------------------------------------------------


def _shape(
    path: Path, value: Leaf, way: Way, place: int, old: dict[Path, tuple[Leaf, _Shape]],
    before: SkillVersion | None,
) -> _Shape:  # fmt: skip
    own = _inputs_of(value, way, place)
    if path not in old or before is None:
        return own
    was, shape = old[path]
    if was == value:
        only_named = all(each.origin is Origin.GOAL for each in shape.inputs)
        return _Shape(str(value)) if only_named and before.goal != way.goal else own if own.inputs else shape
    if own.inputs and own.text == shape.text:
        return own
    return _Shape(_HOLE, (_Input(Origin.VARIES, value),))


def _inputs_of(value: Leaf, way: Way, place: int) -> _Shape:
    """Return what of a value one task alone shows to be an input."""
    text = str(value)
    if isinstance(value, bool) or not text or len(text) > _MAX_VALUE_CHARS or _HOLE in text:
        return _Shape(text)
    if _is_named(text, way.goal):
        return _Shape(_HOLE, (_Input(Origin.GOAL, value),))
    if source := _source(text, way.calls[:place]):
        return _Shape(_HOLE, (_Input(Origin.RESULT, value, source),))
    return _embedded(text, way.goal)


def _is_named(text: str, goal: str) -> bool:
    """Tell whether a goal names a value, and not merely uses the same word."""
    if not _is_specific(text) and text not in _QUOTED.findall(goal):
        return False
    return re.search(rf"(?<![0-9A-Za-z_]){re.escape(text)}(?![0-9A-Za-z_])", goal) is not None


def _is_specific(text: str) -> bool:
    return any(ch.isdigit() or ch.isupper() or ch in "@/._" or ord(ch) > 0x2E80 for ch in text)


def _source(text: str, before: Sequence[Attempt]) -> int:
    """Return the number of the step, from 1, whose result holds a value; 0 = none does."""
    if len(text) < _MIN_RESULT or not any(ch.isdigit() or ch in "@/" for ch in text):
        return 0
    whole = re.compile(rf"(?<![0-9A-Za-z_]){re.escape(text)}(?![0-9A-Za-z_])")
    return next((number for number, call in enumerate(before, start=1) if whole.search(call.answer)), 0)


def _embedded(text: str, goal: str) -> _Shape:
    """Return a value that holds names of the goal within, such as ``/orders/1002.json``."""
    named = [token for token in _TOKEN.findall(goal) if any(ch.isdigit() for ch in token)]
    named = sorted({token for token in named if len(token) >= _MIN_EMBEDDED}, key=len, reverse=True)
    if not named:
        return _Shape(text)
    pattern = re.compile(rf"(?<![0-9A-Za-z])(?:{'|'.join(map(re.escape, named))})(?![0-9A-Za-z])")
    inputs = tuple(_Input(Origin.GOAL, found) for found in pattern.findall(text))
    return _Shape(pattern.sub(_HOLE, text), inputs)


def _told(shape: _Shape, path: Path, old: dict[Path, tuple[Leaf, _Shape]], names: _Names) -> Any:
    """Return a value as it stands in the step."""
    if not shape.inputs:
        return _CONSTANT
    wanted = next((str(part) for part in reversed(path) if isinstance(part, str)), "input")
    was = old[path][1].inputs if path in old else ()
    told = shape.text
    for number, given in enumerate(shape.inputs):
        earlier = str(was[number].value) if number < len(was) else str(old[path][0]) if path in old else ""
        told = told.replace(_HOLE, f"{{{{{names.name(wanted, given, earlier)}}}}}", 1)
    return told


def filled(version: SkillVersion, place: int) -> Any:
    """Return the arguments that a step was last called with: JSON, or the text where they are none."""
    values = _values_of(version, place)
    return _mapped(_parsed(version.steps[place].arguments), lambda path, _: values[path][0])


# --- arguments -----------------------------------------------------------------------------------------------------

_CONSTANT = object()
"""Says that a value stays as it is."""


def _parsed(arguments: str) -> Any:
    """Return arguments as a JSON object or list; what is neither is one text."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, (dict, list)) else arguments


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Leaf]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, (*path, str(key)))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _leaves(each, (*path, place))
    elif isinstance(value, (str, int, float)):
        yield path, value


def _mapped(value: Any, change: Any, path: Path = ()) -> Any:
    """Return arguments with every value as ``change`` tells it."""
    if isinstance(value, dict):
        return {key: _mapped(each, change, (*path, str(key))) for key, each in value.items()}
    if isinstance(value, list):
        return [_mapped(each, change, (*path, place)) for place, each in enumerate(value)]
    if not isinstance(value, (str, int, float)):
        return value
    changed = change(path, value)
    return value if changed is _CONSTANT else changed


def _values_of(version: SkillVersion, place: int) -> dict[Path, tuple[Leaf, _Shape]]:
    """Return the values that a version was last learnt from, each with its shape."""
    parameters = {each.name: each for each in version.parameters}

    def shape(text: str) -> tuple[Leaf, _Shape]:
        found = [parameters[name] for name in _PLACEHOLDER.findall(text) if name in parameters]
        inputs = tuple(_Input(each.origin, json.loads(each.example), each.step) for each in found)
        holed = text
        for each in found:
            holed = holed.replace(f"{{{{{each.name}}}}}", _HOLE, 1)
        if holed == _HOLE:
            return inputs[0].value, _Shape(holed, inputs)
        whole = holed
        for given in inputs:
            whole = whole.replace(_HOLE, str(given.value), 1)
        return whole, _Shape(holed, inputs)

    return {
        path: shape(value) if isinstance(value, str) else (value, _Shape(str(value)))
        for path, value in _leaves(_parsed(version.steps[place].arguments))
    }
