"""Where a subscription stands. Pure: it is told what arrived or failed, and tells what to do next."""

from __future__ import annotations

from collections import deque

from hbus.backoff import Attempts, Backoff, Outage
from hbus.errors import HbusError
from hbus.v1.bus_service_pb2 import Start, StartTokens, SubscribeRequest, SubscribeResponse
from hbus.v1.common_pb2 import ConsistencyToken
from hbus.v1.event_pb2 import Event
from hbus.v1.memory_pb2 import Memory

NOT_CONFIRMED = "the server did not confirm the subscription in time"


class Cursor:
    """Events received but not handed on yet, the resume point, and the snapshot where one was asked for.

    A batch is handed on whole before the next message is accepted, so a cut can lose nothing that a token covers.
    """

    def __init__(
        self,
        request: SubscribeRequest,
        backoff: Backoff,
        *,
        opening_s: float = 5.0,
        max_outage_s: float | None = None,
    ) -> None:
        self._opening = Attempts(backoff, opening_s)
        self._outage = Outage(backoff, max_outage_s)
        self._request = request
        self._batch: deque[Event] = deque()
        self._batch_token = ""
        self._memories: list[Memory] = []
        self.token = ""
        """Resume point after the events handed on; empty while there is none."""
        self.is_confirmed = False
        """The server has confirmed the subscription once."""
        self.snapshot: list[Memory] | None = None
        """Every memory that matched at the start, once complete; empty where no snapshot was asked for."""
        self.oldest_revision = 0
        """Oldest revision retained when the subscription was confirmed last."""

    def request(self) -> SubscribeRequest:
        """Return what to send on the next connection. A snapshot that was cut short starts over."""
        self._memories = []
        if not self.token:
            return self._request
        resuming = SubscribeRequest()
        resuming.CopyFrom(self._request)
        resuming.start.CopyFrom(Start(tokens=StartTokens(tokens=[ConsistencyToken(token=self.token)])))
        return resuming

    def accept(self, message: SubscribeResponse) -> None:
        """Take in one message of the stream; only once every event before it was handed on."""
        self._outage.over()
        match message.WhichOneof("message"):
            case "confirmed":
                self._confirm(message.confirmed.token.token, message.confirmed.oldest_revision)
            case "events":
                self._batch.extend(message.events.events)
                self._batch_token = message.events.token.token
                self._hand_over()
            case "snapshot":
                self._memories.extend(message.snapshot.memories)
            case "checkpoint":
                self._check(message.checkpoint.token.token)
            case _:
                pass  # a newer server may say more

    @property
    def opening_s(self) -> float:
        """Seconds that are left for the first confirmation."""
        return self._opening.remaining_s

    @property
    def buffered(self) -> int:
        """Events accepted that were not handed on yet."""
        return len(self._batch)

    def pop(self) -> Event | None:
        """Return the next event; None when a message is needed."""
        if not self._batch:
            return None
        event = self._batch.popleft()
        self._hand_over()
        return event

    def pause_after(self, failure: HbusError) -> float | None:
        """Return seconds to wait before the next connection; None = give up and raise ``failure``."""
        if not self.is_confirmed:
            return self._opening.pause_after(failure)
        return self._outage.pause_after(failure)

    def _confirm(self, token: str, oldest_revision: int) -> None:
        self.is_confirmed = True
        self.oldest_revision = oldest_revision
        if self._request.start.HasField("snapshot") and self.snapshot is None:
            return
        self.snapshot = self.snapshot or []
        self._advance(token)

    def _check(self, token: str) -> None:
        if self.snapshot is None:
            self.snapshot, self._memories = self._memories, []
        self._advance(token)

    def _hand_over(self) -> None:
        if not self._batch:
            self._advance(self._batch_token)

    def _advance(self, token: str) -> None:
        self.token = token or self.token
