"""Chinese time expressions: patterns, and what each stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date

from hindsight_bus.domain import calendar
from hindsight_bus.domain.calendar import Range, Reading

_DIGITS = {
    "〇": 0,
    "零": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_N = r"(?:\d{1,3}|[零一二两三四五六七八九十]{1,3})"
_Y = r"(?:\d{4}|[〇零一二三四五六七八九]{4})"
_YEAR_WORDS = {"大前": -3, "前": -2, "去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_YEAR_WORD = r"(?:大前|(?<![之以目])前|去|今|本(?!科)|明|(?<![之以])后)年"
_PLACES = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_PLACE = r"(?:上上|下下|上|这|本|下)"
_PARTS = {
    "初": (0.0, 1 / 3), "上旬": (0.0, 1 / 3), "中": (1 / 3, 2 / 3), "中旬": (1 / 3, 2 / 3), "底": (2 / 3, 1.0),
    "末": (2 / 3, 1.0), "下旬": (2 / 3, 1.0), "上半年": (0.0, 181 / 365), "下半年": (181 / 365, 1.0),
}  # fmt: skip
_SEASONS = "春夏秋冬"
_DAY_WORDS = {"大前天": -3, "前天": -2, "昨": -1, "今": 0, "明": 1, "后天": 2, "大后天": 3}
_UNITS = {"天": "day", "日": "day", "周": "week", "期": "week", "拜": "week", "月": "month", "年": "year"}
_UNIT = r"(?P<unit>天|日|周|个?星期|个?礼拜|个月|年)"
_NOT_A_DATE = r"(?![楼线院店门桌机房车馆厅口仓库选球位])"

Readings = Iterable[Reading]


def number(text: str) -> int:
    """Return the number that digits or Chinese numerals below 1,000 stand for; ``二〇二三`` is read digit by digit."""
    if text.isdigit() and text.isascii():
        return int(text)
    if "十" not in text:
        return int("".join(str(_DIGITS[c]) for c in text))
    tens, _, ones = text.partition("十")
    return 10 * (number(tens) if tens else 1) + (number(ones) if ones else 0)


def _one(found: Range | None, weight: float = 1.0) -> list[Reading]:
    return [] if found is None else [Reading(*found, weight)]


def _year(match: re.Match[str], today: date) -> int | None:
    if match["y"]:
        return number(match["y"])
    if match["yw"]:
        return today.year + _YEAR_WORDS[match["yw"][:-1]]
    return None


def _date(match: re.Match[str], today: date) -> Readings:
    month, day = number(match["m"]), number(match["d"] or "0")
    if not 1 <= month <= 12 or (match["d"] and not 1 <= day <= 31):
        return []
    year = _year(match, today)
    if year is None:
        readings = calendar.recurring(today, month, day)
    elif day:
        readings = _one(calendar.valid_day(year, month, day))
    else:
        readings = _one(calendar.month(year, month))
    return [_narrowed(reading, match["part"]) for reading in readings]


def _narrowed(reading: Reading, part: str | None) -> Reading:
    if not part:
        return reading
    return Reading(*calendar.part((reading.start, reading.end), *_PARTS[part]), reading.weight)


def _near_month(match: re.Match[str], today: date) -> Readings:
    offset = _PLACES[match["place"]]
    first, after = calendar.months(today, offset, offset)
    if match["d"]:
        return _one(calendar.valid_day(first.year, first.month, number(match["d"])))
    return [_narrowed(Reading(first, after), match["part"])]


def _day_of_month(match: re.Match[str], today: date) -> Readings:
    wanted = number(match["d"])
    near = [calendar.months(today, -back, -back)[0] for back in range(13)]
    found = [r for m in near if (r := calendar.valid_day(m.year, m.month, wanted)) and r[0] <= today]
    return [Reading(*r, 1.0 if i == 0 else 0.6) for i, r in enumerate(found)]


def _whole_year(match: re.Match[str], today: date) -> Readings:
    year = _year(match, today)
    if year is None or not 1 <= year <= 9998:
        return []
    if match["season"]:
        return _one(calendar.season(year, _SEASONS.index(match["season"])))
    if match["q"]:
        first = 3 * number(match["q"]) - 2
        return _one((calendar.month(year, first)[0], calendar.month(year, first + 2)[1]))
    return [_narrowed(Reading(*calendar.years(year, year)), match["part"])]


def _weekday(match: re.Match[str], today: date) -> Readings:
    wanted = "一二三四五六".find(match["w"]) if match["w"] not in "123456" else int(match["w"]) - 1
    wanted = 6 if wanted < 0 else wanted
    if match["place"]:
        return _one(calendar.weekday(today, wanted, _PLACES[match["place"]]))
    back = (today.weekday() - wanted) % 7
    return [
        Reading(*calendar.days(today, -back, -back)),
        *_one(calendar.days(today, 7 - back, 7 - back), 0.6),
    ]


def _week(match: re.Match[str], today: date) -> Readings:
    offset = _PLACES[match["place"]]
    return _one(calendar.weekend(today, offset) if match["end"] else calendar.week(today, offset))


def _day_word(match: re.Match[str], today: date) -> Readings:
    offset = _DAY_WORDS.get(match[0], _DAY_WORDS.get(match[0][0], 0))
    return _one(calendar.days(today, offset, offset))


def _amount(text: str) -> tuple[float, float]:
    """Return the least and the greatest number that is meant."""
    if text in ("几", "数", "好几"):
        return 2, 6
    if text == "半":
        return 0.5, 0.5
    return number(text), number(text)


def _ago(match: re.Match[str], today: date) -> Readings:
    return _one(calendar.ago(today, _UNITS[match["unit"][-1]], *_amount(match["n"])))


def _within(match: re.Match[str], today: date) -> Readings:
    most = _amount(match["n"])[1] if match["n"] else 1
    return _one(calendar.within(today, _UNITS[match["unit"][-1]], most))


def _decade(match: re.Match[str], today: date) -> Readings:
    first = number(match["y"])
    first = first if first >= 1000 else 1900 + first if first >= 30 else 2000 + first
    return _one(calendar.years(first, first + 9))


Rule = tuple[re.Pattern[str], Callable[[re.Match[str], date], Readings]]

_CALENDAR_DATE = (
    rf"(?:(?P<y>{_Y})年的?|(?P<yw>{_YEAR_WORD})的?)?"
    r"(?<![\d个第十])(?P<m>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月份?"
    rf"(?:(?P<d>[0-3]?\d|[一二三]?十?[一二三四五六七八九十])[日号]{_NOT_A_DATE}"
    r"|(?P<part>上旬|中旬|下旬|初|底|末|中(?!国|心|间|午)))?"
)
_BARE_DAY = (
    r"(?<![\d月第一二三四五六七八九十百千万.])(?P<d>[12]?\d|3[01]|[一二三]?十[一二三四五六七八九]?)"
    rf"[号日]{_NOT_A_DATE}(?!元|均|常|本|志|报|程|历)"
)
_YEAR_PART = (
    rf"(?:(?P<y>(?:1[89]|20)\d\d|[〇零一二三四五六七八九]{{4}})年|(?P<yw>{_YEAR_WORD}))(?!级|代|纪)"
    r"(?:的?(?P<season>[春夏秋冬])[天季]|第?(?P<q>[一二三四1-4])季度|的?(?P<part>上半年|下半年|初|中(?!国|心)|底|末))?"
)

_CUES = frozenset("年月日号天周期拜昨今明")
"""Characters of which every expression has one, so that most texts need not be looked through for each."""

RULES: tuple[Rule, ...] = tuple(
    (re.compile(pattern), readings)
    for pattern, readings in (
        (_CALENDAR_DATE, _date),
        (
            rf"(?P<place>{_PLACE})个?月(?:的?(?P<d>{_N})[日号]{_NOT_A_DATE}|(?P<part>上旬|中旬|下旬|初|底|末|中))?",
            _near_month,
        ),
        (_BARE_DAY, _day_of_month),
        (_YEAR_PART, _whole_year),
        (
            rf"(?P<place>{_PLACE})?(?:个?(?:星期|礼拜)|周)(?P<w>[一二三四五六日天1-6])(?!个|次|天|年|岁|到|至)",
            _weekday,
        ),
        (rf"(?P<place>{_PLACE})(?:个?(?:星期|礼拜)|个?周)(?P<end>末)?(?![一二三四五六日天])", _week),
        (
            r"大前天|(?<![以之目])前天(?![气空然])|昨[天日晚儿夜]|今[天日晚早儿夜]|明[天早晚儿](?!气)|大后天|(?<![以之])后天(?![气空])",
            _day_word,
        ),
        (rf"(?P<n>{_N}|半|好几|几|数)个?{_UNIT}(?:之|以)?前", _ago),
        (
            r"(?<![这每])周末",
            lambda match, today: [*_one(calendar.weekend(today, -1)), *_one(calendar.weekend(today, 0), 0.8)],
        ),
        (rf"(?:最近|过去|近|这|前)的?(?:(?P<n>{_N}|半|好几|几|数)){_UNIT}(?!前|后|龄|级)", _within),
        (r"(?P<y>(?:1[89]|20)\d0|[2-9]0)年代", _decade),
    )
)


def may_match(text: str) -> bool:
    """Tell whether any rule may match; False only where none does."""
    return not _CUES.isdisjoint(text)
