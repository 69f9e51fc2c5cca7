"""Who is answered: requests of this computer that know the token, of bounded size and time.

Any page that a browser shows can send requests to 127.0.0.1. So the address begins with a token
that no other page knows. A name that leads to 127.0.0.1 (DNS rebinding) does not help: the header
Host must name this computer. The token is in the path and not in a cookie, because browsers send
cookies to all ports of a host.
"""

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from manyhands.report.live.limits import Limits

HOSTS = ("127.0.0.1", "localhost")
METHODS = ("GET", "HEAD", "POST")
VERSIONS = ("1.0", "1.1")
# Scripts and styles come from this page alone, and no request goes elsewhere. Styles in attributes
# are those of the report.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Refusal(HTTPException):
    """A request that is not answered with data: a status, and a sentence for a person.

    The connection ends, whatever the client still sends.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text, {"connection": "close"})


class Guard:
    """Lets requests pass that may be answered, and puts the safety headers on every answer.

    `path` is the secret beginning of all addresses. `invite` makes an address that leads there
    once: programs such as a browser show their arguments to all users of a computer.
    """

    def __init__(self, app: ASGIApp, max_head: int) -> None:
        self.app, self.max_head = app, max_head
        self.path = f"/{secrets.token_urlsafe(32)}"
        self._invitations: dict[str, str] = {}

    def invite(self, page: str) -> str:
        """A path that leads to a page, once."""
        path = f"/open/{secrets.token_urlsafe(32)}"
        self._invitations[path] = page
        return path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return  # the server speaks HTTP alone

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_safety(message.get("headers", ()))
            await send(message)

        try:
            self._require_allowed(scope)
        except Refusal as refusal:
            await refusal_answer(refusal)(scope, receive, send_safely)
            return
        if scope["path"] in self._invitations:
            answer = RedirectResponse(self._invitations.pop(scope["path"]), 303)
            await answer(scope, receive, send_safely)
            return
        with suppress(ClientDisconnect):  # nobody is there any more
            await self.app(dict(scope) | {"root_path": self.path}, receive, send_safely)

    def _require_allowed(self, scope: Scope) -> None:
        headers = Request(scope).headers
        # The server limits what it waits for; a long head that comes at once gets here.
        if sum(len(name) + len(value) for name, value in headers.raw) > self.max_head:
            raise Refusal(431, "The headers are too long.")
        if len(scope["path"]) + len(scope["query_string"]) > self.max_head:
            raise Refusal(414, "The address is too long.")
        if not _host_is_ours(scope):
            raise Refusal(403, "This page answers requests to 127.0.0.1 only.")
        if scope["http_version"] not in VERSIONS:
            raise Refusal(505, "This page speaks HTTP/1.1.")
        if scope["method"] not in METHODS:
            raise Refusal(405, "This page knows GET, HEAD and POST.")
        if scope["path"] in self._invitations and scope["method"] == "GET":
            return
        if not _begins_with(scope["path"], self.path):
            raise Refusal(404, "Not found. Open the address that manyhands serve printed.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        strange = origin is not None and origin != f"http://{headers['host']}"
        if scope["method"] == "POST" and (strange or site not in ("same-origin", "none")):
            raise Refusal(403, "This request comes from another page.")


def _host_is_ours(scope: Scope) -> bool:
    """Whether the header Host names this computer; the port may be one that ssh forwards."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    name, _, port = (hosts[0] if len(hosts) == 1 else b"").decode("latin-1").partition(":")
    return name.lower() in HOSTS and (not port or (port.isascii() and port.isdigit()))


def _begins_with(path: str, secret: str) -> bool:
    """Whether a path is within the secret one; it takes as long for every wrong guess."""
    first = "/" + path.removeprefix("/").partition("/")[0]
    return hmac.compare_digest(first.encode("utf-8", "surrogateescape"), secret.encode())


def _with_safety(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    added = {name.encode(): value.encode() for name, value in HEADERS.items()}
    return list((added | dict(headers)).items())


def refusal_answer(refusal: Refusal) -> PlainTextResponse:
    """The answer to a request that is refused."""
    return PlainTextResponse(f"{refusal.detail}\n", refusal.status_code, refusal.headers)


async def body_parts(request: Request, most: int, limits: Limits) -> AsyncIterator[bytes]:
    """The body of a request part by part; refused if it is too large or too slow."""
    length = request.headers.get("content-length", "0")
    too_large = Refusal(413, f"This is larger than {most / 1e6:g} MB, which is the limit.")
    # a number of thousands of digits is no int, and some digits are not ASCII
    if not (length.isascii() and length.isdigit()) or len(length) > 20 or int(length) > most:
        raise too_large
    n_bytes, parts = 0, aiter(request.stream())
    end = asyncio.get_running_loop().time() + limits.body_seconds
    while True:
        left = end - asyncio.get_running_loop().time()
        try:
            part = await asyncio.wait_for(anext(parts), min(left, limits.idle_seconds))
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refusal(408, "The rest of this request did not come in time.") from None
        n_bytes += len(part)
        if n_bytes > most:
            raise too_large
        yield part


async def form_values(request: Request, limits: Limits) -> dict[str, list[str]]:
    """The fields of a form, each with all of its values."""
    _require_type(request, "application/x-www-form-urlencoded")
    body = b"".join([part async for part in body_parts(request, limits.max_form, limits)])
    try:
        return parse_qs(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=500
        )
    except ValueError:
        raise Refusal(400, "This form cannot be read.") from None


def upload_parts(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    """The content of an uploaded file, which is the body as it is."""
    _require_type(request, "application/octet-stream")
    return body_parts(request, limits.max_bytes, limits)


def _require_type(request: Request, wanted: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != wanted:
        raise Refusal(415, f"The content must be {wanted}.")
