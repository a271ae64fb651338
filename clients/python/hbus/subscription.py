"""A subscription for threads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Protocol

import grpc

from hbus import errors
from hbus.cursor import NOT_CONFIRMED, Cursor
from hbus.errors import DeadlineExpired, HbusError, Unavailable
from hbus.v1.bus_service_pb2 import SubscribeRequest, SubscribeResponse
from hbus.v1.event_pb2 import Event
from hbus.v1.memory_pb2 import Memory

_log = logging.getLogger("hbus")


class Stream(Protocol):
    """The responses of one Subscribe call."""

    def __next__(self) -> SubscribeResponse: ...
    def cancel(self) -> object:
        """End the call."""
        ...


class Subscription(Iterator[Event]):
    """Events in order, each once. When the connection breaks it reconnects and resumes by token.

    Use it as a context manager: entering returns once the server has confirmed, so whatever is written from then on
    will be heard. One thread iterates; ``close`` may come from another and ends the iteration.

    ``token`` is where to resume after a restart of your own process. Save it once the event at hand is dealt with:
    nothing is skipped then, and at most one batch comes again. ``PositionLost`` says that the place to resume from is
    gone; the subscription never starts over by itself.
    """

    def __init__(self, open_stream: Callable[[SubscribeRequest], Stream], cursor: Cursor) -> None:
        self._open_stream = open_stream
        self._cursor = cursor
        self._stream: Stream | None = None
        self._closed = threading.Event()

    def __enter__(self) -> Subscription:
        watchdog = threading.Timer(self._cursor.opening_s, self._expire)
        watchdog.start()
        try:
            while not (self._cursor.is_confirmed or self._closed.is_set()):
                self._receive()
        except BaseException:
            self.close()
            raise
        finally:
            watchdog.cancel()
        if not self._cursor.is_confirmed:
            raise DeadlineExpired(NOT_CONFIRMED)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __next__(self) -> Event:
        while (event := self._cursor.pop()) is None:
            if self._closed.is_set():
                raise StopIteration
            self._receive()
        return event

    @property
    def token(self) -> str:
        """Resume point: it covers the events yielded so far, up to the last whole batch."""
        return self._cursor.token

    @property
    def buffered(self) -> int:
        """Events received that were not yielded yet; at 0 ``token`` covers every event yielded."""
        return self._cursor.buffered

    @property
    def oldest_revision(self) -> int:
        """Oldest revision that the server retained when it confirmed last."""
        return self._cursor.oldest_revision

    def snapshot(self) -> list[Memory]:
        """Return every memory that matched at the start, waiting until they are complete.

        Empty unless the subscription was made with ``start="snapshot"``. One that is cut short starts over, unseen.
        """
        while self._cursor.snapshot is None and not self._closed.is_set():
            self._receive()
        return self._cursor.snapshot or []

    def close(self) -> None:
        """End the subscription; a thread that waits in it stops iterating."""
        self._closed.set()
        self._drop()

    def _receive(self) -> None:
        """Take in one message, or wait out a cut."""
        try:
            stream = self._stream = self._stream or self._open_stream(self._cursor.request())
            if self._closed.is_set():
                self._drop()
            else:
                self._cursor.accept(next(stream))
        except StopIteration:
            self._cut(Unavailable("the server ended the stream"))
        except grpc.RpcError as error:
            self._cut(errors.from_rpc(error))
        except BaseException:
            self._drop()
            raise

    def _expire(self) -> None:
        if not self._cursor.is_confirmed:
            self.close()

    def _cut(self, failure: HbusError) -> None:
        self._drop()
        if self._closed.is_set():
            return
        pause = self._cursor.pause_after(failure)
        if pause is None:
            self._closed.set()
            raise failure
        _log.warning("subscription cut (%s), reconnecting in %.2f s", failure, pause)
        self._closed.wait(pause)

    def _drop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()
