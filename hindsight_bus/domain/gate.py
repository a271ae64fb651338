"""The gate: what is not worth remembering is turned away before anything is settled."""

from __future__ import annotations

import re

from hindsight_bus.domain.language import fold, simplify
from hindsight_bus.domain.memory import Channel, Decision, MemoryType
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.values import Value


class Verdict(Value):
    """What the gate says of a write."""

    rejection: Decision | None = None
    """REJECTED_TRIVIAL or REJECTED_TOO_LONG; None = admitted."""
    reason: str = ""
    """Which rule turned it away, for people; empty when admitted."""

    @property
    def is_admitted(self) -> bool:
        """Tell whether the write may go on."""
        return self.rejection is None


_ADMITTED = Verdict()


def admit(
    text: str,
    *,
    type: MemoryType,
    channel: Channel,
    policy: Policy,
    subject: str = "",
    value: str = "",
    explicit: bool = False,
) -> Verdict:
    """Judge a write by its text and by what the caller said about it (never by what was derived); O(n).

    Length counts characters, for SEMANTIC and PROCEDURAL through the AGENT channel. Triviality is judged where
    somebody speaks, that is through AGENT and USER: what tools, imports and reflection write is not talk, and
    EPISODIC records what was said, small talk included. A subject, a value or ``explicit`` says something by itself.
    """
    if quota_applies(type, channel) and len(text) > policy.max_text_chars:
        return Verdict(
            Decision.REJECTED_TOO_LONG,
            f"max_text_chars: {len(text)} characters, at most {policy.max_text_chars} through the agent channel",
        )
    is_talk = type is not MemoryType.EPISODIC and channel in (Channel.AGENT, Channel.USER)
    if is_talk and not (subject or value or explicit) and (problem := _triviality(text)):
        return Verdict(Decision.REJECTED_TRIVIAL, problem)
    return _ADMITTED


def quota_applies(type: MemoryType, channel: Channel) -> bool:
    """Tell whether a write counts against the daily quota of its agent and namespace owner."""
    return type in (MemoryType.SEMANTIC, MemoryType.PROCEDURAL) and channel is Channel.AGENT


def _triviality(text: str) -> str:
    tokens = [_shorten(token) for token in _TOKEN.findall(simplify(fold(text)))]
    if not tokens:
        return "trivial: no letter and no digit, so it says nothing"
    if _is_small_talk(tokens):
        return "trivial: the whole text is small talk"
    return ""


_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_\u3400-\u9fff]+)*")
_LAUGHTER = re.compile(r"a?(?:ha)+h?|(?:he){2,}|lo+l")
_STRETCHED = re.compile(r"(\D)\1{2,}")


def _shorten(token: str) -> str:
    """Undo stretching: ``okkkk`` is ``ok``, ``hahaha`` is ``haha``."""
    token = token.replace("’", "'")
    return "haha" if _LAUGHTER.fullmatch(token) else _STRETCHED.sub(r"\1", token)


def _is_small_talk(tokens: list[str]) -> bool:
    """Tell whether the tokens are phrases of the list from the first to the last."""
    starts = [True] + [False] * len(tokens)
    for at in range(len(tokens)):
        if starts[at]:
            for length in range(1, _LONGEST + 1):
                if tuple(tokens[at : at + length]) in _SMALL_TALK:
                    starts[min(at + length, len(tokens))] = True
    return starts[-1]


