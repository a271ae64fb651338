"""Dates and ranges that a question names, in Chinese and English, absolute and relative. Pure; days are those of UTC.

``spans("上周三我们聊了什么", now_ms)`` tells which event times the question is about. What is ambiguous has several
readings, the likeliest of weight 1: a date without a year may be any year's, most likely the latest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain import temporal_en, temporal_zh
from hindsight_bus.domain.calendar import EVER, LENGTH_DAYS, NEVER, Range, Reading, plus_days
from hindsight_bus.domain.values import Value

DAY_MS = 86_400_000
_EVER_MS = -(2**62)
_NEVER_MS = 2**62
_HALF_LIFE_DAYS = 2.0
"""What happened on a day is often told some days later: how fast a memory's claim to a past span fades."""
_TOLD_LATER = 0.3

_BEFORE = re.compile(r"(?:\b(?:before|until|till|prior to|earlier than|up to)(?: the)?|早于|直到)\s*$")
_AFTER = re.compile(r"(?:\b(?:after|since|later than|starting(?: from| in)?)(?: the)?|自从|晚于)\s*$")
_BEFORE_BEHIND = re.compile(r"\s*(?:之前|以前|前(?!面|往|后|天|年|一)|为止)")
_AFTER_BEHIND = re.compile(r"\s*(?:之后|以后|以来|后(?!面|来|天|年)|起(?!来))|\s*onwards?\b")
_TO = re.compile(r"\s*(?:到|至|-|–|—|~|～|to|through|until|till|and)\s*(?:the )?")
_FROM = re.compile(r"(?:\b(?:from|between)(?: the)?|从|自)\s*$")
_AWAY = re.compile(
    r"\b(?:the|an?|(?P<n>\d{1,3}|one|two|three|four|five|six)|(?P<few>a few|several|a couple of))\s+"
    r"(?P<unit>day|week|weekend|month|year)s?\s+(?P<side>before|after|prior to|following)\s*(?:the )?$"
)
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


class Span(Value):
    """Event times from ``start_ms`` up to ``end_ms``, exclusive; ``weight`` is that of the reading."""

    start_ms: int
    end_ms: int
    weight: float = 1.0


class Edge(Enum):
    """An end of all that was said."""

    FIRST = 1
    LAST = 2


_TALK_ZH = "(?:对话|聊天|聊|见面|交谈|谈话|说话|认识|会话)"
_MET_EN = "(?:talked|chatted|spoke|met|discussed)"
_TALK_EN = rf"(?:conversations?|chats?|talks?|discussions?|times? (?:that )?we {_MET_EN})"
_EDGES = (
    (Edge.FIRST, re.compile(rf"(?:第一次|首次|最初|最早(?:一次)?)的?{_TALK_ZH}")),
    (Edge.FIRST, re.compile(rf"\b(?:first|earliest) {_TALK_EN}\b|\bwe first {_MET_EN}\b")),
    (Edge.LAST, re.compile(rf"(?:最后一次|最近一次|上一?次)的?{_TALK_ZH}")),
    (Edge.LAST, re.compile(rf"\b(?:last|latest|most recent) {_TALK_EN}\b|\bwe last {_MET_EN}\b")),
)


def edge(text: str) -> Edge | None:
    """Return which end of all conversations ``text`` asks for: "our first conversation"; None for neither."""
    lowered = text.lower()
    return next((each for each, pattern in _EDGES if pattern.search(lowered)), None)


class _Found(Value):
    """One expression within a text."""

    start: int
    end: int
    readings: tuple[Reading, ...]


Rule = tuple[re.Pattern[str], Callable[[re.Match[str], date], Iterable[Reading]]]


def spans(text: str, now_ms: int) -> tuple[Span, ...]:
    """Return the spans that ``text`` names, seen from ``now_ms``; empty where it names none. O(length of the text).

    Several expressions give the spans of all of them; "from A to B", "before A" and "since A" one range each.
    """
    lowered = text.lower()
    rules = [rule for of in (temporal_zh, temporal_en) if of.may_match(lowered) for rule in of.RULES]
    if not rules:
        return ()
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    found = _longest(_matches(rules, lowered, today))
    readings = dict.fromkeys(r for each in _joined(lowered, found) for r in each.readings)
    return tuple(Span(_ms(r.start), _ms(r.end), r.weight) for r in readings if r.start < r.end)


