"""The report, live on this computer."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from manyhands.core.errors import SettingError
from manyhands.core.settings import require

_MEGABYTE = 1_000_000


def serve(
    labels: str | list[str] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    port: int = 0,
    browser: bool = True,
    max_size: float = 200.0,
    announce: Callable[[str, str], None] = lambda start, page: None,
) -> None:
    """Serve the report on this computer, until Ctrl-C: open files, choose methods, browse.

    The server answers requests of this computer alone, and only with the token in its address.
    Uploaded files and results are in a private temporary folder, which is removed at the end. It
    needs Starlette and uvicorn: ``pip install 'manyhands[serve]'``.

    Parameters
    ----------
    labels : str or list
        A file of labels to begin with, or several that are joined.
    settings : dict
        How to read it: the arguments of `mh.read`.
    port : int
        Port of 127.0.0.1; 0 takes a free one.
    browser : bool
        Open the page in a browser.
    max_size : float
        Size of the largest file that may be uploaded, in megabytes.
    announce : callable
        Called with the address of the start and that of the first page when both can be opened.
    """
    require(0 <= port <= 65535, "port", "between 0 and 65535", port)
    require(max_size > 0, "max_size", "> 0", max_size)
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise SettingError(
            "the local page needs Starlette and uvicorn: pip install 'manyhands[serve]'"
        )
    from manyhands.report.live.limits import Limits
    from manyhands.report.live.server import run_server

    limits = Limits(max_bytes=round(max_size * _MEGABYTE))
    run_server(labels, settings or {}, port=port, browser=browser, limits=limits, announce=announce)