# Phrases between semicolons; English by word, Chinese by character, both after folding and shortening.
_ENGLISH = """
a lot; absolutely; agreed; ah; all good; all right; alright; amen; anytime; aw; awesome; bye; bye bye; cheers;
cool; correct; definitely; evening; exactly; excellent; fair enough; fine; gm; gn; go ahead; good;
good afternoon; good bye; good day; good evening; good job; good morning; good night; good one; good point;
good to know; goodbye; got it; gotcha; great; great job; greetings; ha; haha; have a good day; have a good one;
have a great day; have a nice day; hello; hello there; hey; hey there; hi; hi there; hm; hmm; how are you;
how are you doing; how are you today; how do you do; how's it going; huh; i agree; i see; i understand; indeed;
interesting; it's fine; it's ok; it's okay; k; kk; later; lmao; lol; makes sense; many thanks; mhm; mm; morning;
my pleasure; nah; never mind; nevermind; nice; nice to meet you; nice work; no; no problem; no worries; nope;
not at all; noted; np; of course; oh; oh my god; ok; ok then; okay; okay then; okey; okie; okie dokie; omg;
oops; perfect; ping; please; pls; pong; really; right; roger; roger that; see ya; see you; see you later;
see you soon; see you tomorrow; so; so cool; so good; so much; so nice; sorry; sounds good; sounds great; sup;
sure; sure thing; take care; test; testing; thank u; thank you; thank you all; thank you for your help; thanks;
thanks again; thanks for the help; thanks for your help; that works; that's fine; that's great; that's ok;
that's okay; thats ok; there; thx; tks; ty; tysm; u; uh; uh huh; um; umm; understood; very good; very much;
very nice; very well; welcome; well; well done; what's up; whats up; will do; wonderful; works for me; wow; ya;
yay; yea; yeah; yep; yes; yes please; yo; you are welcome; you too; you're right; you're welcome; youre welcome;
yup
"""
_CHINESE = """
233; 2333; 666; 88; 上午好; 下午好; 下次见; 不; 不好意思; 不客气; 不对; 不是; 不是的; 不用; 不用了; 不用谢;
不行; 不谢; 不错; 中午好; 了解; 了解了; 你好; 你好呀; 你好啊; 你客气了; 先这样; 再会; 再聊; 再见; 别客气; 加油;
厉害; 原来如此; 可以; 可以的; 同意; 吗; 吧; 呀; 呃; 呢; 呵; 呼; 哈; 哈啰; 哈喽; 哎; 哎呀; 哟; 哦; 哪里哪里; 唉;
啊; 啦; 喂; 喔; 嗨; 嗯; 嗯哼; 嘛; 嘞; 嘻; 嘻嘻; 嘿; 噢; 回头聊; 回头见; 回见; 在; 在吗; 在的; 多谢; 大家好;
太好了; 太棒了; 太谢谢了; 好; 好了; 好吧; 好呀; 好哒; 好哦; 好啦; 好嘞; 好噢; 好极了; 好滴; 好的; 好的呢; 如此;
客气; 客气了; 对; 对不起; 对的; 当然; 当然可以; 很好; 很棒; 恩; 您好; 您客气了; 您早; 感恩; 感谢; 感谢你;
感谢你的帮助; 感谢您; 感谢您的帮助; 懂; 懂了; 我了解了; 我同意; 我懂了; 我明白了; 我没问题; 我知道了; 抱歉; 拜;
拜拜; 收到; 早; 早上好; 早啊; 早安; 明天见; 明白; 明白了; 是; 是吗; 是吧; 是啊; 是的; 是这样; 晚上好; 晚安;
有道理; 棒; 没事; 没事的; 没关系; 没有; 没有了; 没有问题; 没错; 没问题; 测试; 测试一下; 牛; 牛啊; 真不错; 真好;
真棒; 真的; 真的吗; 瞭解; 知道; 知道了; 确实; 给力; 行; 行了; 行吧; 见笑了; 请; 请问; 谢; 谢了; 谢啦; 谢谢;
谢谢了; 谢谢你; 谢谢你的帮助; 谢谢啦; 谢谢大家; 谢谢您; 谢谢您的帮助; 赞; 辛苦; 辛苦了; 辛苦啦; 这样啊; 那好;
那好吧; 那行; 非常好; 非常感谢; 额; 麻烦了; 麻烦你了; 麻烦您了
"""


def _phrases(listed: str) -> set[tuple[str, ...]]:
    return {tuple(_TOKEN.findall(simplify(phrase))) for phrase in listed.split(";")}


_SMALL_TALK = frozenset(_phrases(_ENGLISH) | _phrases(_CHINESE))
_LONGEST = max(map(len, _SMALL_TALK))
