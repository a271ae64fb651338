"""English time expressions: patterns over lower-cased text, and what each stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date

from hindsight_bus.domain import calendar
from hindsight_bus.domain.calendar import Range, Reading

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?)"
)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_SEASONS = {"spring": 0, "summer": 1, "autumn": 2, "fall": 2, "winter": 3}
_SEASON = r"(?:spring|summer|autumn|fall|winter)"
_DAY = r"(?:[0-2]?\d|3[01])"
_YEAR = r"(?:1[89]\d\d|20\d\d)"
_PLACES = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_PLACE = r"(?:last|previous|this past|past|this coming|coming|this|current|next)"
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_N = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|a couple(?: of)?|a few|few|several|some|half an?)"
)
_UNIT = r"(?P<unit>day|week|month|year)s?"
_PART = r"(?:early|mid|late|(?:the )?(?:beginning|start|middle|end) of|(?:the )?(?:first|second) half of)"
_BEFORE = "in|during|since|until|till|by|before|after|of|around|throughout|from|between|to|and|back in"
_BEFORE_MONTH = rf"(?:{_BEFORE}|for|early|mid|late)"
_BEFORE_YEAR = rf"(?:{_BEFORE}|through|year)"
_AMOUNT_BEHIND = r"\s*(?:people|%|-\w|\w*(?:dollars|words|steps|calories|grams))"
_DAY_WORDS = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0,
    "this afternoon": 0, "this evening": 0, "tomorrow": 1, "day after tomorrow": 2,
}  # fmt: skip
_QUARTERS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3}

Readings = Iterable[Reading]


def _one(found: Range | None, weight: float = 1.0) -> list[Reading]:
    return [] if found is None else [Reading(*found, weight)]


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _year(match: re.Match[str], today: date) -> int | None:
    if match["y"]:
        return int(match["y"])
    if match["yw"]:
        return today.year + _PLACES[match["yw"].split()[-1]]
    return None


def _date(match: re.Match[str], today: date) -> Readings:
    month, day, year = _month_number(match["m"]), int(match["d"]), _year(match, today)
    if year is None:
        return calendar.recurring(today, month, day) if day else []
    return _one(calendar.valid_day(year, month, day))


def _month(match: re.Match[str], today: date) -> Readings:
    month, year = _month_number(match["m"]), _year(match, today)
    readings = calendar.recurring(today, month) if year is None else _one(calendar.month(year, month))
    return [_narrowed(reading, match["part"]) for reading in readings]


def _narrowed(reading: Reading, part: str | None) -> Reading:
    if not part:
        return reading
    shares = (1 / 3, 2 / 3)
    for words, found in (
        (("early", "beginning", "start"), (0.0, 1 / 3)),
        (("late", "end"), (2 / 3, 1.0)),
        (("first",), (0.0, 181 / 365)),
        (("second",), (181 / 365, 1.0)),
    ):
        if any(word in part for word in words):
            shares = found
    return Reading(*calendar.part((reading.start, reading.end), *shares), reading.weight)


def _near_month(match: re.Match[str], today: date) -> Readings:
    month, place = _month_number(match["m"]), _PLACES[match["place"].split()[-1]]
    if place == 0:
        return _one(calendar.month(today.year, month))
    year = today.year + place if (month - today.month) * place <= 0 else today.year
    return _one(calendar.month(year, month))


def _slashed(match: re.Match[str], today: date) -> Readings:
    first, second, year = int(match["a"]), int(match["b"]), int(match["y"])
    american, european = calendar.valid_day(year, first, second), calendar.valid_day(year, second, first)
    if american == european:
        return _one(american)
    return [*_one(american), *_one(european)]


def _iso(match: re.Match[str], today: date) -> Readings:
    if match["d"] is None:
        number = int(match["m"])
        return _one(calendar.month(int(match["y"]), number)) if 1 <= number <= 12 else []
    return _one(calendar.valid_day(int(match["y"]), int(match["m"]), int(match["d"])))


def _whole_year(match: re.Match[str], today: date) -> Readings:
    year = _year(match, today)
    if year is None:
        return []
    return [_narrowed(Reading(*calendar.years(year, year)), match["part"])]


def _season(match: re.Match[str], today: date) -> Readings:
    year = _year(match, today)
    return [] if year is None else _one(calendar.season(year, _SEASONS[match["s"]]))


def _near_season(match: re.Match[str], today: date) -> Readings:
    place, number = _PLACES[match["place"].split()[-1]], _SEASONS[match["s"]]
    seasons = [calendar.season(today.year + shift, number) for shift in (-2, -1, 0, 1, 2)]
    if place < 0:
        return _one(max(s for s in seasons if s[1] <= today))
    if place > 0:
        return _one(min(s for s in seasons if s[0] > today))
    return _one(min(s for s in seasons if s[1] > today))


def _quarter(match: re.Match[str], today: date) -> Readings:
    year = _year(match, today)
    if year is None:
        return []
    first = 3 * (int(match["qn"]) - 1 if match["qn"] else _QUARTERS[match["q"]]) + 1
    return _one((calendar.month(year, first)[0], calendar.month(year, first + 2)[1]))


def _weekday(match: re.Match[str], today: date) -> Readings:
    wanted = _WEEKDAYS.index(match["w"][:3])
    back = (today.weekday() - wanted) % 7
    place = match["place"].split()[-1]
    if place == "this" or match["place"] == "this coming":
        return _one(calendar.weekday(today, wanted, 0))
    if place in ("next", "coming"):
        return [
            *_one(calendar.weekday(today, wanted, 1)),
            *_one(calendar.days(today, 7 - back, 7 - back), 0.8),
        ]
    if place == "on":
        return [
            *_one(calendar.days(today, -back, -back)),
            *_one(calendar.days(today, 7 - back, 7 - back), 0.6),
        ]
    latest = calendar.days(today, -(back or 7), -(back or 7))
    week_before = calendar.weekday(today, wanted, -1)
    return [*_one(latest), *(_one(week_before, 0.8) if week_before != latest else [])]


def _near_unit(match: re.Match[str], today: date) -> Readings:
    place = _PLACES[match["place"].split()[-1]]
    unit = match["unit"]
    if unit == "week":
        return _one(calendar.week(today, place))
    if unit == "weekend":
        return _one(calendar.weekend(today, place))
    if unit == "month":
        return _one(calendar.months(today, place, place))
    return _one(calendar.years(today.year + place, today.year + place))


def _before_last(match: re.Match[str], today: date) -> Readings:
    unit = match["unit"]
    if unit == "week":
        return _one(calendar.week(today, -2))
    if unit == "month":
        return _one(calendar.months(today, -2, -2))
    return _one(calendar.years(today.year - 2, today.year - 2))


def _day_word(match: re.Match[str], today: date) -> Readings:
    offset = _DAY_WORDS[match[0].removeprefix("the ")]
    return _one(calendar.days(today, offset, offset))


def _amount(text: str) -> tuple[float, float]:
    """Return the least and the greatest number that is meant."""
    if text.isdigit():
        return int(text), int(text)
    if text.startswith("a couple"):
        return 2, 2
    if text in ("a few", "few", "several", "some"):
        return 2, 6
    if text.startswith("half"):
        return 0.5, 0.5
    return (1, 1) if text in ("a", "an") else (_NUMBERS.index(text), _NUMBERS.index(text))


def _ago(match: re.Match[str], today: date) -> Readings:
    return _one(calendar.ago(today, match["unit"], *_amount(match["n"])))


def _within(match: re.Match[str], today: date) -> Readings:
    most = _amount(match["n"])[1] if match["n"] else 1.0
    return _one(calendar.within(today, match["unit"], most))


def _decade(match: re.Match[str], today: date) -> Readings:
    first = int(match["y"])
    return _one(calendar.years(first, first + 9))


Rule = tuple[re.Pattern[str], Callable[[re.Match[str], date], Readings]]

_YEAR_BEHIND = rf"(?:,?\s*(?:(?:of|in)\s+)?(?:(?P<y>{_YEAR})\b|(?P<yw>last|this|next) year\b))"
_NAMED_DAY = "(?:the )?day (?:before yesterday|after tomorrow)|yesterday|today|tonight|tomorrow|last night"
_NO_VERB = r"(?!\w|\s+(?:i|we|you)\b)"
_ORDINAL = "first|second|third|fourth|1st|2nd|3rd|4th"
_WHICH = "last|this|next"
_NO_YEAR = "(?P<y>(?!))?(?P<yw>(?!))?"
_NO_YEAR_WORD = "(?P<yw>(?!))?"

_CUES = (
    *_MONTHS, *_SEASONS, "day", "week", "month", "year", "18", "19", "20", "night", "tomorrow", "morning", "afternoon",
    "evening",
)  # fmt: skip
"""Parts of words of which every expression has one, so that most texts need not be looked through for each."""

RULES: tuple[Rule, ...] = tuple(
    (re.compile(pattern), readings)
    for pattern, readings in (
        (
            rf"\b(?P<m>{_MONTH})\s*(?:the )?(?P<d>{_DAY})(?:st|nd|rd|th)?\b(?!:|\s*(?:am|pm|%)){_YEAR_BEHIND}?",
            _date,
        ),
        (
            rf"\b(?P<d>{_DAY})(?:st|nd|rd|th)?\s+(?:day\s+)?(?:of\s+)?(?P<m>{_MONTH})(?!\w){_YEAR_BEHIND}?",
            _date,
        ),
        (rf"\b(?:(?P<part>{_PART})[\s-]*)?(?P<m>{_MONTH}){_YEAR_BEHIND}", _month),
        (
            rf"\b{_BEFORE_MONTH}[\s-]+(?P<core>(?:(?P<part>{_PART})[\s-]*)?(?P<m>{_MONTH})){_NO_YEAR}{_NO_VERB}",
            _month,
        ),
        (rf"\b(?P<part>{_PART})[\s-]*(?P<m>{_MONTH}){_NO_YEAR}(?!\w)", _month),
        (rf"\b(?P<place>{_PLACE})\s+(?P<m>{_MONTH})(?!\w)", _near_month),
        (rf"\b(?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})/(?P<y>{_YEAR})\b", _slashed),
        (rf"(?<!\d)(?P<y>{_YEAR})([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}})(?!\d)", _iso),
        (rf"(?<![\d-])(?P<y>{_YEAR})-(?P<m>0[1-9]|1[0-2])(?P<d>(?!))?(?![\d-])", _iso),
        (
            rf"\b{_BEFORE_YEAR}\s+(?P<core>(?:(?P<part>{_PART})\s+)?(?P<y>{_YEAR})){_NO_YEAR_WORD}\b(?!{_AMOUNT_BEHIND})",
            _whole_year,
        ),
        (rf"\b(?P<part>{_PART})\s+(?:(?P<y>{_YEAR})|(?P<yw>last|this|next) year)\b", _whole_year),
        (rf"\b(?P<s>{_SEASON}){_YEAR_BEHIND}", _season),
        (rf"\b(?P<place>{_PLACE})\s+(?P<s>{_SEASON})\b", _near_season),
        (
            rf"\b(?:q(?P<qn>[1-4])|(?P<q>{_ORDINAL}) quarter)(?: of| in)?\s*(?:(?P<y>{_YEAR})|(?P<yw>{_WHICH}) year)\b",
            _quarter,
        ),
        (rf"\b(?P<place>{_PLACE}|on)\s+(?P<w>{_WEEKDAY})\b", _weekday),
        (
            rf"\b(?P<place>{_PLACE}|earlier this|later this)\s+(?P<unit>week|weekend|month|year)\b(?! old)",
            _near_unit,
        ),
        (r"\bthe\s+(?P<unit>week|month|year)\s+before\s+last\b", _before_last),
        (
            rf"\b(?:{_NAMED_DAY}|this (?:morning|afternoon|evening))\b",
            _day_word,
        ),
        (rf"\b(?P<n>{_N})\s+{_UNIT}\s+(?:ago|back|earlier)\b", _ago),
        (rf"\b(?:last|past|previous)\s+(?P<n>{_N})\s+{_UNIT}\b", _within),
        (
            rf"\b(?:in|over|during|within|for)\s+the\s+(?:last|past|previous)\s+(?:(?P<n>{_N})\s+)?{_UNIT}\b",
            _within,
        ),
        (r"\b(?P<y>(?:1[89]|20)\d0)'?s\b", _decade),
    )
)


def may_match(text: str) -> bool:
    """Tell whether any rule may match; False only where none does."""
    return any(cue in text for cue in _CUES)
