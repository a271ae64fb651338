"""Memories from a conversation: what its user plainly states, by rules, and what any extractor must keep to.

The rules read one short sentence of the user at a time, in Chinese and English, and take it whole: a fact that
``derivation`` reads, something the user asks to remember, a standing wish, a plain statement about the user, or what
happened on a named day. Questions, conditions, guesses and quotations are left alone; so is what needs the sentence
before it to be understood, and whatever the assistant or a tool says. What was recalled is never learnt again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

from hindsight_bus.domain import context
from hindsight_bus.domain.derivation import derive_subject
from hindsight_bus.domain.language import detect, fold
from hindsight_bus.domain.memory import Cardinality, Channel, MemoryType
from hindsight_bus.domain.statements import statement_key
from hindsight_bus.domain.temporal import spans
from hindsight_bus.domain.values import Value, replace

MAX_CANDIDATES = 50
MAX_SENTENCE_CHARS = 160
INSTRUCTION_TAG = "instruction"
_MIN_WORDS_SHARED = 0.6
"""Share of a candidate's words that its evidence must hold."""


class Role(IntEnum):
    """Who speaks. Numbers are those of ``hbus.v1``."""

    USER = 1
    ASSISTANT = 2
    TOOL = 3


_CHANNEL_OF_ROLE = {
    Role.USER: Channel.USER,
    Role.ASSISTANT: Channel.AGENT,
    Role.TOOL: Channel.INGEST,
}
"""What a tool returned is raw: it may be a web page that anybody wrote."""


class Turn(Value):
    """One thing that was said; ``time_ms`` 0 = nobody knows when."""

    role: Role
    text: str
    time_ms: int = 0


class Candidate(Value):
    """Something that may be worth remembering, and the turns that show it."""

    type: MemoryType
    text: str
    evidence: tuple[int, ...]
    """Numbers of turns, from 1, ascending; at least one."""
    subject: str = ""
    is_subject_read: bool = False
    """The rules read the subject from the text: whoever writes it reads the same, and may know better."""
    value: str = ""
    cardinality: Cardinality = Cardinality.ONE
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    """As the extractor says; None = as its channel has it."""
    event_time_ms: int = 0
    explicit: bool = False
    """The user asked to remember it."""


class Extraction(Value):
    """What an extractor made of a conversation."""

    candidates: tuple[Candidate, ...]
    recalled: int = 0
    """Statements left out because they had come from memory."""
    unsupported: int = 0
    """Statements left out because the turns that they cite do not show them."""


def channel_of(candidate: Candidate, turns: Sequence[Turn]) -> Channel:
    """Return the channel of a candidate: the least trusted of those that its evidence came through."""
    channels = {_CHANNEL_OF_ROLE[turns[number - 1].role] for number in candidate.evidence}
    return min(channels, key=lambda channel: channel.default_confidence)


def confidence_of(candidate: Candidate, turns: Sequence[Turn]) -> float:
    """Return how sure a candidate may be: never surer than the weakest turn that it rests on."""
    limit = channel_of(candidate, turns).default_confidence
    return limit if candidate.confidence is None else min(candidate.confidence, limit)


# --- what was recalled ---------------------------------------------------------------------------------------------

_BLOCK = re.compile(r"<memories-([0-9a-f]{16})>\n.*?(?:\n</memories-\1>|\Z)", re.DOTALL)


class Conversation(Value):
    """A conversation without what was recalled into it."""

    turns: tuple[Turn, ...]
    recalled: frozenset[str]
    """Statement keys of the memories that were recalled."""

    def repeats(self, text: str) -> bool:
        """Tell whether a text says what was recalled."""
        return statement_key(text, "") in self.recalled


def without_recalled(turns: Iterable[Turn]) -> Conversation:
    """Return a conversation without the blocks of BuildContext, and with what they told. O(size)."""
    recalled: set[str] = set()
    kept = []
    for turn in turns:
        for found in _BLOCK.finditer(turn.text):
            recalled |= {statement_key(text, "") for text in context.texts_in(found[0])}
        kept.append(replace(turn, text=_BLOCK.sub("\n", turn.text)))
    return Conversation(tuple(kept), frozenset(recalled))


# --- the rules -----------------------------------------------------------------------------------------------------

