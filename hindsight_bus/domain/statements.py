"""Keys of what is claimed: when two statements are equal, who speaks, and on which subject they meet."""

from __future__ import annotations

from hindsight_bus.domain.language import fold
from hindsight_bus.domain.memory import Channel, MemoryType
from hindsight_bus.domain.names import digest

_QUOTES = "\"'`´“”„‘’‚«»‹›「」『』"
_OPENING = _QUOTES + "([{<《〈【〔¿¡ "
_CLOSING = _QUOTES + ")]}>》〉】〕.,;:!?~。、・ "


def _normal(text: str) -> str:
    folded = fold(text)
    # A closed list, not every punctuation mark: `C#` and `.NET` are not `C` and `NET`.
    return folded.lstrip(_OPENING).rstrip(_CLOSING) or folded


def statement_key(text: str, value: str = "") -> str:
    """Return the key under which equal statements meet: ``v:`` + normal value, else ``t:`` + normal text.

    Normal = folded, without quotes and brackets around it or punctuation after it. The two kinds never match.
    """
    normal_value = _normal(value) if value else ""
    return f"v:{normal_value}" if normal_value else f"t:{_normal(text)}"


def speaker_of(channel: Channel, agent: str, namespace_owner: str) -> str:
    """Return who holds a claim: the user where the user said it, whichever agent relays it; else the agent."""
    return f"user:{namespace_owner}" if channel is Channel.USER else f"agent:{agent}"


def episode_key(text: str, event_time_ms: int, source: str) -> str:
    """Return the key of an episode: equal text, event time and source are one episode, told again."""
    return digest("episode", text, str(event_time_ms), source)


def subject_key(type: MemoryType, subject: str, statement: str) -> str:
    """Return the key of a subject record: over type and subject, or type and statement where there is no subject."""
    kind, what = ("subject", fold(subject)) if subject else ("statement", statement)
    return digest(kind, str(int(type)), what)
