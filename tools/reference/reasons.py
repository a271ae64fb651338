"""Errors: what the contract says of each reason, and which class of the Python client stands for it."""

from __future__ import annotations

import re

import grpc

from hbus import errors
from tools.reference.contract import Source
from tools.reference.tables import table

_PREFIX = "ERROR_REASON_"
_SAID = re.compile(r"(?P<code>[A-Z_]+): (?P<text>.*?)(?: Metadata: (?P<metadata>.*)\.)?$")

_HEAD = """# Errors

Every failed call carries `google.rpc.ErrorInfo` with the domain `hbus`, a reason and metadata; `BadRequest` names the
field at fault, `RetryInfo` says when to come back. Items of a batch or a stream that are refused carry the same as
[ItemError](api/common.md#itemerror). A reason's status code never changes.

"""

_CLASSES = """
## What to do, by class

The Python client raises the class named above, which belongs to one of these:
"""


def page(sources: list[Source]) -> str:
    """Return the page."""
    [source] = [each for each in sources if each.page == "error_reason.md"]
    [enum] = source.file.enum_type
    rows = [
        _row(value.name.removeprefix(_PREFIX), source.comment(5, 0, 2, number))
        for number, value in enumerate(enum.value)
        if value.number
    ]
    lines = table(("reason", "status", "what happened", "metadata", "in Python"), rows)
    classes = [(f"`{each.__name__}`", _first_line(each)) for each in errors.HbusError.__subclasses__()]
    return _HEAD + "\n".join(lines) + _CLASSES + "\n" + "\n".join(table(("class", "what to do"), classes))


def _row(reason: str, comment: str) -> tuple[str, ...]:
    said = _SAID.match(comment)
    assert said is not None, f"{reason}: a comment begins with the status code"
    kind = errors.error_class(grpc.StatusCode[said["code"]], reason)
    keys = ", ".join(f"`{key.strip()}`" for key in said["metadata"].split(",")) if said["metadata"] else ""
    return (
        f"`{reason}`",
        said["code"],
        said["text"][:1].upper() + said["text"][1:],
        keys,
        f"`{kind.__name__}`",
    )


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0].replace("``", "`")