def closeness(named: Sequence[Span], event_ms: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 0 to 1: how well event times fit the best of the spans; what is told in the days after fits a little."""
    best = np.zeros(len(event_ms))
    for span in named:
        late_days = np.maximum(event_ms - span.end_ms, 0) / DAY_MS
        fading = _TOLD_LATER * np.exp2(-late_days / _HALF_LIFE_DAYS)
        fit = np.where(event_ms < span.end_ms, 1.0, fading) * (event_ms >= span.start_ms)
        np.maximum(best, span.weight * fit, out=best)
    return best


def day_of(event_ms: int) -> Span:
    """Return the day that an event time lies in."""
    start_ms = event_ms // DAY_MS * DAY_MS
    return Span(start_ms, start_ms + DAY_MS)


def _ms(of: date) -> int:
    if of <= EVER:
        return _EVER_MS
    if of >= NEVER:
        return _NEVER_MS
    return int(datetime(of.year, of.month, of.day, tzinfo=UTC).timestamp()) * 1000


def _matches(rules: Sequence[Rule], text: str, today: date) -> list[_Found]:
    found = []
    for pattern, readings_of in rules:
        for match in pattern.finditer(text):
            readings = tuple(readings_of(match, today))
            if readings:
                core = "core" if "core" in pattern.groupindex else 0
                found.append(_Found(match.start(core), match.end(core), readings))
    return found


def _longest(found: Sequence[_Found]) -> list[_Found]:
    """Return expressions that do not overlap, in order; of those that do, the longest one."""
    chosen: list[_Found] = []
    for each in sorted(found, key=lambda f: (f.start - f.end, f.start)):
        if all(each.end <= other.start or each.start >= other.end for other in chosen):
            chosen.append(each)
    return sorted(chosen, key=lambda f: f.start)


def _joined(text: str, found: Sequence[_Found]) -> list[_Found]:
    joined: list[_Found] = []
    number = 0
    while number < len(found):
        here = found[number]
        behind = found[number + 1] if number + 1 < len(found) else None
        if behind is not None and _are_ends(text, here, behind):
            joined.append(_Found(here.start, behind.end, _between(here.readings, behind.readings)))
            number += 2
        else:
            joined.append(_opened(text, here))
            number += 1
    return joined


def _are_ends(text: str, first: _Found, last: _Found) -> bool:
    link = _TO.fullmatch(text, first.end, last.start)
    if link is None:
        return False
    return link[0].split()[:1] != ["and"] or _FROM.search(text, 0, first.start) is not None


def _between(first: Sequence[Reading], last: Sequence[Reading]) -> tuple[Reading, ...]:
    """Return the ranges from each reading of the first end to the nearest later one of the last."""
    ranges = []
    for start in first:
        ends = [end for end in last if end.end > start.start]
        if ends:
            end = min(ends, key=lambda e: e.end)
            ranges.append(Reading(start.start, end.end, min(start.weight, end.weight)))
    return tuple(ranges)


def _opened(text: str, found: _Found) -> _Found:
    """Return the expression with an open end where the words around it say so."""
    likeliest = max(found.readings, key=lambda r: r.weight)
    away = _AWAY.search(text, 0, found.start)
    if away:
        return _Found(away.start(), found.end, (Reading(*_counted_from(likeliest, away)),))
    if _BEFORE.search(text, 0, found.start) or _BEFORE_BEHIND.match(text, found.end):
        return _Found(found.start, found.end, (Reading(EVER, likeliest.start),))
    if _AFTER.search(text, 0, found.start) or _AFTER_BEHIND.match(text, found.end):
        start = likeliest.start if _is_since(text, found) else likeliest.end
        return _Found(found.start, found.end, (Reading(start, NEVER),))
    return found


def _counted_from(anchor: Reading, away: re.Match[str]) -> Range:
    """Return "the week before" a date: the whole unit up to it; "two weeks after" it: about that far from it."""
    unit = "week" if away["unit"] == "weekend" else away["unit"]
    is_before = away["side"] in ("before", "prior to")
    if away["n"] or away["few"]:
        count = _COUNTS.get(away["n"] or "", 3) if not (away["n"] or "").isdigit() else int(away["n"])
        slack = 0 if unit == "day" else LENGTH_DAYS[unit] / 2
        middle = round(count * LENGTH_DAYS[unit]) * (-1 if is_before else 1)
        return plus_days(anchor.start, round(middle - slack)), plus_days(
            anchor.start, round(middle + slack) + 1
        )
    length = round(LENGTH_DAYS[unit])
    if is_before:
        return plus_days(anchor.start, -length), anchor.start
    return anchor.end, plus_days(anchor.end, length)


def _is_since(text: str, found: _Found) -> bool:
    """Tell whether an open end takes in the day that it is counted from."""
    before = text[: found.start].rstrip()
    behind = text[found.end :].lstrip()
    return (
        before.endswith(("since", "自从"))
        or "starting" in before[-16:]
        or behind.startswith(("以来", "起", "on"))
    )
