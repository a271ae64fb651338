"""Dates in questions: what each phrase stands for, seen from Wednesday, 10 May 2023."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain import temporal_en, temporal_zh
from hindsight_bus.domain.temporal import DAY_MS, Edge, Span, closeness, day_of, edge, spans

NOW_MS = int(datetime(2023, 5, 10, 12, tzinfo=UTC).timestamp()) * 1000

LIKELIEST = """
2023年5月2日我做了什么      2023-05-02 2023-05-02
2023年5月2号               2023-05-02 2023-05-02
二〇二三年五月二日          2023-05-02 2023-05-02
2022年12月31日             2022-12-31 2022-12-31
我在5月2日提到过什么        2023-05-02 2023-05-02
在4月27号这天我们聊了什么   2023-04-27 2023-04-27
五月二号                   2023-05-02 2023-05-02
十二月二十五日             2022-12-25 2022-12-25
十月一日                   2022-10-01 2022-10-01
去年10月1日                2022-10-01 2022-10-01
今年3月8号                 2023-03-08 2023-03-08
2023年5月                  2023-05-01 2023-05-31
今年三月                   2023-03-01 2023-03-31
去年12月份                 2022-12-01 2022-12-31
4月我去了哪里              2023-04-01 2023-04-30
四月初                     2023-04-01 2023-04-10
4月中旬                    2023-04-11 2023-04-20
四月底                     2023-04-21 2023-04-30
2021年                     2021-01-01 2021-12-31
二〇二一年                 2021-01-01 2021-12-31
去年                       2022-01-01 2022-12-31
前年                       2021-01-01 2021-12-31
大前年                     2020-01-01 2020-12-31
今年                       2023-01-01 2023-12-31
明年                       2024-01-01 2024-12-31
去年夏天                   2022-06-01 2022-08-31
今年春天                   2023-03-01 2023-05-31
2021年冬天                 2021-12-01 2022-02-28
去年上半年                 2022-01-01 2022-06-30
今年第一季度               2023-01-01 2023-03-31
2022年第四季度             2022-10-01 2022-12-31
昨天                       2023-05-09 2023-05-09
昨晚吃了什么               2023-05-09 2023-05-09
前天                       2023-05-08 2023-05-08
大前天                     2023-05-07 2023-05-07
今天                       2023-05-10 2023-05-10
今早                       2023-05-10 2023-05-10
明天                       2023-05-11 2023-05-11
后天                       2023-05-12 2023-05-12
大后天                     2023-05-13 2023-05-13
上周三我们聊了什么          2023-05-03 2023-05-03
上个星期五                 2023-05-05 2023-05-05
上上周一                   2023-04-24 2023-04-24
这周二                     2023-05-09 2023-05-09
本周日                     2023-05-14 2023-05-14
下周一                     2023-05-15 2023-05-15
下下礼拜三                 2023-05-24 2023-05-24
星期天                     2023-05-07 2023-05-07
周一                       2023-05-08 2023-05-08
上周                       2023-05-01 2023-05-07
上上周                     2023-04-24 2023-04-30
这个星期                   2023-05-08 2023-05-14
下周                       2023-05-15 2023-05-21
上周末                     2023-05-06 2023-05-07
周末去了哪里               2023-05-06 2023-05-07
上个月                     2023-04-01 2023-04-30
上上个月                   2023-03-01 2023-03-31
这个月                     2023-05-01 2023-05-31
下个月                     2023-06-01 2023-06-30
上个月5号                  2023-04-05 2023-04-05
上月底                     2023-04-21 2023-04-30
30号                       2023-04-30 2023-04-30
二十五号                   2023-04-25 2023-04-25
三天前                     2023-05-07 2023-05-07
几天前                     2023-05-04 2023-05-08
两周前                     2023-04-23 2023-04-29
两个星期前                 2023-04-23 2023-04-29
三个月前                   2023-01-24 2023-02-23
一年前                     2022-01-01 2022-12-31
最近三天                   2023-05-07 2023-05-10
过去两周                   2023-04-26 2023-05-10
近一个月                   2023-04-10 2023-05-10
90年代                     1990-01-01 1999-12-31
5月1日到5月3日             2023-05-01 2023-05-03
从4月27号至5月2号          2023-04-27 2023-05-02
on May 2nd                 2023-05-02 2023-05-02
May 2, 2022                2022-05-02 2022-05-02
on the 2nd of May          2023-05-02 2023-05-02
2 May 2023                 2023-05-02 2023-05-02
on 1 February, 2023        2023-02-01 2023-02-01
4th of July                2022-07-04 2022-07-04
Dec 25                     2022-12-25 2022-12-25
Sept. 3, 2021              2021-09-03 2021-09-03
May 2nd last year          2022-05-02 2022-05-02
2023-05-02                 2023-05-02 2023-05-02
2023/5/2                   2023-05-02 2023-05-02
in 2023-04                 2023-04-01 2023-04-30
12/25/2022                 2022-12-25 2022-12-25
25/12/2022                 2022-12-25 2022-12-25
in May 2022                2022-05-01 2022-05-31
in April                   2023-04-01 2023-04-30
in December                2022-12-01 2022-12-31
early April                2023-04-01 2023-04-10
mid-April 2022             2022-04-11 2022-04-20
at the end of March        2023-03-22 2023-03-31
in June last year          2022-06-01 2022-06-30
last March                 2023-03-01 2023-03-31
last July                  2022-07-01 2022-07-31
next June                  2023-06-01 2023-06-30
this April                 2023-04-01 2023-04-30
in 2021                    2021-01-01 2021-12-31
in early 2022              2022-01-01 2022-05-02
last year                  2022-01-01 2022-12-31
this year                  2023-01-01 2023-12-31
next year                  2024-01-01 2024-12-31
summer 2022                2022-06-01 2022-08-31
in the fall of 2021        2021-09-01 2021-11-30
last spring                2022-03-01 2022-05-31
last winter                2022-12-01 2023-02-28
this summer                2023-06-01 2023-08-31
Q1 2023                    2023-01-01 2023-03-31
second quarter of 2022     2022-04-01 2022-06-30
during the 1990s           1990-01-01 1999-12-31
yesterday                  2023-05-09 2023-05-09
last night                 2023-05-09 2023-05-09
the day before yesterday   2023-05-08 2023-05-08
today                      2023-05-10 2023-05-10
this morning               2023-05-10 2023-05-10
tomorrow                   2023-05-11 2023-05-11
the day after tomorrow     2023-05-12 2023-05-12
last Tuesday               2023-05-09 2023-05-09
last Friday                2023-05-05 2023-05-05
this Friday                2023-05-12 2023-05-12
next Friday                2023-05-19 2023-05-19
on Monday                  2023-05-08 2023-05-08
last week                  2023-05-01 2023-05-07
this week                  2023-05-08 2023-05-14
next week                  2023-05-15 2023-05-21
last weekend               2023-05-06 2023-05-07
last month                 2023-04-01 2023-04-30
the week before last       2023-04-24 2023-04-30
2 days ago                 2023-05-08 2023-05-08
three days ago             2023-05-07 2023-05-07
a few days ago             2023-05-04 2023-05-08
a week ago                 2023-04-30 2023-05-06
two months ago             2023-02-23 2023-03-25
a year ago                 2022-01-01 2022-12-31
in the last three days     2023-05-07 2023-05-10
over the past two weeks    2023-04-26 2023-05-10
over the past month             2023-04-10 2023-05-10
between May 1 and May 3    2023-05-01 2023-05-03
from April 27 to May 2     2023-04-27 2023-05-02
the week before May 8, 2023     2023-05-01 2023-05-07
two weeks before May 3, 2023    2023-04-15 2023-04-23
the day after May 3        2023-05-04 2023-05-04
"""

NONE = """
以前天气怎么样
3号楼在哪里
5号线地铁
第二周的课程
三个月大的猫
我最喜欢的电影是什么
我有一个羽毛球小组，里面有多少人呢？
他今年级别
May I go now
You may march on
my friend April likes tea
we spring into action
it weighs 2023 grams
version 5.2.1
1/2 of the cake
what do I like on weekdays
a week of holidays
"""


def day(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def likeliest(text: str) -> list[Span]:
    return [span for span in spans(text, NOW_MS) if span.weight == 1.0]


@pytest.mark.parametrize("line", LIKELIEST.strip().splitlines())
def test_a_phrase_means_its_days(line: str) -> None:
    """The likeliest reading of each phrase is the range of days given, both ends included."""
    phrase, first, last = line.rsplit(maxsplit=2)
    assert likeliest(phrase) == [Span(day(first), day(last) + DAY_MS)]


@pytest.mark.parametrize("text", NONE.strip().splitlines())
def test_what_is_no_date_is_not_read_as_one(text: str) -> None:
    """Words and numbers that only look like dates name no time."""
    assert spans(text, NOW_MS) == ()


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("5月3日之后", "2023-05-04", "2023-05-03"),
        ("4月之前", "2023-03-31", "2023-04-01"),
        ("3月以来", "2023-03-01", "2023-02-28"),
        ("since March", "2023-03-01", "2023-02-28"),
        ("before 2022", "2021-12-31", "2022-01-01"),
        ("after May 2nd", "2023-05-03", "2023-05-02"),
        ("until April 27th", "2020-01-01", "2023-04-27"),
    ],
)
def test_an_open_end_reaches_all_that_lies_beyond(text: str, inside: str, outside: str) -> None:
    """Before, after and since take in everything on their side; since takes in the day that it counts from."""
    (span,) = spans(text, NOW_MS)
    assert span.start_ms <= day(inside) < span.end_ms
    assert not span.start_ms <= day(outside) < span.end_ms


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("3/4/2023", {"2023-03-04", "2023-04-03"}),
        ("last Tuesday", {"2023-05-09", "2023-05-02"}),
        ("next Friday", {"2023-05-19", "2023-05-12"}),
        ("5月2日", {"2023-05-02", "2022-05-02", "2021-05-02"}),
        ("On May 2nd", {"2023-05-02", "2022-05-02", "2021-05-02"}),
        ("星期五", {"2023-05-05", "2023-05-12"}),
    ],
)
def test_what_is_ambiguous_has_several_readings(text: str, days: set[str]) -> None:
    """Every reading is there, none weighs more than 1."""
    found = {span.start_ms: span.weight for span in spans(text, NOW_MS)}
    assert {day(each) for each in days} <= found.keys()
    assert all(0.0 < weight <= 1.0 for weight in found.values())


def test_several_phrases_name_several_times() -> None:
    """Two dates without a link are two spans."""
    assert len(likeliest("5月2日和上周三")) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("你还记得我们第一次对话的时候，聊了什么话题吗？", Edge.FIRST),
        ("what we talked about during our first conversation", Edge.FIRST),
        ("when we first met", Edge.FIRST),
        ("上次聊天说了什么", Edge.LAST),
        ("in our last conversation", Edge.LAST),
        ("第一次去北京", None),
        ("my first car", None),
    ],
)
def test_an_end_of_all_conversations_is_told(text: str, expected: Edge | None) -> None:
    """The first and the last conversation are asked for in either language; other firsts are not."""
    assert edge(text) is expected


def test_closeness_fades_after_a_span_and_is_nothing_before() -> None:
    """What was told within a span fits fully, in the days after a little and ever less, before it not at all."""
    span = day_of(day("2023-05-02"))
    times = np.array(
        [day("2023-05-01"), day("2023-05-02"), day("2023-05-03"), day("2023-05-05"), day("2024-05-02")]
    )
    before, within, after, later, much_later = closeness([span], times)
    assert (before, within) == (0.0, 1.0)
    assert 0.0 < later < after < 0.5
    assert much_later < 1e-6


@given(st.text(max_size=60), st.integers(0, 4_000_000_000_000))
def test_any_text_at_any_time_gives_ordered_spans(text: str, now_ms: int) -> None:
    """No input fails, and every span has a length and a weight."""
    for span in spans(text, now_ms):
        assert span.start_ms < span.end_ms
        assert 0.0 < span.weight <= 1.0


PARTS = st.sampled_from(
    "上 下 去年 5月 2日 三 天前 个月 周 末 last May 2nd week ago since 2022 - / 31 月 年 to before".split()
)


@given(st.lists(PARTS, max_size=8).map(" ".join) | st.lists(PARTS, max_size=8).map("".join))
def test_any_mix_of_time_words_gives_ordered_spans(text: str) -> None:
    """However time words are put together, what comes out are spans or nothing."""
    assert all(span.start_ms < span.end_ms for span in spans(text, NOW_MS))


@pytest.mark.parametrize("language", [temporal_en, temporal_zh])
@given(data=st.data())
def test_whatever_a_rule_matches_has_a_cue(language: Any, data: st.DataObject) -> None:
    """No expression is overlooked for want of the word parts that all are first looked through for."""
    pattern, _ = data.draw(st.sampled_from(language.RULES))
    text = data.draw(st.from_regex(pattern))
    if pattern.search(text.lower()):
        assert language.may_match(text.lower())


@given(
    st.lists(st.tuples(st.integers(-1000, 1000), st.integers(1, 50)), min_size=1, max_size=4),
    st.integers(-2000, 2000),
)
def test_another_memory_changes_no_closeness(days: list[tuple[int, int]], at: int) -> None:
    """How well an event time fits depends on the spans and on itself alone."""
    named = [Span(NOW_MS + first * DAY_MS, NOW_MS + (first + length) * DAY_MS) for first, length in days]
    here = np.array([NOW_MS + at * DAY_MS])
    among = closeness(named, np.array([0, NOW_MS, here[0], 2**40]))
    assert among[2] == closeness(named, here)[0]
