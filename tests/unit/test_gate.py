"""The gate turns away small talk and overlong inferences, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain.gate import Verdict, admit, quota_applies
from hindsight_bus.domain.memory import Channel, Decision, MemoryType
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.values import replace

POLICY = Policy()
CLAIMING = [MemoryType.SEMANTIC, MemoryType.PROCEDURAL, MemoryType.LESSON]


def verdict(
    text: str,
    type: MemoryType = MemoryType.SEMANTIC,
    channel: Channel = Channel.AGENT,
    policy: Policy = POLICY,
) -> Verdict:
    return admit(text, type=type, channel=channel, policy=policy)


SMALL_TALK = [
    "ok", "OK!!", " Ok . ", "ＯＫ", "okkkkk", "ok ok thanks", "Thank you so much!", "hahaha",
    "Got it, thanks 👍",
    "You’re welcome", "good morning", "so good", "hmmmm", "yes", "See you later!",
    "好的", "好的好的", "好的，谢谢！", "哈哈哈哈", "嗯嗯", "没问题", "沒問題", "謝謝你", "收到👌",
    "你好呀", "ok好的", "明白了", "辛苦啦",
]  # fmt: skip

NOTHING_SAID = ["...", "？！", "👍", "🎉🎉", "—", "\u200b", "。。。"]

SOMETHING_SAID = [
    "用户更喜欢柱状图", "OK Computer is my favourite album", "Go", "vegan", "Yes, he smokes", "Thanks, Bob",
    "42",
    "好吃", "不是北京", "对花生过敏", "在北京", "早起", "有猫", "no nuts", "Goodness", "okra", "hello world",
    "用户说好的时候其实不同意", "谢霆锋", "byebye birdie", "right-handed", "nohow",
]  # fmt: skip


@pytest.mark.parametrize("text", SMALL_TALK)
def test_small_talk_is_trivial(text: str) -> None:
    """Phrases, repetitions and chains of them are turned away, whatever their case, width or punctuation."""
    found = verdict(text)
    assert found.rejection is Decision.REJECTED_TRIVIAL
    assert "small talk" in found.reason


@pytest.mark.parametrize("text", NOTHING_SAID)
def test_punctuation_and_emoji_say_nothing(text: str) -> None:
    """A text without letter or digit is turned away, and the reason says so."""
    found = verdict(text)
    assert found.rejection is Decision.REJECTED_TRIVIAL
    assert "no letter" in found.reason


@pytest.mark.parametrize("text", SOMETHING_SAID)
def test_what_says_something_is_admitted(text: str) -> None:
    """Neither a small-talk word inside a text nor shortness turns it away."""
    assert verdict(text).is_admitted


@pytest.mark.parametrize("said", [{"subject": "answer"}, {"value": "yes"}, {"explicit": True}])
def test_a_write_that_says_more_than_its_text_is_admitted(said: dict[str, str | bool]) -> None:
    """With a subject, a value or a wish to remember, even `ok` says something."""
    found = admit("ok", type=MemoryType.SEMANTIC, channel=Channel.AGENT, policy=POLICY, **said)  # type: ignore[arg-type]
    assert found.is_admitted


@pytest.mark.parametrize("type", MemoryType)
@pytest.mark.parametrize("channel", Channel)
def test_triviality_is_judged_where_somebody_speaks(type: MemoryType, channel: Channel) -> None:
    """Only through the agent and user channels, and never for raw episodes."""
    is_judged = type in CLAIMING and channel in (Channel.AGENT, Channel.USER)
    assert verdict("好的", type, channel).is_admitted is not is_judged


@pytest.mark.parametrize("type", MemoryType)
@pytest.mark.parametrize("channel", Channel)
def test_length_and_quota_bind_inferred_facts_and_procedures(type: MemoryType, channel: Channel) -> None:
    """SEMANTIC and PROCEDURAL through the agent channel are limited in length and number; nothing else is."""
    is_bound = type in (MemoryType.SEMANTIC, MemoryType.PROCEDURAL) and channel is Channel.AGENT
    assert quota_applies(type, channel) is is_bound
    assert verdict("图" * 200, type, channel).is_admitted
    assert verdict("图" * 201, type, channel).is_admitted is not is_bound


def test_the_length_limit_is_policy() -> None:
    """The limit comes from the policy and is named with the size in the reason."""
    found = verdict("x1" * 6, policy=replace(POLICY, max_text_chars=10))
    assert found.rejection is Decision.REJECTED_TOO_LONG
    assert "12" in found.reason
    assert "10" in found.reason


@given(st.text(max_size=300), st.sampled_from(MemoryType), st.sampled_from(Channel))
def test_any_text_gets_a_verdict_with_a_reason_when_refused(
    text: str, type: MemoryType, channel: Channel
) -> None:
    """The gate never fails, and a refusal always says why."""
    found = verdict(text, type, channel)
    assert found.is_admitted is (found.reason == "")


@given(st.lists(st.sampled_from(SMALL_TALK), min_size=1, max_size=200))
def test_a_chain_of_small_talk_is_small_talk(phrases: list[str]) -> None:
    """However long it is, a text of nothing but small talk says nothing."""
    policy = replace(POLICY, max_text_chars=8192)
    assert verdict(" ".join(phrases), policy=policy).rejection is Decision.REJECTED_TRIVIAL
