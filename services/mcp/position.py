"""Where a poll of the bus stopped, to the event.

The bus gives a token for each whole batch of events. An answer may end within a batch, so its place is the token before
the batch and, for each partition, the last event of it that was handed on: events of a partition come in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import hbus

_MARK = "~"
_NONE = (0, -1)


class BadToken(ValueError):
    """The text is no place that a poll returned."""


@dataclass(frozen=True, slots=True)
class Place:
    """A token of the bus, and what was handed on beyond it."""

    token: str = ""
    seen: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Partition -> revision and index of the last event handed on."""

    @classmethod
    def parse(cls, text: str) -> Place:
        """Return the place that ``str`` made this text of; a plain token of the bus is one too."""
        token, *marks = text.strip().split(_MARK)
        try:
            numbers = [tuple(map(int, mark.split("."))) for mark in marks]
            return cls(token, {partition: (revision, index) for partition, revision, index in numbers})
        except ValueError:
            raise BadToken("is no token of a poll or a write") from None

    def __str__(self) -> str:
        marks = [
            f"{_MARK}{partition}.{revision}.{index}" for partition, (revision, index) in self.seen.items()
        ]
        return "".join((self.token, *marks))

    def has_seen(self, event: hbus.Event) -> bool:
        """Tell whether the event was handed on before this place."""
        return (event.revision, event.index) <= self.seen.get(event.partition, _NONE)

    def after(self, event: hbus.Event, token: str, *, is_whole: bool) -> Place:
        """Return the place after an event; ``is_whole`` says that the token covers it."""
        if is_whole:
            return Place(token)
        latest = max((event.revision, event.index), self.seen.get(event.partition, _NONE))
        return Place(token, {**self.seen, event.partition: latest})
