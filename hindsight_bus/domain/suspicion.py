"""Which near memories are suspected of contradicting each other."""

from __future__ import annotations

from collections.abc import Mapping

from hindsight_bus.domain.derivation import derive_subject
from hindsight_bus.domain.memory import Channel, Version
from hindsight_bus.domain.statements import statement_key
from hindsight_bus.domain.values import Value, field


class Closeness(Value):
    """From which cosine two statements are close in meaning, in one embedding profile.

    Cosines of unrelated statements differ by language and are lower across languages, so one threshold does not fit.
    """

    default: float
    """Two statements in one language."""
    across: float
    """Two statements in different languages."""
    by_language: Mapping[str, float] = field(default_factory=dict)
    """Languages with a threshold of their own."""

    @property
    def lowest(self) -> float:
        """The lowest of its thresholds."""
        return min(self.default, self.across, *self.by_language.values())

    def threshold(self, one: str, other: str) -> float:
        """Return the cosine from which statements in these languages are close."""
        return self.by_language.get(one, self.default) if one == other else self.across


def reads_alike(one: Version, other: Version) -> bool:
    """Tell whether both are about one subject by what their writers or the rules say, not by a word they share."""
    subject = _subject(one)
    return bool(subject) and subject == _subject(other)


def may_contradict(one: Version, other: Version) -> bool:
    """Tell whether two memories that are close may contradict each other.

    Not where their writers named different subjects, or where they say the same.
    """
    if len({one.named_subject, other.named_subject} - {""}) > 1:
        return False
    return statement_key(one.text, _value(one)) != statement_key(other.text, _value(other))


def _subject(version: Version) -> str:
    return _read(version)[0] if version.subject_derived else version.subject


def _value(version: Version) -> str:
    return version.value or _read(version)[1]


def _read(version: Version) -> tuple[str, str]:
    """Return (subject, value) as the rules read them from the text; empty where they cannot tell."""
    derived = derive_subject(
        version.text, version.language, {}, speaker_is_user=version.channel is Channel.USER
    )
    return (derived.subject, derived.value) if derived is not None else ("", "")
