"""Which memories an answer used, told by its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain.usage import Given, estimate_used, units

ALLERGY = Given("Li is allergic to peanuts and shellfish.")
OFFICE = Given("The office of Li moved to Hangzhou in May 2025.")
COLOUR = Given("Li likes the colour green.", "green")
TABLES = Given("用户偏好用表格展示对比数据")
CHARTS = Given("用户更喜欢柱状图")


@pytest.mark.parametrize(
    ("answer", "question", "memories", "used"),
    [
        ("No peanuts or shellfish, please: Li is allergic.", "What can Li eat?", [ALLERGY, OFFICE], [True, False]),
        ("In Hangzhou, since May 2025.", "Where is the office of Li?", [ALLERGY, OFFICE], [False, True]),
        ("Li's office is where Li works.", "Where is the office of Li?", [ALLERGY, OFFICE], [False, False]),
        ("Something in GREEN would please them.", "Which scarf?", [COLOUR, ALLERGY], [True, False]),
        ("好的，我用表格来展示这组对比数据。", "怎么做报告？", [TABLES, CHARTS], [True, False]),
        ("给您画成柱状图。", "怎么做报告？", [TABLES, CHARTS], [False, True]),
        ("用戶更喜歡柱狀圖", "?", [CHARTS], [True]),
        ("I do not know.", "What can Li eat?", [ALLERGY], [False]),
        ("", "", [ALLERGY, TABLES], [False, False]),
        ("Anything.", "", [], []),
    ],
)  # fmt: skip
def test_an_answer_uses_what_it_repeats(
    answer: str, question: str, memories: list[Given], used: list[bool]
) -> None:
    """What the answer says in a memory's own words is used; what the question said already proves nothing."""
    assert estimate_used(answer, question, memories) == used


def test_what_all_memories_say_proves_little() -> None:
    """Words that every memory has tell none of them apart."""
    memories = [
        Given(f"Meeting with Chen about the budget on {day}") for day in ("Monday", "Tuesday", "Friday")
    ]
    assert estimate_used("The budget meeting with Chen was on Tuesday", "", memories)[1]
    assert estimate_used("Tuesday", "When was the budget meeting?", memories) == [False, True, False]


@given(st.text(), st.text(), st.lists(st.builds(Given, st.text(), st.text(max_size=8)), max_size=5))
def test_repeating_only_the_question_uses_nothing(question: str, extra: str, memories: list[Given]) -> None:
    """An answer without a word of its own is never taken for use, whatever the memories hold."""
    assert not any(estimate_used(question, f"{question}\n{extra}", memories))


@given(st.text(min_size=1))
def test_an_answer_that_is_the_memory_uses_it(text: str) -> None:
    """A memory said word for word is used, if it says anything at all."""
    assert estimate_used(text, "", [Given(text)]) == [bool(units(text))]
