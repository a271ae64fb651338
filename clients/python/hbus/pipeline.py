"""Which writes of a Publish stream are still unanswered. Pure, for threads and asyncio alike."""

from __future__ import annotations

from dataclasses import dataclass

from hbus import errors
from hbus.errors import HbusError
from hbus.requests import identified
from hbus.v1.bus_service_pb2 import PublishRequest, PublishResponse
from hbus.v1.memory_service_pb2 import WriteMemoryRequest, WriteMemoryResponse, WriteResult

Outcome = WriteMemoryResponse | HbusError
"""What became of one write: the answer, or why it was refused. The other writes are not affected."""


@dataclass(frozen=True, slots=True)
class Published:
    """The outcome of one published write."""

    index: int
    """Its place among the writes given, from 0. Answers may overtake each other."""
    write: WriteMemoryRequest
    """What was sent, with its request_id."""
    outcome: Outcome

    @property
    def response(self) -> WriteMemoryResponse:
        """The answer; raises the ``HbusError`` with which the write was refused."""
        if isinstance(self.outcome, HbusError):
            raise self.outcome
        return self.outcome


def outcome(result: WriteResult) -> Outcome:
    """Decode the result of one write."""
    return errors.from_item(result.error) if result.HasField("error") else result.response


class Pipeline:
    """Unanswered writes, over any number of streams: each has a request_id, so it may be sent again after a cut."""

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError("window must be at least 1")
        self._window = window
        self._unanswered: dict[int, WriteMemoryRequest] = {}
        self._sent: list[int] = []
        self._next = 0

    @property
    def is_full(self) -> bool:
        """As many writes are unanswered as may be."""
        return len(self._unanswered) >= self._window

    @property
    def is_empty(self) -> bool:
        """Every write was answered."""
        return not self._unanswered

    def add(self, write: WriteMemoryRequest) -> PublishRequest:
        """Take in the next write and return what to send for it on the present stream."""
        index, self._next = self._next, self._next + 1
        self._unanswered[index] = identified(write)
        return self._send(index)

    def restart(self) -> list[PublishRequest]:
        """Begin a new stream: return what to send again on it, in order."""
        self._sent = []
        return [self._send(index) for index in sorted(self._unanswered)]

    def answer(self, response: PublishResponse) -> Published:
        """Match an answer of the present stream with its write."""
        index = self._sent[response.sequence]
        return Published(index, self._unanswered.pop(index), outcome(response.result))

    def _send(self, index: int) -> PublishRequest:
        self._sent.append(index)
        return PublishRequest(write=self._unanswered[index])
