"""Every error that a call can raise, grouped by what the caller can do about it.

    HbusError
      InvalidRequest                 mend the request
        AgentRequired
        TooLarge
      Denied                         get other credentials
      NotFound                       it is not there
      Refused                        it does not fit the present state
        WrongState
        SupersedesIncomplete
        ProfileMismatch
        GroupMismatch
        RequestIdReused
        SchemaTooNew
      LimitReached                   use less, or later: see retry_after_s
        QuotaExceeded
        SubjectFull
        TooManyStreams
      TryAgain                       the same call may succeed later
        Unavailable                  nothing was changed; the client has retried within the deadline
        OutcomeUnknown               retry with the same request_id
        Contended
        IndexBehind
        EmbedderUnavailable
        DeadlineExpired              a mutation may or may not have happened
      EtagMismatch                   read again, then decide again
      PositionLost                   subscribe anew from a place that exists
        RevisionCompacted
        LogDiverged
      ServerError                    a defect of the server, or a call that it does not know

Reasons are the names of ``hbus.v1.ErrorReason`` without their prefix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from hbus.v1.common_pb2 import ItemError

_DETAILS_KEY = "grpc-status-details-bin"
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class HbusError(Exception):
    """Base of every error that a call raises."""

    reasons: ClassVar[tuple[str, ...]] = ()
    """Reasons that are decoded to this very class."""

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
        reason: str = "",
        fields: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """Canonical status of the call."""
        self.reason = reason
        """Why, for machines; empty when the failure came from the network or from a proxy."""
        self.fields = dict(fields or {})
        """Request fields at fault, for example ``memory.confidence``, and what is wrong with each."""
        self.metadata = dict(metadata or {})
        """Typed fields of the reason, as text; ``error_reason.proto`` lists them."""
        self.retry_after_s = retry_after_s
        """Seconds after which the server expects a retry to succeed, where it says so."""

    @property
    def field(self) -> str:
        """The first request field at fault; empty where none is."""
        return next(iter(self.fields), "")


class InvalidRequest(HbusError):
    """The request itself is at fault: ``fields`` says where. Sending it again changes nothing."""

    reasons = ("INVALID_FIELD",)


class AgentRequired(InvalidRequest):
    """A mutation needs the agent's name: ``connect(..., agent="support")``."""

    reasons = ("AGENT_REQUIRED",)


class TooLarge(InvalidRequest):
    """A text or request is over its size limit."""

    reasons = ("TOO_LARGE",)


class Denied(HbusError):
    """The credential is missing or wrong, or does not allow this."""


class NotFound(HbusError):
    """Nothing of that name, or nothing that this caller may see."""

    reasons = ("NOT_FOUND",)


class Refused(HbusError):
    """The request is well formed but does not fit the present state."""


class WrongState(Refused):
    """The memory or conflict is not in a state that allows this."""

    reasons = ("WRONG_STATE",)


class SupersedesIncomplete(Refused):
    """``supersedes`` leaves out live memories of the subject."""

    reasons = ("SUPERSEDES_INCOMPLETE",)

    @property
    def missing(self) -> list[str]:
        """Names of the memories left out."""
        return [name for name in self.metadata.get("missing", "").split(",") if name]


class ProfileMismatch(Refused):
    """The namespace keeps its vectors in another embedding profile."""

    reasons = ("PROFILE_MISMATCH",)


class GroupMismatch(Refused):
    """The consumer group was created by other terms; ``metadata["terms"]`` names them."""

    reasons = ("GROUP_MISMATCH",)


class RequestIdReused(Refused):
    """The request_id was used before with another payload."""

    reasons = ("REQUEST_ID_REUSED",)


class SchemaTooNew(Refused):
    """A record was written by a newer server."""

    reasons = ("SCHEMA_TOO_NEW",)


class LimitReached(HbusError):
    """A limit on use was reached."""


class QuotaExceeded(LimitReached):
    """The day's quota is used up; ``retry_after_s`` says when it is renewed."""

    reasons = ("QUOTA_EXCEEDED",)


class SubjectFull(LimitReached):
    """The subject holds as many claims as it can."""

    reasons = ("SUBJECT_FULL",)


class TooManyStreams(LimitReached):
    """The agent has as many open streams as it may have."""

    reasons = ("TOO_MANY_STREAMS",)


class TryAgain(HbusError):
    """Not now; the same call may succeed later."""


class Unavailable(TryAgain):
    """The server or its store cannot be reached, or the server is stopping."""

    reasons = ("STORE_UNAVAILABLE", "DRAINING")


