"""Connections that give up on a client that does not complete its request."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def impatient(seconds: float) -> type[H11Protocol]:
    """The protocol of uvicorn, which closes a connection that sends no complete head in time.

    uvicorn itself waits for ever: some silent connections would be all that it takes.
    """

    class Impatient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._seen: Any = None
            self._timer = self.loop.call_later(seconds, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            try:
                super().data_received(data)
            except h11.LocalProtocolError:  # what came after the request is no HTTP
                self.transport.abort()

        def send_400_response(self, msg: str) -> None:
            if self.cycle is not None:  # the body is broken: this is the one answer
                self.cycle.disconnected = True
            super().send_400_response(msg)

        def _look(self) -> None:
            """Close the connection if no request came since the last look and none is answered."""
            answering = self.cycle is not None and not self.cycle.response_complete
            if not answering and self.cycle is self._seen:
                self.transport.abort()
                return
            self._seen = self.cycle
            self._timer = self.loop.call_later(seconds, self._look)

    return Impatient