_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|[\n\r]+")
_CLAUSES = re.compile(r",?\s+and\s+(?=I\b)|[,，](?=我)")
_STATES_BY_ITSELF = re.compile(r"(?:i|i'm|i've|my name)\b|我", re.IGNORECASE)
"""How a clause begins that can stand without the one after it: in "Ann and I went" they cannot be parted."""
_CORRECTION = re.compile(
    r"(?:(?:no|nope|sorry|actually|wait|correction|oh|i mean|i meant|what i meant is)[,:;.!—-]*\s+)+"
    r"|(?:(?:不对|不是的?|其实|更正一下|更正|纠正一下|纠正|我?说错了|抱歉|等等|哦)[,，:：、;；。 ]+)+",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"(?:please |and |also |can you |could you )*(?:remember|note|keep in mind|don't forget|make a note)"
    r"(?: that|:|,)*\s+(?P<what>\S.{2,})"
    r"|(?:请|麻烦你?|帮我|你要?)*(?:记住|记一下|记下|记着|别忘了|备注一下)[,，:： ]*(?P<zh>\S.{1,})",
    re.IGNORECASE,
)
_STANDING = re.compile(
    r"(?:please )?(?:from now on|in (?:the )?future|going forward)\b.{3,}"
    r"|(?:please )?(?:always|never) "
    r"(?:answer|reply|respond|use|write|show|give (?:me|a|an|the)|include|ask|call|address|format|keep|put|send"
    r"|tell|explain|translate|start|end|add|avoid|speak|assume|check|cite|list|summari[sz]e|mention|suggest"
    r"|recommend|share|store|delete|change|book|schedule|remind)\b.{2,}"
    r"|(?:请)?(?:以后|今后|从现在起|从今以后|从此|每次)(?:都|请|不要|别|就|要|给|回答|用|.{0,6}(?:请|都|不要|别)).+",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"i(?: really| usually| always| never| generally| mostly| still| also)? (?:love|like|hate|dislike|prefer|enjoy|use"
    r"|own|drive|speak|live|study|teach|play|eat|drink|wear|avoid|can't (?:stand|eat|drink)"
    r"|don't (?:like|eat|drink|use))"
    r" (?!(?:it|this|that|these|those|them|him|her|you|your|how|what|when|all the|the way)\b).{2,}"
    r"|i(?: am|'m) (?:allergic|vegetarian|vegan|married|single|retired|left-handed|colou?r-?blind|diabetic"
    r"|from|based in|an? (?!bit|little|mix|lot)[\w -]{3,40})\b.*"
    r"|i have (?:a|an|one|two|three|four|\d+) (?:[\w-]+ ){0,2}"
    r"(?:son|daughter|child|kid|brother|sister|wife|husband|partner|dog|cat|pet|car|bike|phd|degree|allergy|company)"
    r"s?(?:ren)?\b.*"
    r"|my (?:[\w'-]+ ){1,4}(?:is|are) .{2,}"
    r"|我(?:平时|一般|通常|总是|从来|一直|还|也|都|真的|特别|非常|很|最)*"
    r"(?:喜欢|爱吃|爱喝|爱看|讨厌|不喜欢|不爱|不吃|不喝|不用|偏好|习惯|更喜欢|喝|吃素|养了?|住在?|来自|从事|负责|会说|会弹|信仰).{1,}"
    r"|我对.{1,20}过敏.*|我是(?:一?[名个位]|.{1,12}[人师生员者家]).*|我有(?:一|两|二|三|四|\d)?[个只条位辆].{1,}"
    r"|我的.{1,12}(?:是|叫|在|为).{1,}",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"\b(?:question|problem|issue|idea|doubt|guess|moment|sec(?:ond)?|order|ticket|request|error|bug)\b"
    r"|问题|疑问|想法|订单|工单|需求|建议|意见|报错",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"^(?:if|when|whenever|suppose|assuming|imagine|let's say)\b"
    r"|\b(?:maybe|perhaps|might|not sure|i think|i guess|probably|would like to|used to|wish)\b"
    r"|如果|假如|要是|假设|可能|也许|好像|大概|似乎|以前|曾经|想要|想买",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？]\s*$|[吗呢么]\s*[。.!！]?$|^(?:what|who|where|why|how|which|can|could|do|does|is|are) ",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“”「」『』]|(?:说|said|says)[:：,，]")
_ALLERGY = re.compile(
    r"i(?: am|'m) allergic to (?P<en>[^,.;!]{2,40})|我对(?P<zh>[^,，。;；!！]{1,20}?)过敏", re.IGNORECASE
)
_OF_SELF = re.compile(r"\b(?:i|we|my|our|i've|we've|i'm)\b|我", re.IGNORECASE)


_SAYS_SOMETHING = re.compile(
    r"\bthat\b|[:：]|\b(?:i|my|we|our|is|are|was|has|have|will)\b|[\u4e00-\u9fff]", re.IGNORECASE
)
"""What is to be remembered states something: ``remember to take breaks`` is advice."""


