"""Shapes of whole sentences that state one fact about the user, in English and Chinese.

Each shape must span the sentence. Group ``v`` is what is stated, ``z`` what a favourite is one of, ``me`` is set where
the speaker says "I". Gaps are bounded, so matching is linear in the (short) sentence.
"""

from __future__ import annotations

import re
from enum import Enum

from hindsight_bus.domain.values import Value


class Fact(Enum):
    """What a sentence states; the value is the rule's name."""

    NAME = "name"
    HOME = "home"
    MOVE = "move"
    EMPLOYER = "employer"
    JOB_CHANGE = "job change"
    JOINED = "joined"
    REPLY_LANGUAGE = "reply language"
    NATIVE_LANGUAGE = "native language"
    SPOKEN_LANGUAGE = "spoken language"
    TIME_ZONE = "time zone"
    PREFERENCE = "preference"
    FAVOURITE = "favourite"


class Shape(Value):
    """One sentence form."""

    fact: Fact
    pattern: re.Pattern[str]


def _shapes(listed: list[tuple[Fact, str]], names: dict[str, str]) -> tuple[Shape, ...]:
    """Compile patterns in which ``<NAME>`` stands for a part from ``names``."""

    def compiled(pattern: str) -> re.Pattern[str]:
        for name, part in names.items():
            pattern = pattern.replace(f"<{name}>", part)
        return re.compile(pattern, re.IGNORECASE)

    return tuple(Shape(fact, compiled(pattern)) for fact, pattern in listed)


_ENGLISH = _shapes(
    [
        (Fact.NAME, r"<WHOSE> name(?:: | is<NOW> )<V>"),
        (Fact.NAME, r"<WHO> (?:is|am) named <V>"),
        (Fact.HOME, r"<WHO><NOW> (?:lives?|resides?)<NOW> in <V><END>"),
        (
            Fact.HOME,
            r"<WHOSE> (?:home|home city|place of residence|city of residence) is<NOW> (?:in )?<V><END>",
        ),
        (Fact.HOME, r"<WHO> no longer lives? in <A><THEN>(?:now )?lives? in <V><END>"),
        (Fact.MOVE, r"<WHO><HAS> (?:moved|relocated)(?: from <A>)? to <V><RECENTLY>"),
        (Fact.MOVE, r"<WHO> no longer lives? in <A><THEN>(?:has |have )?(?:now )?moved to <V><RECENTLY>"),
        (Fact.EMPLOYER, r"<WHO><NOW> <WORKS><NOW> at <V><END>"),
        (Fact.EMPLOYER, r"<WHOSE>(?: current| new)? employer(?:: | is<NOW> )<V><END>"),
        (Fact.JOB_CHANGE, r"<WHO><NOW> <WORKS><NOW> (?:for|by) <V><END>"),
        (Fact.JOINED, r"<WHO><HAS> joined <V><RECENTLY>"),
        (Fact.JOB_CHANGE, r"<WHO><HAS> (?:moved|switched|changed jobs) from <A> to <V><RECENTLY>"),
        (
            Fact.JOB_CHANGE,
            r"<WHO><HAS> left <A>(?: for | and joined |<THEN>now works? (?:at|for) )<V><RECENTLY>",
        ),
        (Fact.JOB_CHANGE, r"<WHO> no longer works? (?:at|for) <A><THEN>(?:now )?works? (?:at|for) <V><END>"),
        (Fact.REPLY_LANGUAGE, r"<WHOSE> preferred language(?:: | is<NOW> )<V>"),
        (
            Fact.REPLY_LANGUAGE,
            r"<WHO><NOW> prefers? (?:answers|replies|responses|to communicate|to chat) in <V>",
        ),
        (Fact.NATIVE_LANGUAGE, r"<WHOSE> (?:native language|mother tongue|first language)(?:: | is )<V>"),
        (Fact.SPOKEN_LANGUAGE, r"<WHO> (?:is|am) a native <V> speaker"),
        (Fact.SPOKEN_LANGUAGE, r"<WHO> (?:is|am) a native speaker of <V>"),
        (Fact.SPOKEN_LANGUAGE, r"<WHO> speaks? <V>"),
        (Fact.TIME_ZONE, r"<WHOSE> time ?zone(?:: | is<NOW> )<V><END>"),
        (Fact.TIME_ZONE, r"<WHO> (?:is|am) in (?:the )?<V> time ?zone"),
        (Fact.PREFERENCE, r"<WHO><NOW>(?: (?:strongly|generally|usually|really))? (?:prefers?|likes?) <V>"),
        (Fact.FAVOURITE, r"<WHOSE> favou?rite (?P<z>[a-z]+(?: [a-z]+){0,2}) is<NOW> <V>"),
    ],
    {
        "WHOSE": r"(?:(?P<me>my)|(?:(?:the|this) )?user's)",
        "WHO": r"(?:(?P<me>i)|(?:(?:the|this) )?user)",
        "WORKS": r"(?:works?|(?:is|am)<NOW> employed)",
        "HAS": r"(?:'s|'ve| has| have)?(?: (?:just|recently|now|already))?",
        "NOW": r"(?: (?:now|currently))?",
        "END": r"(?: (?:now|currently))?",
        "RECENTLY": r"(?: (?:now|recently|today|yesterday|(?:last|this) (?:week|month)))?",
        "THEN": r"(?:[,;]? and |[,;] )(?:(?:he|she|they|i) )?",
        "A": r"[^,;!?()]{1,40}?",
        "V": r"(?P<v>[^;!?()\"“”]{1,60}?)",
    },
)