class OutcomeUnknown(TryAgain):
    """The connection was lost mid-call. A retry with the same request_id is safe."""

    reasons = ("OUTCOME_UNKNOWN",)


class Contended(TryAgain):
    """Too many writers at once on one subject; nothing was changed."""

    reasons = ("CONTENDED",)


class IndexBehind(TryAgain):
    """The view did not catch up with the tokens asked for within the deadline."""

    reasons = ("INDEX_BEHIND",)


class EmbedderUnavailable(TryAgain):
    """The query needs a vector and the embedder cannot answer."""

    reasons = ("EMBEDDER_UNAVAILABLE",)


class DeadlineExpired(TryAgain):
    """The deadline came first. A mutation may or may not have happened: retry it with the same request_id."""

    reasons = ("DEADLINE",)


class EtagMismatch(HbusError):
    """Somebody changed it since it was read: read again, then decide again."""

    reasons = ("ETAG_MISMATCH",)


class PositionLost(HbusError):
    """The place to resume from does not exist any more. Nothing was skipped in silence: subscribe anew."""

    @property
    def partition(self) -> int:
        """Partition of the change log."""
        return int(self.metadata.get("partition", 0))

    @property
    def current(self) -> int:
        """Newest revision of the partition."""
        return int(self.metadata.get("current", 0))


class RevisionCompacted(PositionLost):
    """The position is older than what the log retains."""

    reasons = ("REVISION_COMPACTED",)

    @property
    def oldest(self) -> int:
        """Oldest revision that is retained."""
        return int(self.metadata.get("oldest", 0))


class LogDiverged(PositionLost):
    """The position is not of this log: the log was lost or restored since."""

    reasons = ("LOG_DIVERGED",)


class ServerError(HbusError):
    """A defect of the server (``metadata["incident"]`` is in its log), or a call that it does not know."""

    reasons = ("INTERNAL",)


_BY_CODE: Mapping[grpc.StatusCode, type[HbusError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.UNAUTHENTICATED: Denied,
    grpc.StatusCode.PERMISSION_DENIED: Denied,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.FAILED_PRECONDITION: Refused,
    grpc.StatusCode.ALREADY_EXISTS: Refused,
    grpc.StatusCode.RESOURCE_EXHAUSTED: LimitReached,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExpired,
    grpc.StatusCode.ABORTED: TryAgain,
    grpc.StatusCode.OUT_OF_RANGE: PositionLost,
    # What the network or a proxy says when a connection breaks; the server itself gives a reason with these.
    grpc.StatusCode.UNKNOWN: OutcomeUnknown,
    grpc.StatusCode.INTERNAL: OutcomeUnknown,
    grpc.StatusCode.CANCELLED: OutcomeUnknown,
}


def _by_reason(base: type[HbusError]) -> dict[str, type[HbusError]]:
    table = dict.fromkeys(vars(base).get("reasons", ()), base)
    for child in base.__subclasses__():
        table |= _by_reason(child)
    return table


_BY_REASON: Mapping[str, type[HbusError]] = _by_reason(HbusError)


def error_class(code: grpc.StatusCode, reason: str) -> type[HbusError]:
    """Return the class for a reason; for none or an unknown one, the class for the status code."""
    return _BY_REASON.get(reason) or _BY_CODE.get(code, ServerError)


def from_rpc(error: grpc.RpcError) -> HbusError:
    """Decode what grpc raised, for threads or for asyncio, with its rich error details."""
    if not isinstance(error, grpc.Call | grpc.aio.AioRpcError):
        return OutcomeUnknown(str(error))
    status = Status()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            status.MergeFromString(value)
    return _from_status(error.code(), error.details() or "", status)


def from_item(item: ItemError) -> HbusError:
    """Decode the refusal of one item of a batch or of a Publish stream."""
    code = _CODES.get(item.code, grpc.StatusCode.UNKNOWN)
    fields = {item.field: item.message} if item.field else {}
    return error_class(code, item.reason)(item.message, code=code, reason=item.reason, fields=fields)


def _from_status(code: grpc.StatusCode, message: str, status: Status) -> HbusError:
    info, bad, retry = ErrorInfo(), BadRequest(), RetryInfo()
    for detail in status.details:
        _ = detail.Unpack(info) or detail.Unpack(bad) or detail.Unpack(retry)
    return error_class(code, info.reason)(
        message,
        code=code,
        reason=info.reason,
        fields={violation.field: violation.description for violation in bad.field_violations},
        metadata=info.metadata,
        retry_after_s=retry.retry_delay.ToTimedelta().total_seconds()
        if retry.HasField("retry_delay")
        else None,
    )
