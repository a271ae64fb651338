"""Options that choose events, for ``hbus watch`` and ``hbus consume``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hbus.fields import EventFields

Kind = Annotated[list[str] | None, typer.Option(help="Only this kind, for example written; repeatable.")]
Tag = Annotated[list[str] | None, typer.Option(help="Only with this label; may be repeated.")]
MinConfidence = Annotated[float | None, typer.Option(help="Only from this confidence on, 0 to 1.")]
MeaningText = Annotated[
    str,
    typer.Option(
        metavar="TEXT", help="Only what is about this, in any words; told once its vector is there."
    ),
]
Threshold = Annotated[
    float | None, typer.Option(help="Cosine from which it is; what fits the embedding profile unless given.")
]


def event_fields(
    kinds: list[str] | None,
    tags: list[str] | None,
    min_confidence: float | None,
    meaning: str,
    threshold: float | None,
    *,
    not_my_own: bool = False,
) -> EventFields:
    """Return the conditions that the client takes; raise ``ValueError`` for a kind that does not exist."""
    import hbus
    from hbus.values import number

    return {
        "kinds": [number(hbus.EventKind, each, "kind") for each in kinds or ()],
        "tags": tags or (),
        "min_confidence": min_confidence,
        "not_my_own": not_my_own,
        "meaning": meaning or None,
        "threshold": threshold,
    }
