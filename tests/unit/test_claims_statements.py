from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain.language import fold
from hindsight_bus.domain.memory import Channel, MemoryType
from hindsight_bus.domain.statements import speaker_of, statement_key, subject_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefers Go", "prefers go."),
        ("用户更喜欢柱状图", "用户更喜欢柱状图。"),
        ("「用户更喜欢柱状图」!", "用户更喜欢柱状图"),
        ("ＧＯ　语言", "go 语言"),
        ("  two \t words\n", "two words"),
        ("Straße", "STRASSE"),
        ("Really?!", "really"),
    ],
)
def test_statements_that_differ_in_form_only_are_equal(one: str, other: str) -> None:
    """Width, case, spacing, quotes around and punctuation after a statement do not count."""
    assert statement_key(one) == statement_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("C#", "C"), ("C++", "C"), (".NET", "net"), ("-5", "5"), ("a.b", "ab")]
)
def test_marks_that_carry_meaning_count(one: str, other: str) -> None:
    """Only closing punctuation goes; names such as C# and .NET stay themselves."""
    assert statement_key("", one) != statement_key("", other)


def test_a_value_decides_and_never_matches_a_text() -> None:
    """Equal values are equal statements in whatever words, and a text that reads like a value is another one."""
    assert statement_key("uses Go now", "go") == statement_key("用 Go", "Go")
    assert statement_key("go") != statement_key("x", "go")
    assert statement_key("go", "  ") == statement_key("go")


def test_nothing_but_punctuation_is_still_a_statement() -> None:
    """A text that is all punctuation keeps it, so that it has a key of its own."""
    assert statement_key("???") != statement_key("!!!")


@given(st.text())
def test_folding_is_idempotent(text: str) -> None:
    """What is folded once does not change when folded again."""
    assert fold(fold(text)) == fold(text)


def test_the_user_is_one_speaker_whoever_relays() -> None:
    """Through the user channel the user speaks; through any other the agent does."""
    assert (
        speaker_of(Channel.USER, "a", "zhangsan")
        == speaker_of(Channel.USER, "b", "zhangsan")
        == "user:zhangsan"
    )
    assert speaker_of(Channel.TOOL, "a", "zhangsan") == "agent:a"


def test_a_subject_meets_in_one_key_whatever_its_form() -> None:
    """Folded subjects share a key within a type; without a subject the statement takes its place."""
    key = subject_key(MemoryType.SEMANTIC, "Preference.Language", "t:a")
    assert key == subject_key(MemoryType.SEMANTIC, "preference.language", "t:b")
    assert key != subject_key(MemoryType.PROCEDURAL, "preference.language", "t:a")
    assert subject_key(MemoryType.SEMANTIC, "", "t:a") == subject_key(MemoryType.SEMANTIC, "", "t:a")
    assert subject_key(MemoryType.SEMANTIC, "", "t:a") != subject_key(MemoryType.SEMANTIC, "t:a", "t:a")
