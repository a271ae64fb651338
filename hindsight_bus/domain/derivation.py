"""Subject derivation: what a statement is about, where its writer did not say.

A rule reads a whole short sentence about the user or nothing: every pattern spans the text from end to end, so
another person, a negation, the past, a plan, a condition, a question, a quotation or a second fact leaves it
unmatched. What a rule reads may replace memories only where its value is certain too; see ``gazetteer``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from hindsight_bus.domain.gazetteer import CITIES, COUNTRIES, EMPLOYERS, LANGUAGES, SUBSIDIARIES, TOPICS
from hindsight_bus.domain.language import fold, simplify
from hindsight_bus.domain.sentences import SHAPES, Fact
from hindsight_bus.domain.values import Value, replace

SINGLE_VALUED = frozenset(
    {
        "name.han",
        "name.latin",
        "home",
        "employer",
        "language.preferred",
        "language.native",
        "time_zone",
        "time_zone.offset",
    }
)
"""The closed list: derived subjects of which one person has one at a time. A name is one per script, a zone one per
way of writing it, since the rules cannot tell whether 张三 and Zhang San are one name."""

MAX_SENTENCE_CHARS = 160
"""The rules read no longer text; known subjects are looked for in any."""


class Derivation(Value):
    """What the rules read from a text."""

    subject: str
    """Dotted, at most 128 characters."""
    value: str
    """Normal form of what is said about it; empty where the rules cannot tell."""
    single_valued: bool
    """Only then may statements on the subject supersede or override each other and may ``value`` be the statement's
    value; else a difference opens SUSPECTED, ``value`` serves to tell a difference, and nothing is merged."""
    rule: str
    """Name of the rule, for the reason shown to people."""


def derive_subject(
    text: str, language: str, known: Mapping[str, str], *, speaker_is_user: bool = False
) -> Derivation | None:
    """Return what ``text`` is about, or None when unsure.

    Arguments: ``language`` a BCP 47 tag as from ``detect``; ``known`` the namespace's subjects and aliases, folded
    surface form (``language.fold``) -> subject; ``speaker_is_user`` whether "I" is the user (channel USER), else
    "I" may be an agent, which has a name and a job of its own. "The user" is taken for the namespace's owner: trust
    ``single_valued`` only where that holds, that is in the ``user`` scope and with no other ``about``.

    Cost: O(n) for the rules and O(n len(known)) for the known subjects, which are sought with ``str.find``.
    """
    if len(text) <= MAX_SENTENCE_CHARS:
        sentence = _sentence(text)
        for shape in SHAPES.get(language.partition("-")[0].lower(), ()):
            match = shape.pattern.fullmatch(sentence)
            if match and (found := _READERS[shape.fact](match)):
                is_agent_perhaps = match["me"] is not None and not speaker_is_user
                return _derivation(shape.fact, found, is_agent_perhaps)
    return _mentioned(fold(text), known)


class _Reading(Value):
    subject: str
    value: str
    is_certain: bool = False


def _derivation(fact: Fact, found: _Reading, is_agent_perhaps: bool) -> Derivation:
    single = found.is_certain and found.subject in SINGLE_VALUED
    if is_agent_perhaps and fact in _FACTS_OF_AGENTS_TOO:
        single = False
    return Derivation(found.subject, found.value, single, fact.value)


_FACTS_OF_AGENTS_TOO = frozenset(Fact) - {Fact.HOME, Fact.MOVE}

_HAN_GAP = re.compile(r"(?<=[^\x00-\xff]) | (?=[^\x00-\xff])")


def _sentence(text: str) -> str:
    """Return the text as the shapes expect it: one line, plain forms, simplified, without its full stop."""
    plain = " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").split())
    return _HAN_GAP.sub("", simplify(plain)).removesuffix("。").removesuffix(".").removesuffix("!")


# --- what the stated value is ---------------------------------------------------------------------------------------


_PROPER = re.compile(r"[A-Z][\w'&.-]*(?: [A-Z][\w'&.-]*){0,3}")
_HAN_NAME = re.compile(r"[\u4e00-\u9fff]{2,8}")
_NOT_A_PLACE = re.compile(r"[的和或跟与里家附近旁边酒店宾馆吗呢吧年月天时过着了]")


def _home(match: re.Match[str]) -> _Reading | None:
    stated = match["v"]
    if city := _city(stated):
        return _Reading("home", city, is_certain=True)
    if _PROPER.fullmatch(stated) or (_HAN_NAME.fullmatch(stated) and not _NOT_A_PLACE.search(stated)):
        return _Reading("home", fold(stated))
    return None


def _move(match: re.Match[str]) -> _Reading | None:
    city = _city(match["v"])
    return _Reading("home", city, is_certain=True) if city else None


def _city(stated: str) -> str:
    name, _, country = fold(stated).partition(", ")
    if country and country not in COUNTRIES:
        return CITIES.get(fold(stated), "")
    return CITIES.get(name, "") or CITIES.get(name.removesuffix("市"), "")


_LEGAL_FORM = re.compile(
    r",? (?:inc|corp|corporation|ltd|llc|gmbh|ag|co)\.?$|(?:有限)?公司$|集团$", re.IGNORECASE
)
_LONE_NAME = re.compile(r"[A-Z][A-Za-z0-9&-]{2,}")
_NO_EMPLOYER = frozenset("home night school university college hospital church headquarters".split())
_HAN_EMPLOYER = re.compile(r"[\u4e00-\u9fffA-Za-z0-9]{2,12}(?:公司|集团|银行|大学|医院|科技)")


def _employer(match: re.Match[str]) -> _Reading | None:
    stated = _LEGAL_FORM.sub("", match["v"])
    name = fold(stated)
    if found := _firm(match):
        return found
    if name in CITIES or name in _NO_EMPLOYER or name in SUBSIDIARIES:
        return None
    if _LONE_NAME.fullmatch(stated):
        return _Reading("employer", name, is_certain=True)
    if _PROPER.fullmatch(stated) or (_HAN_EMPLOYER.fullmatch(match["v"]) and "家" not in match["v"]):
        return _Reading("employer", name)
    return None


def _firm(match: re.Match[str]) -> _Reading | None:
    name = EMPLOYERS.get(fold(_LEGAL_FORM.sub("", match["v"])))
    return _Reading("employer", name, is_certain=True) if name else None


def _joined(match: re.Match[str]) -> _Reading | None:
    firm = _firm(match)
    return replace(firm, is_certain=False) if firm else None  # one joins a service as its customer, too


_LATIN_FULL_NAME = re.compile(r"[^\W\d_a-z][\w'-]+ [^\W\d_a-z][\w'-]+")
_TITLE = re.compile(r"(?:mr|mrs|ms|miss|dr|prof|professor|sir)\b", re.IGNORECASE)
_LATIN_NAME = re.compile(r"[^\W\d_a-z][\w'-]+")
_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方"
    "俞任袁柳鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄穆萧尹姚邵汪祁毛狄米贝明臧戴宋庞熊"
    "纪舒屈项祝董梁杜阮蓝闵席季贾江童颜郭梅盛林钟徐邱骆高夏蔡田樊胡凌霍万柯管卢莫房裘丁邓洪包左石崔龚程邢裴陆翁段侯武"
    "刘景龙叶白蒲卓池乔温庄闫连习艾鱼古易廖耿匡文聂曾关游冉涂肖谭"
)
_HAN_FULL_NAME = re.compile(rf"[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}")
_NOT_IN_A_NAME = re.compile(
    r"(?:先生|女士|小姐|老师|师傅|医生|经理|总|哥|姐|[来去走看做说吃找回买开帮面饭菜酒车店茶])$|.*[的了我你他她不]"
)


def _name(match: re.Match[str]) -> _Reading | None:
    stated = match["v"]
    if _TITLE.match(stated):
        return None
    if _LATIN_FULL_NAME.fullmatch(stated):
        return _Reading("name.latin", fold(stated), is_certain=True)
    if _LATIN_NAME.fullmatch(stated) and stated[0].isascii():
        return _Reading("name.latin", fold(stated))
    if _HAN_FULL_NAME.fullmatch(stated) and not _NOT_IN_A_NAME.search(stated):
        return _Reading("name.han", stated, is_certain=True)
    return None


def _language_reader(subject: str) -> Callable[[re.Match[str]], _Reading | None]:
    def read(match: re.Match[str]) -> _Reading | None:
        tag = LANGUAGES.get(fold(match["v"]))
        return _Reading(subject, tag, is_certain=True) if tag else None

    return read


_ZONE_NAME = re.compile(
    r"(?:africa|america|asia|atlantic|australia|europe|indian|pacific)/[a-z_]+(?:/[a-z_]+)?"
)
_ZONE_OFFSET = re.compile(r"(?:utc|gmt) ?([+-])(\d{1,2})(?::?([0-5]\d))?")
_HAN_ZONE = re.compile(r"([东西])(十[一二]|[一二三四五六七八九十])区")
_HAN_HOURS = "零一二三四五六七八九十"
_RENAMED_ZONES = {
    "asia/chongqing": "asia/shanghai",
    "asia/calcutta": "asia/kolkata",
    "europe/kiev": "europe/kyiv",
}


def _time_zone(match: re.Match[str]) -> _Reading | None:
    stated = fold(match["v"])
    if _ZONE_NAME.fullmatch(stated):
        return _Reading("time_zone", _RENAMED_ZONES.get(stated, stated), is_certain=True)
    if offset := _ZONE_OFFSET.fullmatch(stated):
        return _offset(offset[1], int(offset[2]), offset[3] or "00")
    if zone := _HAN_ZONE.fullmatch(stated):
        return _offset("+" if zone[1] == "东" else "-", sum(map(_HAN_HOURS.index, zone[2])), "00")
    return None


def _offset(sign: str, hours: int, minutes: str) -> _Reading | None:
    return (
        _Reading("time_zone.offset", f"utc{sign}{hours:02}:{minutes}", is_certain=True)
        if hours <= 14
        else None
    )


_COMPARED = re.compile(r",? (?:over|rather than|instead of|than|to) |,?(?:而不是|而非|胜过|多过|不喜欢|不用)")
_PURPOSE = re.compile(r" (?:for|when) ")
_LEADING = re.compile(r"(?:to use|using|to read|reading|the|an?) ")
_NEGATION = re.compile(r"\b(?:not|no|never|without|neither|nor)\b|n't\b|[不没别无]")


def _preference(match: re.Match[str]) -> _Reading | None:
    leading = _LEADING.match(match["v"])
    rest = match["v"][leading.end() :] if leading else match["v"]
    liked, *rivals = _COMPARED.split(rest, maxsplit=1)
    if _NEGATION.search(liked):
        return None
    thing = fold(_PURPOSE.split(liked, maxsplit=1)[0])
    for subject, forms in TOPICS.items():
        if form := _leading_form(thing, forms):
            return _Reading(subject, forms[form])
    purpose = _PURPOSE.split(rest, maxsplit=1)[1:]
    return _Reading(_topic(purpose[0]), thing) if rivals and purpose else None


def _leading_form(thing: str, forms: Mapping[str, str]) -> str:
    """Return the longest form that ``thing`` is, or, in Chinese, begins with."""
    fitting = [form for form in forms if thing == form or (not form.isascii() and thing.startswith(form))]
    return max(fitting, key=len, default="")


def _favourite(match: re.Match[str]) -> _Reading | None:
    return None if _NEGATION.search(match["v"]) else _Reading(_topic(match["z"]), fold(match["v"]))


def _topic(words: str) -> str:
    return "preference." + "_".join(re.findall(r"\w+", fold(words)))[:64]


_READERS: dict[Fact, Callable[[re.Match[str]], _Reading | None]] = {
    Fact.NAME: _name,
    Fact.HOME: _home,
    Fact.MOVE: _move,
    Fact.EMPLOYER: _employer,
    Fact.JOB_CHANGE: _firm,
    Fact.JOINED: _joined,
    Fact.REPLY_LANGUAGE: _language_reader("language.preferred"),
    Fact.NATIVE_LANGUAGE: _language_reader("language.native"),
    Fact.SPOKEN_LANGUAGE: _language_reader("language.spoken"),
    Fact.TIME_ZONE: _time_zone,
    Fact.PREFERENCE: _preference,
    Fact.FAVOURITE: _favourite,
}


# --- subjects that the namespace knows ------------------------------------------------------------------------------


def _mentioned(text: str, known: Mapping[str, str]) -> Derivation | None:
    """Return the subject whose longest surface form the text mentions; None where two subjects tie."""
    longest, subjects = 0, set[str]()
    for form, subject in known.items():
        if len(form) >= max(longest, 2) and _mentions(text, form):
            subjects = subjects | {subject} if len(form) == longest else {subject}
            longest = len(form)
    return Derivation(subjects.pop(), "", False, "known subject") if len(subjects) == 1 else None


def _mentions(text: str, form: str) -> bool:
    """Tell whether ``form`` stands in the text as whole words; Chinese has no word ends to respect."""
    at = text.find(form)
    while at >= 0:
        end = at + len(form)
        if not (_is_joined(text[at - 1 : at], form[0]) or _is_joined(form[-1], text[end : end + 1])):
            return True
        at = text.find(form, at + 1)
    return False


def _is_joined(left: str, right: str) -> bool:
    return _is_word_character(left) and _is_word_character(right)


def _is_word_character(character: str) -> bool:
    return character in _WORD_SIGNS or (character.isalnum() and not "\u2e80" <= character <= "\U0003ffff")


_WORD_SIGNS = frozenset("_+#")
