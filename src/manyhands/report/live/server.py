"""The server: one socket of 127.0.0.1, until Ctrl-C or SIGTERM."""

import errno
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import uvicorn

from manyhands.core.errors import SettingError, SettingName
from manyhands.report.live.app import make_app
from manyhands.report.live.connections import impatient
from manyhands.report.live.limits import Limits
from manyhands.report.live.session import Session

HOST = "127.0.0.1"
_ENDS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # those that the system has


class _Server(uvicorn.Server):
    """Leaves signals to `_ending`: uvicorn would raise them again before the folder is removed."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


class _Ending:
    """Asks the server to end, also if it has not begun."""

    def __init__(self) -> None:
        self.asked, self._server = False, None

    def __call__(self, *_: Any) -> None:
        self.asked = True
        if self._server is not None:
            self._server.should_exit = True

    def follow(self, server: Any) -> None:
        self._server, server.should_exit = server, self.asked


@contextmanager
def _ending() -> Iterator[_Ending]:
    """What ends the server when a signal comes; the handlers of before come back."""
    end, before = _Ending(), {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in _ENDS if hasattr(signal, name)]
        before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _temporary_files_in(folder: str) -> Iterator[None]:
    """Files that readers unpack are in this folder too, and are removed with it."""
    before, tempfile.tempdir = tempfile.tempdir, folder
    try:
        yield
    finally:
        tempfile.tempdir = before


def run_server(
    labels: str | list[str] | None,
    settings: Mapping[str, Any],
    *,
    port: int,
    browser: bool,
    limits: Limits,
    announce: Callable[[str, str], None],
) -> None:
    """Serve until a signal comes; see `serve`."""
    with (
        _socket(port) as listening,
        _ending() as end,
        Session(limits) as session,
        _temporary_files_in(str(session.folder)),
    ):
        guard = make_app(session)
        server = _Server(_config(guard, limits))
        end.follow(server)
        start = page = f"{guard.path}/"
        if labels:
            page = f"{start}files/{session.open_path(labels, settings).id}"
        here = f"http://{HOST}:{listening.getsockname()[1]}"
        announce(here + start, here + page)
        if browser:
            address = here + guard.invite(page)
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        server.run(sockets=[listening])


def _config(guard: Any, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        guard, http=impatient(limits.head_seconds), ws="none", lifespan="off", log_config=None,
        log_level="error", access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=limits.max_connections, h11_max_incomplete_event_size=limits.max_head,
        timeout_graceful_shutdown=1,
    )  # fmt: skip


def _socket(port: int) -> socket.socket:
    """A socket that this computer alone can reach."""
    try:
        return socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "is in use" if taken else f"cannot be used ({error.strerror})"
        raise SettingError(
            SettingName("port", port), f" {why}; leave it out, and a free port is taken"
        ) from None
