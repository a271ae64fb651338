"""Which near memories are suspected of contradicting each other."""

import pytest

from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import MemoryType, Version
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.suspicion import Closeness, may_contradict, reads_alike
from hindsight_bus.domain.values import replace

NAMESPACE = Namespace("default", "user", "lin", "facts")


def said(text: str, subject: str = "", value: str = "", *, derived: bool = False) -> Version:
    return Version(
        NAMESPACE, "0" * 32, 1, MemoryType.SEMANTIC, text, subject, derived, value, language=detect(text)
    )


def test_thresholds_differ_by_language_and_across() -> None:
    """A language may have its own threshold; two languages have another."""
    closeness = Closeness(default=0.9, across=0.8, by_language={"zh": 0.95})
    assert closeness.threshold("zh", "zh") == 0.95
    assert closeness.threshold("en", "en") == 0.9
    assert closeness.threshold("zh", "en") == closeness.threshold("en", "zh") == 0.8


def test_different_words_may_contradict() -> None:
    """Two statements in other words may contradict each other."""
    assert may_contradict(said("用户喜欢喝茶"), said("用户喜欢喝咖啡"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (said("Likes tea."), said("likes tea")),
        (said("prefers Go", value="go"), said("用户更喜欢 Go 语言", value="Go")),
        (said("The user lives in Beijing"), said("用户住在北京")),
    ],
)
def test_equal_statements_do_not_contradict(one: Version, other: Version) -> None:
    """Equal texts, equal values, and values that the rules read as equal are one statement."""
    assert not may_contradict(one, other)


def test_subjects_that_their_writers_named_are_believed() -> None:
    """Two named subjects keep apart what is near; a derived one does not."""
    one, other = said("tea at four", "drink.afternoon"), said("tea at eight", "drink.morning")
    assert not may_contradict(one, other)
    assert may_contradict(one, replace(other, subject_derived=True))


def test_a_named_and_a_derived_subject_can_read_alike() -> None:
    """What the rules read from a text is compared with what a writer named."""
    moved = said("The user lives in Berlin", "home", derived=True)
    assert reads_alike(moved, said("Hamburg", "home"))
    assert not reads_alike(moved, said("Hamburg", "birthplace"))


def test_a_word_in_common_is_not_a_subject_in_common() -> None:
    """A subject that came from a known alias in the text proves nothing; nor does none at all."""
    one, other = said("k8s was upgraded on Friday", "tool.kubernetes", derived=True), said("tea", "")
    assert not reads_alike(one, replace(one, text="she asked what k8s means"))
    assert not reads_alike(other, other)
