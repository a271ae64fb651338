"""Every error that a caller can meet, grouped by what the caller can do about it.

    HbusError
      InvalidRequest                 mend the request
        InvalidField
        AgentRequired
        TooLarge
      NotFound                       it is not there
      Refused                        it does not fit the present state
        WrongState
        SupersedesIncomplete
        ProfileMismatch
        GroupMismatch
        RequestIdReused
        SubjectFull
        QuotaExceeded
        TooManyStreams
        SchemaTooNew
      Retry                          try again, as the reason says
        EtagMismatch
        Contended
        IndexBehind
        StoreUnavailable
        OutcomeUnknown
        Draining
        DeadlineExpired
        EmbedderUnavailable
      PositionLost                   start over from a position that exists
        RevisionCompacted
        LogDiverged

Each class fixes a ``reason`` (a name of ``hbus.v1.ErrorReason``); ``metadata`` carries its typed fields as text.
The transport maps reasons to status codes; nothing here knows of gRPC.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class HbusError(Exception):
    """Base of every error that reaches a caller."""

    reason: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, **metadata: object) -> None:
        super().__init__(message)
        self.message = message
        self.metadata: dict[str, str] = {key: str(value) for key, value in metadata.items()}


class InvalidRequest(HbusError):
    """The request itself is at fault; sending it again changes nothing."""

    field: str = ""


class InvalidField(InvalidRequest):
    """A field is malformed; ``field`` is its path in the request, for example ``memory.confidence``."""

    reason = "INVALID_FIELD"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}", field=field)
        self.field = field
        self.problem = problem


@contextmanager
def within(message: str) -> Iterator[None]:
    """Let fields that are found malformed be named as parts of a message, itself a field of the request."""
    try:
        yield
    except InvalidField as error:
        raise InvalidField(f"{message}.{error.field}", error.problem) from None


class AgentRequired(InvalidRequest):
    """A mutation came without an agent's name."""

    reason = "AGENT_REQUIRED"

    def __init__(self) -> None:
        super().__init__(
            "the agent's name is missing: send it as the metadata key hbus-agent", field="hbus-agent"
        )
        self.field = "hbus-agent"


class TooLarge(InvalidRequest):
    """A field is over its size limit."""

    reason = "TOO_LARGE"

    def __init__(self, field: str, size: int, limit: int, unit: str = "bytes") -> None:
        super().__init__(f"{field}: {size} {unit}, at most {limit}", field=field, size=size, limit=limit)
        self.field = field


class NotFound(HbusError):
    """Nothing of that name, or nothing that this caller may see."""

    reason = "NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f"not found: {name}", name=name)


class Refused(HbusError):
    """The request is well formed but does not fit the present state."""


class WrongState(Refused):
    """The memory or conflict is not in a state that allows this."""

    reason = "WRONG_STATE"

    def __init__(self, name: str, state: str, need: str) -> None:
        super().__init__(f"{name} is {state}: {need}", name=name, state=state)


class SupersedesIncomplete(Refused):
    """``supersedes`` leaves out live memories of the subject."""

    reason = "SUPERSEDES_INCOMPLETE"

    def __init__(self, missing: list[str]) -> None:
        super().__init__(
            "memory.supersedes must name every live memory of the subject; missing: " + ", ".join(missing),
            missing=",".join(missing),
            field="memory.supersedes",
        )


class ProfileMismatch(Refused):
    """The namespace keeps its vectors in another embedding profile."""

    reason = "PROFILE_MISMATCH"

    def __init__(self, namespace: str, expected: str, actual: str) -> None:
        super().__init__(
            f"namespace {namespace} has the embedding profile {expected}, this server computes {actual}",
            namespace=namespace,
            expected=expected,
            actual=actual,
        )


class GroupMismatch(Refused):
    """The consumer group was created by other terms."""

    reason = "GROUP_MISMATCH"

    def __init__(self, group: str, terms: list[str]) -> None:
        super().__init__(
            f"group {group} was created with other terms: {', '.join(terms)}",
            group=group,
            terms=",".join(terms),
        )


