"""Ranges of days that time expressions stand for. A range is half open: its first day, and the day after its last."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from hindsight_bus.domain.values import Value

Range = tuple[date, date]

EVER = date(1, 1, 1)
NEVER = date(9999, 12, 31)

LENGTH_DAYS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
_SLACK_DAYS = {"day": 0, "week": 3, "month": 15, "year": 45}
_EARLIER_YEARS = 20
_OTHER_OCCURRENCE = 0.8
"""What a date without its year is worth in another year than the one nearest at hand."""


class Reading(Value):
    """One thing that a time expression can mean, and how likely it is beside the likeliest one, above 0 to 1."""

    start: date
    end: date
    weight: float = 1.0


def day(of: date) -> Range:
    """Return one day."""
    return of, plus_days(of, 1)


def plus_days(of: date, days: int) -> date:
    """Return a day some days away, kept within the calendar."""
    return date.fromordinal(min(max(of.toordinal() + days, EVER.toordinal()), NEVER.toordinal()))


def days(today: date, first: int, last: int) -> Range:
    """Return the days from ``first`` to ``last``, counted from today."""
    return plus_days(today, first), plus_days(today, last + 1)


def week(today: date, offset: int) -> Range:
    """Return a week, Monday to Sunday, counted from this one."""
    monday = plus_days(today, 7 * offset - today.weekday())
    return monday, plus_days(monday, 7)


def weekday(today: date, number: int, offset: int) -> Range:
    """Return the day ``number`` (Monday = 0) of a week counted from this one."""
    return day(plus_days(week(today, offset)[0], number))


def weekend(today: date, offset: int) -> Range:
    """Return Saturday and Sunday of a week counted from this one."""
    monday, after = week(today, offset)
    return plus_days(monday, 5), after


def month(year: int, number: int) -> Range:
    """Return a month; ``number`` may run over into other years."""
    first, after = year * 12 + number - 1, year * 12 + number
    return _month_start(first), _month_start(after)


def months(today: date, first: int, last: int) -> Range:
    """Return the months from ``first`` to ``last``, counted from this one."""
    here = today.year * 12 + today.month - 1
    return _month_start(here + first), _month_start(here + last + 1)


def years(first: int, last: int) -> Range:
    """Return the years from ``first`` to ``last``."""
    return _month_start(first * 12), _month_start((last + 1) * 12)


def season(year: int, number: int) -> Range:
    """Return a season of the northern year: 0 spring (from March) to 3 winter (until February of the next year)."""
    return month(year, 3 + 3 * number)[0], month(year, 6 + 3 * number)[0]


def part(of: Range, first: float, last: float) -> Range:
    """Return the days between two shares of a range."""
    length = (of[1] - of[0]).days
    return of[0] + timedelta(round(first * length)), of[0] + timedelta(round(last * length))


def valid_day(year: int, month_number: int, day_number: int) -> Range | None:
    """Return one day; None where the calendar has no such day."""
    try:
        return day(date(year, month_number, day_number))
    except ValueError:
        return None


def ago(today: date, unit: str, least: float, most: float) -> Range:
    """Return the time ``least`` to ``most`` days, weeks, months or years back; a unit is as vague as it is long."""
    if unit == "year" and least >= 1:
        return years(today.year - round(most), today.year - round(least))
    length, slack = LENGTH_DAYS[unit], _SLACK_DAYS[unit]
    return days(today, -round(length * most) - slack, -round(length * least) + slack)


def within(today: date, unit: str, count: float) -> Range:
    """Return the last ``count`` days, weeks, months or years, today included."""
    return days(today, -round(LENGTH_DAYS[unit] * count), 0)


def recurring(today: date, month_number: int, day_number: int = 0) -> list[Reading]:
    """Return the readings of a date without a year, or of a month: the latest past one, and those of other years."""
    found = [r for year in _years_around(today) if (r := _in_year(year, month_number, day_number))]
    latest = max((r for r in found if r[0] <= today), default=None)
    return [Reading(*r, 1.0 if r == latest else _OTHER_OCCURRENCE) for r in found]


def _in_year(year: int, month_number: int, day_number: int) -> Range | None:
    return valid_day(year, month_number, day_number) if day_number else month(year, month_number)


def _years_around(today: date) -> Iterator[int]:
    return iter(range(max(today.year - _EARLIER_YEARS, 1), min(today.year + 1, 9998) + 1))


def _month_start(count: int) -> date:
    year, index = divmod(count, 12)
    if year < 1:
        return EVER
    return date(year, index + 1, 1) if year < 9999 else NEVER
