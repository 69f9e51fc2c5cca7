"""How much the page accepts and keeps."""

from dataclasses import dataclass

MEGABYTE = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in seconds, and numbers of things."""

    max_bytes: int = 200 * MEGABYTE  # of an uploaded file
    max_form: int = 1 << 16  # of a form
    max_head: int = 1 << 14  # of the request line and the headers
    max_files: int = 6  # that are kept; a further one replaces the oldest
    max_results: int = 12  # results and comparisons that are kept, likewise
    max_waiting: int = 4  # jobs that wait for the one that runs
    max_uploads: int = 2  # at the same time
    max_connections: int = 64
    head_seconds: float = 10.0  # until a request is complete but for its body
    idle_seconds: float = 10.0  # without a byte of a body
    body_seconds: float = 300.0  # for a whole body