class RequestIdReused(Refused):
    """The request_id was used with another payload."""

    reason = "REQUEST_ID_REUSED"

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"request_id {request_id!r} was used before with another payload",
            request_id=request_id,
            field="request_id",
        )


class SubjectFull(Refused):
    """The subject holds as many claims as it can."""

    reason = "SUBJECT_FULL"

    def __init__(self, subject: str, limit: int) -> None:
        super().__init__(f"subject {subject!r} has {limit} claims already", subject=subject, limit=limit)


class QuotaExceeded(Refused):
    """The day's quota is used up; ``retry_after_ms`` says when it is renewed."""

    reason = "QUOTA_EXCEEDED"

    def __init__(self, quota: int, retry_after_ms: int) -> None:
        super().__init__(f"daily quota of {quota} writes is used up", quota=quota)
        self.retry_after_ms = retry_after_ms


class TooManyStreams(Refused):
    """The caller has as many open streams as it may have."""

    reason = "TOO_MANY_STREAMS"

    def __init__(self, limit: int) -> None:
        super().__init__(f"at most {limit} streams at once", limit=limit)


class SchemaTooNew(Refused):
    """A record was written by a newer server."""

    reason = "SCHEMA_TOO_NEW"

    def __init__(self, schema: int, known: int) -> None:
        super().__init__(f"a record has schema {schema}, this server knows up to {known}", schema=schema)


class Retry(HbusError):
    """Not now; trying again is sensible."""


class EtagMismatch(Retry):
    """Somebody changed it since the caller read it: read again first."""

    reason = "ETAG_MISMATCH"

    def __init__(self, name: str, etag: str) -> None:
        super().__init__(f"{name} has changed: its etag is now {etag}", name=name, etag=etag)


class Contended(Retry):
    """Too many writers at once on one subject; nothing was changed."""

    reason = "CONTENDED"

    def __init__(self, attempts: int) -> None:
        super().__init__(f"lost against other writers {attempts} times", attempts=attempts)


class IndexBehind(Retry):
    """The view did not catch up within the deadline."""

    reason = "INDEX_BEHIND"

    def __init__(self, namespace: str) -> None:
        super().__init__(f"the view of {namespace} did not catch up in time", namespace=namespace)


class StoreUnavailable(Retry):
    """The store cannot be reached; nothing was changed."""

    reason = "STORE_UNAVAILABLE"

    def __init__(self, problem: str = "the store cannot be reached") -> None:
        super().__init__(problem)


class OutcomeUnknown(Retry):
    """The store was lost mid-commit. It may or may not have been changed; a retry needs the same request_id."""

    reason = "OUTCOME_UNKNOWN"

    def __init__(self) -> None:
        super().__init__("the store was lost mid-commit: retry with the same request_id")


class Draining(Retry):
    """The server is stopping."""

    reason = "DRAINING"

    def __init__(self) -> None:
        super().__init__("the server is stopping")


class DeadlineExpired(Retry):
    """The caller's deadline, or the server's maximum, came first."""

    reason = "DEADLINE"

    def __init__(self) -> None:
        super().__init__("the deadline came first")


class EmbedderUnavailable(Retry):
    """The embedder cannot answer. Writes never fail of this; their vectors come late."""

    reason = "EMBEDDER_UNAVAILABLE"

    def __init__(self, profile: str, problem: str) -> None:
        super().__init__(f"embedder {profile}: {problem}", profile=profile)


class PositionLost(HbusError):
    """A position in the log does not exist any more, or never did."""


class RevisionCompacted(PositionLost):
    """The position is older than what the log retains."""

    reason = "REVISION_COMPACTED"

    def __init__(self, partition: int, oldest: int, current: int) -> None:
        super().__init__(
            f"partition {partition} retains revisions {oldest} to {current}",
            partition=partition,
            oldest=oldest,
            current=current,
        )


class LogDiverged(PositionLost):
    """The position is not of this log: the log was lost or restored since."""

    reason = "LOG_DIVERGED"

    def __init__(self, partition: int, current: int) -> None:
        super().__init__(
            f"partition {partition} is at revision {current} and does not know this position",
            partition=partition,
            current=current,
        )
