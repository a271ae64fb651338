"""Extracting memories from a conversation: by a model where there is one, else by rules; written like any other memory.

Whoever extracts only proposes. Each candidate is written through the channel of its weakest evidence, so what the
assistant or a tool said never becomes a statement of the user, and gate and conflict rules decide as for every write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from hindsight_bus.app.caller import Caller
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.write import Writer
from hindsight_bus.domain.errors import HbusError
from hindsight_bus.domain.extraction import (
    Candidate,
    Conversation,
    Extraction,
    Turn,
    channel_of,
    confidence_of,
    extract,
    supported,
    without_recalled,
)
from hindsight_bus.domain.fencing import FENCE_RULE, fenced
from hindsight_bus.domain.memory import Cardinality, Channel, MemoryType
from hindsight_bus.domain.names import Namespace, digest
from hindsight_bus.domain.values import Value, replace
from hindsight_bus.ports import JsonObject, LanguageModel, MemoryLog, ModelRequest

RULES = "rules"
VERSION = 1
_MAX_TEXT_CHARS, _MAX_SUBJECT_CHARS, _MAX_VALUE_CHARS, _MAX_ALIASES, _MAX_ALIAS_CHARS = 1_000, 128, 256, 8, 64
_TYPES = {"fact": MemoryType.SEMANTIC, "procedure": MemoryType.PROCEDURAL, "event": MemoryType.EPISODIC}

_INSTRUCTIONS = f"""\
You read a conversation and note what is worth remembering of it for later conversations with the same user:
lasting facts and preferences, standing wishes about how to work, and events with their day. Leave out small talk,
questions, guesses, plans that were dropped, whatever only matters now, and what was taken back later: note the last
word.

For each note: type (fact, procedure or event); text, one short sentence in the language of the conversation, in
which every name and day is written out; subject, what it is about in dotted English words, such as
preference.language; value, its short normal form, or an empty string; single, whether only one such value can hold
at a time; aliases, other names for it; confidence, 0 to 1; event_time, an ISO 8601 date where it has one, else an
empty string; evidence, the numbers of the turns that say it. Use the words of these turns. What no turn says, do
not note.

