"""What all values are made of: immutable structs that cost no more than a tuple.

A value is compared by its fields and never changed; ``replace`` makes another one. Where a value is stored, it becomes
an array of its fields in their order. So that order is append-only for everything that reaches a store: a new field
goes last and has a default, older rows still read, and older servers skip what they do not know.
"""

from __future__ import annotations

from typing import dataclass_transform

from msgspec import Struct, field
from msgspec.structs import fields, replace

__all__ = ["SCHEMA", "Storable", "Value", "field", "fields", "replace"]

SCHEMA = 1
"""Number of the stored form, the first item of every record; a server refuses what has a higher one."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value(Struct, frozen=True, array_like=True, gc=False):
    """An immutable value; the garbage collector passes it by, so nothing mutable in it may lead back to it."""


class Storable(Value, tag_field="schema", tag=SCHEMA):
    """A value that is stored by itself: its array begins with the number of the schema."""
