"""How domain errors look on the wire: one table from reason to status, and google.rpc details.

Nothing of an unknown exception reaches the client: it gets an incident id that the server's log explains.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode

from hbus.v1.common_pb2 import ItemError
from hindsight_bus.domain.errors import HbusError, InvalidField, QuotaExceeded

DOMAIN = "hbus"
DETAILS_KEY = "grpc-status-details-bin"

STATUS_OF_REASON = {
    "INVALID_FIELD": StatusCode.INVALID_ARGUMENT,
    "AGENT_REQUIRED": StatusCode.INVALID_ARGUMENT,
    "TOO_LARGE": StatusCode.RESOURCE_EXHAUSTED,
    "NOT_FOUND": StatusCode.NOT_FOUND,
    "ETAG_MISMATCH": StatusCode.ABORTED,
    "CONTENDED": StatusCode.ABORTED,
    "REQUEST_ID_REUSED": StatusCode.ALREADY_EXISTS,
    "WRONG_STATE": StatusCode.FAILED_PRECONDITION,
    "SUPERSEDES_INCOMPLETE": StatusCode.FAILED_PRECONDITION,
    "PROFILE_MISMATCH": StatusCode.FAILED_PRECONDITION,
    "GROUP_MISMATCH": StatusCode.FAILED_PRECONDITION,
    "QUOTA_EXCEEDED": StatusCode.RESOURCE_EXHAUSTED,
    "SUBJECT_FULL": StatusCode.RESOURCE_EXHAUSTED,
    "TOO_MANY_STREAMS": StatusCode.RESOURCE_EXHAUSTED,
    "REVISION_COMPACTED": StatusCode.OUT_OF_RANGE,
    "LOG_DIVERGED": StatusCode.OUT_OF_RANGE,
    "INDEX_BEHIND": StatusCode.UNAVAILABLE,
    "STORE_UNAVAILABLE": StatusCode.UNAVAILABLE,
    "OUTCOME_UNKNOWN": StatusCode.UNKNOWN,
    "DRAINING": StatusCode.UNAVAILABLE,
    "DEADLINE": StatusCode.DEADLINE_EXCEEDED,
    "SCHEMA_TOO_NEW": StatusCode.FAILED_PRECONDITION,
    "INTERNAL": StatusCode.INTERNAL,
    "EMBEDDER_UNAVAILABLE": StatusCode.UNAVAILABLE,
}

# A peer takes 8 KiB of trailers, in which a non-ASCII character costs up to 9 bytes.
_MAX_MESSAGE_CHARS = 300
_MAX_METADATA_CHARS = 1200


@dataclass(frozen=True, slots=True)
class Failure:
    """What a client is told of a call, or of one item of it, that failed."""

    code: StatusCode
    reason: str
    message: str
    metadata: dict[str, str]
    field: str = ""
    problem: str = ""
    """What is wrong with ``field``."""
    retry_after_ms: int = 0
    incident: str = ""
    """Set when the cause is unknown; the log holds the cause under the same id."""

    def item_error(self) -> ItemError:
        """Return the failure as the answer to one item."""
        return ItemError(code=self.code.value[0], reason=self.reason, message=self.message, field=self.field)

    def trailers(self) -> tuple[tuple[str, bytes], ...]:
        """Return the trailing metadata that carries the details."""
        status = Status(code=self.code.value[0], message=self.message, details=map(_packed, self._details()))
        return ((DETAILS_KEY, status.SerializeToString()),)

    def _details(self) -> list[Message]:
        details: list[Message] = [ErrorInfo(reason=self.reason, domain=DOMAIN, metadata=self.metadata)]
        if self.field:
            violation = BadRequest.FieldViolation(field=self.field, description=self.problem or self.message)
            details.append(BadRequest(field_violations=[violation]))
        if self.retry_after_ms:
            seconds, rest_ms = divmod(self.retry_after_ms, 1000)
            details.append(RetryInfo(retry_delay=Duration(seconds=seconds, nanos=rest_ms * 1_000_000)))
        return details


def failure_of(error: Exception) -> Failure:
    """Return what the client is told of ``error``."""
    if not isinstance(error, HbusError):
        incident = secrets.token_hex(8)
        return Failure(
            code=StatusCode.INTERNAL,
            reason="INTERNAL",
            message=f"internal error; incident {incident}",
            metadata={"incident": incident},
            incident=incident,
        )
    return Failure(
        code=STATUS_OF_REASON[error.reason],
        reason=error.reason,
        message=_cut(error.message, _MAX_MESSAGE_CHARS),
        field=_cut(error.metadata.get("field", ""), _MAX_MESSAGE_CHARS),
        problem=_cut(error.problem, _MAX_MESSAGE_CHARS) if isinstance(error, InvalidField) else "",
        metadata={key: _cut(value, _MAX_METADATA_CHARS) for key, value in error.metadata.items()},
        retry_after_ms=error.retry_after_ms if isinstance(error, QuotaExceeded) else 0,
    )


def _packed(detail: Message) -> Any:
    packed = Any()
    packed.Pack(detail)
    return packed


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