def extract(conversation: Conversation, now_ms: int) -> Extraction:
    """Return what the rules find: at most 50 candidates, in the order they were said; pure, O(size).

    ``now_ms`` stands for the time of turns that have none.
    """
    found: dict[str, Candidate] = {}
    recalled = 0
    for number, turn in enumerate(conversation.turns, start=1):
        if turn.role is not Role.USER:
            continue
        for sentence in _statements(turn.text):
            if conversation.repeats(sentence):
                recalled += 1
                continue
            candidate = _candidate(sentence, number, turn.time_ms or now_ms)
            if candidate is not None and conversation.repeats(candidate.text):
                recalled += 1
            elif candidate is not None:
                key = _place(candidate)
                found.pop(key, None)  # what was said last holds, and stands where it was said
                found[key] = candidate
    return Extraction(tuple(found.values())[:MAX_CANDIDATES], recalled)


def _statements(text: str) -> Iterator[str]:
    """Yield the clauses of a text that each state something: none of what is asked, guessed, conditional or quoted."""
    for sentence in filter(None, (each.strip() for each in _ENDS.split(text))):
        if not (_ASKS.search(sentence) or _QUOTED.search(sentence) or _UNSURE.search(sentence)):
            parts = _CLAUSES.split(sentence) if _STATES_BY_ITSELF.match(sentence) else [sentence]
            yield from (part.strip() for part in parts)


def _place(candidate: Candidate) -> str:
    """Return what two candidates of one conversation cannot both hold: a subject with one value, else a statement."""
    one = candidate.subject and candidate.value and candidate.cardinality is Cardinality.ONE
    return f"s:{candidate.subject}" if one else statement_key(candidate.text, "")


def _candidate(sentence: str, number: int, time_ms: int) -> Candidate | None:
    """Return what a sentence of the user states, None where the rules cannot tell."""
    if len(sentence) > MAX_SENTENCE_CHARS:
        return None
    asked = _REMEMBER.fullmatch(sentence)
    stated = (asked["what"] or asked["zh"]) if asked else sentence
    corrected = _CORRECTION.match(stated)
    if corrected and corrected.end() < len(stated):
        stated = stated[corrected.end() :]
    bare = stated.rstrip("。.!！;； ")
    made = Candidate(
        MemoryType.SEMANTIC, stated, (number,), event_time_ms=time_ms, explicit=asked is not None
    )
    language = detect(stated)
    if derived := derive_subject(stated, language, {}, speaker_is_user=True):
        value = derived.value if derived.single_valued else ""
        return replace(made, subject=derived.subject, is_subject_read=True, value=value)
    if allergy := _ALLERGY.match(bare):
        value = fold(allergy["en"] or allergy["zh"])
        return replace(made, subject="allergy", value=value, cardinality=Cardinality.MANY)
    if _STANDING.fullmatch(bare):
        return replace(made, tags=(INSTRUCTION_TAG,))
    if (asked and _SAYS_SOMETHING.search(sentence)) or (
        _PLAIN.fullmatch(bare) and not _TRANSIENT.search(bare)
    ):
        return made
    if _OF_SELF.search(bare) and (days := spans(bare, time_ms)):
        likeliest = max(days, key=lambda span: span.weight)
        return replace(made, type=MemoryType.EPISODIC, event_time_ms=max(likeliest.start_ms, 1))
    return None


# --- what any extractor must keep to --------------------------------------------------------------------------------

_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")


def supported(candidates: Iterable[Candidate], conversation: Conversation) -> Extraction:
    """Return the candidates that cite turns which are there and hold most of their words, none of them recalled."""
    kept, recalled, unsupported = [], 0, 0
    for candidate in candidates:
        if conversation.repeats(candidate.text):
            recalled += 1
        elif _is_shown(candidate, conversation.turns):
            kept.append(candidate)
        else:
            unsupported += 1
    return Extraction(tuple(kept[:MAX_CANDIDATES]), recalled, unsupported)


def _is_shown(candidate: Candidate, turns: Sequence[Turn]) -> bool:
    cited = candidate.evidence
    if not cited or not all(1 <= number <= len(turns) for number in cited):
        return False
    said = set(_words(" ".join(turns[number - 1].text for number in cited)))
    told = _words(f"{candidate.text} {candidate.value}")
    return bool(told) and sum(word in said for word in told) >= _MIN_WORDS_SHARED * len(told)


_FILLERS = frozenset(
    "the user a an is are was were has have had their his her they he she of to in on at for and that who with it s"
    " 用 户 的 了 是 在 有 他 她 它 这 那 和 与".split()
)


def _words(text: str) -> list[str]:
    """Return the words of a text that say something, Chinese by character."""
    return [word for word in _WORD.findall(fold(text)) if word not in _FILLERS]
