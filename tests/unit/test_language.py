"""Language is told by script, and folding makes equal texts equal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain.language import detect, fold, simplify


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The user lives in Berlin.", "en"),
        ("OK", "en"),
        ("Meet 张三 tomorrow at the café in town", "en"),
        ("用户更喜欢柱状图", "zh"),
        ("使用者偏好繁體中文", "zh"),
        ("用户用 Kubernetes 部署 payment-service", "zh"),
        ("用户住在Berlin", "zh"),
        ("ユーザーは東京に住んでいます", "ja"),
        ("사용자는 서울에 산다", "ko"),
        ("Пользователь живёт в Москве", "und"),
        ("Größe überprüfen für später", "und"),
        ("", "und"),
        ("42 %", "und"),
        ("👍🎉", "und"),
    ],
)
def test_the_prevailing_script_tells_the_language(text: str, language: str) -> None:
    """Han, kana and Hangul count by character, Latin by word; other scripts are undetermined."""
    assert detect(text) == language


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  Hello\n\tWorld ", "hello world"),
        ("ＫＵＢＥ", "kube"),
        ("Straße", "strasse"),
        ("cafe\u0301", "caf\u00e9"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("C++ and C#", "c++ and c#"),
        ("你好，世界", "你好,世界"),
    ],
)
def test_folding_drops_what_does_not_count(text: str, folded: str) -> None:
    """Case, width, composition, invisible characters and white space vanish; punctuation stays."""
    assert fold(text) == folded


@given(st.text(max_size=200))
def test_folding_is_idempotent(text: str) -> None:
    """What is folded stays as it is, so keys may be folded twice."""
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=200))
def test_every_text_has_a_language(text: str) -> None:
    """Any text gets one of the five tags."""
    assert detect(text) in {"zh", "en", "ja", "ko", "und"}


def test_traditional_characters_become_simplified_in_place() -> None:
    """The replacement is one for one, and simplified text is left alone."""
    assert simplify("用戶住在臺北，喜歡這樣說話") == "用户住在台北，喜欢这样说话"
    assert simplify("用户住在台北") == "用户住在台北"


@given(st.text(st.characters(max_codepoint=0x7F) | st.sampled_from("用户偏好表格。、“”—‘’ＡＢß①")))
def test_folding_is_nfkc_casefold(text: str) -> None:
    """Folding is Unicode's NFKC_Casefold, also where a text is so plain that it takes a shorter way."""
    once = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
    assert fold(text) == " ".join(unicodedata.normalize("NFKC", once.casefold()).split())
