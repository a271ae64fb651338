"""Subject derivation: what a statement is about, where its writer did not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SINGLE_VALUED = frozenset(
    {
        "name.han",
        "name.latin",
        "home",
        "employer",
        "language",
        "language.native",
        "time_zone",
        "time_zone.offset",
    }
)
"""The closed list: derived subjects of which one person has one at a time. A name is one per script, a zone one per
way of writing it, since the rules cannot tell whether 张三 and Zhang San are one name."""


@dataclass(frozen=True, slots=True)
class Derivation:
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
    surface form (``language.fold``) -> subject; ``speaker_is_user`` whether "I" is the user (channel USER).
    "The user" is taken for the namespace's owner: trust ``single_valued`` only where that holds, that is in the
    ``user`` scope and with no other ``about``.
    """
    return None