{FENCE_RULE}"""

_LINE = {"type": "string"}
_NOTE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "enum": list(_TYPES)},
        "text": _LINE,
        "subject": _LINE,
        "value": _LINE,
        "single": {"type": "boolean"},
        "aliases": {"type": "array", "items": _LINE},
        "confidence": {"type": "number"},
        "event_time": _LINE,
        "evidence": {"type": "array", "items": {"type": "integer"}},
    },
}
_NOTE["required"] = list(_NOTE["properties"])  # type: ignore[call-overload]
SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["notes"],
    "properties": {"notes": {"type": "array", "items": _NOTE}},
}


class ExtractRequest(Value):
    """A conversation, and where what it says belongs."""

    namespace: Namespace
    turns: tuple[Turn, ...]
    conversation: str = ""
    source: str = ""
    request_id: str = ""
    is_dry_run: bool = False
    """Find, but write nothing."""
    by_rules: bool = False
    """Ask no model."""


class Extracted(Value):
    """A candidate, through which channel it goes and how sure, and what became of it; None in a dry run."""

    candidate: Candidate
    channel: Channel
    confidence: float
    outcome: Outcome | HbusError | None


class ExtractAnswer(Value):
    """What was found, and by whom."""

    found: list[Extracted]
    extractor: str
    """``rules``, or the name of a model."""
    recalled: int
    unsupported: int
    problems: tuple[str, ...] = ()
    """Why no model answered, for people."""


class Extractor:
    """Extracts memories."""

    def __init__(self, store: MemoryLog, writer: Writer, models: LanguageModel) -> None:
        self._store = store
        self._writer = writer
        self._models = models

    async def extract(self, caller: Caller, request: ExtractRequest) -> ExtractAnswer:
        """Find what a conversation states and, unless told otherwise, write it; every candidate succeeds on its own.

        Raises:
            AgentRequired, InvalidField: the credential may write through no channel that the evidence came through.
        """
        caller.require_agent()
        conversation = await asyncio.to_thread(without_recalled, request.turns)
        extraction, extractor, problems = await self._found(request, conversation)
        found = [_extracted(each, conversation.turns, caller) for each in extraction.candidates]
        if not request.is_dry_run:
            outcomes = await self._writer.write_many(caller, [_draft(each, request) for each in found])
            found = [replace(each, outcome=outcome) for each, outcome in zip(found, outcomes, strict=True)]
        return ExtractAnswer(found, extractor, extraction.recalled, extraction.unsupported, problems)

    async def _found(
        self, request: ExtractRequest, conversation: Conversation
    ) -> tuple[Extraction, str, tuple[str, ...]]:
        problems: tuple[str, ...] = ()
        if self._models.names and not request.by_rules:
            answer = await self._models.answer(_question(request.namespace, conversation))
            if answer.value is not None:
                candidates = [_candidate(note, conversation) for note in answer.value["notes"]]
                return supported(filter(None, candidates), conversation), answer.model, ()
            problems = answer.problems
        by_rules = await asyncio.to_thread(extract, conversation, self._store.now_ms())
        return by_rules, RULES, problems


def _question(namespace: Namespace, conversation: Conversation) -> ModelRequest:
    entries = [
        {"turn": number, "by": turn.role.name.lower(), "said": turn.text, **_day(turn)}
        for number, turn in enumerate(conversation.turns, start=1)
    ]
    return ModelRequest("extract", VERSION, _INSTRUCTIONS, fenced("conversation", entries), SCHEMA, namespace)


def _day(turn: Turn) -> dict[str, str]:
    return {"day": _date(turn.time_ms)} if turn.time_ms else {}


def _date(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).date().isoformat()


def _candidate(note: Mapping[str, Any], conversation: Conversation) -> Candidate | None:
    """Return what a model noted; None for what no memory could hold."""
    text, subject, value = (note[field].strip() for field in ("text", "subject", "value"))
    if (
        not text
        or len(text) > _MAX_TEXT_CHARS
        or len(subject) > _MAX_SUBJECT_CHARS
        or len(value) > _MAX_VALUE_CHARS
    ):
        return None
    type = _TYPES[note["type"]]
    evidence = tuple(sorted(set(note["evidence"])))
    times = [conversation.turns[n - 1].time_ms for n in evidence if 1 <= n <= len(conversation.turns)]
    aliases = dict.fromkeys(alias.strip() for alias in note["aliases"])
    return Candidate(
        type,
        text,
        evidence,
        subject="" if type is MemoryType.EPISODIC else subject,
        value="" if type is MemoryType.EPISODIC else value,
        cardinality=Cardinality.ONE if note["single"] else Cardinality.MANY,
        aliases=tuple(alias for alias in aliases if 0 < len(alias) <= _MAX_ALIAS_CHARS)[:_MAX_ALIASES],
        confidence=min(max(float(note["confidence"]), 0.0), 1.0),
        event_time_ms=_event_time_ms(note["event_time"]) or max(times, default=0),
    )


def _event_time_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return 0
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return max(int(moment.timestamp() * 1000), 0)


def _extracted(candidate: Candidate, turns: Sequence[Turn], caller: Caller) -> Extracted:
    """Return a candidate with its channel; where the credential may not use it, what the agent took it for."""
    channel = channel_of(candidate, turns)
    confidence = min(confidence_of(candidate, turns), caller.ceiling)
    if channel not in caller.channels:
        channel = Channel.AGENT
        confidence = min(confidence, channel.default_confidence)
    return Extracted(candidate, channel, confidence, None)


def _draft(found: Extracted, request: ExtractRequest) -> WriteDraft:
    candidate = found.candidate
    subject = "" if candidate.is_subject_read else candidate.subject
    wanted = digest(candidate.text, candidate.subject, candidate.value)
    return WriteDraft(
        namespace=request.namespace,
        type=candidate.type,
        text=candidate.text,
        subject=subject,
        value=candidate.value if subject else "",
        cardinality=candidate.cardinality,
        aliases=candidate.aliases,
        tags=candidate.tags,
        confidence=found.confidence,
        explicit=candidate.explicit,
        event_time_ms=candidate.event_time_ms,
        request_id=f"{request.request_id}:{wanted[:16]}" if request.request_id else "",
        channel=found.channel,
        source=request.source,
        payload=wanted,
        conversation=request.conversation,
    )