_CHINESE = _shapes(
    [
        (Fact.NAME, r"<WHO>的?(?:名字|姓名|真名|本名)(?:现在)?(?:叫做?|是|为|:)<V>"),
        (Fact.NAME, r"<WHO>(?:现在|改名)?(?:叫做?|改名为)<V>"),
        (Fact.HOME, r"<WHO><NOW>(?:居住在|居住于|定居在|定居于|住在|定居|常住|现居|住)<V>"),
        (Fact.HOME, r"<WHO>的?(?:现居地|居住地|常住地|居住城市)(?:是|为|在|:)<V>"),
        (Fact.HOME, r"<WHO>已?经?不再?住在<A>了?[,;](?:而是|现在|目前)*(?:住在|现居)<V>"),
        (Fact.MOVE, r"<DONE><WHO><RECENTLY>(?:从<A>)?<MOVED>了?<V>(?:去|来|居住|生活|定居)?了?"),
        (Fact.MOVE, r"<WHO>已?经?不再?住在<A>了?[,;](?:现在|已经|已)*<MOVED>了<V>"),
        (Fact.EMPLOYER, r"<WHO><NOW>在<V>(?:工作|上班|任职|就职|供职)"),
        (Fact.EMPLOYER, r"<WHO><NOW>(?:就职于|任职于|供职于|受雇于)<V>"),
        (Fact.EMPLOYER, r"<WHO>的?(?:雇主|工作单位|东家)(?:是|为|:)<V>"),
        (Fact.JOB_CHANGE, r"<DONE><WHO><RECENTLY>(?:从<A>)?(?:跳槽到|跳槽去|跳槽至|入职)了?<V>(?:工作)?了?"),
        (Fact.JOINED, r"<DONE><WHO><RECENTLY>加入了?<V>了?"),
        (Fact.JOB_CHANGE, r"<WHO>已?经?<LEFT>[,;](?:现在|目前|已经|已|并)*(?:入职|加入|就职于|任职于)了?<V>"),
        (Fact.JOB_CHANGE, r"<WHO>已?经?<LEFT>[,;](?:现在|目前)*在<V>(?:工作|上班|任职|就职)"),
        (Fact.REPLY_LANGUAGE, r"<WHO>的?(?:首选语言|偏好语言)(?:是|为|:)<V>"),
        (Fact.REPLY_LANGUAGE, r"<WHO><NOW>(?:偏好|更喜欢|更习惯)使?用<V>(?:回答|回复|交流|沟通|对话)"),
        (Fact.NATIVE_LANGUAGE, r"<WHO>的?母语(?:是|为|:)<V>"),
        (Fact.SPOKEN_LANGUAGE, r"<WHO>(?:会说|会讲|说|讲)<V>"),
        (Fact.TIME_ZONE, r"<WHO>(?:所在)?的?时区(?:是|为|:)<V>"),
        (Fact.TIME_ZONE, r"<WHO>(?:在|位于|处于)(?P<v>[东西].{1,3}区)"),
        (Fact.PREFERENCE, r"<WHO><NOW>(?:通常|一般)?<VERY>(?:偏好|喜欢|偏爱|倾向于?|习惯)(?:使用|用|看)?<V>"),
        (Fact.FAVOURITE, r"<WHO>最(?:喜欢|爱)的(?P<z>[^的是为,:]{1,8})(?:是|为|:)<V>"),
    ],
    {
        "WHO": r"(?:(?P<me>我)|(?:该|本|这位|当前)?用户)",
        "NOW": r"(?:目前|现在|如今|当前)?",
        "RECENTLY": r"(?:现在|已经|已|最近|刚刚|刚|近期|近日|上个?月|这个?月|本月|上周){0,2}",
        "DONE": r"(?=.*(?:已|刚|最近|近期|近日|到了|去了|至了|职了|入了|了$))",
        "MOVED": r"(?:搬到|搬去|搬至|搬家到|迁居到|移居到|搬家去)",
        "LEFT": r"(?:从<A>离职|离开了?<A>|不再?在<A>(?:工作|上班)了?)",
        "VERY": r"(?:更加|更|比较|最|很|特别|非常)?",
        "A": r"[^,;!?()。]{1,20}?",
        "V": r"(?P<v>[^,;!?()。、\"“”「」]{1,40}?)",
    },
)

SHAPES: dict[str, tuple[Shape, ...]] = {"en": _ENGLISH, "zh": _CHINESE}
"""Primary language subtag -> sentence forms, tried in order."""
